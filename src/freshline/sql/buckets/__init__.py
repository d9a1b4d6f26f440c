"""Which output rows a change of the input can touch, as intervals of time or by keys."""
