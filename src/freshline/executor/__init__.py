"""The protocol between the runtime and Spark: what is asked of an executor, what it answers."""
