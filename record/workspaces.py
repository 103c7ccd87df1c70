"""The workspace of a session: its root, its checkout, the files that Git tracks, and what must not be quoted from it.

An emission is read by many. A recorder quotes the repository's lines; files that hold secrets by their names, and lines
that look like a credential, are left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from stat import S_ISREG
from typing import Final

from .looks import Line, LookResult, below

_FILES: Final = re.compile(
    r"(?:^|/)(?:\.env[^/]*|\.netrc|\.npmrc|\.pypirc|\.pgpass|\.git-credentials|\.htpasswd|id_(?:rsa|dsa|ecdsa|ed25519)"
    r"[^/]*|[^/]*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk)|[^/]*(?:secret|credential|password|passwd)[^/]*)$|"
    r"(?:^|/)\.(?:ssh|aws|gnupg)/",
    re.IGNORECASE,
)
_ASSIGNED: Final = re.compile(
    r"(?:(?:passw(?:or)?d|passphrase|secret|token|api[-_ ]?key|access[-_ ]?key|private[-_ ]?key|credential|cookie|"
    r"session[-_ ]?id|authorization)[\w\"'\]]{0,100}\s{0,100}[:=]+>?|\bbearer\b)\s*[\"']?[^\s\"']{6,}",
    re.IGNORECASE,
)
_KNOWN: Final = re.compile(
    r"-----BEGIN|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}|\bxox[abprs]-[\w-]{10,}|"
    r"\bsk-[\w-]{16,}|\beyJ[\w-]{10,}\.[\w-]{10,}|\bglpat-[\w-]{16,}|://[^/\s:@]{1,100}:[^/\s@]{1,200}@"
)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffd]")
_RANDOM: Final = re.compile(r"[A-Za-z0-9+/_=-]{32,}")


def may_quote(path: str, text: str) -> bool:
    """Whether a line of a file may stand in an emission: no control characters in it, and nothing like a secret."""
    return not (_CONTROL.search(text.replace("\t", " ")) or is_secret_path(path) or is_secret_line(text))


def is_secret_path(path: str) -> bool:
    """Whether a file is one that holds secrets, by its name."""
    return _FILES.search(path) is not None


def is_secret_line(text: str) -> bool:
    """Whether a line looks as if a credential stood in it."""
    if _KNOWN.search(text) or _ASSIGNED.search(text):
        return True
    return any(_looks_random(word) for word in _RANDOM.findall(text))


def _looks_random(word: str) -> bool:
    """Letters of both cases and digits in a long run, as no name has."""
    digits = sum(one.isdigit() for one in word)
    return digits >= 4 and any(map(str.islower, word)) and any(map(str.isupper, word)) and "_" not in word.strip("_")


MAX_INDEX: Final = 200_000_000
"""Bytes of an index."""
_FIXED: Final = 40
"""Bytes of an entry before the object's name: times, mode, owner, size."""


def checkout_around(folder: Path) -> Path | None:
    """The git checkout that a folder is in, the folder itself included; None where it is in none."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)


class Tracked:
    """The tracked files below a folder, read anew when the index changes. One thread uses it at a time.

    Args:
        root: the folder, without links in it.
    """

    def __init__(self, root: str) -> None:
        here = Path(root)
        top = checkout_around(here)
        self._index = None if top is None else _index_of(top / ".git")
        self._prefix = "" if top is None or top == here else here.relative_to(top).as_posix() + "/"
        self._version: tuple[int, int, int] | None = None
        self._paths: frozenset[str] = frozenset()

    def holds(self, path: str) -> bool:
        """Whether a file is tracked; every file is where there is no repository. The path is relative to the root."""
        if self._index is None:
            return True
        try:
            status = os.stat(self._index)
            version = (status.st_mtime_ns, status.st_size, status.st_ino)
            if version != self._version:
                self._paths = _paths_of(_read(self._index, status))
                self._version = version
        except (OSError, ValueError, IndexError):
            self._paths, self._version = frozenset(), None
        return self._prefix + path in self._paths


def _index_of(place: Path) -> str:
    """Where the index is: in the folder, or in the one that a file names, as in a second work tree."""
    try:
        if place.is_file():
            with place.open("rb") as file:
                named = os.fsdecode(file.read(4_096)).removeprefix("gitdir:").strip()
            place = place.parent / named
    except OSError:
        pass
    return os.path.join(place, "index")


def _read(path: str, status: os.stat_result) -> bytes:
    if not S_ISREG(status.st_mode) or status.st_size > MAX_INDEX:
        raise ValueError("no index")
    with open(path, "rb") as file:
        return file.read(MAX_INDEX)


def _paths_of(data: bytes) -> frozenset[str]:
    """The paths of an index. ValueError: it is none, or none that is read here; IndexError: it is cut."""
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:12], "big")
    if data[:4] != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("no index")
    for width in (20, 32):  # of an object's name: SHA-1, SHA-256
        try:
            return _entries(data, version, count, width)
        except (ValueError, IndexError):
            if width == 32:
                raise
    raise ValueError("no index")


def _entries(data: bytes, version: int, count: int, width: int) -> frozenset[str]:
    found: list[str] = []
    at, before = 12, b""
    for _ in range(count):
        begin = at
        flags = int.from_bytes(data[at + _FIXED + width : at + _FIXED + width + 2], "big")
        at += _FIXED + width + 2 + (2 if flags & 0x4000 else 0)
        kept = b""
        if version == 4:
            strip, at = _number(data, at)
            kept = before[: len(before) - strip]
        end = data.index(b"\0", at)
        before = kept + data[at:end]
        if flags & 0xFFF not in (len(before), 0xFFF) or (len(before) >= 0xFFF) != (flags & 0xFFF == 0xFFF):
            raise ValueError("no entry")
        found.append(os.fsdecode(before))
        at = end + 1 if version == 4 else begin + (end - begin + 8) // 8 * 8
    if data[at : at + 4] == b"link":
        raise ValueError("the index is split")
    return frozenset(found)


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1


MAX_FILE: Final = 2_000_000
"""Bytes of a file."""
MAX_KEPT: Final = 25_000_000
"""Bytes of all files that are kept, and characters of their texts; beyond it they are read anew."""


class Checkout:
    """The files below one folder, each kept until it changes. One thread uses it at a time.

    Args:
        root: the folder, absolute or relative to the process's own.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = os.path.realpath(root)
        self._tracked = Tracked(self.root)
        self._kept: dict[str, tuple[tuple[int, ...], bytes]] = {}
        self._texts: dict[str, tuple[bytes, str]] = {}
        self._size = 0

    def data(self, path: str) -> bytes | None:
        """The bytes of a file, by its path below the root; None where none may or can be read."""
        if "\0" in path or path.startswith("/") or not {"..", ".git"}.isdisjoint(path.split("/")):
            return None
        path = os.path.normpath(path)
        place = os.path.join(self.root, path)
        try:
            kept = self._kept.get(path)
            if kept is not None and kept[0] == _version(os.stat(place)):
                return kept[1]
            if os.path.realpath(place) != place or is_secret_path(path) or not self._tracked.holds(path):
                return None
            status = os.stat(place)
            if not S_ISREG(status.st_mode) or status.st_size > MAX_FILE:
                return None
            with open(place, "rb") as file:
                data = file.read(MAX_FILE + 1)
        except (OSError, ValueError):  # unreadable; a name that no file can have
            return None
        if self._size + len(data) > MAX_KEPT:
            self._kept.clear()
            self._texts.clear()
            self._size = 0
        self._kept[path] = (_version(status), data)
        self._size += len(data)
        return data

    def text(self, path: str) -> str | None:
        """The text of a file; None where there is none, or it is no UTF-8."""
        data = self.data(path)
        if data is None:
            return None
        known = self._texts.get(path)
        if known is not None and known[0] is data:
            return known[1]
        if b"\0" in data:
            return None
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return None
        self._texts[path] = data, text
        return text


def _version(status: os.stat_result) -> tuple[int, ...]:
    """What tells one state of a file from another, and one file from another, whatever path leads to it."""
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev


MOST_TRIED: Final = 200
"""Calls by which the folder is looked for."""
MOST_FOLDERS: Final = 12
"""Folders that are tried for one call: those around the one that it was made in."""
MOST_COMPARED: Final = 500
"""Lines of one call that are compared with files here."""

Make = Callable[[str | None], list[LookResult]]
"""From a root to what a call saw, its paths relative to that root."""


class Workspace:
    """The folder that a session's paths begin with.

    Args:
        root: the checkout here, absolute; None where none is at hand.
        read_file: gives the text of tracked files below the root; None where no root is at hand.
    """

    def __init__(self, root: str | None, read_file: Callable[[str], str | None] | None) -> None:
        self._root, self._read = root, read_file
        self._elsewhere: bool | None = None  # unknown until a call says where it was made
        self._folder: str | None = None
        self._tried = 0

    def seen(self, cwd: str | None, make: Make) -> list[LookResult]:
        """What a call saw, by the folder that holds for this session: `make` is called until a folder fits."""
        if self._root is None or not self._is_elsewhere(cwd, self._root):
            return make(self._root)
        if self._folder is not None:
            return make(self._folder)
        if cwd is None or self._tried >= MOST_TRIED:
            return make(self._root)
        self._tried += 1
        for folder in _around(cwd):  # the widest first: the longest path that is tracked here is the surest
            found = make(folder)
            if self._fits([line for one in found for line in one.lines if line.path and line.text.strip()]):
                self._folder = folder
                return found
        return make(self._root)

    def folder(self, cwd: str | None) -> str | None:
        """The folder that a session's project lies in; None where that is not known yet."""
        return self._folder if self._root is not None and self._is_elsewhere(cwd, self._root) else self._root

    def _fits(self, lines: Sequence[Line]) -> bool:
        """Whether at least half of these lines stand in the files here that they are said to be of."""
        files: dict[str, frozenset[str]] = {}
        there = 0
        for line in lines[:MOST_COMPARED]:
            if line.path not in files:
                text = None if self._read is None else self._read(line.path)
                files[line.path] = frozenset(row.rstrip() for row in (text or "").split("\n"))
            there += line.text.rstrip() in files[line.path]
        return there > 0 and 2 * there >= len(lines[:MOST_COMPARED])

    def _is_elsewhere(self, cwd: str | None, root: str) -> bool:
        if self._elsewhere is None and cwd is not None and cwd.startswith("/"):
            near = below(cwd, root, None) is not None or below(root, cwd, None) is not None
            self._elsewhere = not near and not os.path.isdir(cwd)
        return self._elsewhere is True


def _around(cwd: str) -> Sequence[str]:
    """The folder and those that it is in, the widest first; never the root of all."""
    parts = [part for part in os.path.normpath(cwd).split("/") if part]
    return ["/" + "/".join(parts[:length]) for length in range(1, len(parts) + 1)][-MOST_FOLDERS:]
