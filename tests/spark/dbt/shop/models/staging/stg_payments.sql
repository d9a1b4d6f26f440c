select payment_id, order_id, method, amount, {{ cents('amount') }} as cents, cast(at as date) as day
from {{ source('raw', 'payments') }}
