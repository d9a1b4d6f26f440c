"""SQL as written: tokens, statements, the tables that a query reads."""
