"""How much of a sentence its checks say: what is whole by a form or a proposal, what never is, and what is opposed."""

from __future__ import annotations

import string
from itertools import permutations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sluice.streams.judging.checks import Check, Held, Source, parse_check
from sluice.streams.judging.claim_forms import claim
from sluice.streams.judging.coverage import NOTHING_CONFIRMED, Confirmed, Coverage, Proposed, cover, excused
from sluice.streams.judging.prose_literals import FUNCTION
from sluice.streams.judging.verify import Parsing, verify_content

WHOLE = Proposed("reader", whole=True)
UNIQUE = Confirmed(unique=True)


def judged(
    sentence: str,
    *checks: str,
    path: str | None = None,
    proposal: Proposed | None = WHOLE,
    confirmed: Confirmed = UNIQUE,
) -> Coverage:
    found = [parse_check(one) for one in checks]
    assert all(isinstance(one, Check) for one in found), "every check of a test is well formed"
    return cover(sentence, found, path=path, proposal=proposal, confirmed=confirmed)


def left(sentence: str, covered: Coverage) -> list[str]:
    return [sentence[start:end] for start, end in covered.unchecked]


# ---------------------------------------------------------------- whole by a proposal


PROPOSED: tuple[tuple[str, list[str]], ...] = (
    ("`f` in `a.py` calls `g` and `h`.", ["calls(f, g, path=a.py)", "calls(f, h, path=a.py)"]),
    ("Both `load` and `save` call `check`.", ["calls(load, check)", "calls(save, check)"]),
    ("`f` calls `g`, but not `h`.", ["calls(f, g)", "not calls(f, h)"]),
    ("`f` calls `g` but does not call `h`.", ["calls(f, g)", "not calls(f, h)"]),
    ("`f` does not call `g` or `h`.", ["not calls(f, g)", "not calls(f, h)"]),
    ("`f` calls `g`, which returns `None`.", ["calls(f, g)", "returns(g, None)"]),
    ("`f`, which calls `g`, returns `x + 1`.", ["calls(f, g)", 'returns(f, "x + 1")']),
    ("`f` also uses `MAX_FILES` and returns 3.", ["uses(f, MAX_FILES)", "returns(f, 3)"]),
    ("`g` is called by `f` and `h`.", ["calls(f, g)", "calls(h, g)"]),
    ("In `src/a.py`, `f` directly calls `g`.", ["calls(f, g, path=src/a.py)"]),
    (
        "`Session.send` is defined in `a.py` and calls `close`.",
        ["defines(Session.send, path=a.py)", "calls(Session.send, close)"],
    ),
    (
        "`send` of `Session` uses `TIMEOUT`, and `close` calls `stop`.",
        ["uses(Session.send, TIMEOUT)", "calls(close, stop)"],
    ),
    ("The default value of `timeout` in `conf.py` is 30 seconds.", ["equals(timeout, 30s, path=conf.py)"]),
    ("`RETRIES` is 3 and `TIMEOUT` is 30.", ["equals(RETRIES, 3)", "equals(TIMEOUT, 30)"]),
    ("`limit` is at least 3, and `burst` is at most 9.", ["compare(limit, >=, 3)", "compare(burst, <=, 9)"]),
    ("`a.py` imports `os` and `re`.", ["imports(os, path=a.py)", "imports(re, path=a.py)"]),
    ("`a.py` and `b.py` import `os`.", ["imports(os, path=a.py)", "imports(os, path=b.py)"]),
    ("`a.py` imports `os`; `b.py` imports `re`.", ["imports(os, path=a.py)", "imports(re, path=b.py)"]),
    ("`a.py` imports `os` but does not import `re`.", ["imports(os, path=a.py)", "not imports(re, path=a.py)"]),
    ("`a.py` defines `f`, and `f` returns `None`.", ["defines(f, path=a.py)", "returns(f, None)"]),
    ("`README.md` exists and mentions `docker`.", ["exists(README.md)", "contains(docker, path=README.md)"]),
    ("`a.py` and `b.py` exist.", ["exists(a.py)", "exists(b.py)"]),
    (
        "`a.py` contains `foo_bar`, and `b.py` does not contain `foo_bar`.",
        ["contains(foo_bar, path=a.py)", "absent(foo_bar, path=b.py)"],
    ),
    (
        "`RETRIES` in `a.py` is 3 (the default of `retries` is also 3).",
        ["equals(RETRIES, 3, path=a.py)", "equals(retries, 3)"],
    ),
    (
        "`a.py` has exactly 3 occurrences of `TODO`, and `b.py` exists.",
        ["count(TODO, =, 3, path=a.py)", "exists(b.py)"],
    ),
    ("So `f` calls `g` and `h`, for example.", ["calls(f, g)", "calls(f, h)"]),
    ("`f`, by contrast, calls `g` and `h` as well.", ["calls(f, g)", "calls(f, h)"]),
    ("`a.py` implements `f` and `g`.", ["defines(f, path=a.py)", "defines(g, path=a.py)"]),
    ("`X` has two variants: `a` and `b`.", ["members(X, [a, b])"]),
    ("There is no `p` parameter in `f`.", ["not parameter(f, p)"]),
    ("There is a parameter `p` with default 3 in `f` in `a.py`.", ["parameter(f, p, default=3, path=a.py)"]),
    ("There are fields `x` and `y` in `C`.", ["field(C, x)", "field(C, y)"]),
    ("`X` is 3 according to `a.toml`.", ["equals(X, 3, path=a.toml)"]),
    ('`a.toml` has `x = 3` and `y = "z"`.', ["equals(x, 3, path=a.toml)", "equals(y, z, path=a.toml)"]),
    ("`a.yml` sets `x.y: 3`.", ["equals(x.y, 3, path=a.yml)"]),
    ("By default `LIMIT` and `MOST` are fixed at 30.", ["equals(LIMIT, 30)", "equals(MOST, 30)"]),
    ("`f` takes `x` with type `int` and returns `3`.", ["parameter(f, x, type=int)", "returns(f, 3)"]),
    ("`f` and `k` call `g` with the argument `x`.", ["calls(f, g, argument=x)", "calls(k, g, argument=x)"]),
    ("`a` and `b` are listed in `a.md`.", ["contains(a, path=a.md)", "contains(b, path=a.md)"]),
    ("Commit 4f2a91c touched `a.py` and `b.py`.", ["changed(a.py, 4f2a91c)", "changed(b.py, 4f2a91c)"]),
)


@pytest.mark.parametrize(("sentence", "checks"), PROPOSED)
def test_a_proposal_that_says_whole_is_whole_where_the_guard_finds_nothing_left(sentence: str, checks: list[str]):
    """And by nobody's word `part`: without a proposal, or with one that says so, or under a condition."""
    assert judged(sentence, *checks) == ("whole", (), "reader", ())
    assert judged(sentence, *reversed(checks)).level == "whole"
    assert judged(sentence, *checks, proposal=None).by != "reader"
    assert judged(sentence, *checks, proposal=Proposed("reader", whole=False)).by != "reader"
    assert judged(sentence, *checks, confirmed=Confirmed(unique=True, narrowed=True)).level == "part"


# ---------------------------------------------------------------- never whole


CALLS = ["calls(f, g)", "calls(f, h)", "calls(k, h)", "uses(f, LIMIT)", "returns(f, None)", "equals(LIMIT, 30)"]
FALSE: tuple[tuple[str, list[str]], ...] = (
    # negation
    ("`f` does not call `g`.", CALLS),
    ("`f` never calls `g`.", CALLS),
    ("`f` calls neither `g` nor `h`.", CALLS),
    ("`f` calls `g` without `h`.", CALLS),
    ("No `f` calls `g`.", CALLS),
    ("`f` calls `g`, not.", CALLS),
    ("`f` doesn't not call `g`.", ["calls(f, g)", "not calls(f, k)"]),
    ("`f` calls `g` but not `h`.", ["calls(f, h)", "not calls(f, g)"]),
    ("`f` does not call `g` but `h`.", ["not calls(f, g)", "not calls(f, h)"]),
    ("`f` can't call `g`.", CALLS),
    ("`f` fails to call `g`.", CALLS),
    # quantifiers, «only», «always»
    ("`f` only calls `g`.", CALLS),
    ("Only `f` calls `g`.", CALLS),
    ("`f` always calls `g`.", CALLS),
    ("Every `f` calls `g`.", CALLS),
    ("`f` calls `g` twice.", CALLS),
    ("`f` calls just `g`.", CALLS),
    ("`f` calls all of `g` and `h`.", CALLS),
    ("`f` calls nothing but `g`.", CALLS),
    ("`LIMIT` is used only in `f`.", CALLS),
    # conditions, causes, times
    ("`f` calls `g` if `h`.", CALLS),
    ("`f` calls `g` unless `h`.", CALLS),
    ("`f` calls `g` when `LIMIT` is 30.", CALLS),
    ("`f` calls `g` because `h` is 30.", CALLS),
    ("`f` calls `g` before `h`.", CALLS),
    ("`f` calls `g` after `h`.", CALLS),
    ("`f` no longer calls `g`.", CALLS),
    ("`f` called `g`.", CALLS),
    ("`f` will call `g`.", CALLS),
    ("`f` now calls `g`.", CALLS),
    ("`f` may call `g`.", CALLS),
    ("I added `g` to `f`.", CALLS),
    ("I removed `g` from `f`.", CALLS),
    ("`f` calls `g` instead of `h`.", CALLS),
    ("`f` calls `g` rather than `h`.", CALLS),
    ("`f` calls `g`, except `h`.", CALLS),
    # roles, order, passive voice
    ("`g` calls `f`.", CALLS),
    ("`f` is called by `g`.", CALLS),
    ("`LIMIT` uses `f`.", CALLS),
    ("`f` calls `g` with `LIMIT`.", CALLS),
    ("`f` calls `g` in `h`.", CALLS),
    ("`f` calls `g` for `h`.", CALLS),
    ("`g` in `f` calls `h`.", CALLS),
    ("`f` calls `LIMIT`.", CALLS),
    ("`f` calls `g` and `f`.", CALLS),
    ("`a.py` imports `os` and `a.py`.", ["imports(os, path=a.py)"]),
    ("`f` calls `g` to `h`.", CALLS),
    ("`f` calls itself and `g`.", CALLS),
    # two clauses, lists with one item too many, pairs crossed
    ("`f` calls `g` and `k`.", CALLS),
    ("`f` and `k` call `g`.", CALLS),
    ("`f` and `k` call `g` and `h`.", CALLS),
    ("`k` calls `h` and `g`.", CALLS),
    ("`f` calls `g` and `k` calls `g`.", CALLS),
    ("`f` calls `h` and `g` calls `h`.", CALLS),
    ("`f` calls `g`, which returns `None`.", CALLS),
    ("`f` calls `g`, and it returns `None`.", CALLS),
    ("`k` calls `h` and returns `None`.", CALLS),
    ("`f` calls `g`. `k` returns `None`.", CALLS),
    ("`f` calls `g`, and everything works.", CALLS),
    ("`f` calls `g`, a slow function.", CALLS),
    ("`a` is 1 and `b` is 2.", ["equals(a, 2)", "equals(b, 1)"]),
    ("`a` and `b` are 1 and 2.", ["equals(a, 2)", "equals(b, 1)"]),
    ("`a`, `b` and `c` are 1, 2 and 1.", ["equals(a, 2)", "equals(b, 1)", "equals(c, 1)"]),
    ("`f` in `a.py` calls `g` in `b.py`.", ["calls(f, g, path=a.py)", "defines(g, path=b.py)"]),
    ("`f` in `a.py` calls `g`.", ["calls(f, g, path=b.py)", "defines(f, path=a.py)"]),
    ("`f` in `lib/a.py` does not call `g`.", ["not calls(f, g, path=src/lib/a.py)"]),
    # numbers, units, comparisons
    ("`LIMIT` is 31.", CALLS),
    ("`LIMIT` is 30 seconds.", CALLS),
    ("`LIMIT` is 30%.", CALLS),
    ("`LIMIT` is -30.", CALLS),
    ("`LIMIT` is 30.5.", CALLS),
    ('`LIMIT` is `"30"`.', CALLS),
    ("`LIMIT` is more than 30.", CALLS),
    ("`LIMIT` is at most 30.", CALLS),
    ("`LIMIT` is about 30.", CALLS),
    ("`LIMIT` is 30 or more.", CALLS),
    ("`LIMIT` is 30 bytes larger.", CALLS),
    ("`LIMIT` is greater than `f`.", CALLS),
    ("`timeout` is 30 minutes.", ["equals(timeout, 30s)"]),
    ("`limit` is at least 3.", ["compare(limit, <=, 3)"]),
    ("`limit` is at least 3.", ["compare(limit, >, 3)", "equals(limit, 4)"]),
    ("`a.py` has 3 occurrences of `TODO`.", ["count(TODO, >=, 3, path=a.py)"]),
    ("`a.py` was last changed after 2026-05-25.", ["last_changed(a.py, =, 2026-05-25)"]),
    ("`a.py` was last changed on 2026-05-25.", ["last_changed(a.py, =, 2026-05)"]),
    ("`f` calls `g` with `x`.", ["calls(f, g, argument=y)"]),
    ("`f` calls `g` with `x` and `y`.", ["calls(f, g, argument=x)"]),
    ("`f` calls `g` and `h` with `x`.", ["calls(f, g)", "calls(f, h, argument=x)"]),
    ("`f` calls `g` with care.", CALLS),
    ("`f` calls `x` with `g`.", ["calls(f, g, argument=x)"]),
    ("`f` takes a parameter `y` with default `x`.", ["parameter(f, x, default=y)"]),
    ("`f` takes a parameter `y` with type `x`.", ["parameter(f, x, type=y)"]),
    ("`C` has a field `y` with default `x`.", ["field(C, x, default=y)"]),
    ("`f` calls `g` with no argument.", CALLS),
    ("`f` calls `g` with arguments.", ["calls(f, h)"]),
    # ties, places, lists and assignments
    ("`f` calls `g` so `h`.", CALLS),
    ("`f` so calls `g`.", CALLS),
    ("So `f` calls `g` too often.", CALLS),
    ("`f`, for example `k`, calls `h`.", ["calls(f, h)"]),
    ("`f`, however `k`, calls `h`.", CALLS),
    ("`f` calls `g` as well as `k`.", CALLS),
    ("Note that `f` calls `k`.", CALLS),
    ("`f` implements `g`.", CALLS),
    ("`a.py` implements `f` and `k`.", ["defines(f, path=a.py)"]),
    ("`a.py` implements `X`.", ["extends(X, Y, path=a.py)"]),
    ("`X` has three variants: `a` and `b`.", ["members(X, [a, b])"]),
    ("`X` has two variants: `a` and `c`.", ["members(X, [a, b])"]),
    ("`X` has two variants: `a`, `b` and `c`.", ["members(X, [a, b])"]),
    ("`X` has more than two variants.", ["members(X, [a, b])"]),
    ("`X` has two instances.", ["members(X, [a, b])"]),
    ("`X` and `Y` have two variants.", ["members(X, [a, b])"]),
    ("`X` has no two variants.", ["members(X, [a, b])"]),
    ("There is a `p` parameter in `f`.", ["not parameter(f, p)", "parameter(g, p)"]),
    ("There is no `p` parameter in `f`.", ["parameter(f, p)", "not parameter(g, p)"]),
    ("There is an `f` parameter in `p`.", ["parameter(f, p)"]),
    ("There is a `p` parameter only in `f`.", ["parameter(f, p)"]),
    ("There is a `p` parameter in `f` in `g`.", ["parameter(f, p)", "parameter(g, p)"]),
    ("There is one `p` parameter in `f`.", ["parameter(f, p)"]),
    ("`f` there is a `p` parameter in `f`.", ["parameter(f, p)", "calls(f, p)"]),
    ("There is a field `x` in `C` and `D`.", ["field(C, x)"]),
    ("`X` is 3 according to `b.toml`.", ["equals(X, 3, path=a.toml)"]),
    ("According to `f`, `X` is 3.", ["equals(X, 3)"]),
    ("`X` is 3 according to convention.", ["equals(X, 3)"]),
    ("`a.toml` has `x = 4`.", ["equals(x, 3, path=a.toml)"]),
    ("`a.toml` has `y = 3`.", ["equals(x, 3, path=a.toml)"]),
    ("`b.toml` has `x = 3`.", ["equals(x, 3, path=a.toml)"]),
    ("`a.toml` has `x = 3` and `y = 3`.", ["equals(x, 3, path=a.toml)"]),
    ("`a.toml` has no `x = 3`.", ["equals(x, 3, path=a.toml)"]),
    ("`a.toml` has only `x = 3`.", ["equals(x, 3, path=a.toml)"]),
    ('`a.toml` has `x = "3"`.', ["equals(x, 3, path=a.toml)"]),
    ("`a.toml` has `x == 3`.", ["equals(x, 3, path=a.toml)"]),
    ("`x` has 3.", ["equals(x, 3)"]),
    ("`b` has `a`.", ["equals(a, b)", "equals(b, a)"]),
    ("`x = 3` has `y`.", ["equals(x, 3)"]),
    ("`LIMIT` is fixed at 31.", CALLS),
    ("`LIMIT` is fixed.", CALLS),
    ("`a` is listed in `b.md`.", ["contains(a, path=a.md)"]),
    ("Only `a` is listed in `a.md`.", ["contains(a, path=a.md)"]),
    # nouns
    ("The function `f` calls `g`.", CALLS),
    ("The class `X` is defined in `a.py`.", ["defines(X, function, path=a.py)"]),
    ("`a.go` defines the class `X`.", ["defines(X, type, path=a.go)"]),
    ("The option `LIMIT` is 30.", CALLS),
    ("`a.py` imports the module `json`.", ["imports(json, path=a.py)"]),
    ("`README.md` contains the word `Z`.", ["contains(Z, path=README.md)"]),
    ("The deprecated `f` calls `g`.", CALLS),
    ("Private `f` calls `g`.", CALLS),
    # hidden characters, look-alikes, nested quotes
    ("`f` c\u0430lls `g`.", CALLS),
    ("`f` calls\u200b `g`.", CALLS),
    ("`f` \u202ecalls `g`.", CALLS),
    ("`f\u200b` calls `g`.", CALLS),
    ("`f` calls `\u0261`.", CALLS),
    ("`f` ca\u00adlls `g`.", CALLS),
    ("“`f` calls `g`” is wrong.", CALLS),
    ("“`f` calls” `g`.", CALLS),
    ("`f` calls `g(h)`.", CALLS),
    ("`f` calls `g` `h`?", CALLS),
    ("Does `f` call `g`?", CALLS),
    ("`f` calls `g`!", CALLS),
    ("`f` calls `g` ~~and~~ `h`.", CALLS),
    ("`f`calls`g`.", CALLS),
    # other words, other languages
    ("`f` safely calls `g`.", CALLS),
    ("`f` asynchronously calls `g`.", CALLS),
    ("`f` calls `g` lazily.", CALLS),
    ("`f` hardly calls `g`.", CALLS),
    ("`f` ruft `g` auf.", CALLS),
    ("`f` appelle `g`.", CALLS),
    ("`f` 调用 `g`。", CALLS),
    ("The parameter `p` of `f` is 30.", ["equals(LIMIT, 30)", "calls(f, p)"]),
    ("`f` returns `None` and `LIMIT`.", CALLS),
    ("`f` calls max_size.", ["calls(f, g)", "calls(f, max_size2)"]),
    ("`f` calls `Client.g`.", CALLS),
    ("`src/a.py` exists.", ["exists(a.py)"]),
    ("`a.py` exists.", ["exists(src/a.py)"]),
    ("`a.py` contains `x`.", ["contains(x, path=src/a.py)"]),
    ("Line 13 of `a.py` contains `x`.", ["line(a.py, 12, x)"]),
    ("Line 12 of `a.py` is `x`.", ["line(a.py, 12, x)"]),
    ("Commit 4f2a91cd touched `a.py`.", ["changed(a.py, 4f2a91c)"]),
)
EVERY_KIND = Confirmed(unique=True, kinds=dict.fromkeys("ghkX", frozenset(("function",))))


@pytest.mark.parametrize(("sentence", "checks"), FALSE)
def test_a_sentence_with_a_false_part_is_never_whole(sentence: str, checks: list[str]):
    """Whatever a proposal says, and which of the checks come with it: each of them holds."""
    for count in range(1, min(len(checks), 3) + 1):
        for chosen in permutations(checks, count):
            assert judged(sentence, *chosen, confirmed=EVERY_KIND).level != "whole", chosen
    assert judged(sentence, *checks, confirmed=EVERY_KIND).level != "whole"


@pytest.mark.parametrize(
    ("sentence", "checks", "unchecked"),
    [
        ("`f` calls `g` lazily.", ["calls(f, g)"], ["lazily"]),
        ("`f` calls `g`, and everything works.", ["calls(f, g)"], ["everything works"]),
        ("The old `f` calls `g` on Tuesdays.", ["calls(f, g)"], ["old", "on Tuesdays"]),
        ("The function `f` calls `g`.", ["calls(f, g)"], ["function"]),
        ("`f` calls `g` and raises.", ["calls(f, g)"], ["raises"]),
        ("The `f` method in `a.py` calls `g`.", ["calls(f, g, path=a.py)"], ["method"]),
    ],
)
def test_what_is_left_is_named(sentence: str, checks: list[str], unchecked: list[str]):
    """In code points of the sentence as it was given."""
    found = judged(sentence, *checks)
    assert found.level == "part"
    assert left(sentence, found) == unchecked


@pytest.mark.parametrize(
    ("sentence", "check", "path", "confirmed", "level"),
    [
        ("`f` calls `g`.", "calls(f, g)", None, NOTHING_CONFIRMED, "part"),
        ("`f` calls `g`.", "calls(f, g)", "a.py", NOTHING_CONFIRMED, "part"),
        ("`f` calls `g`.", "calls(f, g)", None, UNIQUE, "whole"),
        ("`f` calls `g`.", "calls(f, g, path=src/a.py)", None, UNIQUE, "whole"),
        ("`f` calls `g`.", "calls(f, g, path=src/a.py)", None, NOTHING_CONFIRMED, "part"),
        ("`f` in `a.py` calls `g`.", "calls(f, g, path=src/a.py)", None, UNIQUE, "whole"),
        ("`f` in `a.py` calls `g`.", "calls(f, g, path=src/a.py)", None, NOTHING_CONFIRMED, "part"),
        ("`f` in `a.py` never calls `g`.", "not calls(f, g, path=src/a.py)", None, UNIQUE, "part"),
        ("`f` in `src/a.py` calls `g`.", "calls(f, g, path=src/a.py)", None, NOTHING_CONFIRMED, "whole"),
        ("`X` is true.", "equals(X, 1)", None, UNIQUE, "part"),
        ("The class `X` lives in `a.py`.", "defines(X, type, path=a.py)", None, NOTHING_CONFIRMED, "whole"),
        ("The class `X` lives in `a.rs`.", "defines(X, type, path=a.rs)", None, NOTHING_CONFIRMED, "part"),
        ("The class `X` in `a.py` is 3.", "equals(X, 3, path=a.py)", None, UNIQUE, "part"),
        (
            "The option `X` in `a.py` is 3.",
            "equals(X, 3, path=a.py)",
            None,
            Confirmed(kinds={"X": frozenset(("option",))}),
            "whole",
        ),
        (
            "The option `X` in `a.py` is 3.",
            "equals(X, 3, path=a.py)",
            None,
            Confirmed(kinds={"X": frozenset(("key",))}),
            "part",
        ),
        ("`f` in `a.py` calls `g`.", "calls(f, g, path=a.py)", None, Confirmed(narrowed=True), "part"),
    ],
)
def test_a_form_needs_its_file_and_its_nouns(
    sentence: str, check: str, path: str | None, confirmed: Confirmed, level: str
):
    """Named, or confirmed by a look in the checkout."""
    assert judged(sentence, check, path=path, proposal=None, confirmed=confirmed).level == level


# ---------------------------------------------------------------- none


OPPOSED = (
    ("`f` does not call `g`.", "calls(f, g)"),
    ("`f` calls `g`.", "not calls(f, g)"),
    ("`g` never uses `b`.", "uses(g, b)"),
    ("I removed `f` from `a.py`.", "defines(f, path=a.py)"),
    ("Deleted `f`.", "defines(f)"),
    ("`a.py` no longer imports `os`.", "imports(os, path=a.py)"),
    ("`a.py` mentions `x`.", "absent(x, path=a.py)"),
    ("`a.py` does not exist.", "exists(a.py)"),
    ("`a.py` exists.", "missing(a.py)"),
    ("I added `a.py`.", "missing(a.py)"),
    ("`LIMIT` is not 30.", "equals(LIMIT, 30)"),
    ("`LIMIT` is 30.", "not equals(LIMIT, 30)"),
    ("`f` calls `g` but not `h`.", "calls(f, h)"),
    ("`f` works without `g`.", "uses(f, g)"),
)


@pytest.mark.parametrize(("sentence", "check"), OPPOSED)
def test_an_opposed_check_says_nothing_of_a_sentence(sentence: str, check: str):
    """Its relation or its polarity is the opposite of the sentence's own."""
    assert judged(sentence, check) == ("none", ((0, len(sentence)),), "", (0,))
    assert judged(sentence, "exists(z.py)", check).opposed == (1,)


@pytest.mark.parametrize(
    ("sentence", "check"),
    [
        ("`f` calls `g` but not `h`.", "calls(f, g)"),
        ("`f` calls `g` but not `h`.", "not calls(f, h)"),
        ("I removed the call, and `f` does not call `g`.", "not calls(f, g)"),
        ("I removed `x`; `f` uses `y`.", "uses(f, y)"),
        ("There is no `x` in `a.py`.", "absent(x, path=a.py)"),
    ],
)
def test_a_check_that_agrees_is_not_opposed(sentence: str, check: str):
    assert judged(sentence, check).level != "none"


@pytest.mark.parametrize(
    ("sentence", "checks"),
    [
        ("The weather is nice.", ["calls(f, g)"]),
        ("", ["calls(f, g)"]),
        ("`f` calls `g`.", []),
        ("`a`", ["exists(b.py)"]),
    ],
)
def test_without_an_argument_in_the_sentence_nothing_is_covered(sentence: str, checks: list[str]):
    assert judged(sentence, *checks).level == "none"


def test_a_check_that_cannot_be_read_keeps_a_sentence_from_being_whole():
    """Nobody knows what it says."""
    checks = [parse_check("calls(f, g)"), parse_check("nonsense(")]
    assert cover("`f` calls `g`.", checks, proposal=WHOLE, confirmed=UNIQUE).level == "part"
    assert cover("`f` calls `g`.", checks[1:], proposal=WHOLE).level == "none"
    opposed = [parse_check("nonsense("), parse_check("not calls(f, g)")]
    assert cover("`f` calls `g`.", opposed).opposed == (1,)


def test_a_sentence_beyond_the_bounds_is_part():
    """All of it is unchecked."""
    sentence = "`f` calls `g` and " * 100
    assert judged(sentence, "calls(f, g)") == ("part", ((0, len(sentence) - 1),), "", ())


# ---------------------------------------------------------------- properties

KNOWN = FUNCTION | {"file", "directly", "function"}


@given(st.sampled_from(PROPOSED), st.text(alphabet=string.ascii_lowercase, min_size=1, max_size=8), st.integers(0, 12))
def test_one_word_more_is_never_whole(pair: tuple[str, list[str]], word: str, place: int):
    """Wherever it is put, but for words that change nothing."""
    sentence, checks = pair
    words = sentence.split(" ")
    assume(place <= len(words) and word not in KNOWN and " ".join(words[:place]).count("`") % 2 == 0)
    found = judged(" ".join([*words[:place], word, *words[place:]]), *checks)
    beside = {
        "default",
        "value",
        "set",
        "to",
        "by",
        "for",
        "exactly",
        "text",
        "commit",
        "was",
        "occurrence",
        "occurrences",
    }
    assert found.level != "whole" or word in beside


NAMES = st.sampled_from("fghk")
SAID = st.tuples(
    st.lists(NAMES, min_size=1, max_size=2, unique=True),
    st.sampled_from(("calls", "uses")),
    st.sampled_from(("", "does not ", "never ")),
    st.lists(NAMES, min_size=1, max_size=3, unique=True),
    st.sampled_from((" and ", ", ", ", and ", " but ", "; ", ". ", ", which ", " that ")),
)


@given(st.lists(SAID, min_size=1, max_size=3), st.lists(st.booleans(), min_size=3, max_size=3), st.data())
def test_what_is_whole_says_all_that_the_sentence_says(
    said: list[tuple[list[str], str, str, list[str], str]], shared: list[bool], data: st.DataObject
):
    """Sentences of several clauses, made from what they mean: each of these has to be one of the checks."""
    pieces: list[str] = []
    meant: set[str] = set()
    subjects: list[str] = []
    for number, (own, verb, denial, objects, joined) in enumerate(said):
        relative = number > 0 and said[number - 1][4] in (", which ", " that ")
        inherits = number > 0 and shared[number] and said[number - 1][4] in (" and ", ", and ", " but ")
        assume(not relative or len(said[number - 1][3]) == 1)
        subjects = said[number - 1][3] if relative else subjects if inherits else own
        many = len(subjects) > 1 or denial == "does not "
        word = verb.removesuffix("s") if many else verb
        start = "" if relative or inherits else " and ".join(f"`{one}`" for one in subjects) + " "
        listed = " and ".join(f"`{one}`" for one in objects)
        if denial:
            listed = " or ".join(f"`{one}`" for one in objects)
        pieces.append(f"{start}{denial}{word} {listed}{joined if number + 1 < len(said) else '.'}")
        meant |= {f"{'not ' * bool(denial)}{verb}({one}, {other})" for one in subjects for other in objects}
    facts = sorted(
        {
            f"{no}{verb}({one}, {other})"
            for no in ("", "not ")
            for verb in ("calls", "uses")
            for one in "fghk"
            for other in "fghk"
        }
    )
    checks = data.draw(st.sets(st.sampled_from(sorted(meant) + sorted(meant) + facts), min_size=1, max_size=8))
    sentence = "".join(pieces)
    assert judged(sentence, *sorted(checks)).level != "whole" or meant <= checks, sentence


INVISIBLE = st.sampled_from(
    "\u200b\u200c\u200d\u2060\u00ad\ufeff\u202e\u202a\u2066\u0301\u034f\U000e0041\u3164\u115f\u1d52"
)


@given(
    st.sampled_from(["`f` calls `g`", "`retry_limit` is 42", "`a.py` does not exist"]), INVISIBLE, st.integers(0, 21)
)
def test_a_character_that_is_not_seen_is_never_covered(sentence: str, character: str, place: int):
    """Wherever it is put: in a word, between two, in a code span."""
    checks = ("calls(f, g)", "equals(retry_limit, 42)", "missing(a.py)")
    assume(place <= len(sentence))
    assert all(judged(sentence[:place] + character + sentence[place:], one).level != "whole" for one in checks)


PIECES = st.sampled_from(
    ("`f`", "`g`", "`a.py`", "LIMIT", "calls", "uses", "is", "not", "30", ",", ".", "and", "but", "which", "in", "of")
    + ("the", "no", "`", "is called by", "at least")
)


@given(
    st.lists(st.sampled_from(CALLS), min_size=1, max_size=4, unique=True), st.lists(PIECES, max_size=12).map(" ".join)
)
def test_any_text_has_a_coverage_whatever_the_order_of_the_checks(checks: list[str], sentence: str):
    """Its spans lie in the sentence, in order, and do not overlap."""
    found = judged(sentence, *checks, path="a.py")
    assert found.level == judged(sentence, *reversed(checks), path="a.py").level
    edges = [edge for span in found.unchecked for edge in span]
    assert edges == sorted(edges)
    assert all(0 <= edge <= len(sentence) for edge in edges)
    assert (found.level == "whole") == bool(found.by)


BODY = Held(False, "differs", (3, 9))
NOWHERE = Held(False, "differs")
UNDER = Held(False, "differs", (3, 9), under=("if fast",))


@pytest.mark.parametrize(
    ("sentence", "check", "held", "contradicts"),
    [
        ("`f` calls `g`.", "calls(f, g)", BODY, True),
        ("It calls `g`.", "calls(f, g)", BODY, True),
        ("`f` uses the same strategy as `h`.", "calls(f, next_power_of_two)", BODY, False),
        ("`f` ends up in `g`.", "calls(f, g)", BODY, False),
        ("`f` accepts any object that has `[mark] = true`.", "uses(f, mark)", BODY, False),
        ("`f` does not call `g`.", "not calls(f, g)", BODY, True),
        ("`f` does not call `g` when it is slow.", "not calls(f, g)", UNDER, False),
        ("`f` lets a `BadPayload` through, which is not caught.", "not uses(f, BadPayload)", BODY, False),
        ("There is no `xx` alias without a size.", "absent(xx)", BODY, False),
        ("`LIMIT` is 3.", "equals(LIMIT, 3)", BODY, True),
        ("At most three are kept.", "equals(LIMIT, 3)", BODY, True),
        ("At most a few are kept.", "equals(LIMIT, 3)", BODY, False),
        ("`f` has the parameter `x`, off by default.", "parameter(f, x, default=false)", BODY, False),
        ("`f` keeps the `x` that was given to `g`.", "parameter(f, x)", BODY, False),
        ("`f` takes `x`.", "parameter(f, x)", BODY, True),
        ("The helper `f` is there.", "defines(f, function)", BODY, False),
        ("The function `f` is there.", "defines(f, function)", BODY, True),
        # the file does not have the symbol
        ("`f` in `src/a.py` handles it.", "defines(f, function, path=src/a.py)", NOWHERE, True),
        ("`f` handles it.", "defines(f, function, path=src/a.py)", NOWHERE, False),
        ("It is handled in `src/a.py`.", "defines(f, function, path=src/a.py)", NOWHERE, False),
    ],
)
def test_a_false_check_contradicts_only_what_the_sentence_says(
    sentence: str, check: str, held: Held, contradicts: bool
) -> None:
    assert excused(sentence, (parse_check(check),), (held,), None) == (frozenset() if contradicts else frozenset((0,)))


TEXT = "def f(x):\n    return g(x + 1, y.size)\n\ndef g(a, b) -> int:\n    # total_size\n    return a\n"


@pytest.mark.parametrize(
    ("check", "holds"),
    [
        ('uses(f, "x + 1", path=a.py)', True),
        ('uses(f, "x + 2", path=a.py)', None),
        ('uses(f, "size", path=a.py)', True),
        ("uses(f, a, path=a.py)", None),
        ("returns(g, int, path=a.py)", True),
        ("returns(g, str, path=a.py)", None),
        ("calls(h_other, g, path=a.py)", False),
        ("not calls(h_other, g, path=a.py)", None),
        ("calls(h_other, g)", None),
        ('when(h_other, "x", "return 1", path=a.py)', None),
        ('contains("the other_name here", path=a.py)', False),
        ('contains("the other_name here")', None),
        ('contains("the other here", path=a.py)', None),
    ],
)
def test_what_a_named_file_does_not_have(check: str, holds: bool | None) -> None:
    found = parse_check(check)
    assert not isinstance(found, str)
    assert verify_content(found, Source("a.py", TEXT), Parsing()).holds is holds  # type: ignore[arg-type]


def test_a_list_that_is_written_as_one_is_the_list():
    claimed = claim("The members of `X` in `a.py` are `[7, 8]`.")
    assert claimed is not None
    assert claimed.checks == ("members(X, [7, 8], path=a.py)",)
