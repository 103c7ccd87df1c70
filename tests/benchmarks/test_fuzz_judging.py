"""The fuzzer of the judge: its traps can be read, its programs are the seed's, and it sees a judge that guesses."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

import judging
import pytest

ENDINGS = sorted(path.stem for path in judging.TRAPS.glob("*.txt"))


@pytest.mark.parametrize("ending", ENDINGS)
def test_each_trap_has_names_for_all_of_its_checks(ending: str) -> None:
    traps = judging.traps(ending)
    assert len(traps) >= 5
    for trap in traps:
        names = judging.Names(Random(1)).fill(trap)
        assert "«" not in judging.noise(trap, names, Random(1), broken=False)
        assert "«" not in "".join(judging.filled(check, names) for _, check in trap.checks)
        assert not trap.breakable or "«#»" in trap.text


def test_every_language_of_the_judge_has_traps() -> None:
    assert {"py", "go", "js", "ts", "java", "rs", "c", "cpp", "cs", "rb", "sh", "json", "toml", "yaml", "ini"} <= set(
        ENDINGS
    )


@pytest.mark.parametrize(
    ("answer", "finds"),
    [
        (lambda check: None, False),
        (lambda check: True, True),
        (lambda check: False, True),
    ],
)
def test_a_judge_that_guesses_is_found_and_one_that_never_decides_is_not(
    answer: Callable[[str], bool | None], finds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "judged", lambda path, text, check, whole: answer(check))
    found = list(judging.findings(40, 1, "py"))
    assert bool(found) is finds
    assert all(isinstance(one, judging.Finding) and one.answer is not one.expected for one in found)


def test_a_check_that_the_judge_does_not_know_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "judged", lambda path, text, check, whole: "there is no check of that name")
    assert "calls: there is no check of that name" in set(judging.findings(1, 1, "py"))


def test_a_seed_gives_the_same_programs() -> None:
    chosen = judging.traps("py")[:3]
    assert judging.program(chosen, Random(7)) == judging.program(chosen, Random(7))
    assert judging.program(chosen, Random(7)) != judging.program(chosen, Random(8))


def test_a_syntax_error_leaves_every_check_of_its_program_open() -> None:
    trap = next(one for one in judging.traps("py") if one.breakable)
    checks = [judging.program([trap], Random(seed))[1] for seed in range(60)]
    broken = [given for given in checks if all(truth is None for _, truth, _ in given)]
    assert 0 < len(broken) < 60


def test_two_names_of_a_program_are_never_the_same() -> None:
    names, given = judging.Names(Random(1)), set[str]()
    for trap in judging.traps("py"):
        for key, name in names.fill(trap).items():
            assert name.lower() not in given
            assert key[0] != "n" or re.fullmatch(r"\d+", name)
            given.add(name.lower())
