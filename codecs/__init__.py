"""Bytes to records and back: no I/O, no clock, no state."""
