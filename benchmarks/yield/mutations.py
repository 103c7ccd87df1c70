"""False statements from true ones: nine ways to change a sentence so that it becomes false, and what its checks become.

Every mutation is held against the oracle where its kind allows: another name must not be true as well, a swapped pair
must not call each other, another file must not define the same. Which of the possible ones is taken follows from the
statement's identifier alone (`choosing.py`), so that every run measures the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from check_texts import opposite
from mutating import Maker
from oracle import Package
from statements import Statement
from turning import Spans, applied, negated, verb_of

TYPES = ("negated", "swapped", "other", "comparison", "quantifier", "tense", "file", "condition", "clause")
DESCRIPTIONS = {
    "negated": "negated",
    "swapped": "names swapped",
    "other": "another number or name of the same file",
    "comparison": "another comparison",
    "quantifier": "only, never, always",
    "tense": "another tense",
    "file": "another file",
    "condition": "modality or condition",
    "clause": "a clause added",
}
MAIN_VERBS = {
    "jpype1-t06": "returns",
    "click-t08": "calls",
    "click-t18": "treats",
    "markupsafe-t09": "falls",
    "pythonnet-t13": "is",
}
"""Where the first verb is not the one that the sentence turns on."""


class Mutation(NamedTuple):
    """One false statement.

    Attributes:
        id: the statement's, the type, and a number.
        statement: what it was made of.
        type: of `TYPES`.
        text: the false sentence.
        false_at: the code points that make it false: who leaves them all out does not say the false thing any more.
        falsified: the statement's checks changed alike, at least one of which is false; None where no check says it.
    """

    id: str
    statement: Statement
    type: str
    text: str
    false_at: Spans
    falsified: list[str] | None


class Denial(NamedTuple):
    """A denial of what is true, and the checks that go with it."""

    id: str
    statement: Statement
    text: str
    checks: list[str]


def mutations(statement: Statement, package: Package) -> Iterator[Mutation]:
    """Every mutation of a true statement."""
    assert statement.label, "only what is true can be made false"
    maker = Maker(statement, package, verb_of(statement.text, MAIN_VERBS.get(statement.id)))
    for name in TYPES:
        seen: set[str] = {statement.text}
        for count, (text, spans, falsified) in enumerate(getattr(maker, name)()):
            if text in seen or not spans:
                continue
            seen.add(text)
            if falsified is not None and not any(package.truth(check) is False for check in falsified):
                falsified = None
            yield Mutation(f"{statement.id}/{name}-{count}", statement, name, text, spans, falsified)


def denials(statement: Statement) -> Iterator[Denial]:
    """Denials of a true statement: its words, and its opposite, each with its own checks and with the opposite ones.

    None of one that itself denies: marked as a denial, «there is no `x`» says what is true.
    """
    if any(check.startswith(("not ", "absent(", "missing(")) for check in statement.checks):
        return
    verb = verb_of(statement.text, MAIN_VERBS.get(statement.id))
    edit = None if verb is None else negated(verb)
    texts = [statement.text] if edit is None else [statement.text, applied(statement.text, [edit])[0]]
    denied = opposite(statement.checks[0])
    for count, text in enumerate(texts):
        yield Denial(f"{statement.id}/denial-{count}", statement, text, statement.checks)
        if denied is not None:
            yield Denial(f"{statement.id}/denial-{count}-not", statement, text, [denied])
