"""Emissions from what an agent did and said: tool calls become annotations, sentences become assertions.

`Recorder` is the door, sinks say where emissions go, `ToolMap` which tool looked where; docs/recording.md shows them.
"""

from .answer_statements import Statement, statements
from .call_annotations import annotations_of, proposals
from .events import Event, Message, Problem, Reading, ToolCall, TurnBegan, TurnEnded
from .recorder import Recorder, Turn
from .sinks import FileSink, HttpSink, KafkaSink, MemorySink, Recorded, Sink
from .tools import ToolMap

__all__ = [
    "Event",
    "FileSink",
    "HttpSink",
    "KafkaSink",
    "MemorySink",
    "Message",
    "Problem",
    "Reading",
    "Recorded",
    "Recorder",
    "Sink",
    "Statement",
    "ToolCall",
    "ToolMap",
    "Turn",
    "TurnBegan",
    "TurnEnded",
    "annotations_of",
    "proposals",
    "statements",
]
