"""Finding new files and new offsets."""
