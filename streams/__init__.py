"""The pure core: state and records in, state and outputs out. No clock, no randomness, no I/O."""
