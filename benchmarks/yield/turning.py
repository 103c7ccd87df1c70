"""Turning a sentence round: the verb that it turns on, and what denial, frequency, tense and modality make of it.

Plain tables of English, as far as the corpus needs them. Nothing between back-ticks or quotation marks is touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple


class Edit(NamedTuple):
    """A piece of a text to replace; `mark` says which part of the new words makes the sentence false."""

    start: int
    end: int
    new: str
    mark: str | None = None


Spans = tuple[tuple[int, int], ...]


def applied(text: str, edits: Iterable[Edit]) -> tuple[str, Spans]:
    """The new text, and where the marked words stand in it; an edit without a mark has none."""
    pieces: list[str] = []
    marks: list[tuple[int, int]] = []
    past = length = 0
    for edit in sorted(edits):
        pieces += (text[past : edit.start], edit.new)
        length += edit.start - past
        if edit.mark:
            at = length + edit.new.index(edit.mark)
            marks.append((at, at + len(edit.mark)))
        length += len(edit.new)
        past = edit.end
    return "".join([*pieces, text[past:]]), tuple(marks)


_SET_OFF = re.compile(r'`[^`\n]*`|"[^"\n]*"|“[^”\n]*”')


def prose(text: str) -> str:
    """The text with what is set off blanked out, every character at its place."""
    return _SET_OFF.sub(lambda found: "\0" * len(found[0]), text)


_BASES = (
    *("accept", "add", "allocate", "allow", "ask", "build", "call", "come", "contain", "count", "declare", "default"),
    *("define", "depend", "derive", "encode", "equal", "exist", "extend", "fall", "fold", "go", "handle", "have"),
    *("import", "include", "keep", "know", "limit", "live", "look", "mark", "occur", "open", "print", "raise", "read"),
    *("retry", "return", "run", "set", "ship", "split", "stand", "start", "take", "target", "treat", "update", "use"),
    *("wrap", "write"),
)
_PLURAL = ("call", "ship", "pass", "add")
_PAST_OF = ("add", "arrive", "change", "introduce", "remove", "touch")
_BE = {"is": "be", "are": "be"}
_PAST_BE = ("was", "were")


def third(base: str) -> str:
    """The third person of the present tense."""
    if base == "have":
        return "has"
    if re.search(r"[^aeiou]y\Z", base):
        return base[:-1] + "ies"
    return base + ("es" if base.endswith(("s", "sh", "ch", "x", "o")) else "s")


_SINGULAR = {third(base): base for base in _BASES}
_PAST = {base.removesuffix("e") + "ed": base for base in _PAST_OF}
_FORMS = "|".join([*_SINGULAR, *_PLURAL, *_PAST, *_BE, *_PAST_BE])
_VERB = re.compile(
    r"(?<![\w'-])(?:(?P<modal>can|must) (?P<base>\w+)|(?P<denied>(?:does|do|is|are) not)(?= )"
    rf"|(?P<no>(?:is|has|contains|defines) no)(?= )|(?P<word>{_FORMS}))(?![\w'-])"
)
_AFTER_DENIAL = re.compile(r" (?P<base>[a-z]+)")


class Verb(NamedTuple):
    """The verb that a sentence turns on.

    Attributes:
        start, end: where it stands.
        form: `be`, `do` (present), `plural`, `past`, `past be`, `modal`, `denied`, `no`, or `colon` for a list item.
        word: as it stands there.
        base: the infinitive.
    """

    start: int
    end: int
    form: str
    word: str
    base: str


def verb_of(text: str, main: str | None = None) -> Verb | None:
    """The first verb of a sentence, or the first that is written so; None where there is none of the table."""
    bare = prose(text)
    for found in _VERB.finditer(bare):
        if main is not None and found[0] != main:
            continue
        if found["modal"]:
            return Verb(found.start(), found.end(), "modal", found[0], found["base"])
        if found["denied"]:
            base = _AFTER_DENIAL.match(bare, found.end())
            if base is None or not found["denied"].startswith("do"):
                return Verb(found.start(), found.end(), "denied be", found[0], "be")
            return Verb(found.start(), base.end(), "denied", found[0], base["base"])
        if found["no"]:
            return Verb(found.start(), found.end(), "no", found[0], "")
        word = found["word"]
        return Verb(found.start(), found.end(), *_form(word))
    item = re.match(r"\0+: ", bare)
    return Verb(item.end() - 2, item.end(), "colon", ": ", "be") if item else None


def _form(word: str) -> tuple[str, str, str]:
    if word in _BE:
        return "be", word, "be"
    if word in _PAST_BE:
        return "past be", word, "be"
    if word in _PAST:
        return "past", word, _PAST[word]
    return ("plural", word, word) if word in _PLURAL else ("do", word, _SINGULAR[word])


def negated(verb: Verb) -> Edit | None:
    """The opposite."""
    new, mark = {
        "be": (f"{verb.word} not", "not"),
        "past be": (f"{verb.word} not", "not"),
        "do": (f"does not {verb.base}", "not"),
        "plural": (f"do not {verb.base}", "not"),
        "past": (f"did not {verb.base}", "not"),
        "modal": (f"cannot {verb.base}" if verb.word.startswith("can") else f"must not {verb.base}", "not"),
        "colon": (": not ", "not"),
        "denied": (third(verb.base), third(verb.base)),
        "denied be": (verb.word.split()[0], verb.word.split()[0]),
        "no": (verb.word.removesuffix("no") + "a", verb.word.removesuffix("no") + "a"),
    }[verb.form]
    return Edit(verb.start, verb.end, new, mark)


def never(verb: Verb) -> Edit | None:
    """That it holds at no time."""
    if verb.form.startswith("denied") or verb.form == "no":
        return None
    behind = verb.form in ("be", "past be")
    new = {"colon": ": never ", "modal": f"can never {verb.base}"}.get(
        verb.form, f"{verb.word} never" if behind else f"never {verb.word}"
    )
    return Edit(verb.start, verb.end, new, "never")


def adverb(verb: Verb, word: str) -> Edit | None:
    """With `only` or `always` at the verb."""
    if verb.form not in ("do", "plural", "be"):
        return None
    new = f"{verb.word} {word}" if verb.form == "be" else f"{word} {verb.word}"
    return Edit(verb.start, verb.end, new, word)


def tenses(verb: Verb) -> list[Edit]:
    """That it held once, or does not hold yet."""
    forms: list[tuple[str, str]] = {
        "be": [(f"{verb.word} no longer", "no longer"), (f"{verb.word} not yet", "not yet")],
        "do": [(f"no longer {verb.word}", "no longer"), (f"does not yet {verb.base}", "not yet")],
        "plural": [(f"no longer {verb.base}", "no longer"), (f"do not yet {verb.base}", "not yet")],
        "modal": [(f"can no longer {verb.base}", "no longer"), (f"cannot yet {verb.base}", "not yet")],
        "colon": [(": no longer ", "no longer"), (": not yet ", "not yet")],
        "past": [(f"will {verb.base}", "will"), (f"has not yet {verb.word}", "not yet")],
        "past be": [("will be", "will be")],
    }.get(verb.form, [])
    return [Edit(verb.start, verb.end, new, mark) for new, mark in forms]


def should(verb: Verb) -> Edit | None:
    """What it ought to do."""
    new = {"be": "should be", "do": f"should {verb.base}", "plural": f"should {verb.base}"}.get(verb.form)
    return None if new is None else Edit(verb.start, verb.end, new, "should")


def end_of(text: str) -> int:
    """Where a clause can be added: before the sentence's final stop."""
    return len(text.rstrip().rstrip(".!"))
