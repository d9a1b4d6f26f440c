"""Projects of other tools rewritten as freshline projects, each table's fate told on a page."""
