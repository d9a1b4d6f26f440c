select title, kind, quantity from (
  select p.title, p.kind, s.quantity, rank() over (partition by p.kind order by s.quantity desc) as place
  from {{ ref('products_sold') }} s join {{ ref('stg_products') }} p on s.product_id = p.product_id
) where place <= 2
