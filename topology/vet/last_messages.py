"""What Cursor's agent said last, kept between two of its hooks: one tells the text, the other asks whether to stop.

A file for each conversation in the user's cache folder, readable by nobody else; it is deleted when it is taken, and
what nobody took within a day when the next one is kept.
"""

from __future__ import annotations

import os
import tempfile
import time
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec

MAX_KEPT: Final = 16_000_000
"""Bytes of a file."""
KEPT_SECONDS: Final = 86_400
WAITED_SECONDS: Final = 2.0
"""How long the second hook waits for the first one: Cursor starts both, and does not say that one ends before."""
_PAUSE: Final = 0.05
"""Seconds between two looks."""


def folder() -> Path:
    """Where messages are kept: `sluice/hooks` in the user's cache folder."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(cache) if os.path.isabs(cache) else Path.home() / ".cache") / "sluice" / "hooks"


def _path(conversation: str) -> Path:
    return folder() / f"{sha256(conversation.encode('utf-8', 'replace')).hexdigest()[:32]}.json"


def keep(conversation: str, generation: str, message: str) -> str | None:
    """Keeps a message in the place of the one before.

    Args:
        conversation: names it.
        generation: names the turn.
        message: the text.

    Returns:
        One sentence where it cannot be kept.
    """
    path = _path(conversation)
    data = msgspec.json.encode({"generation": generation, "message": message.encode("utf-8", "replace").decode()})
    if len(data) > MAX_KEPT:
        return f"the message has more than {MAX_KEPT} bytes; it is not vetted"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _forget(path.parent)
        number, name = tempfile.mkstemp(dir=path.parent, prefix=".kept-")  # with the mode 0600
        try:
            with os.fdopen(number, "wb") as file:
                file.write(data)
            os.replace(name, path)
        except OSError:
            os.unlink(name)
            raise
    except (OSError, RuntimeError) as error:
        return f"the message cannot be kept in {path.parent}: {getattr(error, 'strerror', None) or error}"
    return None


def taken(conversation: str, generation: str, *, wait: bool = True) -> str | None:
    """The message that was kept last, if it is of this turn; it is kept no longer.

    Args:
        conversation: names it.
        generation: names the turn; empty takes the message of any.
        wait: for a message that is not there yet, at most `WAITED_SECONDS`.
    """
    end = time.monotonic() + (WAITED_SECONDS if wait else 0)
    while (found := _read(_path(conversation))) is None or (generation and found[0] not in ("", generation)):
        if time.monotonic() >= end:
            return None
        time.sleep(_PAUSE)
    _path(conversation).unlink(missing_ok=True)
    return found[1]


def _read(path: Path) -> tuple[str, str] | None:
    try:
        if not path.is_file() or path.stat().st_size > MAX_KEPT:
            return None
        value: Any = msgspec.json.decode(path.read_bytes())
        return str(value["generation"]), str(value["message"])
    except (OSError, RuntimeError, msgspec.DecodeError, UnicodeError, KeyError, TypeError):
        return None


def _forget(folder: Path) -> None:
    """Deletes what nobody took."""
    for one in folder.iterdir():
        try:
            if one.name.endswith(".json") and time.time() - one.stat().st_mtime > KEPT_SECONDS:
                one.unlink()
        except OSError:  # another hook was first
            continue
