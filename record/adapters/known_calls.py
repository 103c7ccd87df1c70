"""Which calls of a conversation are recorded already: every later request repeats them."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from ..events import ToolCall

MOST_CONVERSATIONS: Final = 100
MOST_CALLS: Final = 10_000
"""Calls of a conversation that are remembered; beyond, all are forgotten and recorded once more."""


class KnownCalls:
    """The calls of the newest conversations. One thread uses it at a time."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, set[str]] = OrderedDict()

    def new(self, conversation: str, calls: Iterable[ToolCall]) -> list[ToolCall]:
        """Those of the calls that are not known yet, which now are."""
        known = self._known.pop(conversation, set[str]())
        if len(known) > MOST_CALLS:
            known.clear()
        self._known[conversation] = known
        while len(self._known) > MOST_CONVERSATIONS:
            self._known.popitem(last=False)
        found: list[ToolCall] = []
        for call in calls:
            key = _fingerprint(call)
            if key not in known:
                known.add(key)
                found.append(call)
        return found


def _fingerprint(call: ToolCall) -> str:
    """What tells a call from the others: some models give the same id twice."""
    written = json.dumps([call.call_id, call.name, call.arguments, call.ok], sort_keys=True, default=str)
    return sha256(f"{written}\0{call.result}".encode("utf-8", "replace")).hexdigest()
