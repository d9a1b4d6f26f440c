"""What the policy lookahead expects and searches."""
