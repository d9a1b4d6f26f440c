select customer_id, order_id, day, amount from (
  select *, row_number() over (partition by customer_id order by ordered_at, order_id) as nth from {{ ref('orders') }}
) where nth = 1
