"""What a process is set up with: settings, files, secrets, logs, extras, the clock, memory, how its loop ends."""

__all__ = [
    "files",
    "late_logs",
    "logs",
    "process",
    "settings",
    "showing",
]
