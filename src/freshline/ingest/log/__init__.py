"""The durable log of pushed records."""
