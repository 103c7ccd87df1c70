"""Claim forms: sentences from which checks can be read beyond doubt, and which checks an assertion has
(docs/checks.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from ...codecs.records import MAX_CHECK_LENGTH, CheckForm, Kind
from .checks import Check, canonical, parse_check
from .mentions import Token, author_ends, is_set_off, nouns_of, read, ties, tokens_of
from .prose_literals import NOUNS, OPERATOR_PHRASES, TIMES, Phrases, phrases, tables

FORMS_VERSION: Final = 4
"""Names what these forms, and the words that they are made of, read in a sentence; raised with every change of it."""
MAX_TOKENS: Final = 40
"""Tokens of a sentence that is read by these forms."""


class Form(NamedTuple):
    """One row.

    Attributes:
        pattern: of the sentence.
        checks: that it gives, parted by ` & `.
        denied: what it gives where its verb is denied; None for `not` and the checks, empty where it has no denial.
        whole: the checks say all of the sentence. Where they say less, they can only refute it.
    """

    pattern: str
    checks: str
    denied: str | None = None
    whole: bool = True


_DATA: Final = tables("claim_forms")
FORMS: Final = tuple(
    Form(row["say"], row["checks"], row.get("denied"), not row.get("part", False)) for row in _DATA["forms"]
)
"""The rows whose checks say what their sentences say."""
CHANGES: Final = tuple(Form(row["say"], row["checks"], "", whole=False) for row in _DATA["changes"])
"""The rows of what an agent says that it changed: what stands there now can refute that, and never shows it."""


class Noun(NamedTuple):
    """A noun of a claim: what it is said of, and where it stands among the tokens."""

    name: str
    noun: str
    place: int


class Claim(NamedTuple):
    """What a sentence claims.

    Attributes:
        checks: canonical.
        whole: they say all of it, once its nouns are proved.
        nouns: that an index has to prove.
        named: it names the file that its checks speak of, or they need none.
    """

    checks: tuple[str, ...]
    whole: bool
    nouns: tuple[Noun, ...]
    named: bool


class _Said(NamedTuple):
    """What was read so far."""

    slots: tuple[tuple[str, str], ...] = ()
    nouns: tuple[Noun, ...] = ()
    negated: bool = False

    def with_slot(self, name: str, written: str) -> _Said:
        return self._replace(slots=(*self.slots, (name, written)))


class _Part(NamedTuple):
    """One part of a pattern: a slot, or words by whether they deny."""

    slot: str
    words: tuple[tuple[tuple[str, ...], bool], ...]
    optional: bool


class _Row(NamedTuple):
    form: Form
    parts: tuple[_Part, ...]
    takes_path: bool
    needs: tuple[frozenset[str], ...]


@lru_cache(maxsize=4096)  # each observer reads the same sentence
def claim(text: str, kind: Kind = "assertion") -> Claim | None:
    """What a sentence claims by a form; None where no form takes all of it, or several read different checks. A refusal
    claims nothing; on a denial the sentence is read as it stands."""
    if kind == "refusal" or len(text) > MAX_TOKENS * 64 or _SURROGATE.search(text):
        return None
    said = tokens_of(text)
    tied = ties(said)
    kept = [at for at, token in enumerate(said) if at not in tied and (at + 1 < len(said) or token.key != ".")]
    tokens = [said[at] for at in kept]
    if not 2 <= len(tokens) <= MAX_TOKENS:
        return None
    keys = {token.key for token in tokens}
    rows = (row for row in _ROWS if not any(need.isdisjoint(keys) for need in row.needs))
    claims = [found for row in rows for found in _claims(row, tokens)]
    if len({found.checks for found in claims}) != 1:
        return None
    found = min(claims, key=lambda one: (one.whole, -len(one.nouns), one.named))  # what asks for most
    return found._replace(nouns=tuple(noun._replace(place=kept[noun.place]) for noun in found.nouns))


def _claims(row: _Row, tokens: Sequence[Token]) -> Iterator[Claim]:
    """What a row reads in a sentence."""
    starts: list[tuple[int, _Said]] = [(0, _Said())]
    if row.takes_path and tokens[0].key == "in":
        for at, said in _slot("path", "path", tokens, 1, _Said()):
            starts.append((at + (at < len(tokens) and tokens[at].key == ","), said))
    for start, said in starts:
        for end, whole in _match(row, 0, tokens, start, said):
            found = _written(row, whole) if end == len(tokens) else None
            if found is not None:
                yield found


def _match(row: _Row, number: int, tokens: Sequence[Token], at: int, said: _Said) -> Iterator[tuple[int, _Said]]:
    """Where the parts of a row from a number on may end, with what is read in them."""
    if number == len(row.parts):
        yield at, said
        return
    part = row.parts[number]
    if part.optional:
        yield from _match(row, number + 1, tokens, at, said)
    for words, negates in part.words:
        if _stands(words, tokens, at):
            denied = said._replace(negated=said.negated or negates)
            yield from _match(row, number + 1, tokens, at + len(words), denied)
    if part.slot:
        for end, taken in _slot(part.slot, part.slot.rstrip("23"), tokens, at, said):
            yield from _match(row, number + 1, tokens, end, taken)
            if row.takes_path and not any(name == "path" for name, _ in taken.slots):
                for behind, placed in _place(tokens, end, taken):
                    yield from _match(row, number + 1, tokens, behind, placed)


def _stands(words: Sequence[str], tokens: Sequence[Token], at: int) -> bool:
    return len(tokens) - at >= len(words) and all(tokens[at + n].key == word for n, word in enumerate(words))


def _place(tokens: Sequence[Token], at: int, said: _Said) -> Iterator[tuple[int, _Said]]:
    """«in `a.py`», «(`a.py`)»."""
    if at >= len(tokens):
        return
    bracket = tokens[at].text == "("
    start = at + bracket
    if start < len(tokens) and tokens[start].key in ("in", "inside", "of"):
        start += 1
    elif not bracket:
        return
    for end, taken in _slot("path", "path", tokens, start, said):
        if not bracket:
            yield end, taken
        elif end < len(tokens) and tokens[end].text == ")":
            yield end + 1, taken


def _slot(name: str, kind: str, tokens: Sequence[Token], at: int, said: _Said) -> Iterator[tuple[int, _Said]]:
    """Where an argument may end that begins at a place, with what is read."""
    if at >= len(tokens):
        return
    if kind in _WORDS_OF:
        for words, written in _WORDS_OF[kind]:
            if not _stands(words, tokens, at):
                continue
            end, taken = at + len(words), said.with_slot(name, written)
            if kind != "count":
                yield end, taken
            elif end < len(tokens) and (number := read("number", tokens[end])) is not None:
                yield end + 1, said.with_slot(name, f"{written}, {number}")
    elif kind == "author":
        for end in author_ends(tokens, at):
            yield end, said.with_slot(name, _string(" ".join(one.text for one in tokens[at:end])))
    elif kind in ("items", "paths"):
        yield from _list(name, "path" if kind == "paths" else "value", tokens, at, said)
    elif kind in ("definition", "kinded", "kind"):
        yield from _definition(kind, tokens, at, said)
    else:
        yield from _with_noun(name, kind, tokens, at, said)


def _with_noun(name: str, kind: str, tokens: Sequence[Token], at: int, said: _Said) -> Iterator[tuple[int, _Said]]:
    """«`f`», «the function `f`», «the `f` function», «`f` of `C`», «`C`'s `f`»."""
    start = at + (tokens[at].key == "the")
    if start < len(tokens) and tokens[start].key in _nouns(kind):
        for end, written in _argument(kind, tokens, start + 1):
            yield end, _noted(said.with_slot(name, written), kind, tokens, start, written)
    for end, written in _argument(kind, tokens, start):
        if start == at:
            yield end, said.with_slot(name, written)
        if end < len(tokens) and tokens[end].key in _nouns(kind):
            yield end + 1, _noted(said.with_slot(name, written), kind, tokens, end, written)


def _argument(kind: str, tokens: Sequence[Token], at: int) -> Iterator[tuple[int, str]]:
    written = read(kind, tokens[at]) if at < len(tokens) else None
    if written is None:
        return
    yield at + 1, written
    if kind in ("symbol", "callee") and at + 2 < len(tokens) and tokens[at + 1].key in ("of", "'s"):
        other = read(kind, tokens[at + 2])
        if other is not None:
            yield at + 3, f"{other}.{written}" if tokens[at + 1].key == "of" else f"{written}.{other}"


def _nouns(kind: str) -> frozenset[str]:
    return _NOUNS_OF.get(kind, frozenset())


def _noted(said: _Said, kind: str, tokens: Sequence[Token], place: int, written: str) -> _Said:
    noun = tokens[place].key
    if noun in _FREE.get(kind, ()):
        return said
    return said._replace(nouns=(*said.nouns, Noun(written, noun, place)))


def _definition(kind: str, tokens: Sequence[Token], at: int, said: _Said) -> Iterator[tuple[int, _Said]]:
    """«`f`», «the function `f`», «a class `F`»; for `kind` the noun alone."""
    start = at + (tokens[at].key in ("a", "an", "the") and kind != "kind")
    if start >= len(tokens):
        return
    noun = tokens[start].key
    if noun in _KIND_OF:
        of_kind = said.with_slot("kind", f", {_KIND_OF[noun]}")
        if kind == "kind":
            named = dict(said.slots)["symbol"]
            yield start + 1, of_kind._replace(nouns=(*said.nouns, Noun(named, noun, start)))
            return
        for end, written in _argument("symbol", tokens, start + 1):
            yield end, of_kind.with_slot("symbol", written)._replace(nouns=(*said.nouns, Noun(written, noun, start)))
    elif kind == "definition" and start == at:
        yield from ((end, said.with_slot("symbol", written)) for end, written in _argument("symbol", tokens, at))


def _list(name: str, kind: str, tokens: Sequence[Token], at: int, said: _Said) -> Iterator[tuple[int, _Said]]:
    """«`a`», «`a` and `b`», «`a`, `b` and `c`»: as far as it goes."""
    items: list[str] = []
    while at < len(tokens) and is_set_off(tokens[at]) and (written := read(kind, tokens[at])) is not None:
        items.append(written)
        at += 1
        start = at + (at < len(tokens) and tokens[at].text == ",")
        start += start < len(tokens) and tokens[start].key == "and"
        if start == at or start >= len(tokens):
            break
        at = start
    if items:
        is_list = len(items) == 1 and items[0].startswith("[")  # «the members of `x` are `[1, 2]`»
        yield at, said.with_slot(name, items[0] if is_list else f"[{', '.join(items)}]")


def _written(row: _Row, said: _Said) -> Claim | None:
    """The checks of what was read; None where that is no check, or a slot is read twice."""
    slots = dict(said.slots)
    if len(slots) != len(said.slots):
        return None
    template = row.form.checks
    if said.negated:
        template = f"not {template}" if row.form.denied is None else row.form.denied
    at = f", path={slots['path']}" if "path" in slots else ""
    slots = {"kind": "", "at": at, **slots}
    texts = [_SLOT.sub(lambda match: _filled(match, slots), one) for one in template.split(" & ")]
    checks = [check for check in map(parse_check, texts) if isinstance(check, Check)]
    written = [canonical(check) for check in checks]
    if len(written) != len(texts):
        return None
    proved = nouns_of(checks[0])
    nouns = tuple(noun for noun in said.nouns if noun.noun not in proved)
    return Claim(tuple(written), row.form.whole, nouns, bool(at) or not row.takes_path)


def _filled(match: re.Match[str], slots: Mapping[str, str]) -> str:
    written = slots[match[1]]
    return written.strip('"') if match[2] else written


# ---------------------------------------------------------------- the rows, made ready

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SLOT: Final = re.compile(r"\{(\w+)(:bare)?\}")
_KIND_OF: Final = {"function": "function", "method": "method", "type": "type", "class": "type", "struct": "type"} | {
    noun: noun for noun in ("constant", "variable", "target", "section")
}
_FREE: Final = {
    "path": frozenset(("file",)),
    "changelog": frozenset(("file",)),
    "hash": frozenset(("commit",)),
    "quote": frozenset(("text",)),
}
"""By kind of argument: nouns that every argument of it is."""
_NOUNS_OF: Final = {
    **dict.fromkeys(("symbol", "callee", "name", "module", "identifier"), frozenset(NOUNS)),
    **_FREE,
    "quote": frozenset(("text", "word", "string", "phrase")),
}
_WORDS_OF: Final[Mapping[str, Phrases]] = {
    "op": phrases(OPERATOR_PHRASES),
    "count": ((("exactly",), "="), *phrases(OPERATOR_PHRASES), ((), "=")),
    "when": ((("on",), "="), *phrases(TIMES)),
}


def _string(text: str) -> str:
    return f'"{text}"' if '"' not in text and "\\" not in text else '""'


def _part(written: str) -> _Part:
    optional, body = written.endswith("?"), written.removesuffix("?")
    if body.startswith("{"):
        return _Part(body[1:-1], (), False)
    words: list[tuple[tuple[str, ...], bool]] = []
    for one in body.split("|"):
        verb = tuple(one.removeprefix("~").split("_"))
        words.append((verb, False))
        if one == "~is":
            words += [((*verb, "not"), True), (("isn't",), True), ((*verb, "never"), True), (("are",), False)]
        elif one.startswith("~"):
            own, rest = verb[0], verb[1:]
            base = own.removesuffix("es") if own.endswith("sses") else own[:-1]
            bare = ((*denial, base, *rest) for denial in (("does", "not"), ("doesn't",)))
            words += [*((one, True) for one in bare), (("never", *verb), True)]
    return _Part("", tuple(words), optional)


def _row(form: Form) -> _Row:
    parts = tuple(map(_part, form.pattern.split()))
    needs = tuple(frozenset(words[0] for words, _ in part.words) for part in parts if part.words and not part.optional)
    return _Row(form, parts, "{at}" in form.checks, needs)


_ROWS: Final = tuple(map(_row, (*FORMS, *CHANGES)))


class Derived(NamedTuple):
    """The checks of an assertion as text, in the order that observations count in; whether it declares them; and where
    they come from: `declared`, `claim` (its words), or `none`."""

    checks: tuple[str, ...]
    declared: bool
    form: CheckForm


_NONE: Final = Derived((), False, "none")


def checks_of(text: str, kind: Kind, declared: Sequence[str] | None) -> Derived:
    """The checks of an assertion as text: those that are `declared`, as they were given; else the one of a claim form.

    An empty list declares none. A refusal (`kind`) states nothing and has none, whatever it declares; nor has a `text`
    of no form.
    """
    if kind == "refusal":
        return _NONE
    if declared:
        return Derived(tuple(declared), True, "declared")
    claimed = claim(text, kind)
    if claimed is None or len(claimed.checks) != 1 or len(claimed.checks[0]) > MAX_CHECK_LENGTH:
        return _NONE
    return Derived(claimed.checks, False, "claim")
