"""A query with every name resolved, and what it may not contain."""
