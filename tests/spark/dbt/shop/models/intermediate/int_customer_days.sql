select distinct customer_id, day from {{ ref('stg_orders') }}
