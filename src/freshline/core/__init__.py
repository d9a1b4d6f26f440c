"""The scheduling core: events in, commands out; no clock, no I/O, no chance, no dependency."""
