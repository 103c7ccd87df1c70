"""Readers of the transcripts that coding agents leave behind (docs/transcripts.md)."""

from .finding import newest_session
from .following import follow, follow_transcript
from .opening import FORMATS, Format, TranscriptError, detect, open_end, open_transcript, read

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
