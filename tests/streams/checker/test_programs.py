"""Each rule finds what it is for, where it is, and nothing beside it.

`rules.txt` has small programs behind the tools below; `programs.txt` has programs as they are written (services,
caches, retries, classes, coroutines) behind the common prelude. `=== about` begins a program; one that begins with a
blank is the body of a `@grounded_pure` agent. `#! rules` ends each line that has findings.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from checked_programs import PRELUDE, sites, under_pure
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

from sluice.streams.checker import Report, Source, check

TOOLS = """\
from sluice.streams.grounded import Grounded, agent, grounded_pure, prompt, tool
@tool(data="grounded")
def fetch(k: str) -> Grounded[str]: return k
@tool(data="grounded", confidence=0.9)
def fetch9(k: str) -> Grounded[str]: return k
@tool(data=["grounded","financial"])
def ledger(k: str) -> Grounded[str]: return k
@tool(data="pii")
def person(k: str) -> Grounded[str]: return k
@tool(data={"grounded"})
def plainsrc(k: str) -> str: return k
@prompt(confidence=0.7)
def summ(d: str, q: str = "") -> Grounded[str]: return d
@prompt
def word(d: str) -> str: return d
"""
PURE = "@agent\n@grounded_pure\ndef b(x: str, xs: list[str]) -> Grounded[str]:\n"
Program = tuple[str, str, list[tuple[int, str]]]
"""The prelude, the program, and its findings: the line in it, and the rule."""


def programs_in(name: str, prelude: str) -> dict[str, Program]:
    """The programs of a file, by what they are about."""
    read: dict[str, Program] = {}
    for section in (Path(__file__).parent / name).read_text("utf-8").split("=== ")[1:]:
        about, _, program = section.partition("\n")
        program = PURE + program if program.startswith(" ") else program
        marks = [(number, line.partition("  #! ")[2]) for number, line in enumerate(program.split("\n"), 1)]
        read[about] = prelude, program, [(number, rule) for number, mark in marks if mark for rule in mark.split(", ")]
    return read


RULES, PROGRAMS = programs_in("rules.txt", TOOLS), programs_in("programs.txt", PRELUDE)
ALL = RULES | PROGRAMS


def checked(program: str, prelude: str = TOOLS) -> Report:
    """A program behind the tools."""
    return check([Source("program.py", prelude + program)])


def test_no_two_programs_are_about_the_same():
    """The files have as many programs as they have sections."""
    assert (len(RULES), len(PROGRAMS), len(ALL)) == (71, 82, 153)


@pytest.mark.parametrize(("prelude", "program", "expected"), ALL.values(), ids=ALL)
def test_a_program_has_these_findings(prelude: str, program: str, expected: list[tuple[int, str]]):
    """No fewer, no more, each on its line; twice the same, in the same order, notes included."""
    report = checked(program, prelude)
    assert not report.errors
    assert [(one.line - prelude.count("\n"), one.rule) for one in report.findings] == expected
    assert checked(program, prelude) == report


def test_an_ungrounded_return_points_at_the_missing_retrieval():
    """The hint names the tools at hand that would be a source [C §2]."""
    (one,) = checked("@agent\ndef a(x: str) -> Grounded[str]:\n    return summ(x)\n").findings
    assert "summ() was given nothing retrieved" in one.message
    assert "fetch()" in one.message
    assert "person()" not in one.message


def test_an_unreachable_confidence_names_the_weakest_step():
    """With what it declares, and what the agent demands."""
    program = "@agent(min_confidence=0.8)\ndef a(x: str) -> Grounded[str]:\n    return summ(fetch9(x))\n"
    (one,) = checked(program).findings
    assert "summ()" in one.message
    assert "0.7" in one.message
    assert "0.8" in one.message


def test_columns_count_characters_from_one():
    """As an editor counts them, whatever the characters take in UTF-8."""
    line = '    d = fetch(x); y = "äöü€"; print(d)'
    (one,) = checked(f"@agent\n@grounded_pure\ndef a(x: str) -> Grounded[str]:\n{line}\n    return d\n").findings
    place = line.index("(d)") + 2
    assert (one.column, one.end_column) == (place, place + 1)


def test_a_comment_silences_only_the_rules_that_it_names():
    """On any line of the place; what stands in a string is no comment, and another rule none of its business."""
    program = '@agent\ndef a(x: str) -> Grounded[str]:\n    return (\n        "x"  {}\n    )\n'
    assert len(checked(program.format("")).findings) == 1
    assert len(checked(program.format("# sluice: ignore[coercion]")).findings) == 1
    assert len(checked(program.format("# sluice: ignore")).findings) == 1
    assert not checked(program.format("# sluice: ignore[coercion,ungrounded-return]")).findings
    assert len(checked(program.format("").replace('"x"', '"# sluice: ignore[ungrounded-return]"')).findings) == 1


def test_outside_of_pure_functions_sites_are_notes():
    """They are listed, and fail nothing [C §9.3]."""
    program = "@agent\ndef a(x: str) -> Grounded[str]:\n    d = fetch(x)\n    print(d)\n    return d\n"
    report = checked(program)
    assert not report.findings
    assert [(one.site, one.note) for one in report.notes] == [("argument", True)]


def test_a_source_that_is_not_python_does_not_hide_the_others():
    """It is an error of its own, and the others are checked."""
    bad = '@agent\ndef a(x: str) -> Grounded[str]:\n    return "x"\n'
    report = check([Source("a.py", "def f(:\n"), Source("b.py", TOOLS + bad), Source("c.py", "x = '\0'")])
    assert [one.path for one in report.errors] == ["a.py", "c.py"]
    assert [one.path for one in report.findings] == ["b.py"]


LEAVES = st.sampled_from(["g", "key", "'x'", "1", "g[0]", "summarise(g)", "fetch(key)"])
COMPUTED = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "*", "-", "//", "==", "<", ">="]), inner),
        st.builds("(-{})".format, inner),
        st.builds("({})[{}]".format, inner, st.sampled_from(["0", "1:3", "key"])),
    ),
    max_leaves=8,
)


@given(COMPUTED)
@settings(max_examples=examples(60), deadline=None)
def test_operators_keep_the_wrapper_however_they_are_nested(expression: str):
    """A computation is grounded exactly if something grounded is in it [C §9.1]: it may be returned, not bound."""
    grounded = any(one in expression for one in ("g", "summarise", "fetch"))
    returned = under_pure(f"return {expression}", "Grounded[str]")
    assert [one.rule for one in returned.findings] == ([] if grounded else ["ungrounded-return"])
    assert sites(f"x: str = {expression}") == (["binding"] if grounded else [])


@given(st.permutations(range(6)))
@settings(max_examples=examples(10), deadline=None)
def test_the_order_of_the_files_changes_nothing_but_the_order_of_findings(order: list[int]):
    """The same findings, whichever file comes first."""
    programs = [program for _, program, _ in PROGRAMS.values()]
    sources = [
        Source(f"m{place}.py", PRELUDE + f"from m{(place + 1) % 6} import b as other{place}\n" + programs[-place])
        for place in range(6)
    ]
    assert sorted(check([sources[one] for one in order]).findings) == sorted(check(sources).findings)
