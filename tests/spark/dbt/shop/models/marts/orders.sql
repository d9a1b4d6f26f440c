{{ config(materialized='incremental', incremental_strategy='append', meta={'freshline': {'priority': 3, 'target_lag': '10 minutes'}}) }}
-- A table called orders, over a source called orders, with an entry called orders.
with orders as (select * from {{ ref('int_orders') }})
select order_id, customer_id, ordered_at, day, status, amount, lines from orders
{% if is_incremental() %} where ordered_at > (select max(ordered_at) from {{ this }}) {% endif %}
