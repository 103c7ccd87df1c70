"""The calls of a conversation, kept for whatever is said later in it, within bounds."""

from __future__ import annotations

from collections import deque
from typing import Final

from .call_annotations import CallText
from .session import Session
from .workspaces import Workspace

MOST_CALLS: Final = 500
"""Calls of a conversation that are kept for its later turns; the oldest go first."""
MOST_KEPT: Final = 20_000_000
"""Characters of the results that a conversation keeps."""


class Calls(deque[CallText]):
    """The calls of a conversation, the newest within the bounds.

    Args:
        workspace: where its paths begin.
        session: what its commands and edits show.
    """

    def __init__(self, workspace: Workspace, session: Session) -> None:
        super().__init__()
        self.workspace, self.session = workspace, session
        self._size = 0

    def add(self, one: CallText) -> None:
        """Takes a call; lets the oldest go."""
        self.append(one)
        self._size += _size(one)
        while len(self) > MOST_CALLS or (self._size > MOST_KEPT and len(self) > 1):
            self._size -= _size(self.popleft())


def _size(one: CallText) -> int:
    return sum(len(line.text) for line in one.seen.lines) + len(one.seen.extra)
