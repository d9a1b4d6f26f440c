{{ config(materialized='ephemeral') }}
select order_id, sum(amount) as amount, count(*) as lines from {{ ref('stg_lines') }} group by order_id
