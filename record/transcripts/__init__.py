"""Readers of the transcripts that coding agents leave behind (docs/transcripts.md)."""

from .opening import (
    FORMATS,
    Format,
    TranscriptError,
    detect,
    follow,
    follow_transcript,
    newest_session,
    open_end,
    open_transcript,
    read,
)

__all__ = [
    "FORMATS",
    "Format",
    "TranscriptError",
    "detect",
    "follow",
    "follow_transcript",
    "newest_session",
    "open_end",
    "open_transcript",
    "read",
]
