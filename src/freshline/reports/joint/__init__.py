"""Planning several reports together."""
