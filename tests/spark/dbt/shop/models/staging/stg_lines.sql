select order_id, line, product_id, quantity, price, cast(quantity * price as decimal(12,2)) as amount
from {{ source('raw', 'lines') }}
