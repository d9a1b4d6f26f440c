select day
{% for method in var('methods') %}
  , sum(case when method = '{{ method }}' then cents else 0 end) as {{ method }}_cents
{% endfor %}
from {{ ref('stg_payments') }} group by day
