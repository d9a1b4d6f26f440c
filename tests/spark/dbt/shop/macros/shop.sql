{% macro cents(column) %}cast(round({{ column }} * 100) as bigint){% endmacro %}

{% macro size_of(column) -%}
  case when {{ column }} >= 200 then 'large' when {{ column }} >= 50 then 'medium' else 'small' end
{%- endmacro %}

{# The raw tables, over the folders of files that freshline's feeds read. #}
{% macro make_sources() %}
  {% if execute %}
    {% do run_query("create schema if not exists raw") %}
    {% for node in graph.sources.values() %}
      {% set feed = (node.config.get('meta') or node.meta).freshline.feed %}
      {% set columns = feed.schema %}
      {% do run_query("create table if not exists raw." ~ node.name ~ " (" ~ columns ~ ") using "
          ~ feed.format ~ " location '" ~ feed.path ~ "'") %}
      {% do run_query("refresh table raw." ~ node.name) %}
    {% endfor %}
  {% endif %}
{% endmacro %}
