"""Datasets of a pipeline that Python functions define."""
