"""Databricks statements, read into items; their queries are Spark's already."""
