"""What `freshline doctor` checks: the machine, and what a project needs of it."""
