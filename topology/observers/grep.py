"""substrate.grep: the matching lines of a named region of a file, or of the tracked files [S §4].

Lines match that hold the locator's pattern, as it stands or, with `regex = true`, as RE2 reads it (linear time: the
pattern is a stranger's); without a pattern, lines that hold a term. All terms have to be in the matching lines of one
file. The observation id is `sha256:` of the matching lines as `grep -h` prints them: each with a line feed, files in
the order of their bytes.

A denial is borne out only by the whole region, whatever the pattern: else one that matches nothing would prove it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import re2

from ...streams.terms import Content, Presence, presence, shares_a_term
from .ask import Ask, CannotLook, Finding, Missing, judge, judge_hash, judge_missing, lines_of
from .code_read import digest_of, seen_id, unsure
from .confine import Files
from .content import APART, Piece, text_of

MAX_PATTERN = 1000
Match = Callable[[str], bool]


class _Hit(NamedTuple):
    """One file that was looked at: its matching lines, which terms they hold, and which the whole region holds."""

    matched: list[bytes]
    held: Presence
    anywhere: Presence
    unsure: str | None


def grep(ask: Ask, files: Files) -> Finding:
    """Searches the region.

    Raises:
        CannotLook: the place or the pattern is impossible, or a bound is reached.
    """
    path, pattern, lines = ask.member("path"), ask.member("pattern"), lines_of(ask.locator)
    regex = _is_true(ask.locator.get("regex"))
    match = None if pattern is None else _matcher(pattern, regex)
    if path is None and lines is not None:
        raise CannotLook("lines of which file? The locator names no path")
    changed: int | None = None
    try:
        if path is not None:
            piece = files.read(path, lines, ask.budget)
            changed = files.changed(path, piece, ask.budget)
            hits = [_look(ask, path, piece, match)]
        else:
            hits, changed = _look_through(ask, files, match)
    except Missing:
        return judge_missing(ask, path or "")
    matched = b"".join(line for hit in hits for line in hit.matched)
    digests = (digest_of(matched), digest_of(matched.removesuffix(b"\n")))
    # Without a pattern nobody can tell what the emitter searched for: then a hash refutes nothing.
    refuted = judge_hash(ask, digests, None if pattern is None else changed, _best(ask, hits))
    if refuted is not None:
        return refuted
    seen = seen_id(ask, digests)
    if pattern is not None and not shares_a_term(pattern, ask.text, ask.terms, regex):
        missing = Presence((), tuple(term.text for term in ask.terms.terms))
        return Finding("absent", seen, missing, "the pattern shares no term with the assertion")
    return _decide(ask, hits, seen)


def _is_true(value: object) -> bool:
    return value is True or (isinstance(value, str) and value.lower() == "true")


def _matcher(pattern: str, regex: bool) -> Match:
    if len(pattern) > MAX_PATTERN:
        raise CannotLook(f"the pattern is longer than {MAX_PATTERN} characters")
    if not regex:
        return lambda line: pattern in line
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 8 << 20
    try:
        compiled = re2.compile(pattern, options)
    except (re2.error, UnicodeError):
        raise CannotLook("the pattern is no regular expression that RE2 reads") from None
    return lambda line: compiled.search(line) is not None


def _look_through(ask: Ask, files: Files, match: Match | None) -> tuple[list[_Hit], int | None]:
    """Every tracked file, or the one that the text names; and when any of them changed last."""
    paths = files.paths(ask.budget)
    place = next(iter(ask.terms.places), None)
    if place is not None:
        paths = [path for path in paths if path == place or path.endswith("/" + place)]
    hits: list[_Hit] = []
    newest: int | None = 0
    count = 0
    for path, piece in files.read_all(paths, ask.budget):
        if piece is None:
            hits.append(
                _Hit([], presence(ask.terms.terms, ""), presence(ask.terms.terms, ""), f"{path} cannot be read")
            )
            newest = None
            continue
        newest = None if newest is None or piece.changed is None else max(newest, piece.changed)
        hit = _look(ask, path, piece, match)
        count += len(hit.matched)
        _bound(ask, count)
        hits.append(hit)
    return hits, newest


def _look(ask: Ask, path: str, piece: Piece, match: Match | None) -> _Hit:
    """The matching lines of one piece. Binary files hold no lines; what a denial denies may still stand in one."""
    terms = ask.terms.terms
    text = text_of(piece)
    if text is None:
        inside = presence(terms, Content(piece.data.decode("cp1252", "replace"))).whole
        nothing = presence(terms, "")
        return _Hit([], nothing, nothing, f"{path} is binary" if inside or "path" in ask.locator else None)
    content = Content(text.text)
    anywhere = presence(terms, content)
    if match is None:
        if not anywhere.found:
            return _Hit([], anywhere, anywhere, unsure(ask, piece, text))
        match = _any_term(ask)
    matched = [(raw, line) for raw, line in _lines(piece, text.text) if match(line)]
    _bound(ask, len(matched))
    # A file's own name stands before its lines in what grep prints: a path in the text may mean it.
    region = APART.join((path, *(line for _, line in matched))) if matched and "path" not in ask.locator else ""
    held = presence(terms, Content(region or APART.join(line for _, line in matched)))
    return _Hit([raw for raw, _ in matched], held, anywhere, unsure(ask, piece, text))


def _any_term(ask: Ask) -> Match:
    def match(line: str) -> bool:
        content = Content(line)
        return any(content.holds(term) for term in ask.terms.terms)

    return match


def _lines(piece: Piece, text: str) -> Iterator[tuple[bytes, str]]:
    """Each line, as the bytes that grep would print and as text."""
    lines = text.split("\n")
    same = piece.encoding is None
    raw = piece.data.split(b"\n") if same else [line.encode() for line in lines]
    if lines and not lines[-1]:
        lines.pop()
    for data, line in zip(raw, lines, strict=False):
        yield data + b"\n", line


def _bound(ask: Ask, count: int) -> None:
    ask.budget.remaining()
    if count > ask.budget.matches:
        raise CannotLook(f"more than {ask.budget.matches} lines match")


def _best(ask: Ask, hits: list[_Hit]) -> Presence:
    """Of the files that were looked at, what the one holds that holds the most."""
    nothing = presence(ask.terms.terms, "")
    return max((hit.held for hit in hits), key=lambda held: len(held.found), default=nothing)


def _decide(ask: Ask, hits: list[_Hit], seen: str) -> Finding:
    best = _best(ask, hits)
    if best.whole or not ask.denies:
        return judge(ask, best, seen)
    if any(hit.anywhere.whole for hit in hits):
        return Finding("absent", seen, best, "the terms stand in the region, but not in its matching lines")
    cut = next((hit.unsure for hit in hits if hit.unsure), None)
    if not hits:
        cut = "no file was looked at"
    return judge(ask, best, seen, cut)
