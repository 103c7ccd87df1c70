"""Judges facts with the product's judge, as checks and as bare sentences, and counts what comes of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sluice.streams.judging.checks import Check, Source, parse_check
from sluice.streams.judging.claim_forms import checks_of
from sluice.streams.judging.verify import Parsing, verify_content

from .facts import Fact

ANSWERS = {True: "verified", False: "refuted", None: "undecided"}


class Judged(NamedTuple):
    """One answer.

    Attributes:
        bare: the sentence was judged, by the check that its claim form gives.
        answer: true, false or undecided; `unread` where the judge knows no such check.
        reason: of what is not true.
    """

    fact: Fact
    bare: bool
    answer: bool | None
    reason: str

    @property
    def unsound(self) -> bool:
        """A true fact that was refuted, or a false one that was verified."""
        return self.answer is not None and self.answer is not self.fact.truth


class LastFile:
    """A parser that keeps what it parsed of the last file."""

    def __init__(self) -> None:
        self._parsing, self._file, self._held = Parsing(), ("", ""), dict[str, Any]()

    def _kept(self, what: str, source: Source) -> Any:
        if (source.path, source.text) != self._file:
            self._file, self._held = (source.path, source.text), {}
        if what not in self._held:
            self._held[what] = getattr(self._parsing, what)(source)
        return self._held[what]

    def code(self, source: Source) -> Any:
        """See the judge's `Parser`."""
        return self._kept("code", source)

    def document(self, source: Source) -> Any:
        """See the judge's `Parser`."""
        return self._kept("document", source)


def judge(facts: Iterable[tuple[Source, Fact]]) -> list[Judged]:
    """What the judge answers; a sentence without a claim form gives no answer of its own."""
    parser, made = LastFile(), list[Judged]()
    for source, fact in facts:
        made.append(Judged(fact, False, *_answer([fact.check], source, parser)))
        derived = checks_of(fact.text, "denial" if fact.check.startswith("not ") else "assertion", None)
        if derived.checks and derived.form == "claim":
            made.append(Judged(fact, True, *_answer(derived.checks, source, parser)))
    return made


def _answer(checks: Sequence[str], source: Source, parser: Any) -> tuple[bool | None, str]:
    """One answer of all checks: false where one is, true where all are."""
    answers = list[tuple[bool | None, str]]()
    for text in checks:
        check = parse_check(text)
        if not isinstance(check, Check):
            return None, f"unread: {check.why}"
        held = verify_content(check, source, parser)
        answers.append((held.holds, held.reason or ""))
    return min(answers, key=lambda one: (one[0] is not False, one[0] is not None))


def table(judged: Iterable[Judged]) -> list[str]:
    """The lines of the table: by language and kind, how many true and false facts came to what."""
    counted: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for one in judged:
        key = (one.fact.language, one.fact.kind + (" (sentence)" if one.bare else ""))
        counted[key][f"{one.fact.truth} {ANSWERS[one.answer]}"] += 1
    columns = [f"{truth} {answer}" for truth in (True, False) for answer in ANSWERS.values()]
    head = f"{'language':12}{'kind':30}{'facts':>7}" + "".join(f"{one.lower():>17}" for one in columns)
    lines = [head]
    for (language, kind), counts in sorted(counted.items()):
        cells = "".join(f"{counts[one]:>17}" for one in columns)
        lines.append(f"{language:12}{kind:30}{counts.total():>7}{cells}")
    total = sum(counted.values(), Counter[str]())
    return [*lines, f"{'all':42}{total.total():>7}" + "".join(f"{total[one]:>17}" for one in columns)]


def described(one: Judged) -> str:
    """An unsound answer, for a person."""
    what = one.fact.text if one.bare else one.fact.check
    expected = "true" if one.fact.truth else "false"
    return f"{one.fact.language} {one.fact.path}: {what}: is {expected}, was {ANSWERS[one.answer]}"
