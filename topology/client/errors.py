"""What the client library says where something cannot be done: one sentence each, with the parts that callers need."""

from __future__ import annotations

import re

from ...codecs.errors import DoesNotHoldError, Fault, UnreachableError, UsageError

_PATH = re.compile(r"(\$[^\s:]*): (.*)", re.DOTALL)


class InvalidRecordError(DoesNotHoldError):
    """A record is refused before it is sent: the lanes would only make a dead letter of it.

    Attributes:
        topic: the logical name of the topic that it was for.
        reason: as a dead letter would have it (`schema`, `span-out-of-range`, `oversize`, …).
        detail: the whole sentence, which names the path.
        path: JSONPath of what is wrong, such as `$.assertions[0].span`; empty where the whole record is.
    """

    def __init__(self, topic: str, fault: Fault) -> None:
        matched = _PATH.fullmatch(fault.detail)
        path, what = (matched[1], matched[2]) if matched else ("", fault.detail)
        self.topic, self.reason, self.detail = topic, fault.reason, fault.detail
        super().__init__(f"{what} ({fault.reason}, {topic})", path=path)


class BufferFullError(UnreachableError):
    """The buffer stayed full for as long as the caller was willing to wait: the record was not taken."""


class ClosedError(UsageError):
    """It was closed, or has not been opened yet: emitters, readers and auditors are context managers."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the {what} is not open", hint="use it inside of its `with` block")


class RefusedError(UnreachableError):
    """The broker answered, and refuses this record: its rights, its size, or there is no such topic. Others may go."""
