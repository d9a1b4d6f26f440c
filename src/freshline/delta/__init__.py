"""A Delta log, read and written without Spark."""
