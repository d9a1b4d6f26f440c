with source as (select * from {{ source('raw', 'orders') }})
select order_id, customer_id, at as ordered_at, cast(at as date) as day, lower(status) as status from source
