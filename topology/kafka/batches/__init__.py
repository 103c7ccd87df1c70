"""Whole batches of one partition: unpacked, packed, compressed."""

__all__ = ["unpacking"]
