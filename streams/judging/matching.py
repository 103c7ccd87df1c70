"""What a sighting's content says of an assertion that cites it: its checks on text and JSON, without an observer.

The result depends only on the assertion's checks and the sighting: the observer knew of no emission, and the emitter is
not asked again. So the same two records always give the same result, whichever came first. A text may be a part of what
the observer saw, so a check on a text holds or stays undecided, and is never false. The content of `substrate.fs.mtime`
is a time, of `substrate.do.sse-count` a number, of `substrate.mcp.brief` a result: these are always whole.
"""

from __future__ import annotations

import re
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
    helds: list[Held] = []
    for check in asked.checks:
        if isinstance(check, Unknown):
            helds.append(Held(None, "unknown-check"))
        else:
            held = _held(check, substrate_class, content, path, cited_path)
            helds.append(opposite(held) if check.negated else held)
    return judged(asked, helds, coverage, words_present=False)


def _held(check: Check, substrate_class: str, content: str | float, path: str, cited_path: str | None) -> Held:
    """What a check comes to, its `not` left aside."""
    if substrate_class == FS_MTIME:
        time = time_of(content) if check.name == "modified" and check.path == path else None
        return _OTHER if time is None else verify_modified(check, time)
    if substrate_class == SSE_COUNT:
        number = _number_of(content)
        return _OTHER if number is None else verify_subscribers(check, number)
    if not isinstance(content, str) or not TABLE[check.name].content or check.value("in") is not None:
        return _OTHER
    if substrate_class == MCP_BRIEF and check.name in _ON_JSON:
        try:
            value: Any = decode_any(content.encode())
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return Held(None, "not-found")
        return verify_json_value(check, value)
    # A sighting may be of another file than the one that the check speaks of.
    is_other = (check.path or cited_path or path) != path
    if check.name != "contains" or substrate_class not in _ON_TEXT or check.lines is not None or is_other:
        return _OTHER
    return verify_content(check, Source(path, content, whole=len(content.encode()) <= MOST_UNCUT), BARE)


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
