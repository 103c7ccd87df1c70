"""Checks in Markdown that models can write: footnotes, and blocks of JSON (docs/annotating.md).

    The cap is 1000.[^1]                                ```checks
                                                        [{"say": "The cap is 1000.",
    [^1]: equals(MAX_ASSERTIONS, 1000, path=a.py)         "checks": ["equals(MAX_ASSERTIONS, 1000, path=a.py)"]}]
                                                        ```

What a check means, and whether there is one of that name, is decided elsewhere: here it is a text of the form
`name(…)`. What is no check is prose. Reading never fails; what is left out costs one sentence. Linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, cast

import msgspec

from .json_text import MAX_NESTING, deeper_than, repeated_member, why_not_json
from .prose import LINE, Layout
from .records import MAX_ASSERTIONS, MAX_CHECKS

MAX_BLOCK: Final = 1_000_000
"""Characters of a block of checks."""
MAX_NOTE: Final = 50_000
"""Characters of a footnote."""
MAX_SHARED: Final = 1_000_000
"""Characters of the checks of all statements of an answer: many of them may share one footnote."""
_MOST: Final = MAX_CHECKS + 1
"""Checks that one note or entry gives; a statement with one more than it may have is told or refused."""
INFO: Final = "checks"
"""Behind the fence of a block of checks."""

MOST_TOLD: Final = 10
"""Sentences on what is left out of one answer."""

REFERENCE: Final = re.compile(r"\[\^([^\[\]\s]{1,64})\](?!:)")
_DEFINITION: Final = re.compile(r"^ {0,3}\[\^([^\[\]\s]{1,64})\]:", re.MULTILINE)
_LIST_MARK: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_OTHER_BLOCK: Final = re.compile(r" {0,3}(?:>|#{1,6}[ \t]|`{3}|~{3})")
_INDENTED: Final = re.compile(r" {2,}\S| *\t\s*\S")
_GOES_ON: Final = ("(", "[", "{", ",", ";")
_BETWEEN: Final = re.compile(r"(?:(?:^|(?<=\n))[ \t]*+(?:[-*+]|\d{1,9}[.)])[ \t]|[\s;,.])*+")
"""What parts checks: `;`, a comma, a line end, and the marks of list items."""
_CHECK: Final = re.compile(r"(?:not\s+)?[a-z_]{1,40}\s*\(")
_STEP: Final = re.compile(r"[()\[\]{}\"'`]")
STRINGS: Final = {
    '"': re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL),
    "'": re.compile(r"'(?:[^'\\]|\\.)*+'", re.DOTALL),
    "`": re.compile(r"`[^`]*+`"),
}
"""The strings of checks, by the mark that opens and closes them."""
_BEFORE_VALUE: Final = "(,=["
_MARKS: Final = re.compile(
    r"\]\([^()\s]{0,2000}(?:\s{1,9}\"[^\"\n]{0,500}\")?\)|\[\^[^\[\]\s]{1,64}\]|"
    r"^\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)?(?:\[[ xX]\]\s+)?|[`*_~|\\\[\]]"
)
_END: Final = re.compile(r"[\s.!…。！]+\Z")


class Definition(NamedTuple):
    """A footnote that is checks: `[start, end)` is what stands for it in the text, without the last line end."""

    start: int
    end: int
    label: str
    checks: tuple[str, ...]


class Entry(NamedTuple):
    """What a block of checks says of one statement."""

    say: str
    checks: tuple[str, ...]


def checks_in(note: str) -> tuple[str, ...] | None:
    """The checks that a footnote consists of, in order; None where it is anything else, and so prose. They are parted
    by `;`, commas, line ends or marks of list items, and each may stand in back-ticks."""
    found: list[str] = []
    at = _past_parting(note, 0)
    while at < len(note):
        ticks = _ticks(note, at)
        start = at + ticks
        head = _CHECK.match(note, start)
        end = None if head is None else _closing(note, head.end())
        if end is None or note[end : end + ticks] != "`" * ticks:
            return None
        found.append(note[start:end])
        at = _past_parting(note, end + ticks)
        if at == end + ticks < len(note):
            return None
    return tuple(found) or None


def _past_parting(text: str, at: int) -> int:
    match = _BETWEEN.match(text, at)
    assert match is not None, "it takes nothing at all"
    return match.end()


def _ticks(text: str, at: int) -> int:
    end = at
    while text.startswith("`", end):
        end += 1
    return end - at


def _closing(text: str, at: int) -> int | None:
    """Behind the bracket that closes what opened before `at`; strings are passed over."""
    depth = 1
    while (step := _STEP.search(text, at)) is not None:
        mark, at = step[0], step.end()
        if mark in STRINGS:
            if _begins_value(text, step.start()):
                string = STRINGS[mark].match(text, step.start())
                if string is None:
                    return None
                at = string.end()
            continue
        depth += 1 if mark in "([{" else -1
        if not depth:
            return at
    return None


def _begins_value(text: str, at: int) -> bool:
    while at and text[at - 1].isspace():
        at -= 1
    return at > 0 and text[at - 1] in _BEFORE_VALUE


def definitions(text: str, plan: Layout) -> tuple[list[Definition], list[str]]:
    """The footnotes of a Markdown text that are checks, in order, and what is left out, a sentence each. By the `plan`
    of the text, what stands in a quotation or in code is no footnote."""
    found: list[Definition] = []
    told: list[str] = []
    labels = set[str]()
    starts = [match for match in _DEFINITION.finditer(text) if "[^" in match[0]]
    foreign = iter([*plan.foreign, (len(text), len(text) + 1)])
    zone = next(foreign)
    for place, match in enumerate(starts):
        while zone[1] <= match.start():
            zone = next(foreign)
        if zone[0] <= match.start():
            continue
        limit = min(zone[0], starts[place + 1].start() if place + 1 < len(starts) else len(text))
        end, note = _note(text, match.end(), limit)
        label = match[1].casefold()
        checks = checks_in(note) if len(note) <= MAX_NOTE else None
        if checks is None:
            if _CHECK.match(note.lstrip("` \t\r\n-*")):
                told.append(
                    f"The footnote {match[1]} begins like a check, but has not its form; it is taken for prose."
                )
            continue
        if label in labels:
            told.append(f"The footnote {match[1]} stands there twice; the first one counts.")
            checks = ()
        labels.add(label)
        found.append(Definition(match.start(), end, label, checks[:_MOST]))
    return found, told


def _note(text: str, start: int, limit: int) -> tuple[int, str]:
    """Where a footnote ends, and what it says: its first line, and those behind it that are indented, or that go on a
    list or an open bracket. A blank line ends it."""
    end, depth, said, listed = start, 0, False, False
    for match in LINE.finditer(text, start, limit):
        line = match[0]
        bare, item = line.strip(), _LIST_MARK.match(line) is not None
        if not bare and end > start:
            break
        if match.start() > start and not _INDENTED.match(line):
            is_open = depth > 0 or not said or (item and listed)
            if not bare or _OTHER_BLOCK.match(line) or not is_open:
                break
        listed = listed or (item and not said)
        said = said or bool(bare)
        depth += sum(map(bare.count, "([{")) - sum(map(bare.count, ")]}"))
        depth = max(depth, int(bare.endswith(_GOES_ON)))
        end = match.start() + len(line.rstrip("\r\n"))
    return end, text[start:end]


class _Entry(msgspec.Struct):
    say: str
    checks: list[str] | str


def entries_of(block: str, *, closed: bool = True) -> tuple[list[Entry], list[str], bool]:
    """What a block of checks says, by its lines without the fences, `closed` by one or not: its entries; what is left
    out, a sentence each; and whether it was read at all."""
    if len(block) > MAX_BLOCK:
        return [], [f"A block of checks has more than {MAX_BLOCK} characters; it is left out."], False
    data = block.encode("utf-8", "replace")
    if deeper_than(MAX_NESTING, data):
        return [], [f"A block of checks is nested deeper than {MAX_NESTING}; it is left out."], False
    try:
        given = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        unfinished = "" if closed else ", and no fence closes it"
        return [], [f"A block of checks is no JSON{unfinished}: {why_not_json(data, error)}; it is left out."], False
    name = repeated_member(data)
    if name is not None:
        return [], [f"In a block of checks a member occurs twice in one object: {name[:100]!r}; it is left out."], False
    listed = cast("list[object]", given) if isinstance(given, list) else [given]
    entries = [entry for member in listed[:MAX_ASSERTIONS] if (entry := _entry(member)) is not None]
    told: list[str] = []
    wrong = min(len(listed), MAX_ASSERTIONS) - len(entries)
    if wrong:
        told.append(f'{wrong} of {len(listed)} entries of a block of checks are not {{"say": …, "checks": […]}}.')
    if len(listed) > MAX_ASSERTIONS:
        told.append(f"Of a block of checks the first {MAX_ASSERTIONS} of {len(listed)} entries are read.")
    return entries, told, True


def _entry(member: object) -> Entry | None:
    try:
        entry = msgspec.convert(member, _Entry)
    except msgspec.ValidationError:
        return None
    checks = [entry.checks] if isinstance(entry.checks, str) else entry.checks
    return Entry(entry.say, tuple(dict.fromkeys(check.strip() for check in checks))[:_MOST])


def few(told: Iterable[str]) -> list[str]:
    """Sentences on what is left out, each once, and one that counts those beyond `MOST_TOLD`."""
    each = list(dict.fromkeys(told))
    more = len(each) - MOST_TOLD
    return each if more <= 0 else [*each[:MOST_TOLD], f"{more} more are left out."]


def matched(
    entries: Sequence[Entry], statements: Iterable[Iterable[str]]
) -> tuple[dict[int, tuple[str, ...]], list[str]]:
    """The checks that the entries of all blocks give each of the `statements` (texts), by its place; and one sentence
    on the entries that match none, if any.

    A statement has those of each entry that says it; where several say the same words, all of them have the checks.
    """
    if not entries:
        return {}, []
    places: dict[str, list[int]] = {}
    for place, texts in enumerate(statements):
        for words in {_words(text) for text in texts}:
            places.setdefault(words, []).append(place)
    said: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        words = _words(entry.say)
        said[words] = (*said.get(words, ()), *entry.checks)[:_MOST]
    checks: dict[int, tuple[str, ...]] = {}
    for words, given in said.items():
        for place in places.get(words, ()) if words else ():
            checks[place] = (*checks.get(place, ()), *given)
    lost = [entry.say for entry in entries if not (words := _words(entry.say)) or words not in places]
    return checks, list(_told_lost(lost))


def _told_lost(lost: Sequence[str]) -> Iterator[str]:
    if lost:
        which = "1 entry" if len(lost) == 1 else f"{len(lost)} entries"
        first = " ".join(lost[0].split())
        shown = first if len(first) <= 100 else f"{first[:99]}…"
        yield f"{which} of a block of checks match no statement of the answer; the first says «{shown}»."


def _words(text: str) -> str:
    """A statement as it is compared: without Markdown marks, the sign that ends it, and differences of white space."""
    return _END.sub("", " ".join(_MARKS.sub("", text).split()))
