"""Commits as an observer reads them: the raw object, checked against its name, and the lines it changed.

Objects come from `cat-file --batch`, whose answers say their own length, so no message can pass for another commit;
changed lines from `diff-tree`, in which every line of content has a sign before it, so none can pass for a header.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ...streams.judging.moments import SECOND, format_ns
from ...streams.judging.terms import normalised
from .ask import Budget, CannotLook
from .content import APART, Piece, text_of
from .git import Git
from .objects import Objects, demand_true

_PERSON = re.compile(rb".* (-?\d{1,18}) ([+-]\d{4})")
_ENCODING = re.compile(
    r"utf-?8|us-?ascii|iso-?8859-\d{1,2}|latin-?1|cp125\d|windows-125\d|koi8-[ru]|euc-?(jp|kr)|shift-?jis"
    r"|gb(k|2312|18030)|big5",
    re.IGNORECASE,
)


class Commit(NamedTuple):
    """One commit object.

    Attributes:
        name: its whole hash.
        tree: the hash of its tree.
        parents: the hashes of its parents.
        message: its message as text.
        authored: author date in nanoseconds since 1970, and the author's offset from UTC in seconds; None where the
            object says nothing that is a date.
        committed: the same of the committer.
        author: name and address of the author.
    """

    name: str
    tree: str
    parents: tuple[str, ...]
    message: str
    authored: tuple[int, int] | None
    committed: tuple[int, int] | None
    author: str = ""

    def says(self, tags: Iterable[str]) -> str:
        """Message, author date as it is usually written, and tags, as one text."""
        pieces = [self.message]
        if self.authored is not None:
            pieces += _written(*self.authored)
        for tag in tags:
            pieces.append(tag)
            if re.match(r"[vV]\d", tag):
                pieces.append(tag[1:])
        return APART.join(pieces)


class Change(NamedTuple):
    """What one commit changed in one file.

    Attributes:
        paths: its names before and after.
        text: the removed and the added lines, normalised as `terms.Content` does it; empty where they are no text.
    """

    paths: tuple[str, ...]
    text: str


class Changes(NamedTuple):
    """What one commit changed.

    Attributes:
        commit: its hash.
        files: None where the bound was reached before their end.
        size: bytes that git says of them, as far as they were read.
    """

    commit: str
    files: Sequence[Change] | None
    size: int


def _written(time: int, offset: int) -> list[str]:
    """A time in UTC and where the author was; nothing for a time that no calendar has."""
    try:
        utc, local = format_ns(time), format_ns(time + offset * SECOND)
    except OverflowError:
        return []
    sign, (hours, minutes) = "-" if offset < 0 else "+", divmod(abs(offset) // 60, 60)
    zone = f"{sign}{hours:02}:{minutes:02}"
    there = local.removesuffix("Z")
    return [utc, utc.replace("T", " ").replace("Z", " UTC"), there + zone, f"{there.replace('T', ' ')} {zone}"]


def read_commits(objects: Objects, names: Sequence[str], budget: Budget) -> Iterator[Commit]:
    """The commits of these hashes, in order.

    Raises:
        CannotLook: an object is not there, is no commit, or is not what its name says.
    """
    for found in objects.many(names, budget):
        if found.kind != "commit":
            raise CannotLook("a commit of this history is not in the repository")
        yield parse_commit(found.name, found.data)


def parse_commit(name: str, data: bytes) -> Commit:
    """A commit object.

    Raises:
        CannotLook: the hash of the object is not its name.
    """
    demand_true(name, "commit", data)
    head, _, body = data.partition(b"\n\n")
    fields: dict[bytes, bytes] = {}
    parents: list[str] = []
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        if key == b"parent":
            parents.append(value.decode("ascii", "replace"))
        fields.setdefault(key, value)
    encoding = fields.get(b"encoding", b"utf-8").decode("ascii", "replace")
    return Commit(
        name,
        fields.get(b"tree", b"").decode("ascii", "replace"),
        tuple(parents),
        _message(body, encoding),
        _date(fields, b"author"),
        _date(fields, b"committer"),
        _person(fields.get(b"author", b""), encoding),
    )


def _person(line: bytes, encoding: str) -> str:
    """Name and address of an author, without the date."""
    return _message(line.rpartition(b"> ")[0] + b">" if b"> " in line else line, encoding)


def _message(body: bytes, encoding: str) -> str:
    """A message in the encoding that the commit claims, where it is one for text; else as any text is read."""
    if _ENCODING.fullmatch(encoding):
        try:
            return codecs.decode(body, encoding)
        except (LookupError, UnicodeError):
            pass
    text = text_of(Piece(body.replace(b"\0", b" "), None))
    return text.text if text else ""


def _date(fields: dict[bytes, bytes], key: bytes) -> tuple[int, int] | None:
    match = _PERSON.fullmatch(fields.get(key, b""))
    if match is None:
        return None
    zone = int(match[2][1:3]) * 3600 + int(match[2][3:5]) * 60
    return int(match[1]) * SECOND, -zone if match[2].startswith(b"-") else zone


# ---------------------------------------------------------------- changed lines

_OPTIONS = ("-r", "--root", "-p", "-U0", "-M", "--cc", "--no-color", "--no-ext-diff", "--no-textconv", "--no-prefix",
            "--submodule=short")  # fmt: skip
_NAME = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_APART = b"\x1e"


def changes(git: Git, names: Iterable[str], budget: Budget) -> Iterator[Changes]:
    """What each of these commits changed, in order; commits that changed nothing are left out.

    Of a merge that is what differs from every parent: the rest is in the commits that it merged. Of a binary file git
    says that it changed, and nothing of its content.

    Args:
        git: the repository.
        names: whole hashes of commits.
        budget: of the look; the caller spends the size of each commit before asking for the next.
    """
    feed = (f"{name}\n".encode() for name in names)
    yield from _by_commit(_lines(git.stream(budget.timed(), "diff-tree", "--stdin", *_OPTIONS, feed=feed)), budget)


def changes_of(git: Git, commit: Commit, budget: Budget) -> Changes:
    """What one commit that is named changed; of a merge, as against its first parent: everything it brought in."""
    if len(commit.parents) < 2:
        told = changes(git, [commit.name], budget)
    else:
        lines = _lines(git.stream(budget.timed(), "diff-tree", *_OPTIONS, commit.parents[0], commit.name))
        told = _by_commit(lines, budget, commit.name)
    return next(told, Changes(commit.name, (), 0))


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    left = b""
    for chunk in chunks:
        *lines, left = (left + chunk).split(b"\n")
        yield from lines
    if left:
        yield left


def _by_commit(lines: Iterator[bytes], budget: Budget, name: str = "") -> Iterator[Changes]:
    done: list[Change] = []
    paths: list[bytes] = []
    content: list[bytes] = []
    columns = 0  # signs before a line of content; 0 outside a hunk
    signs = b""
    size, left = 0, budget.bytes - budget.spent

    def close() -> None:
        if paths:
            done.append(_change(paths, content))
        paths.clear()
        content.clear()

    for line in lines:
        size += len(line) + 1
        if size > left:
            yield Changes(name, None, size)
            return
        if line[:1] in (b"+", b"-", b" ") and columns:
            if line[:columns] != signs:
                signs = line[:columns]
                content.append(_APART)  # what was removed and what was added do not stand together
            content.append(line[columns:])
        elif line.startswith(b"@@"):
            columns, signs = len(line) - len(line.lstrip(b"@")) - 1, b""
        elif line.startswith(b"diff "):
            close()
            columns = 0
            paths += _of_header(line)
        elif _NAME.fullmatch(line):
            close()
            columns = 0
            if done:
                own = len(line) + 1  # of the next commit
                yield Changes(name, tuple(done), size - own)
                done.clear()
                size, left = own, budget.bytes - budget.spent
            name = line.decode()
        elif not columns:
            paths += _of_extended(line)
    close()
    if done:
        yield Changes(name, tuple(done), size)


def _of_header(line: bytes) -> list[bytes]:
    """The path of `diff --git x x` and `diff --cc x`; of a rename nothing, its own lines name both."""
    if line.startswith(b"diff --cc "):
        return [line.removeprefix(b"diff --cc ")]
    rest = line.removeprefix(b"diff --git ")
    half = len(rest) // 2
    return [rest[:half]] if rest[:half] == rest[half + 1 :] else []


def _of_extended(line: bytes) -> list[bytes]:
    for mark in (b"rename from ", b"rename to ", b"copy from ", b"copy to ", b"--- ", b"+++ "):
        if line.startswith(mark):
            path = line.removeprefix(mark).removesuffix(b"\t")
            return [] if path == b"/dev/null" and mark in (b"--- ", b"+++ ") else [path]
    return []


_ESCAPES = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)


def unquote(path: bytes) -> bytes:
    """A path as git writes it in a diff: in double quotes with C's escapes where it holds unusual bytes."""
    if len(path) < 2 or not path.startswith(b'"') or not path.endswith(b'"'):
        return path
    return _ESCAPE.sub(
        lambda match: bytes([int(match[1], 8)]) if len(match[1]) == 3 else _ESCAPES.get(match[1], match[1]), path[1:-1]
    )


def _change(names: list[bytes], content: list[bytes]) -> Change:
    paths = tuple(dict.fromkeys(unquote(name).decode("utf-8", "surrogateescape") for name in names))
    text = text_of(Piece(b"\n".join(content), None))  # a NUL far behind the beginning makes a file binary, too
    return Change(paths, "" if text is None else normalised(text.text.replace("\x1e", "\0")))
