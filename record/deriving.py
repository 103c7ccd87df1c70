"""The checks that a recorder derives: from the sentence and from what the agent's calls returned (recording.md).

The check of the claim form; else the most exact ones that name what the sentence names and hold in the file that was
read, as far as the lines that came back show those names; at last `contains` of the one line that has most of them. It
does not read the sentence: whether «does not call» stands between two names is not asked, and need not be, since what
is admitted is the check, and what of the sentence it covers is decided elsewhere. `make yield` measures this very code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence, Set
from functools import lru_cache, partial
from hashlib import sha256
from typing import Final, NamedTuple

from ..codecs.records import MAX_CHECK_LENGTH, Kind
from ..streams.judging.checks import TABLE, Check, parse_check
from ..streams.judging.claim_forms import claim
from ..streams.judging.code import ON_SYMBOLS, Code, possible_checks
from ..streams.judging.documents import Document
from ..streams.judging.results import Source
from ..streams.judging.verify import Parser, Parsing, verify_content
from .candidates import argument, candidates, named
from .looks import LOG, Line, Look, LookResult
from .made_once import MadeOnce
from .word_lines import LinedText

MOST_CHECKS: Final = 4
"""Checks of one sentence: those that say most."""
MOST_FILES: Final = 5
"""Files of one look that are tried: a search may return lines of thousands."""
MOST_SENTENCE: Final = 4_000
"""Characters of a sentence from which more than its claim form is read."""
MOST_CONTENT: Final = 2_000_000
"""Characters of a file that is parsed."""
MOST_LINES: Final = 100_000
"""The last line that is taken from a result alone: a file that is not at hand is not made up beyond it."""
MOST_REMEMBERED: Final = 200_000
"""Characters of a file whose lines are kept for the next sentence."""
MOST_RESULTS: Final = 64
"""Results whose files and texts are kept for the next sentence."""
MOST_PARSED: Final = 100
"""Files whose syntax is kept; one sentence after the other is about the same ones."""
RANK: Final = ("line", "equals", "calls", "imports", "returns", "count", "order", "uses", "defines", "contains")
OF_WHOLE: Final = frozenset(("count", "order", "contains"))
"""Checks that need all of a file. Of `count` and `order` a part says nothing. `contains` copies a line, and only a
tracked file that is at hand says that it is one to be seen."""
_HASH: Final = re.compile(r"(?<![0-9a-zA-Z])[0-9a-f]{7,40}(?![0-9a-zA-Z])")
_DATE: Final = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")

ReadFile = Callable[[str], str | None]
"""The text of a file below the root; None where there is none, or it is no text."""


_LEVELS: Final = (
    frozenset(TABLE) - {"uses", "defines", "contains"},
    frozenset(("uses", "defines")),
    frozenset(("contains",)),
)
"""Checks by how much they say."""


class _Tried(NamedTuple):
    """A check that might hold, and the file that it is held against. It is read when its level is asked for."""

    written: str
    source: Source

    def __hash__(self) -> int:
        return hash((self.written, self.source.digest, self.source.path))

    def holds(self, level: Set[str], parser: Parser) -> bool:
        """Whether it is a check of this level, and holds."""
        if _name(self.written) not in level:
            return False
        check = parse_check(self.written)
        return isinstance(check, Check) and bool(verify_content(check, self.source, parser).holds)


class Deriver:
    """Derives checks from results. It keeps what it parsed, within `MOST_PARSED`; one thread uses it at a time.

    Args:
        read_file: gives the whole file where it is at hand. Without it, and where it gives None, a file is what came
            back of it; lines in between are taken for empty. Then checks that need all of it are not derived, nor any
            that copies a line.
        parser: keeps what it parsed, where somebody else parses the same files; else the deriver keeps it.
    """

    def __init__(self, read_file: ReadFile | None = None, parser: Parser | None = None) -> None:
        self._read, self._parser = read_file, _Kept() if parser is None else parser
        self._shown = MadeOnce(_Shown, MOST_RESULTS)

    def derive(self, text: str, kind: Kind, seen: Sequence[LookResult]) -> list[str]:
        """The checks of a sentence, the most exact first; none where nothing that was read names what it names.

        Args:
            text: the sentence.
            kind: of the assertion.
            seen: the calls that bear on it, with their results.
        """
        claimed = claim(text, "denial" if kind == "denial" else "assertion")
        if claimed is not None and len(claimed) <= MAX_CHECK_LENGTH:
            return [_with_folder(claimed, seen)]
        if len(text) > MOST_SENTENCE:
            return []
        parser = _Again(self._parser)
        tried = list(dict.fromkeys(tried for one in seen for tried in self._of_files(text, one, parser)))
        found = {check: None for one in seen if one.look.substrate_class == LOG for check in of_history(text, one)}
        for level in _LEVELS:  # what says less is not asked for where something says more
            found |= {one.written: None for one in tried if one.holds(level, parser)}
            if found:
                break
        chosen = (check for check in found if len(check) <= MAX_CHECK_LENGTH)
        return sorted(chosen, key=lambda one: _rank(one, text))[:MOST_CHECKS]

    def whole(self, look: Look) -> LookResult:
        """A look at a file as if all of its lines had come back; without lines where the file is not at hand."""
        content = (
            None if self._read is None or look.path is None or look.substrate_class == LOG else self._read(look.path)
        )
        rows = [] if content is None else content.split("\n")[:MOST_LINES]
        return LookResult(look, tuple(Line(look.path or "", number, row) for number, row in enumerate(rows, 1)))

    def _of_files(self, text: str, seen: LookResult, parser: Parser) -> Iterator[_Tried]:
        """The checks that might hold in the files of a look, each with the file."""
        about = named(text)
        if not about.spans:
            return
        shown = self._shown.of(seen)
        for path in shown.paths:
            came, content = shown.text_of(path), self._content(path, seen)
            if came is None or content is None or len(content[0]) > MOST_CONTENT:
                continue
            whole, is_whole = content
            # Whole or not, files that differ have digests that do: a result may be of another state than the file.
            digest, rows, lined = _digested(whole) if len(whole) <= MOST_REMEMBERED else _digest_and_rows(whole)
            # What holds in a part that came back is worth asking an observer, who has the whole file.
            source = Source(path, whole, digest=digest)
            for candidate in candidates(about, path, came, rows, lined, partial(_possible, parser, source)):
                if is_whole or _name(candidate) not in OF_WHOLE:
                    yield _Tried(candidate, source)

    def _content(self, path: str, seen: LookResult) -> tuple[str, bool] | None:
        """The file's text, and whether that is all of it."""
        text = None if self._read is None else self._read(path)
        if text is not None:
            return text, True
        at = {line.number: line.text for line in seen.lines if line.path == path and line.number is not None}
        if not at:
            found = "\n".join(line.text for line in seen.lines if line.path == path)
            return (found, False) if found else None
        last = max(at)
        if last > MOST_LINES:
            return None
        return "\n".join(at.get(number, "") for number in range(1, last + 1)) + "\n", False


def _possible(parser: Parser, source: Source, symbol: str) -> Set[str]:
    """Which checks on a symbol might hold in a file: of each that cannot, a dozen would be tried in vain."""
    code = parser.code(source)
    return ON_SYMBOLS if code is None else possible_checks(code, symbol, source.path)


class _Shown:
    """What a look returned, file by file: put together when it is first asked for."""

    def __init__(self, seen: LookResult) -> None:
        self._lines = seen.lines
        self._texts: dict[str, str | None] = {}
        self.paths = seen.paths[:MOST_FILES]

    def text_of(self, path: str) -> str | None:
        """The lines of a file that came back, as one text; None where none did."""
        if path not in self._texts:
            rows = [line.text for line in self._lines if line.path == path]
            self._texts[path] = "\n".join(rows) if rows else None
        return self._texts[path]


def _digest_and_rows(text: str) -> tuple[str, Sequence[str], LinedText]:
    """The digest of a file's text, its lines, and these as a text that can be asked for words."""
    return "sha256:" + sha256(text.encode("utf-8", "replace")).hexdigest(), text.split("\n"), LinedText(text)


@lru_cache(maxsize=32)  # one sentence after the other is about the same files
def _digested(text: str) -> tuple[str, Sequence[str], LinedText]:
    return _digest_and_rows(text)


def _with_folder(claimed: str, seen: Sequence[LookResult]) -> str:
    """«`limits.py` exists» about a file that was looked at in a folder: the check names all of its path."""
    check = parse_check(claimed)
    if not isinstance(check, Check) or check.name != "exists":
        return claimed
    name = str(check.arguments[0])
    paths = {path for one in seen for path in one.paths}
    inside = [path for path in paths if path.endswith(f"/{name}")]
    whole = f"exists({argument(inside[0])})" if name not in paths and len(inside) == 1 else claimed
    return whole if len(whole) <= MAX_CHECK_LENGTH else claimed


def _name(check: str) -> str:
    """The name of a check that is written without `not`."""
    return check.partition("(")[0]


def _rank(check: str, text: str) -> tuple[int, bytes]:
    name = _name(check)
    return RANK.index(name) if name in RANK else 0, sha256(f"{text}\x1f{check}".encode("utf-8", "replace")).digest()[:8]


def of_history(text: str, seen: LookResult) -> Iterator[str]:
    """Checks on history: the commits, authors and days that the sentence names and the log shows.

    Those on a path need a look that names one.
    """
    path = seen.look.path
    commits = {commit.name: commit for commit in seen.commits}
    named_ones = [word for word in _HASH.findall(text) if any(name.startswith(word) for name in commits)]
    for word in named_ones:
        if path is not None:
            yield f"changed({argument(path)}, {word})"
        commit = next(one for name, one in commits.items() if name.startswith(word))
        keys = (
            [f"author={json.dumps(commit.author, ensure_ascii=False)}"]
            if commit.author and commit.author in text
            else []
        )
        keys += [f"date={day}" for day in _DATE.findall(text) if _day(commit.date) == day][:1]
        if keys:
            yield f"commit({word}, {', '.join(keys)})"
    days = [commit.date for commit in commits.values() if commit.date is not None]
    if days and path is not None and not named_ones and len(days) == len(commits):
        newest = _day(max(days))
        yield from (f"last_changed({argument(path)}, =, {day})" for day in _DATE.findall(text) if day == newest)


def _day(date: object) -> str:
    return str(date)[:10] if date is not None else ""


class _Again:
    """A parser for one sentence, whose checks are held against the same file one after the other.

    Args:
        parser: is asked when it is another file.
    """

    def __init__(self, parser: Parser) -> None:
        self._parser = parser
        self._file: tuple[str, str] | None = None
        self._code: Code | None = None

    def code(self, source: Source) -> Code | None:
        file = source.path, source.digest
        if file != self._file:
            self._file, self._code = file, self._parser.code(source)
        return self._code

    def document(self, source: Source) -> Document | None:
        return self._parser.document(source)


class _Kept(Parsing):
    """What was parsed last."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], Code | None] = {}
        self._documents: dict[tuple[str, str], Document | None] = {}

    def code(self, source: Source) -> Code | None:
        key = (source.path, source.digest)
        if key not in self._codes:
            _make_room(self._codes)
            self._codes[key] = super().code(source._replace(lines=None))
        return self._codes[key]

    def document(self, source: Source) -> Document | None:
        key = (source.path, source.digest)
        if key not in self._documents:
            _make_room(self._documents)
            self._documents[key] = super().document(source._replace(lines=None))
        return self._documents[key]


def _make_room(kept: dict[tuple[str, str], Code | None] | dict[tuple[str, str], Document | None]) -> None:
    if len(kept) >= MOST_PARSED:
        kept.clear()
