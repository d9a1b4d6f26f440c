with orders as (select * from {{ ref('stg_orders') }}),
amounts as (select * from {{ ref('int_order_amounts') }})
select orders.*, coalesce(amounts.amount, 0) as amount, coalesce(amounts.lines, 0) as lines
from orders left join amounts on orders.order_id = amounts.order_id
