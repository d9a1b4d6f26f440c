"""What is expected of the near future, and what the policies that look ahead make of it."""
