"""Makes `oracles` importable for the tests beside it."""
