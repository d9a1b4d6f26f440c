{% snapshot customers_then %}
{{ config(target_schema='shop', unique_key='customer_id', strategy='timestamp', updated_at='at', file_format='delta') }}
select * from {{ source('raw', 'customers') }}
{% endsnapshot %}
