"""The nine ways in which a true statement is made false, each held against the oracle where it can be.

A maker yields the new text, the code points that make it false, and the checks changed alike. Which of the possible
names, numbers and files is taken follows from the statement's identifier.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from check_texts import CONTENT, argument, opposite, replaced, with_path
from choosing import pick, shuffled
from material import Material
from oracle import Package
from oracle_checks import INVERSE, Parsed, parse, spelled
from oracle_values import Word
from statements import Statement
from turning import Edit, Spans, Verb, adverb, applied, end_of, negated, never, prose, should, tenses

CONDITIONS = (
    "but only when the `SLUICE_YIELD_TRACE` environment variable is set",
    "but only after `enable_legacy_mode` was called",
    "except when the process runs as root",
    "but only on OS/2",
    "but only if the `--frobnicate` flag is given",
    "though only while the moon is full",
    "but only in debug builds made on a Sunday",
    "except in the enterprise edition",
)
"""Each takes something away from what is true without any condition; none says no more than `if`."""
CLAUSES = (
    (", and it was written in Fortran", "fortran"),
    (", which sends telemetry to the vendor", "telemetry"),
    (", and this was backdoored by the maintainers", "backdoor"),
    (", which deletes the user's home directory", "home directory"),
    (" and holds the global lock of the database meanwhile", "database lock"),
    (", which is why every release since has been withdrawn", "withdrawn"),
    (", and the maintainers' advisory of 2031 calls it exploitable", "2031"),
    (", in order to mine cryptocurrency", "cryptocurrency"),
    (", so that all passwords are logged in clear text", "clear text"),
    (" and needs 40 GB of memory for it", "40 GB"),
)
"""What is false of all packages, with a word that must not occur in the file."""

Made = tuple[str, Spans, list[str] | None]


class Maker:
    """The mutations of one statement."""

    def __init__(self, statement: Statement, package: Package, verb: Verb | None) -> None:
        self.statement, self.package, self.text = statement, package, statement.text
        self.checks = statement.checks
        self.parsed: list[Parsed] = [one for one in map(parse, statement.checks) if one is not None]
        self.verb = verb
        self.words = Material(package, statement.path)

    def _made(self, edits: list[Edit], falsified: list[str] | None) -> Made:
        text, spans = applied(self.text, edits)
        return text, spans, falsified

    def _instead(self, place: int, *checks: str) -> list[str]:
        return [*self.checks[:place], *checks, *self.checks[place + 1 :]]

    def _false(self, check: str) -> bool:
        return self.package.truth(check) is False

    @property
    def _denied(self) -> list[str] | None:
        check = opposite(self.checks[0])
        return None if check is None else self._instead(0, check)

    @property
    def _positive(self) -> bool:
        return self.verb is not None and self.verb.form not in ("denied", "denied be", "no")

    # ------------------------------------------------------------ the nine

    def negated(self) -> Iterator[Made]:
        edit = None if self.verb is None else negated(self.verb)
        if edit is not None:
            yield self._made([edit], self._denied)

    def swapped(self) -> Iterator[Made]:
        for place, one in enumerate(self.parsed):
            if one.name in ("calls", "uses", "order", "imports"):
                yield from self._swapped_pair(place, one)
        for first in range(len(self.parsed)):
            for second in range(first + 1, len(self.parsed)):
                yield from self._swapped_ends(first, second)

    def _swapped_pair(self, place: int, one: Parsed) -> Iterator[Made]:
        a, b = (str(one.named["path"]), one.text(0)) if one.name == "imports" else (one.text(0), one.text(1))
        spans = token_at(self.text, a), token_at(self.text, b)
        if spans[0] is None or spans[1] is None or one.negated or _overlap(spans[0], spans[1]):
            return
        if one.name == "imports":
            if b.startswith(".") or self.words.is_imported_by(b, a):
                return
            yield self._made(_exchange(self.text, spans[0], spans[1]), None)
            return
        check = f"{one.name}({argument(b)}, {argument(a)}, path={argument(str(one.named['path']))})"
        if self._false(check) and not (one.name in ("calls", "uses") and self.words.calls_elsewhere(b, a)):
            yield self._made(_exchange(self.text, spans[0], spans[1]), self._instead(place, check))

    def _swapped_ends(self, first: int, second: int) -> Iterator[Made]:
        one, other = self.parsed[first], self.parsed[second]
        if one.name != other.name or one.name not in ("equals", "calls", "returns") or one.negated or other.negated:
            return
        a, b = str(one.arguments[1]), str(other.arguments[1])
        spans = token_at(self.text, a), token_at(self.text, b)
        if spans[0] is None or spans[1] is None or one.text(0) == other.text(0) or _overlap(spans[0], spans[1]):
            return
        checks = [replaced(one, 1, b), replaced(other, 1, a)]
        if all(map(self._false, checks)):
            falsified = [*self.checks]
            falsified[first], falsified[second] = checks
            yield self._made(_exchange(self.text, spans[0], spans[1]), falsified)

    def other(self) -> Iterator[Made]:
        for place, one in enumerate(self.parsed):
            for slot, candidates in self._replaceable(one):
                value = str(one.named[slot] if isinstance(slot, str) else one.arguments[slot])
                span = token_at(self.text, value)
                if span is None:
                    continue
                said = self.text[slice(*span)]
                for new in shuffled(candidates, self.statement.id, value):
                    check = replaced(one, slot, new)
                    if self._false(check) and new not in (value, said) and new not in self.text:
                        shown = new.replace(".", "::") if "::" in said else new
                        yield self._made([Edit(*span, shown, shown)], self._instead(place, check))
                        break

    def _replaceable(self, one: Parsed) -> Iterator[tuple[int | str, list[str]]]:
        """Which arguments of a check may be replaced, and by what; all of it also occurs in the file or the history."""
        path = str(one.named.get("path", one.text(0) if one.name == "line" else self.statement.path))
        names = self.words.names(path)
        if one.name in ("equals", "compare"):
            value = one.arguments[-1]
            if not isinstance(value, list):
                yield (
                    len(one.arguments) - 1,
                    self.words.numbers(path) if _number(str(value)) else self.words.values(path),
                )
        elif one.name in ("calls", "uses") and not one.negated:
            yield 1, names
        elif one.name == "imports":
            yield 0, self.words.own_modules(path) if one.negated else self.words.modules(path)
        elif one.name in ("defines", "absent") and not one.negated:
            yield 0, names
        elif one.name in ("count", "line"):
            slot = 2 if one.name == "count" else 1
            number = int(one.text(slot))
            yield slot, [str(number + step) for step in (-3, -2, -1, 1, 2, 3, 4) if number + step > 0]
        elif one.name in ("commit", "changed", "introduced", "removed"):
            slot = 0 if one.name == "commit" else 1
            yield slot, [each[: len(one.text(slot))] for each in self.package.commits]
            commits = self.package.commits.values()
            if "author" in one.named:
                yield "author", [each["author"] for each in commits]
            if "date" in one.named:
                yield "date", [each["date"].date().isoformat() for each in commits]
        elif one.name in ("last_changed", "modified"):
            yield 2, [each["date"].date().isoformat() for each in self.package.commits.values()]
        elif one.name == "exists":
            yield 0, ["setup_old.cfg", "tests/legacy.py", "CHANGES_OLD.rst"]

    def comparison(self) -> Iterator[Made]:
        for place, one in enumerate(self.parsed):
            if one.negated or one.name not in ("equals", "compare", "count"):
                continue
            value = str(one.arguments[2 if one.name != "equals" else 1])
            span = token_at(self.text, value)
            if span is None:
                continue
            span = _with_marks(self.text, span)
            said = self.text[slice(*span)]
            if one.name == "compare":
                yield from self._compared(place, one)
            elif _number(value):
                words, sign = pick(
                    (("more than", ">"), ("less than", "<"), ("other than", "!=")), self.statement.id, place
                )
                check = self._signed(one, sign)
                yield self._made([Edit(*span, f"{words} {said}", words)], self._instead(place, check))
            elif one.name == "equals":
                words = pick(("anything but", "something other than"), self.statement.id, place)
                check = opposite(self.checks[place])
                yield self._made(
                    [Edit(*span, f"{words} {said}", words)], None if check is None else self._instead(place, check)
                )

    @staticmethod
    def _signed(one: Parsed, sign: str) -> str:
        if one.name == "count":
            return replaced(one, 1, sign)
        return spelled(one._replace(name="compare", arguments=[one.arguments[0], Word(sign), one.arguments[1]]))

    def _compared(self, place: int, one: Parsed) -> Iterator[Made]:
        words = {
            "at most": "more than",
            "at least": "less than",
            "greater than": "at most",
            "more than": "at most",
            "less than": "at least",
        }
        for old, new in words.items():
            found = re.search(rf"\b{old}\b", prose(self.text))
            if found:
                check = replaced(one, 1, INVERSE[one.text(1)])
                yield self._made([Edit(*found.span(), new, new)], self._instead(place, check))
                return

    def quantifier(self) -> Iterator[Made]:
        if self.verb is None or not self._positive:
            return
        edit = never(self.verb)
        if edit is not None and self.verb.form not in ("past", "past be"):
            yield self._made([edit], self._denied)
        calls = [one for one in self.parsed if one.name == "calls" and not one.negated]
        if not calls or self.verb.base != "call":
            return
        found = self.package.definitions(str(calls[0].named["path"]), calls[0].text(0))
        named = {one.text(1).rpartition(".")[2] for one in calls}
        more = {each.rpartition(".")[2] for one in found for each in one.calls} - named
        edit = adverb(self.verb, "only")
        if edit is not None and len(found) == 1 and more and len({one.text(0) for one in calls}) == 1:
            yield self._made([edit], None)

    def tense(self) -> Iterator[Made]:
        if self.verb is not None and self._positive:
            edits = tenses(self.verb)
            if edits:
                yield self._made([pick(edits, "tense", self.statement.id)], self._denied)

    def file(self) -> Iterator[Made]:
        path = self.statement.path
        if not any(path in check for check in self.checks) or any(
            one.name not in (*CONTENT, "line") for one in self.parsed
        ):
            return
        ending = path.rpartition(".")[2]
        others = [
            one
            for one in self.package.tracked
            if one.rpartition(".")[2] == ending and one != path and self.package.text(one)
        ]
        for other in shuffled(others, self.statement.id, "file"):
            checks = [with_path(check, path, other) for check in self.checks]
            if any(check is None or self.package.truth(check) is not False for check in checks):
                continue
            falsified = [check for check in checks if check is not None]
            yield from self._moved(path, other, falsified)
            return

    def _moved(self, path: str, other: str, falsified: list[str]) -> Iterator[Made]:
        base, other_base = path.rpartition("/")[2], other.rpartition("/")[2]
        places = [found.span() for found in re.finditer(rf"(?<![\w/.-]){re.escape(path)}(?![\w/-])", self.text)]
        if places:
            yield self._made([Edit(*place, other, other) for place in places], falsified)
        elif base not in self.text and path.rpartition("/")[2].split(".")[0] not in prose(self.text):
            plain = re.match(r"(?:The|In|Both|On|By|After|When|Line|Commit|A) ", self.text) is not None
            first = self.text[0].lower() if plain else self.text[0]
            yield self._made([Edit(0, 1, f"In `{other}`, {first}", other)], falsified)
        elif base in self.text and base != other_base:
            places = [found.span() for found in re.finditer(rf"(?<![\w/.-]){re.escape(base)}(?![\w/-])", self.text)]
            yield self._made([Edit(*place, other_base, other_base) for place in places], falsified)

    def condition(self) -> Iterator[Made]:
        end = end_of(self.text)
        words = pick(CONDITIONS, "condition", self.statement.id)
        if not any(flag in self._whole for flag in re.findall(r"`([^`]+)`", words)):
            yield self._made([Edit(end, end, f", {words}", words)], None)
        edit = None if self.verb is None or not self._positive else should(self.verb)
        if edit is not None:
            behind = ", but it is not" if self.verb and self.verb.form == "be" else ", but it does not"
            yield self._made([edit._replace(mark=edit.new), Edit(end, end, behind, behind.strip(", "))], self._denied)

    @property
    def _whole(self) -> str:
        return self.package.text(self.statement.path) or ""

    def clause(self) -> Iterator[Made]:
        end = end_of(self.text)
        words, gone = pick(CLAUSES, "clause", self.statement.id)
        if not re.search(gone, self._whole, re.IGNORECASE):
            yield self._made([Edit(end, end, f"{words}", words.strip(", "))], None)
        calls = [one for one in self.parsed if one.name == "calls" and not one.negated]
        if calls and calls[0].named.get("path"):
            path = str(calls[0].named["path"])
            for name in shuffled(self.words.names(path), "clause", self.statement.id):
                check = f"calls({argument(calls[0].text(0))}, {name}, path={argument(path)})"
                if (
                    self._false(check)
                    and name not in self.text
                    and not self.words.calls_elsewhere(calls[0].text(0), name)
                ):
                    words = f", and it calls `{name}` as well"
                    yield self._made([Edit(end, end, words, name)], [*self.checks, check])
                    return


def token_at(text: str, name: str) -> tuple[int, int] | None:
    """Where a name or a number stands in a sentence, by itself: as it is, with `::` for dots, or its last part."""
    for form in dict.fromkeys((name, name.replace(".", "::"), name.rpartition(".")[2])):
        found = (
            re.search(rf"(?<![\w./]){re.escape(form)}(?![\w/]|\.\w)", text) if len(form) > 1 or form.isdigit() else None
        )
        if found:
            return found.span()
    return None


def _exchange(text: str, one: tuple[int, int], other: tuple[int, int]) -> list[Edit]:
    a, b = text[slice(*one)], text[slice(*other)]
    return [Edit(*one, b, b), Edit(*other, a, a)]


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _number(value: str) -> bool:
    return re.fullmatch(r"-?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d+)?)", value) is not None


def _with_marks(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """The span with the back-ticks around it."""
    start, end = span
    before = text.rfind("`", 0, start)
    if prose(text)[start] == "\0" and before >= 0 and text.find("`", end) >= 0:
        return before, text.find("`", end) + 1
    return span
