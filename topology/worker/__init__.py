"""A worker: the lanes of one process, from their inputs over blocks to committed outputs."""

__all__ = ["app", "processes", "watermark", "web", "worker"]
