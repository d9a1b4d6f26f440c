"""Changes of state, posted as CloudEvents: what holds, what changed, what is delivered."""
