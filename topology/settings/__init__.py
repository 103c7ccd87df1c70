"""What a process is set up with: settings, secrets, logs, extras, the clock and the memory allocator."""

__all__ = ["clock", "extras", "logs", "memory", "secrets", "settings"]
