select status, day, count(*) as orders, count(distinct customer_id) as customers from {{ ref('stg_orders') }}
group by status, day
