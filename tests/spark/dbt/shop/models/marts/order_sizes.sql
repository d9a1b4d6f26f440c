select {{ size_of('amount') }} as size, count(*) as orders from {{ ref('orders') }} group by 1
