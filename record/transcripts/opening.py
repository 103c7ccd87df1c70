"""Finds a transcript, recognises its format, reads it, and follows it while its agent still writes."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from threading import Event as Flag
from typing import Any, BinaryIO, Final, Literal, get_args

from ...codecs.errors import UsageError
from ..events import Event
from . import claude_code, codex, openhands, swe_agent
from .codex import of_a_subagent, session_of
from .foreign_json import MAX_LINE, Unreadable, decode, members, text
from .transcript_lines import lines_of, pieces_of

Format = Literal["claude-code", "codex", "openhands", "swe-agent"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
_OF_LINES: Final = ("claude-code", "codex")

_HEAD: Final = 256 * 1024
_MAX_FIRST_LINE: Final = 8 * 1024 * 1024  # of a stream; the first line of a rollout has the instructions
_CLAUDE: Final = frozenset({
    "assistant", "attachment", "file-history-snapshot", "last-prompt", "mode", "permission-mode", "progress",
    "queue-operation", "summary", "system", "user",
})  # fmt: skip
_CLAUDE_TYPE: Final = re.compile(rb'"type"\s*:\s*"(?:assistant|system|user)"')
_CODEX: Final = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
_STEP: Final = re.compile(rb'"(?:trajectory|attempts)"\s*:\s*\[\s*(?:\{\s*)?')
_STEP_MEMBER: Final = re.compile(rb'"(?:response|thought|query|execution_time)"\s*:')
_SOURCE: Final = re.compile(rb'"source"\s*:\s*"(?:agent|user|environment)"')
_ATIF: Final = re.compile(rb'"schema_version"\s*:\s*"ATIF')
_STREAM: Final = re.compile(rb'"session_id"\s*:\s*"')
_NUMBERED: Final = re.compile(r"(?:event-)?(\d{1,12})(?:-[0-9a-fA-F-]{8,64})?\.json")


Tell = Callable[[int], None]
"""Told how many more bytes were read."""


class TranscriptError(UsageError):
    """A transcript that cannot be opened, or whose format is not known."""


def event_files(directory: Path) -> list[Path]:
    """The files of an OpenHands event log, in the order of the events; `directory` is that of the conversation, or
    the `events` in it."""
    inner = directory / "events"
    found = [(match, path) for path in (inner if inner.is_dir() else directory).iterdir()
             if (match := _NUMBERED.fullmatch(path.name)) is not None]  # fmt: skip
    return [path for _, path in sorted(found, key=lambda each: (int(each[0][1]), each[1].name))]


def detect(source: Path | str | bytes) -> Format:
    """The format of a transcript.

    Args:
        source: a file, a directory, or a transcript's first bytes (some lines; more never hurt).

    Raises:
        TranscriptError: it is none that sluice reads, or it cannot be opened.
    """
    if isinstance(source, bytes):
        return _detect(source, "the transcript")
    path = Path(source)
    try:
        if path.is_dir():
            if event_files(path):
                return "openhands"
            raise TranscriptError("there is no event log of OpenHands in this directory", path=str(path))
        if path.is_char_device() or path.is_block_device():
            raise TranscriptError("is a device, not a transcript", path=str(path))
        with path.open("rb") as file:
            head = file.read(_HEAD)
            if b"\n" not in head:  # a first line that is longer
                head += file.readline(MAX_LINE)
    except OSError as error:
        raise TranscriptError(f"cannot be read: {error.strerror}", path=str(path)) from error
    if path.suffix == ".traj":
        return "swe-agent"
    return _detect(head, str(path))


def _detect(head: bytes, name: str) -> Format:
    stripped = head.lstrip(b"\xef\xbb\xbf\0 \t\r\n")
    if stripped.startswith((b"\x28\xb5\x2f\xfd", b"\x1f\x8b")):
        raise TranscriptError("is compressed", path=name, hint="unpack it first, with zstd -d or gunzip")
    for line in stripped.split(b"\n")[:200]:
        try:
            record = members(decode(line))
        except Unreadable:
            continue
        if (found := _format_of(record)) is not None:
            return found
    if stripped.startswith((b"[", b"{")):
        found = _document(stripped)
        if found is not None:
            return found
    hint = "an empty file is none" if not stripped else "name the format with --format"
    raise TranscriptError("is no transcript of " + ", ".join(FORMATS), path=name, hint=hint)


def _format_of(record: dict[str, Any]) -> Format | None:
    kind = record.get("type")
    if isinstance(kind, str):
        if kind in _CODEX and "payload" in record:
            return "codex"
        if kind in _CLAUDE and not {"sessionId", "session_id", "uuid", "leafUuid"}.isdisjoint(record):
            return "claude-code"
        if "role" in record and kind == "message":
            return "codex"
    if record.get("record_type") == "state" or ("instructions" in record and "timestamp" in record):
        return "codex"
    if isinstance(record.get("sessionId"), str) and "type" in record:  # Gemini CLI's first line has no type
        return "claude-code"
    if "source" in record and any(isinstance(record.get(member), str) for member in ("kind", "action", "observation")):
        return "openhands"
    return None


def _document(head: bytes) -> Format | None:
    if head.startswith(b"{") and _STEP.search(head) is not None and _STEP_MEMBER.search(head) is not None:
        return "openhands" if _SOURCE.search(head) is not None else "swe-agent"  # both have thoughts
    if _ATIF.search(head) is not None:
        return None
    if head.startswith(b"[") and _STREAM.search(head) is not None and _CLAUDE_TYPE.search(head) is not None:
        return "claude-code"
    if _SOURCE.search(head) is not None and re.search(rb'"(?:action|observation|kind)"\s*:', head):
        return "openhands"
    return None


def _documents(paths: Iterable[Path]) -> Iterator[bytes]:
    for path in paths:
        try:
            with path.open("rb") as file:
                yield file.read(MAX_LINE + 1)
        except OSError:
            yield b""  # a problem of this file, not of the others


_LINE_READERS: Final[dict[Format, Callable[[Iterable[bytes]], Iterator[Event]]]] = {
    "claude-code": claude_code.read,
    "codex": codex.read,
    "openhands": openhands.read,
    "swe-agent": swe_agent.read,
}


def read(format: Format, lines: Iterable[bytes]) -> Iterator[Event]:
    """The events of lines of this format; the two formats that are one JSON document may be cut anywhere."""
    return _LINE_READERS[format](lines)


def open_transcript(path: Path | str, format: Format | None = None, tell: Tell | None = None) -> Iterator[Event]:
    """The events of a transcript, read as they are taken.

    Args:
        path: a file or a pipe, the directory of an OpenHands conversation, or `-` for standard input.
        format: what it is; found by `detect` where it is not given.
        tell: told how many more bytes were read, each time; not of a pipe.

    Raises:
        TranscriptError: at once, where it cannot be opened or is of no known format.
    """
    if format is not None and format not in FORMATS:
        raise TranscriptError("no such format", expected=", ".join(FORMATS), got=str(format))
    if str(path) == "-":
        return _stream(sys.stdin.buffer, format, "standard input")
    path = Path(path)
    try:
        if path.is_char_device() or path.is_block_device():  # such as /dev/zero, which never ends
            raise TranscriptError("is a device, not a transcript", path=str(path))
        if path.exists() and not path.is_file() and not path.is_dir():  # a pipe: its beginning can be read only once
            return _stream(path.open("rb"), format, str(path))
        found = format or detect(path)
        if path.is_dir():
            if found != "openhands":
                raise TranscriptError("is a directory; only openhands has such", path=str(path))
            return openhands.read_documents(_telling(_documents(event_files(path)), tell))
        file = path.open("rb")
    except OSError as error:
        raise TranscriptError(f"cannot be read: {error.strerror}", path=str(path)) from error
    return _read_and_close(file, found, tell)


def open_end(path: Path | str, format: Format, size: int) -> Iterator[Event]:
    """The events at the end of the transcript at `path`, of this format: of lines the last `size` bytes alone.

    It then begins in the middle of a turn, and results whose calls lie before are problems.

    Raises:
        TranscriptError: at once, where it cannot be opened.
    """
    if format not in _OF_LINES:
        return open_transcript(path, format)
    try:
        file = Path(path).open("rb")  # noqa: SIM115 - closed at the end of the events
        length = file.seek(0, os.SEEK_END)
        file.seek(max(length - size, 0))
        if length > size:
            file.readline()  # the rest of a line that begins before
    except OSError as error:
        raise TranscriptError(f"cannot be read: {error.strerror}", path=str(path)) from error
    return _read_and_close(file, format)


def _read_and_close(file: BinaryIO, format: Format, tell: Tell | None = None) -> Iterator[Event]:
    with file:
        yield from read(format, _telling(_cut(file, format), tell))


def _telling(pieces: Iterator[bytes], tell: Tell | None) -> Iterator[bytes]:
    for piece in pieces:
        if tell is not None:
            tell(len(piece))
        yield piece


def _cut(file: BinaryIO, format: Format) -> Iterator[bytes]:
    return lines_of(file) if format in _OF_LINES else pieces_of(file)


def _stream(file: BinaryIO, format: Format | None, name: str) -> Iterator[Event]:
    if format is not None:
        return read(format, _cut(file, format))
    head = b""
    while piece := file.readline(_HEAD):
        head += piece
        try:
            return _begun(head, file, _detect(head, name))
        except TranscriptError:
            if len(head) > (_HEAD if piece.endswith(b"\n") else _MAX_FIRST_LINE):
                raise
    return _begun(head, file, _detect(head, name))


def _begun(head: bytes, file: BinaryIO, format: Format) -> Iterator[Event]:
    """The events of a stream whose beginning was read already."""
    if format in ("openhands", "swe-agent"):
        return read(format, chain([head], pieces_of(file)))
    whole, end, begun = head.rpartition(b"\n")
    return read(format, chain(lines_of(BytesIO(whole + end)), lines_of(file, begun)))


_MAX_NAME: Final = 200  # characters of a directory's name; Claude Code cuts longer ones and adds a hash
_HEAD_LINES: Final = 200
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
            for line in islice(lines_of(file), _HEAD_LINES):
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


POLL: Final = 0.5
"""Seconds between two looks at a file."""
_PIECE: Final = 1024 * 1024


def follow(path: Path | str, *, stop: Flag | None = None, poll: float = POLL) -> Iterator[bytes]:
    """The lines of a file, those that are there and then those that are appended, each once it is whole.

    A file that is not there yet is waited for. One that was cut shorter or replaced is read again from its beginning.
    A line of more than `MAX_LINE` bytes is given as its first that many and one more.

    Args:
        path: the file.
        stop: ends it, soon after it is set; the last line is then given even if it is not whole.
        poll: seconds between two looks.
    """
    stop = stop or Flag()
    path = Path(path)
    file: BinaryIO | None = None
    held = bytearray()
    last_look = False
    try:
        while True:
            last_look = stop.is_set()
            if file is not None and _replaced(file, path):
                file.close()
                file = None
                held.clear()
            if file is None:
                try:
                    file = path.open("rb")
                except OSError:
                    file = None
            while file is not None and (piece := file.readline(_PIECE)):
                held += piece[: max(MAX_LINE + 2 - len(held), 0)]
                if piece.endswith(b"\n"):
                    yield bytes(held)
                    held.clear()
            if last_look:
                if held:
                    yield bytes(held)
                return
            stop.wait(poll)
    finally:
        if file is not None:
            file.close()


def _replaced(file: BinaryIO, path: Path) -> bool:
    here = os.fstat(file.fileno())
    try:
        there = path.stat()
    except OSError:
        return False  # gone: what was opened is read on, until another takes its place
    return (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino) or here.st_size < file.tell()


def follow_transcript(
    path: Path | str, format: Format | None = None, *, stop: Flag | None = None, poll: float = POLL
) -> Iterator[Event]:
    """The events of a transcript that is still being written, until `stop` is set.

    Args:
        path: a file of Claude Code or Codex, or the directory of an OpenHands conversation.
        format: what it is; found by `detect` where it is not given.
        stop: ends it; what is open then ends as at the end of a file.
        poll: seconds between two looks.

    Raises:
        TranscriptError: at once, where the format is not known, or is one that is written as one document.
    """
    found = format or detect(path)
    path = Path(path)
    if path.is_dir():
        return openhands.read_documents(_new_files(path, stop or Flag(), poll))
    if found not in ("claude-code", "codex"):
        raise TranscriptError(f"{found} writes a file at once; it cannot be followed", path=str(path))
    return read(found, follow(path, stop=stop, poll=poll))


def _new_files(directory: Path, stop: Flag, poll: float) -> Iterator[bytes]:
    """The event files of a directory, each once; an empty one is being written and is waited for."""
    given: set[Path] = set()
    while True:
        last_look = stop.is_set()
        for path in event_files(directory):
            if path in given:
                continue
            try:
                with path.open("rb") as file:
                    data = file.read(MAX_LINE + 1)
            except OSError:
                break
            if not data.rstrip().endswith(b"}") and not last_look:
                break
            given.add(path)
            yield data
        if last_look:
            return
        stop.wait(poll)
