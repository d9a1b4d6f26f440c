"""Projects of Spark's declarative pipelines, run as they are."""
