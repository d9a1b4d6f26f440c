"""Cutting one report into the fewest batches that meet its deadline."""
