"""From an accepted request to a landed file."""
