"""The yield benchmark: its corpus, its mutations, its figures, and one run on a small repository."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import figures
import msgspec
import pytest
import statements
from figures import Judged, Rate
from mutating import Texts, mutations
from soundness import fetching
from statements import IDENTITY, Statement

CODE = (
    "LIMIT = 40\n\n\ndef load(data):\n    return parse(data)\n"
    + 40 * "\n"
    + "SPREAD = 70\n\n\ndef hide(it):\n    pass\n"
)
TRUE = Statement("t", "p", "python", "", "`LIMIT` is 40 in `a.py`.", True)
FALSE = Statement("f", "p", "python", "", "The `LIMIT` of all this is 50 so far.", False, ("50",))


def test_the_corpus_is_whole() -> None:
    """Each false statement names its wrong words, which stand in a mutation; packages are pinned; goals can be met."""
    told, packages = statements.everything(), fetching.packages(statements.PACKAGES)
    assert len({one.id for one in told}) == len(told)
    assert {one.package for one in told} == {statements.name_of(one) for one in packages}
    assert all(len(one.digest) == 64 and "://" not in one.name for one in packages)
    assert all(bool(one.wrong) is not one.label for one in told)
    made = [one for one in told if one.mutation]
    assert all(one.wrong[0] in one.text for one in made)
    assert len(made) >= 900
    true = [one for one in told if one.label]
    assert min(sum(one.part == part for one in true) for part in statements.PARTS) >= 500
    assert min(sum(one.package == name for one in true) for name in {one.package for one in told}) >= 60
    assert {one.id.partition("~")[0] for one in made} <= {one.id for one in told if one.label}
    assert Rate(0, sum(not one.label for one in told)).upper <= figures.MAX_FALSE_WHOLE
    counted = statements.readers()
    assert counted["statements"] == len(told) - len(made) + counted["differ"] + counted["unclear"]


@pytest.mark.parametrize("name", statements.PROPOSERS)
def test_proposals_are_of_the_corpus(name: str) -> None:
    lines = (statements.CORPUS / f"proposals-{name}.jsonl").read_text("utf-8").splitlines()
    keys = {json.loads(line)["key"] for line in lines}
    assert keys == {one.key for one in statements.everything()} & keys
    assert len(keys) == len(lines)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("`LIMIT` is 40 in `a.py`.", {("value", "70"), ("polarity", "is not 40 in `a.py`"), ("path", "b.py")}),
        ("`load` calls `parse`.", {("identifier", "hide"), ("polarity", "does not call `parse`")}),
        ("`load` never calls `parse`.", set()),
        ("If `data` is 40, `load` returns.", {("identifier", "hide"), ("polarity", "does not return")}),
        ("Does `load` call `parse`?", set()),
    ],
)
def test_a_mutation_is_surely_false(tmp_path: Path, text: str, made: set[tuple[str, str]]) -> None:
    """What hedges, denies or asks is left alone."""
    (tmp_path / "a.py").write_text(CODE)
    (tmp_path / "b.py").write_text("x = 1\n")
    found = {(one.how, one.wrong) for one in mutations(text, Texts(tmp_path, ["a.py", "b.py"]), Random(1))}
    assert found == made


def judged(statement: Statement, status: str, whole: bool = False, decidable: bool = False) -> Judged:
    return Judged("a", statement, status, whole, decidable)


@pytest.mark.parametrize(
    ("one", "name"),
    [
        (judged(TRUE, "contradicted"), "true refuted"),
        (judged(TRUE, "admitted", whole=True), "true whole"),
        (judged(FALSE, "contradicted"), "false refuted"),
        (judged(FALSE, "contradicted", decidable=True), "false refuted, decidable"),
        (judged(FALSE, "admitted", whole=True), "false whole"),
    ],
)
def test_each_verdict_counts_where_it_belongs(one: Judged, name: str) -> None:
    told = figures.figures([one])["a"]
    assert told[name] == (1, 1)
    assert {"true refuted", "false whole"}.intersection([name]) == {
        x.partition(": ")[2].partition(":")[0]
        for x in figures.missed(
            {"a": {**told, **{n: Rate(0, 2000) for n in ("true refuted", "false whole") if n != name}}}
        )
    }
    assert bool(figures.worst([one])) is (name in ("true refuted", "false whole"))


def test_bounds_are_those_of_clopper_and_pearson() -> None:
    assert Rate(0, 600).upper == pytest.approx(1 - 0.05 ** (1 / 600), abs=1e-6)
    assert Rate(8, 800).upper == pytest.approx(0.017966, abs=1e-4)
    assert Rate(600, 600).lower == pytest.approx(0.05 ** (1 / 600), abs=1e-6)


def test_a_run_judges_with_vet(tmp_path: Path) -> None:
    """A false statement is refuted with a proposal, and only then; its decided check names the wrong word. A sentence
    in which `vet` reads no statement has no checks."""
    import run_yield

    folder = tmp_path / "p"
    folder.mkdir()
    (folder / "a.py").write_text(CODE)
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
        subprocess.run(["git", *command], cwd=folder, check=True, env={"PATH": "/usr/bin:/bin", **IDENTITY})
    row: dict[str, Any] = {"key": FALSE.key, "proposal": {"by": "x", "checks": ["equals(LIMIT, 50)"]}}
    (tmp_path / "proposals-a.jsonl").write_text(json.dumps(row))
    unread = Statement("u", "p", "python", "", "The things are all fine.", True)
    made = [
        one for setting in ("forms", "a")
        for one in run_yield.judged((folder, [TRUE, FALSE, unread], setting, tmp_path))
    ]  # fmt: skip
    found = {(one.setting, one.statement.id): (one.status, one.whole, one.decidable) for one in made}
    assert {(one.status, one.checks) for one in made if one.statement is unread} == {("no statement", ())}
    assert found["forms", "f"][0] != "contradicted"
    assert found["a", "f"] == ("contradicted", False, True)
    assert found["forms", "t"][:2] == found["a", "t"][:2] == ("admitted", True)


def test_an_attack_gives_a_mutation_the_checks_of_its_origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And has every proposal say that its checks say all."""
    import run_yield

    mutation = msgspec.structs.replace(FALSE, id=f"{TRUE.id}~1", mutation="value")
    monkeypatch.setattr(run_yield, "everything", lambda: [TRUE, mutation])
    row: dict[str, Any] = {"key": TRUE.key, "proposal": {"by": "x", "checks": ["exists(a)"], "whole": False}}
    (tmp_path / "proposals-a.jsonl").write_text(json.dumps(row))
    lines = (run_yield.forced(tmp_path / "new", tmp_path) / "proposals-a.jsonl").read_text().splitlines()
    told = {"by": "x", "checks": ["exists(a)"], "whole": True, "left": ""}
    assert list(map(json.loads, lines)) == [{"key": one.key, "proposal": told} for one in (TRUE, mutation)]
