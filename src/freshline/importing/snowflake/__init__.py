"""Snowflake statements, read into items with Spark's SQL."""
