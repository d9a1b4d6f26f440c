"""Pushed records: checked against the schema of their feed, or refused."""
