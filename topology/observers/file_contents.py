"""The content of files: from bytes to the piece that is looked at, to its text, and to a search over many files.

Lines end with a line feed and count from 1, as for git and grep; a piece keeps its line ends. UTF-8 and, with a byte
order mark, UTF-16 and UTF-32 are read for sure; other bytes are read as Windows-1252, which is sure for ASCII only;
with a NUL they are no text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ...codecs.unicode_text import nfkc, settle
from ...streams.judging.checks import Check, Source
from .kept_looks import Bounded, State, is_settled

APART = "\n\0\n"
"""Between pieces that do not stand together: white space becomes one space, a NUL stays, so no term spans it."""
_MARKS = (
    # The longer mark first: UTF-32's little-endian one begins with UTF-16's.
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
    (b"\xef\xbb\xbf", "utf-8"),
)


class Piece(NamedTuple):
    """A file, or some of its lines.

    Attributes:
        data: the bytes, line ends included.
        encoding: what the file's byte order mark says; None without one.
        changed: when the file last changed, in Unix milliseconds; None where that is not known yet.
    """

    data: bytes
    encoding: str | None
    changed: int | None = None


class Text(NamedTuple):
    """Text of a piece; `sure` is False where the encoding had to be guessed."""

    text: str
    sure: bool


def cut(chunks: Iterable[bytes], lines: tuple[int, int] | None) -> Piece:
    """The piece of a file that is given chunk by chunk; no more chunks are taken than it needs."""
    source = iter(chunks)
    head = b""
    for chunk in source:
        head += chunk
        if len(head) >= 4:
            break
    encoding = next((name for mark, name in _MARKS if head.startswith(mark)), None)
    if lines is None:
        return Piece(head + b"".join(source), encoding)
    if encoding is not None and encoding != "utf-8":
        return _cut_wide(head + b"".join(source), encoding, lines)
    return Piece(_cut_lines(head, source, lines), encoding)


def _cut_lines(head: bytes, source: Iterator[bytes], lines: tuple[int, int]) -> bytes:
    first, last = lines
    kept: list[bytes] = []
    line = 1  # the line that the next byte belongs to
    chunk: bytes | None = head
    while chunk:
        start = 0
        if line < first:
            skipped = chunk.count(b"\n")
            if line + skipped < first:
                line, chunk = line + skipped, next(source, None)
                continue
            while line < first:
                start = chunk.index(b"\n", start) + 1
                line += 1
        position = start
        while line <= last:
            found = chunk.find(b"\n", position)
            if found < 0:
                break
            position = found + 1
            line += 1
        if line > last:
            kept.append(chunk[start:position])
            return b"".join(kept)
        kept.append(chunk[start:])
        chunk = next(source, None)
    return b"".join(kept)


def _cut_wide(data: bytes, encoding: str, lines: tuple[int, int]) -> Piece:
    """Lines of UTF-16 and UTF-32: a byte 0A alone is no line end there."""
    try:
        every = data.decode(encoding).split("\n")
    except UnicodeDecodeError:
        return Piece(data, encoding)
    ended = [line + "\n" for line in every[:-1]] + ([every[-1]] if every[-1] else [])
    wanted = ended[lines[0] - 1 : lines[1]]
    return Piece("".join(wanted).encode(encoding), encoding)


def text_of(piece: Piece) -> Text | None:
    """The text of a piece; None where it is none."""
    data = piece.data
    if piece.encoding is not None:
        try:
            return Text(data.decode(piece.encoding).removeprefix("\ufeff"), True)
        except UnicodeDecodeError:
            pass
    if b"\0" in data:
        return None
    try:
        return Text(data.decode(), True)
    except UnicodeDecodeError:
        return Text(data.decode("cp1252", "replace"), False)


_OVERHEAD: Final = 600
"""Bytes that a kept file takes beside its content."""
_POINTER: Final = re.compile(
    rb"version https://(?:git-lfs\.github\.com|hawser\.github\.com)/spec/v1\r?\n"
    rb"(?:ext-\d-[^\n]{1,200}\n){0,10}oid sha256:[0-9a-f]{64}\r?\nsize \d{1,20}(?:\r?\n)?"
)
"""The whole of a pointer file, as its specification has it."""
_SHA1: Final = 40
"""Digits of an object's name in a repository that uses SHA-1; in any other it is SHA-256."""
_ESCAPES: Final = (b"\\u", b"\\U", b"\\x")
_BY_BYTES: Final = frozenset(("absent", "count"))
"""Checks for which a guess at the encoding will do where they look for ASCII: all encodings keep that as it is."""


class File:
    """One file, read whole; the same for whoever looks at the same bytes.

    Attributes:
        piece: its bytes, with the encoding that they name.
        changed: when it last changed, in Unix milliseconds; None where that has to be asked of the history.
        guessed: its encoding had to be; known once it was searched through.
    """

    __slots__ = ("_blobs", "_digest", "_escapes", "_searchable", "_sized", "changed", "guessed", "piece")

    def __init__(self, data: bytes, changed: int | None = None) -> None:
        self.piece, self.changed = cut([data], None), changed
        self._digest, self._blobs = "", dict[int, frozenset[str]]()
        self._searchable: bytes | None = None
        self._sized = self.guessed = False
        self._escapes: bool | None = None

    @property
    def data(self) -> bytes:
        """Its bytes."""
        return self.piece.data

    @property
    def digest(self) -> str:
        """`sha256:` of the bytes."""
        if not self._digest:
            self._digest = f"sha256:{hashlib.sha256(self.data).hexdigest()}"
        return self._digest

    def is_blob(self, name: str) -> bool:
        """Whether git stores these bytes under a name, as they are or with line feeds alone at the ends of lines.

        So a checkout whose `core.autocrlf` or `eol` writes CRLF has what was committed.
        """
        if len(name) not in self._blobs:
            forms = {self.data} if b"\0" in self.data else {self.data, self.data.replace(b"\r\n", b"\n")}
            self._blobs[len(name)] = frozenset(_blob_name(data, len(name)) for data in forms)
        return name in self._blobs[len(name)]

    @property
    def is_pointer(self) -> bool:
        """Whether it only says where Git LFS keeps the content, which is not here."""
        return _POINTER.fullmatch(self.data) is not None

    @property
    def text(self) -> Text | None:
        """The text; None where it is none."""
        return text_of(self.piece)

    def part(self, lines: tuple[int, int] | None) -> Piece:
        """Some of its lines."""
        return self.piece if lines is None else cut([self.data], lines)._replace(changed=self.changed)

    def source(self, path: str, check: Check | None = None) -> Source | None:
        """The file as a verifier takes it; None where it is no text.

        Args:
            path: of the file; its ending tells the language.
            check: what is to be decided; for one on ASCII alone a guess at the encoding is good enough.
        """
        text = self.text
        if text is None:
            return None
        whole = text.sure or (check is not None and check.name in _BY_BYTES and _is_ascii(check))
        return Source(path, text.text, whole=whole, digest=self.digest)

    @property
    def line_count(self) -> int:
        """How many lines it has; a last one without a line end counts."""
        text = self.text
        ended = "" if text is None else text.text
        return ended.count("\n") + (ended[-1:] not in ("", "\n"))

    def may_name(self, word: str) -> bool:
        """Whether a word may stand in the text by itself, and not only inside of others; False is certain."""
        found = self.searchable
        if found is None or not word.isascii():
            return found is not None
        return re.search(rb"(?<![A-Za-z0-9_])%s(?![A-Za-z0-9_])" % re.escape(word.encode()), found) is not None

    @property
    def searchable(self) -> bytes | None:
        """The text in NFKC, with and without its invisible characters and look-alikes; None where it is none."""
        if not self._sized:
            self._searchable = self._made_searchable()
            self._sized = True
        return self._searchable

    def _made_searchable(self) -> bytes | None:
        if self.piece.encoding is None and self.data.isascii():
            return None if b"\0" in self.data else self.data
        text = self.text
        if text is None:
            return None
        self.guessed = not text.sure
        plain = nfkc(text.text)
        settled = settle(plain)
        forms = (plain,) if settled == plain else (plain, settled)
        return "\0".join(forms).encode("utf-8", "replace")

    @property
    def has_escapes(self) -> bool:
        """Whether characters may be written as escapes in it, so that a word stands there that no search finds."""
        if self._escapes is None:
            self._escapes = any(mark in self.data for mark in _ESCAPES)
        return self._escapes

    @property
    def size(self) -> int:
        """Bytes that keeping it takes."""
        return _OVERHEAD + len(self.data) * (1 if self.data.isascii() else 3)


class Everything:
    """All files of a tree that may be looked at; never changed once it is made.

    Attributes:
        files: in the order of their paths' bytes; without those whose content is not here.
        whole: nothing of the tree was left out: no name is denied, all could be read, and no content is elsewhere.
        listed: the same without regard to what the files hold.
        newest: when the newest of them changed, in Unix milliseconds; None where nobody can tell.
        paths: those that were to be read.
        states: in which the files were read; empty for git's objects.
        size: of all files, in bytes.
    """

    def __init__(
        self,
        files: list[tuple[str, File]],
        whole: bool,
        newest: int | None,
        paths: Sequence[str],
        states: Sequence[State | bool] = (),
    ) -> None:
        self.files = [(path, file) for path, file in files if not file.is_pointer]
        self.listed, self.whole, self.newest = whole, whole and len(self.files) == len(files), newest
        self.paths, self.states = paths, states
        self.size = sum(len(file.data) for _, file in files)
        self._texts: list[tuple[bytes, str, File]] | None = None
        self._others: list[File] = []

    def at(self, newest: int | None) -> Everything:
        """The same files, as of another commit with the same tree."""
        if newest == self.newest:
            return self
        made = Everything(self.files, self.whole, newest, self.paths, self.states)
        made._texts, made._others = self._texts, self._others
        return made

    def holding(self, needle: str, *, escaped: bool = False) -> list[tuple[str, File]]:
        """The files in whose text a word may stand, in whichever form; of all others it is certain that it does not.

        Args:
            needle: the word, in NFKC.
            escaped: also those in which characters may be written as escapes.
        """
        wanted, searched = needle.encode("utf-8", "replace"), self._searched()
        if escaped:
            return [(path, file) for text, path, file in searched if wanted in text or file.has_escapes]
        return [(path, file) for text, path, file in searched if wanted in text]

    def may_hide(self, word: str) -> bool:
        """Whether a word may stand in a file that is no text, or in other letters in one of an unknown encoding."""
        searched = self._searched()
        if not word.isascii() and any(file.guessed for _, _, file in searched):
            return True
        return any(holds_bytes(file.data, word) for file in self._others)

    def _searched(self) -> list[tuple[bytes, str, File]]:
        if self._texts is None:
            texts = [(file.searchable, path, file) for path, file in self.files]
            self._others = [file for text, _, file in texts if text is None]
            self._texts = [(text, path, file) for text, path, file in texts if text is not None]
        return self._texts


def _blob_name(data: bytes, digits: int) -> str:
    """The name that git gives a file of these bytes."""
    made = hashlib.sha1(usedforsecurity=False) if digits == _SHA1 else hashlib.sha256()
    made.update(b"blob %d\0" % len(data))
    made.update(data)
    return made.hexdigest()


def _is_ascii(check: Check) -> bool:
    return all(not isinstance(value, str) or value.isascii() for value in check.arguments)


def holds_bytes(data: bytes, word: str) -> bool:
    """Whether a word stands in bytes that are no text, in UTF-8 or in two bytes for a character."""
    return any(word.encode(encoding, "replace") in data for encoding in ("utf-8", "utf-16-le", "utf-16-be"))


class Contents:
    """The files that were read last: of a disk by path, of git by the hash of the object. Shared by threads."""

    def __init__(self, size: int) -> None:
        self._files: Bounded[tuple[State | None, File]] = Bounded(200_000, size)
        self._everything: Bounded[Everything] = Bounded(4, 2 * size)

    def everything(self, tree: str) -> Everything | None:
        """All files of a tree, as they were read last: of a folder by its path, of a commit by the tree's hash."""
        return self._everything.get(tree)

    def keep_everything(self, tree: str, found: Everything) -> None:
        """Keeps all files of a tree."""
        self._everything.put(tree, found.size + _OVERHEAD * len(found.files), found)

    def on_disk(self, root: str, path: str, state: State) -> File | None:
        """A file that has not been written since it was read.

        Args:
            root: the folder.
            path: of the file below it.
            state: in which the file stands there now.
        """
        known = self._files.get((root, path))
        return known[1] if known is not None and known[0] == state else None

    def all_on_disk(self, root: str, states: Sequence[tuple[str, State]]) -> list[File | None]:
        """As `on_disk`, for many paths at once."""
        known = self._files.get_many([(root, path) for path, _ in states])
        return [
            one[1] if one is not None and one[0] == state else None
            for one, (_, state) in zip(known, states, strict=True)
        ]

    def keep_on_disk(self, root: str, path: str, state: State, file: File) -> None:
        """Keeps a file of a folder, unless it may still be written in the same instant.

        Args:
            root: the folder.
            path: of the file below it.
            state: in which it was read.
            file: what was read.
        """
        if is_settled(state):
            self._files.put((root, path), file.size, (state, file))

    def of_git(self, name: str) -> File | None:
        """The file of an object."""
        known = self._files.get(name)
        return None if known is None else known[1]

    def keep_of_git(self, name: str, file: File) -> None:
        """Keeps the file of an object."""
        self._files.put(name, file.size, (None, file))


__all__ = ["Contents", "File", "holds_bytes"]
