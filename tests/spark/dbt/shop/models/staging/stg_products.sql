select product_id, title, kind from {{ source('raw', 'products') }}
