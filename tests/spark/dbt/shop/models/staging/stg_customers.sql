with source as (select * from {{ source('raw', 'customers') }}),
renamed as (select customer_id, trim(name) as name, upper(country) as country from source)
select * from renamed
