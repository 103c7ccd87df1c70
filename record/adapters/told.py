"""Which calls of a conversation were told already: every later request repeats them."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from ..events import ToolCall

MOST_CONVERSATIONS: Final = 100
MOST_CALLS: Final = 10_000
"""Calls of a conversation that are remembered; beyond, all are forgotten and told once more."""


class Told:
    """The calls of the newest conversations. One thread uses it at a time."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, set[str]] = OrderedDict()

    def new(self, conversation: str, calls: Iterable[ToolCall]) -> list[ToolCall]:
        """Those of the calls that were not told yet, which now are."""
        told = self._known.pop(conversation, set[str]())
        if len(told) > MOST_CALLS:
            told.clear()
        self._known[conversation] = told
        while len(self._known) > MOST_CONVERSATIONS:
            self._known.popitem(last=False)
        found: list[ToolCall] = []
        for call in calls:
            key = _fingerprint(call)
            if key not in told:
                told.add(key)
                found.append(call)
        return found


def _fingerprint(call: ToolCall) -> str:
    """What tells a call from the others: some models give the same id twice."""
    told = json.dumps([call.call_id, call.name, call.arguments, call.ok], sort_keys=True, default=str)
    return sha256(f"{told}\0{call.result}".encode("utf-8", "replace")).hexdigest()
