select k.name as country, sum(c.amount) as gross, sum(cast(c.amount / (1 + k.vat) as decimal(20,2))) as net
from {{ ref('customers') }} c join {{ ref('countries') }} k on c.country = k.country
group by k.name
