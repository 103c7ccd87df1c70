"""What becomes of an answer that was vetted: it passes, is marked, or is withheld; and what its reader sees then.

A reader sees one sentence in brackets, with numbers only: nothing in it is a model's. What a model writes that looks
like such a sentence is changed, so that it cannot vouch for itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, get_args

from ...codecs.errors import UsageError
from .answering import Vetted
from .vetted_assertions import CONTRADICTED

Action = Literal["pass", "mark", "withhold"]
MOST_NUMBERS: Final = 10
"""Statements that a sentence names by their numbers."""
_ORDER: Final = get_args(Action)
_FORGED: Final = re.compile(r"([\[［【〔⁅]\W{0,20})(s\W{0,3}l\W{0,3}u\W{0,3}i\W{0,3}c\W{0,3}e)\b", re.IGNORECASE)


class Rules(NamedTuple):
    """What is done with answers.

    Attributes:
        contradicted: with one that observers contradict in a statement.
        unsupported: with one in which nothing bears out a statement.
        late: with one that was not vetted, in time or at all, or in which a statement could not be looked at.
    """

    contradicted: Action = "withhold"
    unsupported: Action = "pass"
    late: Action = "pass"


class Outcome(NamedTuple):
    """What becomes of one answer.

    Attributes:
        action: what is done.
        sentence: what its reader sees; empty where it passes.
        statements: how many it has.
        contradicted: the numbers of those that observers contradict, from 1.
        unsupported: the numbers of those that nothing bears out.
        unseen: the numbers of those that no observer could look at.
        vetted: whether it was vetted at all.
    """

    action: Action
    sentence: str
    statements: int
    contradicted: Sequence[int]
    unsupported: Sequence[int]
    vetted: bool
    unseen: Sequence[int] = ()


def rules_of(contradicted: object, unsupported: object, late: object) -> Rules:
    """Rules of a configuration.

    Raises:
        UsageError: one is no action.
    """
    return Rules(_action("contradicted", contradicted), _action("unsupported", unsupported), _action("late", late))


def _action(name: str, value: object) -> Action:
    found = next((one for one in _ORDER if one == value), None)
    if found is None:
        raise UsageError(f"`{name}` is no action", expected="pass, mark or withhold", got=repr(value))
    return found


def outcome_of(vetted: Vetted, rules: Rules) -> Outcome:
    """What becomes of an answer: the strictest of what its statements ask for."""
    if vetted.failure:
        return Outcome(rules.late, _framed(rules.late, vetted.failure), 0, (), (), False)
    numbered = list(enumerate(vetted.verdicts, 1))
    wrong = [number for number, one in numbered if one.status == CONTRADICTED]
    unseen = [number for number, one in numbered if one.not_looked_at]
    idle = [number for number, one in numbered if one.unsupported and not one.not_looked_at]
    action: Action = "pass"
    findings: list[str] = []
    asks: list[tuple[Action, list[int], str]] = [
        (rules.contradicted, wrong, "observers contradict {}"),
        (rules.unsupported, idle, "nothing that was looked at bears out {}"),
        (rules.late, unseen, "observers could not look at {}"),
    ]
    for asked, numbers, words in asks:
        if numbers and asked != "pass":
            action = asked if _ORDER.index(asked) > _ORDER.index(action) else action
            findings.append(words.format(_numbers(numbers)))
    if findings:
        findings[-1] += f", of {len(numbered)} in this answer" if len(numbered) > 1 else ", the only one in this answer"
    return Outcome(action, _framed(action, ", and ".join(findings)), len(numbered), wrong, idle, True, unseen)


def marked(text: str, outcome: Outcome) -> str:
    """The text as its reader sees it."""
    if outcome.action == "withhold":
        return outcome.sentence
    text = disarmed(text)
    return f"{text}\n\n{outcome.sentence}" if outcome.action == "mark" else text


def disarmed(text: str) -> str:
    """The text without what looks like a sentence of ours."""
    return _FORGED.sub(r"\1not \2", text)


def _framed(action: Action, findings: str) -> str:
    if action == "pass":
        return ""
    return f"[sluice withheld this answer: {findings}.]" if action == "withhold" else f"[sluice: {findings}.]"


def _numbers(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"statement {numbers[0]}"
    if len(numbers) > MOST_NUMBERS:
        return f"{len(numbers)} statements"
    return f"statements {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
