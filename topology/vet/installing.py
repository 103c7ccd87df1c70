"""The entries of a stop hook in the settings that a project has for a coding agent: added once, all else as it is."""

from __future__ import annotations

import difflib
import json
import math
import os
import re
import tempfile
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from ...codecs.errors import UsageError
from .agents import AGENTS, Agent

_NOTHING: Final = "nothing was written"
_HALVES: Final = re.compile("[\ud800-\udfff]")


class Change(NamedTuple):
    """What is to be written.

    Attributes:
        path: of the settings.
        text: the new text; None where the hook is there already.
        difference: from what is there, as a unified difference.
        before: what is there; empty where nothing is.
    """

    path: Path
    text: str | None
    difference: str = ""
    before: str = ""


def change_of(folder: Path, command: str, seconds: int, agent: Agent = AGENTS["claude-code"]) -> Change:
    """How the settings of a project change.

    Args:
        folder: the project's.
        command: what the hook runs; begins with `sluice hook` and the agent's name.
        seconds: after which the agent ends it.
        agent: whose settings they are.

    Raises:
        UsageError: the settings cannot be read, or are not what the agent's look like.
    """
    path = folder / agent.settings
    target = Path(os.path.realpath(path))
    if not target.is_relative_to(os.path.realpath(folder)):
        raise UsageError(
            "the settings are a link that leads out of the project", path=str(path), got=str(target), hint=_NOTHING
        )
    before = _read(path)
    try:
        settings: Any = json.loads(
            before.strip() or "{}", object_pairs_hook=_members, parse_float=_number, parse_constant=_number
        )
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the settings are no JSON: {error}", path=str(path), hint=_NOTHING) from None
    missing = 0
    for event, entry in agent.entries(command, seconds).items():
        entries = _entries(settings, event, agent, path)
        if not any(f"sluice hook {agent.name}" in one for one in _commands(entries)):
            entries.append(entry)
            missing += 1
    if not missing:
        return Change(path, None)
    text = json.dumps(settings, indent=2, ensure_ascii=False) + "\n"
    name = agent.settings.as_posix()
    lines = difflib.unified_diff(before.splitlines(True), text.splitlines(True), f"a/{name}", f"b/{name}")
    return Change(path, text, "".join(line if line.endswith("\n") else line + "\n" for line in lines), before)


def _read(path: Path) -> str:
    """The settings' text; empty where there are none.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        if path.exists() and not path.is_file():  # a pipe would wait for a writer
            raise UsageError("the settings are no file", path=str(path), hint=_NOTHING)
        return path.read_bytes().decode()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise UsageError(f"the settings cannot be read: {why}", path=str(path)) from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object. Of a name that stands there twice one value would be lost, and half a character cannot be written."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in one object")
    for name, value in pairs:
        if _HALVES.search(name) or (isinstance(value, str) and _HALVES.search(value)):
            raise ValueError("half a character")
    return found


def _number(written: str) -> float:
    if not math.isfinite(float(written)):
        raise ValueError(f"the number {written[:20]}")
    return float(written)


def _entries(settings: Any, event: str, agent: Agent, path: Path) -> list[Any]:
    """The list of an event's hooks, put there where it is missing."""
    fits = isinstance(settings, dict)
    if fits and agent.versioned:
        fits = cast("dict[str, Any]", settings).setdefault("version", 1) == 1
    hooks: Any = cast("dict[str, Any]", settings).setdefault("hooks", {}) if fits else None
    entries: Any = cast("dict[str, Any]", hooks).setdefault(event, []) if isinstance(hooks, dict) else None
    if not isinstance(entries, list):
        version = '"version": 1, ' if agent.versioned else ""
        raise UsageError(
            "the settings have another form",
            path=str(path),
            expected=f'{{{version}"hooks": {{"{event}": […]}}}}',
            hint=_NOTHING,
        )
    return cast("list[Any]", entries)


def _commands(entries: list[Any]) -> list[str]:
    """The commands of an event: in groups, or one by one as Cursor has them."""
    objects = [cast("dict[str, Any]", one) for one in entries if isinstance(one, dict)]
    inner = [cast("list[Any]", hooks) for one in objects if isinstance(hooks := one.get("hooks"), list)]
    objects += [cast("dict[str, Any]", hook) for several in inner for hook in several if isinstance(hook, dict)]
    return [command for one in objects if isinstance(command := one.get("command"), str)]


def write(change: Change) -> None:
    """Puts the new text in the place of the old one at once; a link stays a link, and the mode what it was.

    Raises:
        UsageError: it cannot be written, or somebody else has written since; what was there is as it was.
    """
    assert change.text is not None, "there is something to write"
    target = Path(os.path.realpath(change.path))
    if _read(change.path) != change.before:
        raise UsageError("the settings have changed meanwhile", path=str(change.path), hint=_NOTHING)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
        number, name = tempfile.mkstemp(dir=target.parent, prefix=".settings-")
        try:
            with os.fdopen(number, "w", encoding="utf-8") as file:
                file.write(change.text)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, mode)
            os.replace(name, target)
        except (OSError, UnicodeError):
            os.unlink(name)
            raise
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "half a character is in them"
        raise UsageError(f"the settings cannot be written: {why}", path=str(change.path)) from None
