"""The newest session of a coding agent for a directory."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Final

from .codex import of_a_subagent, session_of
from .foreign_json import Unreadable, decode, members, text
from .transcript_lines import lines_of

_MAX_NAME: Final = 200  # characters of a directory's name; Claude Code cuts longer ones and adds a hash
_LINES: Final = 200
_MAX_LOOKED_AT: Final = 2_000


def newest_session(cwd: Path | str, *, environ: Mapping[str, str] | None = None) -> Path | None:
    """The transcript of Claude Code or Codex for this directory that was written to last, or None.

    Sessions of Claude Code lie in `$CLAUDE_CONFIG_DIR/projects` (else `~/.claude/projects`), those of Codex in
    `$CODEX_HOME/sessions` (else `~/.codex/sessions`). Sessions of subagents are passed over, and so are sessions that
    say that they began in another directory whose name looks the same.

    Args:
        cwd: the directory; symbolic links are followed as well as taken as they are.
        environ: the environment; that of this process where it is not given.
    """
    env = os.environ if environ is None else environ
    home = Path(env.get("HOME") or Path.home())
    directory = os.path.abspath(cwd)
    directories = {directory, os.path.realpath(directory)}
    claude = _claude_code(Path(env.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects", directories)
    codex = _codex(Path(env.get("CODEX_HOME") or home / ".codex") / "sessions", directories, claude)
    return codex or claude


def escaped(directory: str) -> str:
    """The name that Claude Code gives a directory's sessions: all but ASCII letters and digits become hyphens."""
    return re.sub(r"[^A-Za-z0-9]", "-", directory)


def _modified(path: Path) -> float:
    """When a file was written to last; below 0 where it is none, as a pipe, which would wait for a writer."""
    try:
        status = path.stat()
    except OSError:
        return -1.0
    return status.st_mtime if stat.S_ISREG(status.st_mode) else -1.0


def _newest_first(paths: list[Path]) -> list[Path]:
    dated = sorted(((_modified(path), path) for path in paths), reverse=True)
    return [path for modified, path in dated[:_MAX_LOOKED_AT] if modified >= 0]


def _claude_code(projects: Path, directories: set[str]) -> Path | None:
    found: list[Path] = []
    try:
        for directory in directories:
            name = escaped(directory)
            folders = [projects / name] if len(name) <= _MAX_NAME else list(projects.glob(name[:_MAX_NAME] + "*"))
            for folder in folders:
                found += folder.glob("*.jsonl")
    except OSError:
        return None
    return next((path for path in _newest_first(found) if _began_in(path, directories)), None)


def _began_in(path: Path, directories: set[str]) -> bool:
    """Whether this is a session that began in one of these; one that names no directory, but has messages, is."""
    messages = False
    try:
        with path.open("rb") as file:
            for line in islice(lines_of(file), _LINES):
                try:
                    record = members(decode(line))
                except Unreadable:
                    continue
                if record.get("isSidechain") is True:
                    continue
                messages = messages or record.get("type") in ("user", "assistant")
                if (named := text(record.get("cwd"))) is not None:
                    return named in directories or os.path.realpath(named) in directories
    except OSError:
        return False
    return messages


def _codex(sessions: Path, directories: set[str], other: Path | None) -> Path | None:
    """The newest rollout of these directories that is newer than the other transcript."""
    rollouts = [
        Path(folder) / name
        for folder, _, names in os.walk(sessions)
        for name in names
        if name.startswith("rollout-") and name.endswith(".jsonl")
    ]
    bound = _modified(other) if other is not None else -1.0
    for path in _newest_first(rollouts):
        if _modified(path) <= bound:
            return None
        try:
            with path.open("rb") as file:
                session = session_of(lines_of(file))
        except OSError:
            continue
        named = text(session.get("cwd"))
        if named is None or of_a_subagent(session):
            continue
        if named in directories or os.path.realpath(named) in directories:
            return path
    return None
