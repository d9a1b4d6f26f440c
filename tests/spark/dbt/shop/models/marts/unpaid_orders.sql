select o.order_id, o.amount, coalesce(p.paid, 0) as paid, o.amount - coalesce(p.paid, 0) as missing
from {{ ref('orders') }} o left join {{ ref('int_paid') }} p on o.order_id = p.order_id
where o.amount > coalesce(p.paid, 0)
