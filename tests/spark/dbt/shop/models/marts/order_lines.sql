{{ config(materialized='incremental', incremental_strategy='insert_overwrite', partition_by='kind', tags=['nightly', 'finance']) }}
select order_id, line, product_id, title, quantity, amount, kind from {{ ref('int_lines_priced') }}
{% if is_incremental() %} where order_id > (select max(order_id) from {{ this }}) {% endif %}
