"""Observation ids that can be known when a call is recorded, as the observers compute them (observing.md).

A declared id that differs from what an unchanged file holds is treated as fabricated. So the recorder declares an id
only where it follows from the call's result and from the file itself: the result has to be, line for line, what the
file holds now. In every other case the recorder declares no id, which does no harm.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import sha256
from typing import Final

from .looks import GREP, LOG, MTIME, READ, LookResult

ReadData = Callable[[str], bytes | None]
_MODIFIED: Final = re.compile(r"^\s*Modify: (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)\.(\d{9}) ([+-])0000$", re.MULTILINE)
_NAMED: Final = re.compile(r"(?<![0-9a-zA-Z])[0-9a-f]{7,40}(?![0-9a-zA-Z])")


def observation_id(seen: LookResult, read_data: ReadData | None, text: str = "") -> str | None:
    """The id of what a call saw; None where nobody can know it beforehand.

    Args:
        seen: the call.
        read_data: gives the bytes of files below the root.
        text: the sentence, which may name one commit of several.
    """
    look = seen.look
    if look.substrate_class == LOG:
        return _commit(seen, text) if look.reachable else None
    if look.substrate_class == MTIME:
        found = _MODIFIED.findall(seen.extra) if look.alone else []
        return _time(found[0]) if len(found) == 1 else None
    if read_data is None or look.path is None or not {"ref", "commit", "repo"}.isdisjoint(look.locator):
        return None
    data = read_data(look.path)
    if data is None or b"\r" in data:
        return None
    if look.substrate_class == READ:
        return _region(seen, data)
    return _matching(seen, data) if look.substrate_class == GREP else None


def _commit(seen: LookResult, text: str) -> str | None:
    words = _NAMED.findall(text)
    named = next((one.name for one in seen.commits if any(one.name.startswith(word) for word in words)), None)
    return named or (seen.commits[0].name if seen.commits else None)


def _time(match: tuple[str, str, str, str]) -> str:
    day, time, fraction, _ = match
    fraction = fraction.rstrip("0")
    return f"mtime:{day}T{time}{'.' if fraction else ''}{fraction}Z"


def _region(seen: LookResult, data: bytes) -> str | None:
    """`sha256:` of the lines that the locator names, where they are those that came back."""
    rows = data.split(b"\n")
    first, last = seen.look.locator.get("lines") or (1, None)
    if last is None:
        return None
    wanted = rows[first - 1 : last]
    text = b"\n".join(wanted)
    # No row holds a line feed, so as many lines with the same text are the same lines.
    if len(wanted) != len(seen.lines) or text != _joined(seen).encode("utf-8", "surrogatepass"):
        return None
    ended = text + (b"\n" if last < len(rows) else b"")
    return f"sha256:{sha256(ended).hexdigest()}"


def _joined(seen: LookResult) -> str:
    return "\n".join([line.text for line in seen.lines])


def _matching(seen: LookResult, data: bytes) -> str | None:
    """`sha256:` of the matching lines of one file, where they are those that came back."""
    pattern, locator = seen.look.locator.get("pattern"), seen.look.locator
    if not isinstance(pattern, str) or locator.get("regex") or "lines" in locator:
        return None
    try:
        rows = [row for row in data.decode().split("\n") if pattern in row]
    except UnicodeDecodeError:
        return None
    if not rows or rows != [line.text for line in seen.lines if line.path == seen.look.path]:
        return None
    return "sha256:" + sha256("".join(f"{row}\n" for row in rows).encode()).hexdigest()
