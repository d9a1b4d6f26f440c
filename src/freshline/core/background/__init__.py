"""Work that waits for its share: backfills and upkeep."""
