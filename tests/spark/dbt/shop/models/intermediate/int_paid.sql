{{ config(materialized='ephemeral') }}
select order_id, sum(amount) as paid, max(method) as method from {{ ref('stg_payments') }} group by order_id
