"""Kafka topics as feeds: which offsets there are, and reading exactly those that were chosen."""
