"""Reports of a running warehouse."""
