"""What the text of a query tells without Spark: what it reads and how it can be maintained."""
