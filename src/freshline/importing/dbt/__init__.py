"""A compiled dbt project's manifest, read into items."""
