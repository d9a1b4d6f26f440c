"""What the benchmark of reports is made of: TPC-H in slices, batches, a clock, streams."""
