"""What is judged: every statement, mutation and denial, in every setting, as one assertion with its annotations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from annotating import GREP, LOG, MTIME, READ
from choosing import number, shuffled
from mutations import TYPES, Mutation, denials, mutations
from oracle import Package
from oracle_checks import parse
from statements import Statement
from turning import Spans

SETTINGS = ("bare", "derived", "attached")
"""Annotations alone; as a recorder derives them; with checks, as a model attaches them that was taught to."""
PADDED = "padded"
"""Checks attached, and locators wider and more than anybody needs: what is searched is the whole repository."""


PADDED_OF = 4
"""One mutation of so many is also looked at with padded locators."""


class Case(NamedTuple):
    """One assertion to judge.

    Attributes:
        id: unique in a run.
        statement: what it is, or was made of.
        setting: of `SETTINGS`, or `padded`.
        type: of a mutation, `false` for a false statement, `denial`, and empty for a true one.
        text, kind: of the assertion.
        annotations: class and locator.
        checks: those that are attached; None where none are.
        false_at: the code points that make it false; empty for what is true, and for denials.
        falsified: a check is false by construction.
    """

    id: str
    statement: Statement
    setting: str
    type: str
    text: str
    kind: str
    annotations: list[dict[str, Any]]
    checks: list[str] | None
    false_at: Spans = ()
    falsified: bool = False

    @property
    def true(self) -> bool:
        return not self.type


def cases(statements: Iterable[Statement], found: dict[str, Package], most: int) -> Iterator[Case]:
    """All cases.

    Args:
        statements: of the corpus.
        found: the packages by name.
        most: of the mutations of one type; which ones they are does not depend on what is measured.
    """
    chosen = list(statements)
    for one in chosen:
        yield from _of_statement(one)
    made: dict[str, list[Mutation]] = {name: [] for name in TYPES}
    for one in chosen:
        if one.label:
            for mutation in mutations(one, found[one.package]):
                made[mutation.type].append(mutation)
            yield from _denied(one)
    for name in TYPES:
        for mutation in shuffled_by_id(made[name])[:most]:
            yield from _of_mutation(mutation)


def shuffled_by_id(among: list[Mutation]) -> list[Mutation]:
    """In an order that follows from the identifiers alone."""
    by_id = {one.id: one for one in among}
    return [by_id[one] for one in shuffled(by_id, "cases")]


def attached(statement: Statement) -> list[dict[str, Any]]:
    """The annotations of a model that was taught to attach checks: each class that can bear one of them out."""
    names = {check.name for check in map(parse, statement.checks) if check is not None}
    paths = dict.fromkeys(
        [
            statement.path,
            *(str(check.named["path"]) for check in map(parse, statement.checks) if check and "path" in check.named),
        ]
    )
    made: list[dict[str, Any]] = []
    if names & {"modified"}:
        made.append({"substrate_class": MTIME, "locator": {"path": statement.path}})
    if names - {"modified", "commit", "changed", "introduced", "removed", "last_changed"}:
        for path in paths:
            made.append({"substrate_class": READ, "locator": {"path": path}})
            made.append({"substrate_class": GREP, "locator": {"pattern": _pattern(statement), "path": path}})
    return made + [{"substrate_class": LOG, "locator": {"path": path}} for path in paths]


def padded(statement: Statement) -> list[dict[str, Any]]:
    """Locators without lines, searches of everything, and a second file that says something else."""
    other = {"path": "pyproject.toml"}
    return [
        *attached(statement),
        {"substrate_class": GREP, "locator": {"pattern": _pattern(statement)}},
        {"substrate_class": LOG, "locator": {}},
        {"substrate_class": READ, "locator": other},
        {"substrate_class": GREP, "locator": {"pattern": "e", **other}},
        {"substrate_class": MTIME, "locator": {"path": statement.path}},
    ]


def _pattern(statement: Statement) -> str:
    found = [
        one["locator"]["pattern"]
        for one in (*statement.recorded, *statement.annotations)
        if "pattern" in one["locator"]
    ]
    return found[0] if found else statement.checks[0].partition("(")[2][:20].split(",")[0].strip('"') or "a"


def _of_statement(one: Statement) -> Iterator[Case]:
    kind = "" if one.label else "false"
    at = () if one.label else one.false_at
    yield Case(f"{one.id}:bare", one, "bare", kind, one.text, "assertion", one.annotations, None, at)
    yield Case(f"{one.id}:derived", one, "derived", kind, one.text, "assertion", one.recorded, None, at)
    falsified = not one.label and not one.beside
    yield Case(
        f"{one.id}:attached", one, "attached", kind, one.text, "assertion", attached(one), one.checks, at, falsified
    )
    if not one.label:
        yield Case(f"{one.id}:padded", one, PADDED, kind, one.text, "assertion", padded(one), one.checks, at, falsified)


def _of_mutation(one: Mutation) -> Iterator[Case]:
    statement = one.statement
    both = attached(statement._replace(checks=[*statement.checks, *(one.falsified or ())]))
    where: list[tuple[str, str, list[dict[str, Any]], list[str] | None]] = [
        ("bare", "bare", statement.annotations, None),
        ("derived", "derived", statement.recorded, None),
        ("attached", "attached", attached(statement), statement.checks),
    ]
    if one.falsified is not None:
        where.append(("falsified", "attached", both, one.falsified))
    if number("padded", one.id) % PADDED_OF == 0:
        where.append(("padded", PADDED, padded(statement), statement.checks))
    for name, setting, places, checks in where:
        case = Case(f"{one.id}:{name}", statement, setting, one.type, one.text, "assertion", places, checks)
        yield case._replace(false_at=one.false_at, falsified=name == "falsified")


def _denied(one: Statement) -> Iterator[Case]:
    for denial in denials(one):
        yield Case(
            f"{denial.id}:attached", one, "attached", "denial", denial.text, "denial", attached(one), denial.checks
        )
        if denial.id.endswith("not"):
            continue
        yield Case(f"{denial.id}:bare", one, "bare", "denial", denial.text, "denial", one.annotations, None)
        yield Case(f"{denial.id}:derived", one, "derived", "denial", denial.text, "denial", one.recorded, None)
