"""Claim forms: which check a sentence gives, and that any word more gives none."""

from __future__ import annotations

import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sluice.streams.judging.checks import Check, canonical, parse_check
from sluice.streams.judging.claim_forms import FORMS, claim
from sluice.streams.judging.coverage import cover

CLAIMS: tuple[tuple[str, str], ...] = (
    ("`README.md` contains `foo`.", "contains(foo, path=README.md)"),
    ("README.md mentions “docker compose up”.", 'contains("docker compose up", path=README.md)'),
    ("The file `docs/a.md` contains the text `x = 3`", 'contains("x = 3", path=docs/a.md)'),
    ("`a.py` does not contain `eval`.", "absent(eval, path=a.py)"),
    ("`a.py` doesn't mention `eval`.", "absent(eval, path=a.py)"),
    ("`a.py` contains no `eval`.", "absent(eval, path=a.py)"),
    ("There is no `eval` in `a.py`.", "absent(eval, path=a.py)"),
    ("There is no parse_time in `a.py`.", "absent(parse_time, path=a.py)"),
    ("`docs/a.md` exists.", "exists(docs/a.md)"),
    ("docs/a.md does not exist.", "missing(docs/a.md)"),
    ("`a.py` defines `f`.", "defines(f, path=a.py)"),
    ("`a.py` defines the function `f`.", "defines(f, function, path=a.py)"),
    ("`a.py` defines a class `F`.", "defines(F, type, path=a.py)"),
    ("`a.py` does not define `f`.", "not defines(f, path=a.py)"),
    ("`f` is defined in `a.py`.", "defines(f, path=a.py)"),
    ("The constant `X` is defined in `a.py`.", "defines(X, constant, path=a.py)"),
    ("`f` is not defined in `a.py`.", "not defines(f, path=a.py)"),
    ("`MAX_FILES` is 40.", "equals(MAX_FILES, 40)"),
    ("MAX_FILES equals 1,000.", "equals(MAX_FILES, 1000)"),
    ("`timeout` in `config.toml` is `30`.", "equals(timeout, 30, path=config.toml)"),
    ('`timeout` in `config.toml` is `"30"`.', 'equals(timeout, "30", path=config.toml)'),
    ("`server.port` (`config.json`) is set to 8080.", "equals(server.port, 8080, path=config.json)"),
    ("`mode` defaults to `strict`.", "equals(mode, strict)"),
    ("`mode` is set to “very strict”.", 'equals(mode, "very strict")'),
    ("The default of `debug` is `False`.", "equals(debug, false)"),
    ('`hosts` is `["a", "b"]`.', "equals(hosts, [a, b])"),
    ("`config.toml` sets `timeout` to 30.", "equals(timeout, 30, path=config.toml)"),
    ("In `config.toml`, `timeout` is 30.", "equals(timeout, 30, path=config.toml)"),
    ("`MAX_FILES` is not 40.", "not equals(MAX_FILES, 40)"),
    ("`limit` is at least 3.", "compare(limit, >=, 3)"),
    ("`limit` is more than 3.", "compare(limit, >, 3)"),
    ("`limit` is below 3.", "compare(limit, <, 3)"),
    ("`limit` is not above 3 in `a.py`.", "compare(limit, <=, 3, path=a.py)"),
    ("`f` calls `g`.", "calls(f, g)"),
    ("The function `f` in `a.py` calls `g()`.", "calls(f, g, path=a.py)"),
    ("f() calls g()", "calls(f, g)"),
    ("`f` does not call `g`.", "not calls(f, g)"),
    ("`f` uses `MAX_FILES`.", "uses(f, MAX_FILES)"),
    ("`f` does not use `MAX_FILES`.", "not uses(f, MAX_FILES)"),
    ("`a.py` imports `os`.", "imports(os, path=a.py)"),
    ("`a.py` does not import `os`.", "not imports(os, path=a.py)"),
    ("`f` in `a.py` returns `x + 1`.", 'returns(f, "x + 1", path=a.py)'),
    ("`f` returns None.", "returns(f, None)"),
    ("`a.py` has 3 occurrences of `TODO`.", "count(TODO, =, 3, path=a.py)"),
    ("`a.py` contains at least two occurrences of `TODO`.", "count(TODO, >=, 2, path=a.py)"),
    ("Commit 4F2A91C is dated 2026-05-25.", "commit(4f2a91c, date=2026-05-25)"),
    ("Commit `4f2a91c` is dated 25 May 2026.", 'commit(4f2a91c, date="25 May 2026")'),
    ("`a.py` was last changed before 2026-05-25.", "last_changed(a.py, <, 2026-05-25)"),
    ("`a.py` was last changed after 2026-05-25.", "last_changed(a.py, >, 2026-05-25)"),
    ("a.py was last changed on 2026-05-25", "last_changed(a.py, =, 2026-05-25)"),
)


@pytest.mark.parametrize(("sentence", "check"), CLAIMS)
def test_a_sentence_gives_the_check_of_its_form(sentence: str, check: str):
    """In canonical form, whatever the assertion's kind: of a denial the polarity is that of the sentence."""
    assert claim(sentence, "assertion") == check
    assert claim(sentence, "denial") == check
    assert claim(sentence, "refusal") is None


@pytest.mark.parametrize(("sentence", "check"), CLAIMS)
def test_the_check_is_canonical_and_covers_its_sentence(sentence: str, check: str):
    """Nothing of the sentence is left unsaid by the check that it gives."""
    parsed = parse_check(check)
    assert isinstance(parsed, Check)
    assert canonical(parsed) == check
    assert cover(sentence, [parsed], path=parsed.path) == ("whole", ())


def test_every_form_has_a_sentence_here():
    """A row without one would be a row without a test."""
    used = {check.removeprefix("not ").partition("(")[0] for _, check in CLAIMS}
    assert {form.check for form in FORMS} | {"compare"} == used


@pytest.mark.parametrize(
    "sentence",
    [
        "`f` always calls `g`.",
        "Only `f` calls `g`.",
        "`f` only calls `g`.",
        "`f` calls `g` and `h`.",
        "`f` calls `g` twice.",
        "`f` calls `g`?",
        "`f` calls `g(1)`.",
        "`f` called `g`.",
        "`f` will call `g`.",
        "`f` may call `g`.",
        "`f` calls g.",
        "f calls `g`.",
        "“f” calls “home”.",
        "`f` is called.",
        "`f` calls `g` in `a.py` in `b.py`.",
        "`a.py` contains `x` in `b.py`.",
        "`x` in `a.py` is 3 in `b.py`.",
        "`a.py` contains x.",
        "`a.py` contains bugs.",
        "`a.py` contains no bugs.",
        "`a.py` contains no “bugs”.",
        "There is no `eval`.",
        "There is no `two words` in `a.py`.",
        "timeout is 30.",
        "The timeout is 30.",
        "`timeout` is 30 seconds.",
        "`timeout` is about 30.",
        "`timeout` is 30 or 40.",
        "`timeout` is deprecated.",
        "`timeout` is `deprecated`.",
        "`timeout` is not `deprecated`.",
        "`timeout` is “deprecated”.",
        "`timeout` is `a + b`.",
        "`timeout` was 30.",
        "`a.go` defines the class `F`.",
        "`f` is not defined.",
        "`release` exists.",
        "The release does not exist.",
        "`/etc/passwd` exists.",
        "`a.py` was last changed before Tuesday.",
        "`a.py` was last modified before 2026-05-25.",
        "Commit abc is dated 2026-05-25.",
        "Commit 4f2a91c was dated 2026-05-25.",
        "`a.py` has many occurrences of `TODO`.",
        "It is `f`.",
        "`f`",
        "",
        "\ud800 is 3.",
        "`x`\u200b is 3.",
    ],
)
def test_any_other_sentence_gives_none(sentence: str):
    """One word left over, an argument that is not beyond doubt, another tense: no check is derived."""
    assert claim(sentence, "assertion") is None
    assert claim(sentence, "denial") is None


HARMLESS = {
    "the",
    "function",
    "functions",
    "method",
    "methods",
    "property",
    "file",
    "files",
    "text",
    "value",
    "and",
    "but",
}


@given(st.sampled_from(CLAIMS), st.text(alphabet=string.ascii_letters, min_size=1, max_size=8), st.integers(0, 12))
def test_one_word_more_gives_no_check(pair: tuple[str, str], word: str, place: int):
    """Wherever it is put, but for an article or a noun that says what the argument is."""
    words = pair[0].split(" ")
    before = " ".join(words[:place])
    outside = before.count("`") % 2 == 0 and before.count("“") == before.count("”")
    assume(place <= len(words) and outside and word.lower() not in HARMLESS)
    found = claim(" ".join([*words[:place], word, *words[place:]]), "assertion")
    # «no» makes a denial of some, and then the check of that denial is the one that is given.
    assert found in (None, pair[1]) or word.lower() in ("no", "not")


NAMES = st.from_regex(r"[a-z][a-z0-9]{0,6}(_[a-z0-9]{1,6}){0,2}", fullmatch=True)


@given(NAMES, NAMES, st.integers(-(10**12), 10**12), st.booleans())
def test_the_arguments_are_those_of_the_sentence(name: str, other: str, number: int, denies: bool):
    """Names and numbers come as they are written, each in its place, and the denial with them."""
    assert claim(f"`{name}` is{' not' * denies} {number}.", "assertion") == f"{'not ' * denies}equals({name}, {number})"
    verb = "does not call" if denies else "calls"
    assert claim(f"`{name}` {verb} `{other}`.", "denial") == f"{'not ' * denies}calls({name}, {other})"


@given(st.text(max_size=80))
def test_a_claim_is_a_check_that_covers_its_sentence(sentence: str):
    """Whatever the text: there is none, or it says all of it."""
    found = claim(sentence, "assertion")
    if found is not None:
        check = parse_check(found)
        assert isinstance(check, Check)
        assert cover(sentence, [check], path=check.path).level == "whole"
