"""A recorded run under other policies, tracks and targets."""
