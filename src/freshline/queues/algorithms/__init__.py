"""One spilling algorithm a file; the folder is scanned, so a new file needs no second edit."""
