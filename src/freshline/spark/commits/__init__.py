"""How data files become one Delta commit."""
