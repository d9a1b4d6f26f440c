"""Base tables: reading files and topics, and the rows that do not fit."""
