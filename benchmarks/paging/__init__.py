"""The web page under load: what its readers cost a warehouse, and how soon a view is there."""
