"""The commands: one file each; they render records and compute nothing."""
