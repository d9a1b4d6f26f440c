"""A project as a Spark Declarative Pipeline, and as freshline runs it."""
