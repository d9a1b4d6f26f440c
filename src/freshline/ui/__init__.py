"""What a warehouse shows: one server with the web page, the HTTP API and the push gateway.

Everything shown is read from the journal, read-only and in threads of its own; the scheduler
never waits for a reader.
"""
