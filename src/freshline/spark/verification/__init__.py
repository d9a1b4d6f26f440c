"""Whether a version of a table has the rows of its query over the data its commit names."""
