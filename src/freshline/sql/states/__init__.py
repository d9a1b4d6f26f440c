"""Which queries decompose into mergeable partial states, and how states are merged."""
