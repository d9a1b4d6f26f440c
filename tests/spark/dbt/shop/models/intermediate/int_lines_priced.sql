{{ config(materialized='table') }}
select l.order_id, l.line, l.product_id, p.title, p.kind, l.quantity, l.amount
from {{ ref('stg_lines') }} l join {{ ref('stg_products') }} p on l.product_id = p.product_id
