"""The overloaded workload of freshness.py, and the ways to follow it."""
