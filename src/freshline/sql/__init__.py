"""What a query reads and how its table can be maintained, found without Spark."""
