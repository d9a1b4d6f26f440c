select l.days, count(*) as customers, sum(c.amount) as amount
from {{ ref('loyal_customers') }} l join {{ ref('customers') }} c on l.customer_id = c.customer_id group by l.days
