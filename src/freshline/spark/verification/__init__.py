"""Whether a version of a table holds the rows that its query gives over what its commit names."""
