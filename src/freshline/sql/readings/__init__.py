"""A second reading of a query, from the plan that Spark makes of it; see docs/design/0062."""
