"""`sluice check` against [C]: its rules, and each row of the table of coercion sites [C §9.3] (docs/check.md)."""

from __future__ import annotations

import textwrap

import pytest
from click.testing import CliRunner

from sluice.topology.cli import main

HEAD = """\
from dataclasses import dataclass
from typing import Iterator, NamedTuple, Optional, TypedDict
from sluice.streams.grounded import Grounded, agent, grounded_pure, prompt, tool

@tool(data="grounded")
def fetch(key: str) -> Grounded[str]: return key
@tool(data={"grounded", "financial"}, confidence=0.99)
def ledger(key: str) -> Grounded[str]: return key
@tool(data="grounded")
def declared_plain(key: str) -> str: return key
@prompt(model="m", confidence=0.7)
def summarise(doc: str) -> Grounded[str]: return doc
@agent
def impure(key: str) -> Grounded[str]: return fetch(key)
@agent
@grounded_pure
def pure(key: str) -> Grounded[str]: return fetch(key)
def plain(text: str) -> str: return text
@dataclass
class Card:
    text: str
class Row(TypedDict):
    text: str
class Pair(NamedTuple):
    text: str
"""


def checked(program: str) -> list[tuple[int, str]]:
    """The findings in a program behind the head, as its own line and the rule."""
    result = CliRunner().invoke(main, ["check", "-"], input=HEAD + textwrap.dedent(program))
    assert result.exit_code == (1 if result.stdout else 0), result.output
    lines = [line.split(" ")[:2] for line in result.stdout.splitlines()]
    return [(int(place.split(":")[1]) - HEAD.count("\n"), rule) for place, rule in lines]


def under_pure(body: str, returns: str = "Grounded[str]") -> list[str]:
    """The rules found in the body of a `@grounded_pure` agent; `g` is grounded."""
    program = f"@agent\n@grounded_pure\ndef subject(g: Grounded[str], key: str) -> {returns}:\n"
    return [rule for _, rule in checked(program + textwrap.indent(textwrap.dedent(body), "    ") + "\n")]


def test_c1_the_example_passes():
    """[C §1] A retrieval feeds the prompt, the wrapper propagates, the check passes."""
    program = "@agent\ndef research(key: str) -> Grounded[str]:\n    doc = fetch(key)\n    return summarise(doc)\n"
    assert checked(program) == []


@pytest.mark.parametrize(
    "value", ['"made up"', "key", "summarise(key)", "plain(key)", 'f"{fetch(key)}"', 'fetch(key).sever("mixed")']
)
def test_c2_a_return_without_a_source_is_ungrounded(value: str):
    """[C §2, §3] Literals and computations have no source, a prompt is a transform, a severed chain claims nothing."""
    assert checked(f"@agent\ndef a(key: str) -> Grounded[str]:\n    return {value}\n") == [(3, "ungrounded-return")]


def test_c2_the_hint_points_at_the_missing_retrieval():
    """[C §2] «with a hint pointing at the missing retrieval»."""
    program = '@agent\ndef a(key: str) -> Grounded[str]:\n    return "x"\n'
    assert "fetch()" in CliRunner().invoke(main, ["check", "-"], input=HEAD + program).stdout


def test_c6_every_demanded_category_has_to_be_composed():
    """[C §6] Categories compose by union; each that is demanded has to be in it."""
    program = '@agent(data={{"grounded", "financial"}})\ndef a(key: str) -> Grounded[str]:\n    return {}(key)\n'
    assert checked(program.format("ledger")) == []
    assert [rule for _, rule in checked(program.format("fetch"))] == ["missing-data-category"]


@pytest.mark.parametrize(("least", "rules"), [(0.8, ["unreachable-confidence"]), (0.7, [])])
def test_c7_a_chain_is_as_sure_as_its_weakest_step(least: float, rules: list[str]):
    """[C §7] A retrieval at 0.99 that feeds a prompt at 0.70 composes to 0.70: 0.80 cannot be reached."""
    program = f"@agent(min_confidence={least})\ndef a(key: str) -> Grounded[str]:\n    return summarise(ledger(key))\n"
    assert [rule for _, rule in checked(program)] == rules


@pytest.mark.parametrize("value", ['g + "x"', '"x" + g', "g * 2", "-g", "g == key", "g < key", "g + g", "g[0]"])
def test_c9_1_operators_keep_the_wrapper(value: str):
    """[C §9.1] Arithmetic, comparison, concatenation, unary operators: grounded whatever the other side is."""
    assert under_pure(f"return {value}") == []
    assert under_pure(f"plain({value})\nreturn g") == ["coercion"]


def test_c9_1_grounded_data_is_grounded_even_when_declared_plain():
    """[C §9.1] A call whose data has `grounded` returns Grounded at the call site."""
    assert under_pure("return declared_plain(key)") == []
    assert under_pure("text: str = declared_plain(key)\nreturn g") == ["coercion"]


def test_c9_2_a_condition_is_a_discard_that_only_pure_functions_forbid():
    """[C §9.2] Branching consumes the truth; under `@grounded_pure` it is seen, elsewhere it fails nothing."""
    assert under_pure("if g == 'x':\n    return g\nreturn g") == ["coercion"]
    program = "@agent\ndef a(key: str) -> Grounded[str]:\n    g = fetch(key)\n    if g: pass\n    return g\n"
    assert checked(program) == []


SITES = {
    "return": ("return g", "str"),
    "yield": ("yield g", "Iterator[str]"),
    "annotated let": ("x: str = g\nreturn g", "Grounded[str]"),
    "annotated name, later": ("x: str\nx = g\nreturn g", "Grounded[str]"),
    "annotated attribute": ('c = Card("x")\nc.text = g\nreturn g', "Grounded[str]"),
    "positional argument": ("plain(g)\nreturn g", "Grounded[str]"),
    "keyword argument": ("plain(text=g)\nreturn g", "Grounded[str]"),
    "starred argument": ("plain(*[g])\nreturn g", "Grounded[str]"),
    "double-starred argument": ('plain(**{"text": g})\nreturn g', "Grounded[str]"),
    "dataclass field": ("Card(text=g)\nreturn g", "Grounded[str]"),
    "typed dictionary": ("Row(text=g)\nreturn g", "Grounded[str]"),
    "named tuple": ("Pair(g)\nreturn g", "Grounded[str]"),
    "Some(…)": ("x: Optional[str] = g\nreturn g", "Grounded[str]"),
    "T | None": ("x: str | None = g\nreturn g", "Grounded[str]"),
    "list element": ("x: list[str] = [g]\nreturn g", "Grounded[str]"),
    "element of an inferred type": ('x = ["a", g]\nreturn g', "Grounded[str]"),
    "dictionary key": ('x: dict[str, str] = {g: "a"}\nreturn g', "Grounded[str]"),
    "dictionary value": ('x: dict[str, str] = {"a": g}\nreturn g', "Grounded[str]"),
    "comprehension": ("x: list[str] = [d for d in [g]]\nreturn g", "Grounded[str]"),
    "else arm": ('x = "none" if key else g\nreturn g', "Grounded[str]"),
    "first arm": ('x = g if key else "none"\nreturn g', "Grounded[str]"),
    "case body": ("match key:\n    case _:\n        x: str = g\nreturn g", "Grounded[str]"),
    "if": ("if g: pass\nreturn g", "Grounded[str]"),
    "elif": ("if key: pass\nelif g: pass\nreturn g", "Grounded[str]"),
    "while": ("while g: pass\nreturn g", "Grounded[str]"),
    "assert": ("assert g\nreturn g", "Grounded[str]"),
    "conditional expression": ("x = 1 if g else 2\nreturn g", "Grounded[str]"),
    "comprehension filter": ("x = [1 for k in key if g]\nreturn g", "Grounded[str]"),
    "match guard": ("match key:\n    case _ if g: pass\nreturn g", "Grounded[str]"),
    "f-string": ('x = f"{g}"\nreturn g', "Grounded[str]"),
    "%": ('x = "%s" % g\nreturn g', "Grounded[str]"),
    "str.format": ('x = "{}".format(g)\nreturn g', "Grounded[str]"),
    "str()": ("str(g)\nreturn g", "Grounded[str]"),
    "int()": ("int(g)\nreturn g", "Grounded[str]"),
    "iteration": ("for c in g: pass\nreturn g", "Grounded[str]"),
    "unpacking": ("a, b = g\nreturn g", "Grounded[str]"),
    "in": ('x = "a" in g\nreturn g', "Grounded[str]"),
    "with": ("with g: pass\nreturn g", "Grounded[str]"),
    "global": ("global TOTAL\nTOTAL = g\nreturn g", "Grounded[str]"),
    "closure": ('x = "a"\ndef inner() -> None:\n    nonlocal x\n    x = g\ninner()\nreturn g', "Grounded[str]"),
    "print": ("print(g)\nreturn g", "Grounded[str]"),
    "exec": ("exec(g)\nreturn g", "Grounded[str]"),
}


@pytest.mark.parametrize("name", SITES)
def test_c9_3_every_site_of_the_table_is_a_coercion(name: str):
    """[C §9.3] «A laundering site that the slot-check enumeration misses is a silent moat hole.»"""
    body, returns = SITES[name]
    assert under_pure(body, returns) == ["coercion"]


@pytest.mark.parametrize("name", SITES)
def test_c9_3_the_same_site_fails_nothing_outside_of_pure_functions(name: str):
    """[C §9.3] It remains in place for compatibility, and is recorded: `--verbose` lists it."""
    body, returns = SITES[name]
    program = f"def subject(g: Grounded[str], key: str) -> {returns}:\n" + textwrap.indent(body, "    ") + "\n"
    assert checked(program) == []
    listed = CliRunner().invoke(main, ["check", "--verbose", "-"], input=HEAD + program)
    assert "coercion note: " in listed.stdout
    assert listed.exit_code == 0


@pytest.mark.parametrize(
    "body",
    ["g.unwrap_discarding_sources()", "f = g.unwrap_discarding_sources\nf()", "Grounded.unwrap_discarding_sources(g)"],
)
def test_c9_4_an_explicit_unwrap_is_found(body: str):
    """[C §9.4] Case 2, called at once, later, or through the class."""
    assert set(under_pure(body + "\nreturn g")) == {"explicit-unwrap"}


@pytest.mark.parametrize(
    "body",
    [
        "return impure(key)",
        "f = impure\nreturn f(key)",
        "return [impure][0](key)",
        "return list(map(impure, [key]))[0]",
        "return (lambda k: impure(k))(key)",
        "def inner() -> Grounded[str]:\n    return impure(key)\nreturn inner()",
    ],
)
def test_c9_4_an_impure_agent_may_not_be_called(body: str):
    """[C §9.4] Case 3: directly, by another name, or passed as a value."""
    assert set(under_pure(body)) == {"impure-call"}


@pytest.mark.parametrize(
    "body", ["return pure(key)", "return summarise(g)", "return ledger(key)", "return subject(g, key)"]
)
def test_c9_4_pure_agents_tools_and_prompts_may_be_called(body: str):
    """[C §9.4] Tools and prompts are boundaries that launder nothing; pure agents are checked themselves."""
    assert under_pure(body) == []
