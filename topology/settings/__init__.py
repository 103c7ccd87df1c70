"""What a process is set up with: settings, secrets, logs, the clock and the memory allocator."""

__all__ = ["clock", "logs", "memory", "secrets", "settings"]
