"""What a process is set up with: settings, files, secrets, logs, extras, the clock and the memory allocator."""

__all__ = ["clock", "extras", "files", "late_logs", "logs", "memory", "secrets", "settings"]
