"""A run's metrics for Prometheus: what it counted, and how its tables stand."""
