"""The project that ``freshline init`` writes: copied as it is, but for the name."""
