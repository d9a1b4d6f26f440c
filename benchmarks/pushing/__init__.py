"""What gateway.py pushes, and the stores that it compares the gateway with."""
