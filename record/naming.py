"""Names and times as records take them: identifiers made of whatever a framework calls things, Unix milliseconds."""

from __future__ import annotations

import re
from collections import OrderedDict
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final

from ..codecs.errors import UsageError

LONGEST_ID: Final = 200
_PLAIN: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~:/+=@-")
_PARTS: Final = ("conversation", "turn")
"""What stands beside another part, with a colon between them."""
_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


def counted(kept: OrderedDict[str, int], name: str, most: int) -> int:
    """How often a name was there before."""
    count = kept.pop(name, -1) + 1
    kept[name] = count
    while len(kept) > most:
        kept.popitem(last=False)
    return count


def trace_headers(traceparent: str | None) -> tuple[tuple[str, bytes], ...]:
    """The headers of a record that belongs to a trace of W3C Trace Context.

    Raises:
        UsageError: the traceparent is none.
    """
    if traceparent is not None and not _TRACEPARENT.fullmatch(traceparent):
        raise UsageError("the traceparent is none of W3C Trace Context", expected="00-<32 hex>-<16 hex>-<2 hex>")
    return () if traceparent is None else (("traceparent", traceparent.encode()),)


def name_of(text: str, what: str) -> str:
    """A name as a part of an identifier: printable ASCII that needs it percent-encoded, anything else an underscore.

    A name with an underscore in place of something, and a long one, ends with its hash, so that different names stay
    different. White space, controls, what is beyond ASCII and what is encoded already is never encoded: no identifier
    may hide it (codecs/identifiers.py). The colon of a part becomes an underscore: a colon ends the part.

    Raises:
        UsageError: it is empty.
    """
    if not text:
        raise UsageError(f"the {what} has no name")
    ends = ":" if what in _PARTS else ""
    written = "".join("_" if one == ends else one if one in _PLAIN else _encoded(one) for one in text[: 2 * LONGEST_ID])
    most = LONGEST_ID if what == "conversation" else 40 if what == "turn" else 256
    fits = len(written) <= most and len(text) <= 2 * LONGEST_ID
    if fits and _ENCODABLE.fullmatch(text) and not (ends and ends in text):
        return written
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return written[: most - 25].rsplit("%", 1)[0][: most - 25] + "~" + digest


_ENCODABLE: Final = re.compile(r"[!-$&-~]*")


def _encoded(one: str) -> str:
    return f"%{ord(one):02X}" if _ENCODABLE.fullmatch(one) else "_"


def milliseconds(at: datetime | int | str) -> int:
    """A time in Unix milliseconds: from an RFC 3339 text, or a `datetime`, in UTC where it has no zone.

    Raises:
        UsageError: it is no time.
    """
    if isinstance(at, int) and not isinstance(at, bool):
        return max(0, at)
    if not isinstance(at, datetime):
        at = _read_time(at)
    aware = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return max(0, round(aware.timestamp() * 1000))


def _read_time(at: object) -> datetime:
    try:
        return datetime.fromisoformat(at if isinstance(at, str) else "")
    except ValueError:
        wanted = "RFC 3339, a datetime, or Unix milliseconds"
        raise UsageError("the time of a call is none", expected=wanted, got=repr(at)[:100]) from None
