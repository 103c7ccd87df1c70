"""The checks that a recorder derives: from the sentence and from what the agent's calls returned (recording.md).

The check of the claim form; else the most exact ones that name what the sentence names and hold in the file that was
read, as far as the lines that came back show those names; at last `contains` of the one line that has most of them. It
does not read the sentence: whether «does not call» stands between two names is not asked, and need not be, since what
is admitted is the check, and what of the sentence it covers is decided elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from annotating import LOG
from check_texts import argument
from choosing import number
from oracle import Package

from sluice.streams.judging.checks import TABLE, Check, parse_check
from sluice.streams.judging.claim_forms import claim
from sluice.streams.judging.code import Code
from sluice.streams.judging.documents import Document
from sluice.streams.judging.results import Source
from sluice.streams.judging.verify import Parsing, verify_content

MOST = 4
"""Checks of one sentence: those that say most."""
MOST_SPANS = 10
"""Words of a sentence that are set off, and are paired with one another."""
RANK = ("line", "equals", "calls", "imports", "returns", "count", "order", "uses", "defines", "contains")
_SPAN = re.compile(r"`([^`\n]+)`|\"([^\"\n]+)\"")
_VALUE = re.compile(r"(?<![\w.:/-])-?\d+(?:\.\d+)*(?![\w-])|\b(?:true|false)\b")
_SYMBOL = re.compile(r"[A-Za-z_$][\w$-]*(?:(?:\.|::)[A-Za-z_$][\w$-]*)*")
_PLACE = re.compile(r"(?<![\w/.-])([\w./-]+\.\w+):(\d+)(?!\d)|\b[Ll]ine (\d+)\b")
_HASH = re.compile(r"[0-9a-f]{7,40}")
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")


def derive(text: str, kind: str, annotations: list[dict[str, Any]], package: Package) -> list[str]:
    """The checks of a sentence, the most exact first; none where nothing that was read names what it names.

    Args:
        text: the sentence.
        kind: of the assertion.
        annotations: of the calls that were made; what they returned is read from the package.
        package: the repository.
    """
    claimed = claim(text, "denial" if kind == "denial" else "assertion")
    if claimed is not None:
        return [claimed]
    found: dict[str, None] = {}
    for one in annotations:
        path, lines = one["locator"].get("path", ""), one["locator"].get("lines")
        if one["substrate_class"] == LOG:
            found.update(dict.fromkeys(_of_history(text, path, package)))
        elif package.text(path) is not None:
            found.update(dict.fromkeys(_of_file(text, path, lines, package)))
    chosen = sorted(found, key=lambda check: _rank(check, text))
    exact = [check for check in chosen if not check.startswith(("contains(", "defines(", "uses("))]
    return (exact or [check for check in chosen if not check.startswith("contains(")] or chosen)[:MOST]


def _rank(check: str, text: str) -> tuple[int, int]:
    name = check.partition("(")[0]
    return RANK.index(name) if name in RANK else 0, number(text, check)


class _Kept(Parsing):
    """What was parsed last; one sentence after the other is about the same file."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Any] = {}

    def code(self, source: Source) -> Code | None:
        return self._of("code", source)

    def document(self, source: Source) -> Document | None:
        return self._of("document", source)

    def _of(self, what: str, source: Source) -> Any:
        key = (what, source.digest)
        if key not in self._known:
            if len(self._known) > 40:
                self._known.clear()
            whole = source._replace(lines=None)
            self._known[key] = super().code(whole) if what == "code" else super().document(whole)
        return self._known[key]


_PARSER = _Kept()


def _of_file(text: str, path: str, lines: list[int] | None, package: Package) -> Iterator[str]:
    """Checks on a file that hold, of names that the returned lines show."""
    content = package.text(path) or ""
    numbered = list(enumerate(content.splitlines(), 1))
    shown = "\n".join(line for place, line in numbered if lines is None or lines[0] <= place <= lines[1])
    source = Source(path, content, digest=f"{package.root}:{path}")
    spans = list(dict.fromkeys(one or two for one, two in _SPAN.findall(text)))[:MOST_SPANS]
    for candidate in _candidates(text, path, spans, shown, numbered):
        check = parse_check(candidate)
        if isinstance(check, Check) and TABLE[check.name].content and verify_content(check, source, _PARSER).holds:
            yield candidate


def _candidates(text: str, path: str, spans: list[str], shown: str, numbered: list[tuple[int, str]]) -> Iterator[str]:
    """What might be said of the file with the words of the sentence."""
    at = f", path={argument(path)})"
    there = [span for span in spans if _last(span) in shown]
    symbols = [
        span.removesuffix("()").replace("::", ".") for span in there if _SYMBOL.fullmatch(span.removesuffix("()"))
    ]
    plain = _SPAN.sub(" ", text)
    for place in {int(two or three) for one, two, three in _PLACE.findall(text) if three or path.endswith(one)}:
        quotes = [span for span in spans if 1 <= place <= len(numbered) and span in numbered[place - 1][1]]
        if quotes:
            yield f"line({argument(path)}, {place}, {argument(max(quotes, key=len))})"
    for name in symbols:
        for value in (*there, *_VALUE.findall(plain)):
            if value != name:
                yield f"equals({argument(name)}, {argument(value)}{at}"
                yield f'equals({argument(name)}, "{value}"{at}' if '"' not in value and "\\" not in value else ""
        for other in symbols:
            if other != name:
                yield f"calls({argument(name)}, {argument(other)}{at}"
                yield f"uses({argument(name)}, {argument(other)}{at}"
        for span in there:
            yield f"returns({argument(name)}, {argument(span)}{at}"
    for span in there:
        yield f"imports({argument(span)}{at}"
        for kind in (", section", ", target"):
            yield f"defines({argument(span)}{kind}{at}"
        for count in _VALUE.findall(plain) if re.search(r"\b(?:times|occurrences)\b", plain) else ():
            yield f"count({argument(span)}, =, {argument(count)}{at}"
    if len(there) > 1 and re.search(r"\bbefore\b", plain):
        yield f"order({argument(there[0])}, {argument(there[1])}{at}"
    for name in symbols:
        yield f"defines({argument(name)}{at}"
    best = max(
        ((len({each for each in there if each in line}), -place, line) for place, line in numbered), default=None
    )
    if best is not None and best[0] > 1:
        yield f"contains({argument(' '.join(best[2].split())[:200])}{at}"


def _of_history(text: str, path: str, package: Package) -> Iterator[str]:
    """Checks on the history of a file: the commits, authors and days that the sentence names and the log shows."""
    told = {commit: one for commit, one in package.commits.items() if path in one["paths"]}
    named = [word for word in _HASH.findall(text) if any(commit.startswith(word) for commit in told)]
    for word in named:
        yield f"changed({argument(path)}, {word})"
        one = next(one for commit, one in told.items() if commit.startswith(word))
        keys = [f'author="{one["author"]}"'] if one["author"] in text else []
        keys += [f"date={day}" for day in _DATE.findall(text) if one["date"].date().isoformat() == day]
        if keys:
            yield f"commit({word}, {', '.join(keys)})"
    newest = max((one["date"] for one in told.values()), default=None)
    if newest is not None and not named:
        for day in _DATE.findall(text):
            if newest.date().isoformat() == day:
                yield f"last_changed({argument(path)}, =, {day})"


def _last(name: str) -> str:
    return re.split(r"\.|::", name.removesuffix("()"))[-1]
