"""What commands print and the page shows: text and records of JSON."""
