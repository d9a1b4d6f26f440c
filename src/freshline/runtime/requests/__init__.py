"""What people ask of a warehouse from another process: pause, refresh, backfill, retry."""
