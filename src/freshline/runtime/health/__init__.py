"""Hung updates, dead processes and jumping clocks: noticed, and repaired where possible."""
