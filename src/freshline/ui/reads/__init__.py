"""What the page reads: journal and status, by time, each answer shared."""
