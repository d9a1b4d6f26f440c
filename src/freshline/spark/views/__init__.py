"""Derived tables: one file for each strategy, and what rules a strategy out."""
