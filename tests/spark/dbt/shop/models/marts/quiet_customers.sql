select customer_id, name from {{ ref('customers') }} where customer_id not in (select customer_id from {{ ref('orders') }})
