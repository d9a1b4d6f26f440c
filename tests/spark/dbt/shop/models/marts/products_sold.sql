select product_id, any_value(title) as title, sum(quantity) as quantity, sum(amount) as amount
from {{ ref('int_lines_priced') }} group by product_id
