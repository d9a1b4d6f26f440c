"""What the journal tells people. Reads only; no running process is needed."""
