select 'order' as event, order_id, day, amount from {{ ref('orders') }}
union all
select 'payment', order_id, day, amount from {{ ref('stg_payments') }}
