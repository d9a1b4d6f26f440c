{{ config(materialized='view') }}
select customer_id, count(*) as days from {{ ref('int_customer_days') }} group by customer_id having count(*) > 1
