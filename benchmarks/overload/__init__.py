"""Overloaded workloads, and the ways to follow them."""
