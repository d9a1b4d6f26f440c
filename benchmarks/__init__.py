"""Benchmarks: ``python -m benchmarks [NAME...] [--quick]``, or ``make bench``."""
