"""HTTP of the push gateway."""
