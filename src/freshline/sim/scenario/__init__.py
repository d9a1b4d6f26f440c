"""Scenario files, checked."""
