"""YAML with file and line for each value."""
