"""Projects of other tools rewritten as freshline projects, with a page about each table."""
