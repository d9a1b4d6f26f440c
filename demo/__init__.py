"""The demo: TPC-H's orders arrive faster than two tracks can follow; ``python -m demo``."""
