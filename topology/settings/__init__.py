"""What a process is set up with: settings, files, secrets, logs, extras, the clock, memory, how its loop ends."""

__all__ = [
    "child_processes",
    "clock",
    "extras",
    "files",
    "late_logs",
    "logs",
    "loop_ending",
    "memory",
    "secrets",
    "settings",
]
