"""The SQLite journal: its schema, its writer, its recovery from the Delta logs."""
