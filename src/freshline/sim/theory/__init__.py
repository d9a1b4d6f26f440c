"""Bounds and ideal runs that a simulation is compared with."""
