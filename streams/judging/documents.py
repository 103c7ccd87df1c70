"""Decides checks on documents (JSON, TOML, YAML, the INI family, Makefiles, Markdown) by key and heading
(docs/checks.md): which entries a name means (a dotted path, a place in a list, a JSON Pointer, or a key anywhere).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Set
from typing import Any, Final, Literal, NamedTuple, cast

from ...codecs.unicode_text import nfkc
from .checks import Check, Held, HeldReason, Operator, Source, Value
from .document_lines import Document, Format, Rows, Unreadable, parse_env, parse_ini, parse_make
from .document_trees import headings_named, parse_json, parse_markdown, parse_toml, parse_yaml
from .facts import MAX_FOUND
from .index import literal_of, value_of
from .values import Text, compare, same_items, value_of_text

MAX_PARTS: Final = 64
"""Parts of one name."""
MAX_CANDIDATES: Final = 5


class Named(NamedTuple):
    """The entries that a name means, in the document's order; further ones whose path ends in it (`others`); and the
    reason why there may be other ones."""

    rows: tuple[int, ...] = ()
    others: tuple[int, ...] = ()
    doubt: HeldReason | None = None


def find(
    document: Document, name: str, within: frozenset[int] | None = None, lines: tuple[int, int] | None = None
) -> Named:
    """The entries of a `document` that a `name` means: `a.b`, `a.0.b`, `a[0].b`, `/a/b/0`, the end of such a path, or a
    heading; in NFKC. Only those in the entries `within`, and those that begin in the `lines`."""
    if document.format == "markdown":
        rows = [
            row
            for row, entry in enumerate(document.entries)
            if entry.parent >= 0
            and _in_lines(document, row, lines)
            and (within is None or not within.isdisjoint(document.lineage(row)[1:]))
        ]
        headings = [str(document.entries[row].key) for row in rows]
        return Named(tuple(rows[at] for at in headings_named(name, headings)))
    folds = (False, True) if document.format in ("ini", "conf") else (False,)
    for spelling in _spellings(name):
        for fold in folds:
            named = _find(document, spelling, within, lines, fold)
            if named.rows or named.doubt is not None:
                return named
    return Named()


_ITEM: Final = re.compile(r"\[([0-9]{1,9})\]")
_REFERENCE: Final = re.compile(r"\$\(([^()$]+)\)|\$\{([^{}$]+)\}")


def _spellings(name: str) -> dict[str, None]:
    """A name, and what it is without what jq, JSONPath, headers of tables and references to variables set around it."""
    bare = name[2:] if name.startswith("$.") else name.removeprefix(".")
    if name.startswith("[") and name.endswith("]"):
        bare = name.removeprefix("[").removeprefix("[").removesuffix("]").removesuffix("]").strip()
    elif (reference := _REFERENCE.fullmatch(name)) is not None:
        bare = reference[1] or reference[2]
    return dict.fromkeys(spelling for spelling in (name, bare, _ITEM.sub(r".\1", bare).lstrip(".")) if spelling)


def _in_lines(document: Document, row: int, lines: tuple[int, int] | None) -> bool:
    return lines is None or lines[0] <= document.entries[row].first <= lines[1]


def _find(
    document: Document, name: str, within: frozenset[int] | None, lines: tuple[int, int] | None, fold: bool
) -> Named:
    if name.count(".") >= MAX_PARTS:
        return Named(doubt="too-large")
    index, entries = document.index, document.entries
    starts = index.roots if within is None else within
    breaks = [0, *(mark.end() for mark in re.finditer(r"\.", name))]
    rows = [row for start in breaks for row in index.by_key.get(name[start:].lower(), ())]
    met = {row: _met(document, row, name.lower() if fold else name, starts, fold) for row in rows}
    if name.startswith("/"):  # a JSON Pointer (RFC 6901)
        tokens = [token.replace("~1", "/").replace("~0", "~") for token in name[1:].split("/")]
        for row in index.by_key.get(tokens[-1].lower(), ()):
            lineage = document.lineage(row)[: len(tokens)]
            if [str(entries[up].key) for up in reversed(lineage)] == tokens and entries[lineage[-1]].parent in starts:
                met[row] = "whole"
    met = {row: how for row, how in met.items() if _in_lines(document, row, lines)}
    whole = sorted(row for row, how in met.items() if how == "whole")
    ends = sorted(
        row
        for row, how in met.items()
        if how == "end" and (within is None or not within.isdisjoint(document.lineage(row)[1:]))
    )
    if whole or not ends:
        return Named(tuple(whole), tuple(ends))
    # `a.b` at another place, while there is an `a` without a `b` at the top, or one that is an alias or merges another.
    tops = {str(entries[child].key) for root in starts for child in index.children.get(root, ())}
    open_ = {str(entry.key) for entry in entries if entry.doubt is not None and entry.kind in ("mapping", "list")}
    begins = any(name[: end - 1] in tops for end in breaks[1:]) or any(
        name[start : end - 1] in open_ for end in breaks for start in breaks if start < end
    )
    return Named(tuple(ends), (), "ambiguous" if begins else None)


def _met(document: Document, row: int, name: str, starts: Set[int], fold: bool) -> Literal["whole", "end", ""]:
    """Whether a name is the whole path of an entry from where it starts, or the end of its path."""
    while row not in starts and row >= 0:
        entry = document.entries[row]
        key = str(entry.key).lower() if fold else str(entry.key)
        if name == key:
            return "whole" if entry.parent in starts else "end"
        if not name.endswith(f".{key}"):
            break
        row, name = entry.parent, name[: -len(key) - 1]
    return ""


def candidates(document: Document, rows: tuple[int, ...]) -> tuple[str, ...]:
    """The paths of some entries, each with its line where it has one, at most 5."""
    return tuple(
        document.path(row)[:200] + (f" (line {document.entries[row].first})" if document.entries[row].first else "")
        for row in rows[:MAX_CANDIDATES]
    )


MAX_TEXT: Final = 4_000_000
"""Characters of a document; Markdown, JSON and TOML have bounds of their own."""
MAX_LINES: Final = 30_000
"""Lines of an INI file or a Makefile: one without an entry costs up to 15 us as well."""
MAX_ITEMS: Final = 4_000
"""Items of a list that a check is compared with, those of inner lists included; a check declares far fewer."""
MAX_ROWS: Final = 100
"""Entries of one name whose lines are looked at."""
_DECIDED: Final = frozenset(("defines", "equals", "compare", "members"))

_NAMES: Final[Mapping[Format, str]] = {
    "json": ".json pipfile.lock composer.lock",
    "toml": ".toml cargo.lock poetry.lock uv.lock pdm.lock pipfile",
    "yaml": ".yaml .yml",
    "ini": ".ini .cfg .editorconfig .flake8 .pylintrc .coveragerc .pypirc .gitconfig .gitmodules",
    "conf": ".conf",
    "properties": ".properties",
    "env": ".env",
    "make": ".mk makefile gnumakefile",
    "markdown": ".md .markdown",
}
"""The endings and the whole names of the files of each format, in lower case."""
_BY_NAME: Final[Mapping[str, Format]] = {name: known for known, names in _NAMES.items() for name in names.split()}
_ENV: Final = re.compile(r"\.env\.[\w-]+")
_BY_LINE: Final = frozenset(("ini", "conf", "env", "properties", "make"))
_UNENCODABLE: Final = re.compile("[\0\ud800-\udfff]")
_KEYS: Final = ("mapping", "list", "value")
_KINDS: Final[Mapping[Format | None, Mapping[str, tuple[str, ...]]]] = {
    "make": {"target": ("target",), "variable": ("variable",), "": ("target", "variable")},
    "markdown": {"section": ("section",), "": ("section",)},
    "env": {"variable": ("value",), "": ("value",)},
}
"""The kinds of symbol that a format has, and the entries that are of them; of any other format keys and sections."""


def format_of(path: str) -> Format | None:
    """The format of a file by its name; None for any other."""
    name = path.rpartition("/")[2].lower()
    if _ENV.fullmatch(name):
        return "env"
    return _BY_NAME.get(name) or _BY_NAME.get("." + name.rpartition(".")[2] if "." in name else "")


def parse_document(source: Source) -> Document | None:
    """Parses a file of one of the formats, whole; None where its name is that of none, or the text of a `.conf` file is
    none of the INI family."""
    known = format_of(source.path)
    if known is None:
        return None
    rows = Rows()
    try:
        _read(known, source.text, rows)
    except Unreadable as problem:
        if known == "conf" and problem.reason != "too-large":
            return None
        return Document(known, problem=problem.reason)
    return Document(known, rows.entries, None, len(source.text), rows.complete, rows.closed)


def _read(known: Format, original: str, rows: Rows) -> None:
    if len(original) > MAX_TEXT:
        raise Unreadable("too-large")
    original = original.removeprefix("\ufeff")
    if _UNENCODABLE.search(original):
        raise Unreadable("syntax-error")
    text = original.replace("\r\n", "\n")
    if "\r" in text and (known == "markdown" or known in _BY_LINE):
        raise Unreadable("syntax-error")  # a line end to some readers, and not to those that count lines
    if known in _BY_LINE and text.count("\n") > MAX_LINES:
        raise Unreadable("too-large")
    match known:
        case "json":
            parse_json(text, rows)
        case "toml":
            parse_toml(text, rows, original)
        case "yaml":
            parse_yaml(text, rows)
        case "env":
            parse_env(text, rows)
        case "make":
            parse_make(text, rows)
        case "markdown":
            parse_markdown(text, rows)
        case _:
            parse_ini(text, rows, known)


# ---------------------------------------------------------------- checks


def verify_document(check: Check, document: Document, source: Source) -> Held:
    """Whether `defines`, `equals`, `compare` or `members` holds in a `document` of the `source`, in whose lines an
    entry must begin; the check's `not` is left aside.

    Values are false where the one key of that name has another literal, `defines` where the symbol's last component
    occurs nowhere in the file.
    """
    if check.name not in _DECIDED:
        return Held(None, "unlisted-language")
    if document.problem is not None:
        return Held(None, document.problem)
    held = _verify(check, document, source)
    if not source.whole and held.holds is not None:
        last = source.text.count("\n") + 1  # the text may go on, within a line
        whole = check.name == "defines" and held.holds and held.lines is not None and held.lines[0] < last
        return held if whole else Held(None, "not-whole")
    return held


def verify_json_value(check: Check, value: Any) -> Held:
    """Whether a check holds in a JSON value that was decoded already; as `verify_document`, with keys as `a.b` or a
    JSON Pointer."""
    if check.name not in _DECIDED:
        return Held(None, "unlisted-language")
    if check.lines is not None:
        return Held(None, "not-found")  # a value has no lines
    try:
        document = parse_document(Source("value.json", json.dumps(value)))
    except (TypeError, ValueError, RecursionError):
        return Held(None, "incomparable")
    assert document is not None, "the name is that of a format"
    if document.problem is not None:
        return Held(None, document.problem)
    for entry in document.entries:
        entry.first = entry.last = 0
        entry.readings = entry.readings[:1]  # the number that was decoded, whatever another reader would make of it
        if entry.doubt == "computed" and entry.written:
            entry.readings, entry.doubt = (literal_of(entry.written),), None  # nothing is put into a value
    document = Document(None, document.entries)
    text = "\n".join(str(value_of(reading)) for entry in document.entries for reading in entry.readings)
    return _verify(check, document, Source("", text))


def _verify(check: Check, document: Document, source: Source) -> Held:
    lines = source.lines
    within: frozenset[int] | None = None
    inside = check.text("in")
    if inside:
        named = find(document, inside)
        if len(named.rows) > MAX_ROWS:
            return Held(None, "ambiguous", candidates=candidates(document, named.rows))
        rows = tuple(row for row in named.rows if lines is None or _meets(document, row, lines))
        targets = document.format == "make" and all(document.entries[row].kind != "variable" for row in rows)
        if not rows or named.doubt is not None or (len(rows) > 1 and not targets):
            reason = named.doubt or ("ambiguous" if rows else "not-found")
            return Held(None, reason, candidates=candidates(document, rows) if rows else ())
        within = frozenset(rows)
    if check.name == "defines":
        return _defines(check, document, find(document, check.text("symbol"), within, lines), source.text)
    if document.format == "markdown":
        return Held(None, "unlisted-language")
    return _by_value(check, document, find(document, check.text("name"), within, lines), source.text)


def _meets(document: Document, row: int, lines: tuple[int, int]) -> bool:
    """Whether something of an entry stands in the lines."""
    return any(first <= lines[1] and lines[0] <= last for first, last in _extents(document, row))


def _defines(check: Check, document: Document, named: Named, text: str) -> Held:
    kinds = _KINDS.get(document.format, {"": _KEYS, "variable": _KEYS, "section": ("mapping", "list")})
    kind = check.text("kind")
    if kind not in kinds:
        return Held(None, "unlisted-language")
    for row in named.rows:
        entry = document.entries[row]
        if entry.kind not in kinds[kind] or (kind == "section" and not _is_table(document, row)):
            continue
        if entry.first or document.format is None:
            lines = (entry.first, entry.first if entry.kind == "section" else entry.last) if entry.first else None
            return Held(True, None, lines, under=entry.under, narrowed=bool(entry.under))
    if named.doubt is not None or named.rows:
        return Held(None, named.doubt or "not-found")
    if not document.complete or not document.closed:
        return Held(None, "computed")
    return Held(False, "differs") if _is_absent(document, check.text("symbol"), text) else Held(None, "not-found")


def _is_table(document: Document, row: int) -> bool:
    """Whether an entry holds keys: a mapping, a list of mappings, or a heading's section."""
    items = document.index.children.get(row, [row])
    return document.entries[row].kind != "list" or document.entries[items[0]].kind == "mapping"


_INDEXES: Final = re.compile(r"(?:[./]?\[?[0-9]+\]?)+$")
_LETTERS: Final = re.compile(r"[\W_]+")


def _is_absent(document: Document, name: str, text: str) -> bool:
    """Whether the last component of a name is a part of no word of a text, and of no key, in any letter case."""
    if document.format == "markdown":
        last = _LETTERS.sub("", nfkc(name).casefold())
        text = _LETTERS.sub("", nfkc(text).casefold())
        keys = [_LETTERS.sub("", str(entry.key).casefold()) for entry in document.entries]
    else:
        last = re.split(r"[./\[\]\"'*?]+", _INDEXES.sub("", name).rstrip("]\"'"))[-1].casefold()
        text = nfkc(text).casefold()
        keys = [str(entry.key).casefold() for entry in document.entries]
    return bool(last) and last not in text and not any(last in key for key in keys)


def _by_value(check: Check, document: Document, named: Named, text: str) -> Held:
    """`equals`, `compare` and `members` of the one entry that a name means."""
    make = document.format == "make"
    rows = tuple(row for row in named.rows if not make or document.entries[row].kind == "variable")
    others = tuple(row for row in named.others if not make or document.entries[row].kind == "variable")
    if not rows:
        return Held(None, named.doubt or "not-found")
    row = rows[0]
    entry = document.entries[row]
    repeated = not make and not document.index.repeated.isdisjoint(document.lineage(row))
    if len(rows) > 1 or named.doubt is not None or repeated or (make and others):
        reason: HeldReason = "assigned-elsewhere" if make else named.doubt or "ambiguous"
        return Held(None, reason, candidates=candidates(document, (*rows, *others)))
    if not document.complete:
        return Held(None, "assigned-elsewhere")
    holds, reason_ = _answer(check, document, row)
    if holds is False and (entry.under or any(_answer(check, document, other)[0] is not False for other in others)):
        # In another branch, or at another place, the name may have the value.
        return Held(None, "ambiguous", candidates=candidates(document, (row, *others)), under=entry.under)
    lines = (entry.first, entry.last) if entry.first and holds is not None else None
    under = entry.under if holds else ()
    found = None
    if entry.first and not holds:
        found = text.split("\n", entry.first)[entry.first - 1].strip()[:MAX_FOUND] or None
    return Held(holds, reason_, lines, found=found, under=under, narrowed=bool(under))


Answer = tuple[bool | None, HeldReason | None]


def _answer(check: Check, document: Document, row: int) -> Answer:
    """Whether the value of an entry is as a check says, and why not."""
    entry = document.entries[row]
    if check.name == "members":
        return _members(check.value("items"), document, row)
    op = cast("Operator", check.text("op") or "=")
    declared = check.value("value")
    if len(entry.readings) != 1 and entry.written and op in ("=", "!=") and declared == nfkc(entry.written):
        return _answer_of(op == "=")  # as it is written, in each reading
    if entry.doubt is not None:
        return None, entry.doubt
    values = list(map(value_of, entry.readings))
    if entry.kind == "list":
        items = _items(document, row, [MAX_ITEMS])
        values = [] if items is None else [items]
    answers = {compare(op, declared, value) for value in values}
    if len(answers) == 1:
        return _answer_of(answers.pop())
    return None, "ambiguous" if answers else "incomparable"


def _answer_of(answer: bool | None) -> Answer:
    return answer, None if answer else "incomparable" if answer is None else "differs"


def _items(document: Document, row: int, left: list[int]) -> tuple[Value, ...] | None:
    """A list's items; None where one of them is no plain value, or there are more than are `left`."""
    items: list[Value] = []
    for child in document.index.children.get(row, ()):
        left[0] -= 1
        entry = document.entries[child]
        if left[0] < 0 or entry.doubt is not None or (entry.kind == "value" and len(entry.readings) != 1):
            return None
        item = value_of(entry.readings[0]) if entry.kind == "value" else None
        if entry.kind == "list":
            item = _items(document, child, left)
        if item is None and entry.kind != "value":
            return None
        items.append(item)
    return tuple(items)


def _members(declared: Value, document: Document, row: int) -> Answer:
    """Whether a list, or the keys of a mapping, are exactly those that are declared, in any order."""
    entry = document.entries[row]
    if not isinstance(declared, tuple):
        return None, "incomparable"
    if entry.doubt is not None:
        return None, entry.doubt
    items: tuple[Value, ...] | None = None
    children = document.index.children.get(row, [])
    if entry.kind == "mapping":
        if not document.index.repeated.isdisjoint(children):
            return None, "ambiguous"
        items = tuple(str(document.entries[child].key) for child in children)
        declared = tuple(str(item) for item in declared)
    elif entry.kind == "list":
        items = _items(document, row, [MAX_ITEMS])
    elif len(entry.readings) == 1 and isinstance(text := value_of(entry.readings[0]), Text):
        lines = text.split() if document.format == "make" else text.split("\n")
        if document.format == "make" or len(lines) > 1:  # words of a variable; an item a line
            items = tuple(map(value_of_text, lines))
    return (None, "incomparable") if items is None else _answer_of(same_items(declared, items))


# ---------------------------------------------------------------- lines


def document_extents(document: Document, name: str) -> list[tuple[int, int]]:
    """First and last line, from 1, of each key, section, target or heading of that name; a table may be in pieces."""
    if document.problem is not None:
        return []
    named = find(document, name)
    if named.doubt is not None:
        return []
    rows = named.rows
    if document.format == "make":
        rows = tuple(row for row in rows if document.entries[row].kind == "target") or rows
    if len(rows) > MAX_ROWS:
        return []
    return list(dict.fromkeys(piece for row in rows for piece in _extents(document, row)))


def _extents(document: Document, row: int) -> list[tuple[int, int]]:
    """First and last line of an entry and all that stands in it; pieces with nothing else between are one."""
    pieces: list[list[int]] = []
    inside, joined = {row}, False
    for at, entry in enumerate(document.entries[row:], row):
        if at != row and entry.parent not in inside:
            joined = False
            continue
        inside.add(at)
        if joined:
            pieces[-1][1] = max(pieces[-1][1], entry.last)
        else:
            pieces.append([entry.first, entry.last])
            joined = True
    return [(first, last) for first, last in pieces]
