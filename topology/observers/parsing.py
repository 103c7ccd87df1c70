"""Parses sources and documents in a process of its own, and keeps what was parsed in memory and on disk.

The parser of a language may take minutes and gigabytes for a few kilobytes of hostile text, and cannot be stopped from
within. So it runs in a process with bounds (parsing_child.py). Those of time are processor time, which is the same on a
busy machine. One such process serves all threads and is replaced when it ends; it ends when the socket to it does.
"""

from __future__ import annotations

import atexit
import os
import secrets
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar, cast

import msgspec

from ...streams.judging import index as judging_index
from ...streams.judging import languages
from ...streams.judging.checks import Source
from ...streams.judging.documents import Document, format_of
from ...streams.judging.index import FileIndex
from ...streams.judging.languages import languages_of
from ..settings.late_logs import late_logger
from .kept_looks import Bounded
from .parsing_child import Request, frame

if TYPE_CHECKING:
    from ...streams.judging.documents import Format

_CHECKSUM: Final = 16
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ENTRY: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME`, by default `~/.cache`.

    Raises:
        RuntimeError: the user has no home.
    """
    named = os.environ.get("XDG_CACHE_HOME", "")
    return Path(named) if os.path.isabs(named) else Path.home() / ".cache"


class IndexCache:
    """The user's indexes on disk. Nothing here raises: what cannot be read or written is not kept.

    Args:
        size: bytes that may be kept. What was written first goes first.
    """

    def __init__(self, size: int) -> None:
        self._size, self._written = size, 0
        try:
            self._folder = _opened(cache_folder(), "sluice", "indexes") if size else -1
            self._maker = _maker()
        except (OSError, RuntimeError):
            self._folder = -1

    def key(self, kind: str, language: str, text: bytes) -> str:
        """The name of an entry; empty where nothing is kept."""
        if self._folder < 0:
            return ""
        made = blake2b(self._maker, digest_size=32)
        made.update(f"{kind} {language} {len(text)}\n".encode())
        made.update(text)
        return made.hexdigest()

    def get(self, key: str) -> bytes | None:
        """An entry, as it was written."""
        if not key or self._folder < 0:
            return None
        try:
            with open(os.open(key, _ENTRY, dir_fd=self._folder), "rb") as file:
                state = os.fstat(file.fileno())
                usable = stat.S_ISREG(state.st_mode) and state.st_uid == os.geteuid() and state.st_size <= self._size
                data = file.read() if usable else b""
        except FileNotFoundError:
            return None
        except OSError:
            data = b""
        if len(data) > _CHECKSUM and data[:_CHECKSUM] == _checksum(key, data[_CHECKSUM:]):
            return data[_CHECKSUM:]
        self.remove(key)
        return None

    def put(self, key: str, data: bytes) -> None:
        """Keeps an entry, unless it would fill most of the room alone."""
        if not key or self._folder < 0 or len(data) > self._size // 2:
            return
        name = f".{secrets.token_hex(16)}"
        try:
            with open(os.open(name, _NEW, 0o600, dir_fd=self._folder), "wb") as file:
                file.write(_checksum(key, data) + data)
            os.rename(name, key, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        except OSError:
            self.remove(name)
            return
        self._written += _CHECKSUM + len(data)
        if self._written > self._size // 8:
            self._shrink()

    def remove(self, name: str) -> None:
        """Removes an entry."""
        try:
            os.unlink(name, dir_fd=self._folder)
        except OSError:
            pass

    def close(self) -> None:
        """Removes what is too much. Calling it again does nothing."""
        if self._folder >= 0:
            self._shrink()
            os.close(self._folder)
            self._folder = -1

    def _shrink(self) -> None:
        if not self._written:
            return
        self._written, entries = 0, list[tuple[int, str, int]]()
        try:
            for name in os.listdir(self._folder):
                state = os.stat(name, dir_fd=self._folder, follow_symlinks=False)
                entries.append((state.st_mtime_ns, name, state.st_size))
        except OSError:  # another process was first
            return
        held = sum(size for _, _, size in entries)
        for _, name, size in sorted(entries):
            if held <= self._size:
                break
            self.remove(name)
            held -= size


def _opened(base: Path, *names: str) -> int:
    """A descriptor of a folder below the user's cache folder, which is made where it is missing."""
    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = os.open(base, _FOLDER & ~os.O_NOFOLLOW)
    for name in names:
        above = folder
        try:
            try:
                os.mkdir(name, 0o700, dir_fd=above)
            except FileExistsError:
                pass
            folder = os.open(name, _FOLDER, dir_fd=above)
        finally:
            os.close(above)
        state = os.fstat(folder)
        if state.st_uid != os.geteuid() or state.st_mode & (0o077 if name == names[-1] else 0o022):
            os.close(folder)
            raise PermissionError(f"{name} is open to other users")
    return folder


def _checksum(key: str, data: bytes) -> bytes:
    return blake2b(data, digest_size=_CHECKSUM, key=key.encode()).digest()


def _maker() -> bytes:
    """What tells apart the software that makes indexes: the version of an index, the queries, the code of the judging
    core by its files' states, Python, and the folder in which grammars and parsers are installed."""
    made = blake2b(digest_size=32)
    installed = os.stat(os.path.dirname(os.path.dirname(os.path.abspath(msgspec.__file__)))).st_mtime_ns
    made.update(f"{judging_index.INDEX_VERSION} {sys.version} {installed}\n".encode())
    core = Path(languages.__file__).parent
    for path in sorted(core.glob("*.py")):
        state = path.stat()
        made.update(f"{path.name} {state.st_size} {state.st_mtime_ns}\n".encode())
    for path in sorted((core / "queries").glob("*.scm")):
        made.update(f"{path.name}\n".encode() + path.read_bytes())
    return made.digest()


_MAIN: Final = """\
import sys
sys.path += [path for path in sys.argv[2:] if path not in sys.path]
from sluice.topology.observers.parsing_child import main
main(int(sys.argv[1]))
"""
_ENVIRONMENT: Final = ("LD_LIBRARY_PATH", "PATH")
"""All of the environment that the process needs; the rest may hold secrets."""
_FROM_OUTSIDE: Final = (-signal.SIGKILL, -signal.SIGTERM)
MAX_ANSWER: Final = 256_000_000

log = late_logger(__name__)


class Limits(NamedTuple):
    """What one text may take.

    Attributes:
        memory: bytes of address space of the process.
        seconds: of processor time for any text. Ordinary text takes a hundredth of what these two allow.
        seconds_per_megabyte: the same, and more for each megabyte of the text.
        wall: seconds after which a process that does nothing is given up.
    """

    memory: int = 600_000_000
    seconds: float = 3.0
    seconds_per_megabyte: float = 15.0
    wall: float = 300.0


LIMITS: Final = Limits()


class ParsingProcess:
    """A process that parses, shared by threads. It starts with the first request.

    Args:
        limits: what one text may take.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._running: tuple[subprocess.Popen[bytes], socket.socket] | None = None
        self._over = False

    def ask(self, kind: str, name: str, text: bytes) -> bytes | None:
        """What a text comes to, in msgpack.

        Args:
            kind: see `Request`, as the others.
            name: the file's name.
            text: the file's text.

        Returns:
            None where that is beyond a limit. Where the process may have ended for another reason, such as a signal or
            the memory of files before, it is tried once more.
        """
        limits = self._limits
        seconds = limits.seconds + limits.seconds_per_megabyte * len(text) / 1_000_000
        request = frame(msgspec.msgpack.encode(Request(kind, name, text, seconds)))
        status = 0
        with self._lock:
            for _ in range(2):
                fresh = self._running is None
                try:
                    return self._answer(request)
                except OSError:
                    status = self._end()
                    if status == -signal.SIGPROF or (fresh and status not in _FROM_OUTSIDE):
                        break
                except BaseException:
                    self._end()  # its answer would be taken for that of the next request
                    raise
        log.warning("a file took too much to parse", kind=kind, size=len(text), status=status)
        return None

    def start(self) -> None:
        """Starts the process before it is needed: it takes a moment. Nothing waits for it here."""
        with self._lock:
            try:
                self._running = self._running or self._start()
            except OSError:
                pass  # the first request tries again

    def _answer(self, request: bytes) -> bytes:
        running, connection = self._running = self._running or self._start()
        watch = threading.Timer(self._limits.wall, running.kill)
        watch.daemon = True
        watch.start()
        try:
            connection.sendall(request)
            size = int.from_bytes(_read(connection, 4), "big")
            if not 1 <= size <= MAX_ANSWER:
                raise OSError("an answer beyond every bound")
            answer = _read(connection, size)
        finally:
            watch.cancel()
        if answer[0]:
            self._end()
        return answer[1:]

    def _start(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        if self._over:
            raise ConnectionError("this process ends")
        ours, its = socket.socketpair()
        paths = [path for path in sys.path if os.path.isabs(path)]
        with its:
            process = subprocess.Popen(
                [sys.executable, "-I", "-c", _MAIN, str(self._limits.memory), *paths],
                stdin=its.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                cwd="/",
            )
        return process, ours

    def _end(self) -> int:
        """Ends the process, if it runs. Returns its exit status, or the signal that ended it before, below zero."""
        if self._running is None:
            return 0
        (process, connection), self._running = self._running, None
        connection.close()
        try:
            process.wait(1.0)  # an end that is under way, so that its own status is told
        except subprocess.TimeoutExpired:
            process.kill()
        return process.wait()

    def close(self) -> None:
        """Ends the process for good, also while it parses; requests come to nothing from then on."""
        self._over, running = True, self._running
        if running is not None:
            running[0].kill()
            running[0].wait()

    def forget(self) -> None:
        """Leaves the process to the one that started it: called in a process that was forked off."""
        self._lock = threading.Lock()
        if self._running is not None:
            self._running[1].close()
            self._running[0].returncode = 0  # it is no child of this process
            self._running = None


def _read(connection: socket.socket, size: int) -> bytes:
    data = bytearray(size)
    view, done = memoryview(data), 0
    while done < size:
        count = connection.recv_into(view[done:])
        if not count:
            raise ConnectionError("the process ended")
        done += count
    return bytes(data)


_shared: Final[dict[Limits, ParsingProcess]] = {}


def parsing_process(limits: Limits) -> ParsingProcess:
    """The process for these limits: each Python process has one, which ends with it."""
    return _shared.setdefault(limits, ParsingProcess(limits))


def _close() -> None:
    for process in _shared.values():
        process.close()


def _forget() -> None:
    for process in _shared.values():
        process.forget()


atexit.register(_close)
os.register_at_fork(after_in_child=_forget)


T = TypeVar("T", FileIndex, Document)

MAX_PARSED: Final = 20_000
_KEPT: Final = 300
"""Bytes that it takes to keep anything."""


class Parsed:
    """Parses, and keeps what was parsed.

    Args:
        limits: what one file may take.
    """

    def __init__(self, size: int, disk: IndexCache | None = None, limits: Limits = LIMITS) -> None:
        self._disk = disk or IndexCache(0)
        self._process, half = parsing_process(limits), size // 2
        self._code = _Keeping("code", FileIndex, _too_large_code, half, self._disk, self._process)
        self._documents = _Keeping("document", Document, _too_large_document, half, self._disk, self._process)

    def start(self) -> None:
        """Starts what parses, which otherwise starts with the first file."""
        self._process.start()

    def code(self, source: Source) -> FileIndex | None:
        """The source code of a listed language; None for any other file."""
        known = languages_of(source.path)
        return self._code.get(source, ",".join(language.name for language in known)) if known else None

    def document(self, source: Source) -> Document | None:
        """A document of a listed format; None for any other file."""
        known = format_of(source.path)
        return self._documents.get(source, known) if known else None

    def close(self) -> None:
        """Ends what is kept on disk. Calling it again does nothing."""
        self._disk.close()


class _Keeping(Generic[T]):
    """What was parsed of one kind.

    Args:
        kind: as the process that parses calls it.
        too_large: makes what stands for a file of a language that is beyond a limit.
    """

    def __init__(
        self,
        kind: str,
        result: type[T],
        too_large: Callable[[str], T],
        size: int,
        disk: IndexCache,
        process: ParsingProcess,
    ) -> None:
        self._kind, self._too_large, self._disk, self._process = kind, too_large, disk, process
        self._decode: Callable[[bytes], T | None] = msgspec.msgpack.Decoder(result | None).decode
        self._kept: Bounded[tuple[T | None]] = Bounded(MAX_PARSED, size)
        self._lock = threading.Lock()

    def get(self, source: Source, language: str) -> T | None:
        # The text as well as the bytes: a recorder may read other characters in the same bytes. Without a digest the
        # text itself is the key.
        key = (source.digest or source.text, language, hash(source.text))
        known = self._kept.get(key)
        if known is not None:
            return known[0]
        with self._lock:
            known = self._kept.get(key)  # another thread may have asked for the same
            if known is None:
                known = (self._parse(source, language),)
                weight = 0 if known[0] is None else known[0].weight
                self._kept.put(key, _KEPT + weight + (0 if source.digest else 4 * len(source.text)), known)
        return known[0]

    def _parse(self, source: Source, language: str) -> T | None:
        text = source.text.encode("utf-8", "surrogatepass")
        entry = self._disk.key(self._kind, language, text)
        data = self._disk.get(entry)
        if data is not None:
            try:
                return self._decode(data)
            except msgspec.DecodeError:
                self._disk.remove(entry)
        data = self._process.ask(self._kind, source.path.rpartition("/")[2], text)
        try:
            parsed = None if data is None else self._decode(data)
        except msgspec.DecodeError:
            data = parsed = None
        if data is None:
            return self._too_large(language)
        self._disk.put(entry, data)
        return parsed


def _too_large_code(languages: str) -> FileIndex:
    return FileIndex(languages.partition(",")[0], "too-large")


def _too_large_document(name: str) -> Document:
    return Document(cast("Format", name), problem="too-large")
