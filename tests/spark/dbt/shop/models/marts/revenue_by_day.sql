{{ config(partition_by=['day']) }}
select count(*) as orders, sum(amount) as revenue, avg(amount) as mean, day from {{ ref('orders') }} group by day
