"""Batches of reports, and their state between batches."""
