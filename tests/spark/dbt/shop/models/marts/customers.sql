select c.customer_id, c.name, c.country, count(o.order_id) as orders, sum(o.amount) as amount
from {{ ref('stg_customers') }} c left join {{ ref('int_orders') }} o on c.customer_id = o.customer_id
group by c.customer_id, c.name, c.country
