"""Indexes of sources and documents on disk, for commands that live for seconds (observing.md).

A file for each content in `sluice/indexes` of the user's cache folder, readable by that user only. It is named by a
hash of the content, its language and the software that made the index, and begins with a checksum of the rest. What is
not as it was written is removed. A folder that cannot be used, or that another user could write, means no cache.
"""

from __future__ import annotations

import os
import secrets
import stat
import sys
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec

from ...streams.judging import index as judging_index
from ...streams.judging import languages

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
    """A descriptor of a folder below the user's cache folder, which is made where it is missing.

    Raises:
        OSError: it cannot be made or opened, is a symbolic link, or is another user's or open to others.
    """
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
