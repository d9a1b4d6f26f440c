"""Project files to tables, feeds and settings; every error with file and line."""
