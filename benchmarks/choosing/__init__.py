"""The views of choices.py."""
