"""What a sighting's content says of an assertion that cites it: its checks on text and JSON, without an observer.

The result depends only on the assertion's checks and the sighting: the observer knew of no emission, and the emitter is
not asked again. So the same two records always give the same result, whichever came first. A text may be a part of what
the observer saw, so a check on a text holds or stays undecided, and is never false. The content of `substrate.fs.mtime`
is a time, of `substrate.do.sse-count` a number, of `substrate.mcp.brief` a result: these are always whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from ...codecs.json_decoding import decode_any
from ...codecs.sightings import MAX_CONTENT_BYTES
from ...codecs.times import parse_time
from .checks import TABLE, Check, Unknown
from .coverage import Coverage
from .documents import verify_json_value
from .facts import verify_modified, verify_subscribers
from .outcomes import AssertionChecks, Judged, judged
from .results import Held, Source, opposite
from .verify import BARE, verify_content

FS_MTIME: Final = "substrate.fs.mtime"
SSE_COUNT: Final = "substrate.do.sse-count"
MCP_BRIEF: Final = "substrate.mcp.brief"
_ON_TEXT: Final = frozenset(("substrate.git.log", "substrate.grep", "substrate.code.read", MCP_BRIEF))
"""The classes whose content is text; of the checks on it a piece of text can only show that `contains` holds."""
_ON_JSON: Final = frozenset(("equals", "compare", "defines"))

MOST_UNCUT: Final = MAX_CONTENT_BYTES - 4
"""A content that is longer may have been cut to fit a sighting, within a character: a number at its end may go on."""
_NUMBER: Final = re.compile(r"\d{1,15}")
_NS: Final = re.compile(r"(?P<second>.{19})(?:\.(?P<fraction>\d{1,9}))?Z", re.ASCII)
_MILLISECOND: Final = 1_000_000
_OTHER: Final = Held(None, "other-substrate")


def match(
    substrate_class: str,
    asked: AssertionChecks,
    coverage: Coverage,
    content: str | float,
    path: str = "",
    cited_path: str | None = None,
) -> Judged:
    """Holds an assertion's checks against what was seen; without a check nothing is decided.

    Args:
        substrate_class: the bare class of both.
        asked: the assertion's checks.
        coverage: how much of the sentence they speak of.
        content: the text, number or time that was seen.
        path: the file that the sighting's locator names; empty for none.
        cited_path: the file that the annotation names; None where it names none.
    """
    if not asked.checks:
        return Judged("absent", "check-undecided", (), (), coverage, ())
    seen = _Seen(substrate_class, content, path, cited_path)
    helds = [Held(None, "unknown-check") if isinstance(one, Unknown) else seen.held(one) for one in asked.checks]
    return judged(asked, helds, coverage, words_present=False)


class _Seen:
    """A sighting's content, as the checks of its class take it."""

    def __init__(self, substrate_class: str, content: str | float, path: str, cited_path: str | None) -> None:
        self._class, self._content = substrate_class, content
        self._path, self._cited_path = path, cited_path

    def held(self, check: Check) -> Held:
        """What one check comes to, `not` included."""
        if self._class == FS_MTIME:
            return self._by(check, self._modified)
        if self._class == SSE_COUNT:
            return self._by(check, self._subscribers)
        if not isinstance(self._content, str) or not TABLE[check.name].content or check.value("in") is not None:
            return _OTHER
        if self._class == MCP_BRIEF and check.name in _ON_JSON:
            return self._by(check, self._in_json)
        return self._in_text(check)

    def _by(self, check: Check, verify: Callable[[Check], Held]) -> Held:
        found = verify(check)
        return opposite(found) if check.negated else found

    def _in_text(self, check: Check) -> Held:
        named = check.path or self._cited_path
        if check.name != "contains" or self._class not in _ON_TEXT or check.lines is not None:
            return _OTHER
        if named is not None and named != self._path:
            return _OTHER  # the sighting is of another file than the one that the check speaks of
        text = str(self._content)
        return verify_content(check, Source(self._path, text, whole=len(text.encode()) <= MOST_UNCUT), BARE)

    def _in_json(self, check: Check) -> Held:
        try:
            value: Any = decode_any(str(self._content).encode())
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return Held(None, "not-found")
        return verify_json_value(check, value)

    def _modified(self, check: Check) -> Held:
        time = time_of(self._content)
        if check.name != "modified" or time is None:
            return _OTHER
        return verify_modified(check, time) if check.path == self._path else _OTHER

    def _subscribers(self, check: Check) -> Held:
        number = _number_of(self._content)
        if check.name != "count" or check.text("pattern") != "subscribers" or number is None:
            return _OTHER
        return verify_subscribers(check, number)


def time_of(content: str | float) -> int | None:
    """The time that a content is, in Unix nanoseconds: RFC 3339 in UTC with a `Z`, or whole Unix milliseconds."""
    if isinstance(content, float):
        return None
    milliseconds = parse_time(content)
    if milliseconds is None or isinstance(content, int):
        return None if milliseconds is None else milliseconds * _MILLISECOND
    match = _NS.fullmatch(content)
    second = parse_time(f"{match['second']}Z") if match else None
    if match is None or second is None:
        return None
    return second * _MILLISECOND + int((match["fraction"] or "").ljust(9, "0"))


def _number_of(content: str | float) -> int | None:
    """The count that a content is: a whole number."""
    if isinstance(content, str):
        return int(content.strip()) if _NUMBER.fullmatch(content.strip()) else None
    return int(content) if content == int(content) and abs(content) <= 2**53 else None
