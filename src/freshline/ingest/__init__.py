"""Pushed records: over HTTP into a durable log, from there into feed files."""
