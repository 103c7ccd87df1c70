"""Claim forms: which checks a sentence gives, and that any word more gives none."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from sluice.streams.judging.checks import Check, canonical, parse_check
from sluice.streams.judging.claim_forms import CHANGES, FORMS, FORMS_VERSION, Derived, checks_of, claim
from sluice.streams.judging.coverage import Confirmed, Coverage, cover
from sluice.streams.judging.mentions import tokens_of
from sluice.streams.judging.prose_literals import TIES

CLAIMS: tuple[tuple[str, str], ...] = (
    ("`f` calls `g`.", "calls(f, g)"),
    ("f() calls g()", "calls(f, g)"),
    ("`f` in `a.py` calls `g`.", "calls(f, g, path=a.py)"),
    ("In `a.py`, `f` calls `g`.", "calls(f, g, path=a.py)"),
    ("`f` (`a.py`) calls `g`.", "calls(f, g, path=a.py)"),
    ("`f` calls `g` in a.py.", "calls(f, g, path=a.py)"),
    (
        "`Session.request` in `src/sessions.py` calls `self.send`.",
        "calls(Session.request, self.send, path=src/sessions.py)",
    ),
    ("`send` of `Session` calls `close`.", "calls(Session.send, close)"),
    ("`Session`'s `send` invokes `close()`.", "calls(Session.send, close)"),
    ("`f` **calls** `g`.", "calls(f, g)"),
    ("`f` doesn’t call `g`.", "not calls(f, g)"),
    ("`f` never calls `g` in `a.py`.", "not calls(f, g, path=a.py)"),
    ("`g` is called by `f`.", "calls(f, g)"),
    ("`g` is not called by `f`.", "not calls(f, g)"),
    ("There is a call to `g` in `f`.", "calls(f, g)"),
    ("`f` calls `g(1)`.", 'calls(f, "g(1)")'),
    ("`f` does not call `c.g(1, 2)` in `a.py`.", 'not calls(f, "c.g(1, 2)", path=a.py)'),
    ("`f` has an `assert!(a < b)`.", 'calls(f, "assert!(a < b)")'),
    ("There are no calls to `g` in `f` (in `a.py`).", "not calls(f, g, path=a.py)"),
    ("`f`, by contrast, asserts that `a < b`.", 'calls(f, assert!, argument="a < b")'),
    ("So `f` uses `MAX_FILES`, however.", "uses(f, MAX_FILES)"),
    ("`f` uses `MAX_FILES`.", "uses(f, MAX_FILES)"),
    ("`f` does not use `MAX_FILES`.", "not uses(f, MAX_FILES)"),
    ("parse_time in `a.py` references `LIMIT`.", "uses(parse_time, LIMIT, path=a.py)"),
    ("`MAX_FILES` is used in `f`.", "uses(f, MAX_FILES)"),
    ("`a.py` imports `os`", "imports(os, path=a.py)"),
    ("a.py doesn't import `os`.", "not imports(os, path=a.py)"),
    ("`os` is imported in `a.py`.", "imports(os, path=a.py)"),
    ("`a.py` defines `f`.", "defines(f, path=a.py)"),
    ("`a.py` defines the function `f`.", "defines(f, function, path=a.py)"),
    ("`a.py` defines the class `X`.", "defines(X, type, path=a.py)"),
    ("`a.py` contains a class `X`.", "defines(X, type, path=a.py)"),
    ("`a.py` does not define `f`.", "not defines(f, path=a.py)"),
    ("The constant `X` is defined in `a.py`.", "defines(X, constant, path=a.py)"),
    ("`f` is not defined in `a.py`.", "not defines(f, path=a.py)"),
    ("`f` lives in `src/a.py`.", "defines(f, path=src/a.py)"),
    ("`X` is a class in `a.py`.", "defines(X, type, path=a.py)"),
    ("`f` is a function defined in `a.py`.", "defines(f, function, path=a.py)"),
    ("There is a function `f` in `a.py`.", "defines(f, function, path=a.py)"),
    ("`f` in `a.py` returns `x + 1`.", 'returns(f, "x + 1", path=a.py)'),
    ("`f` returns None.", "returns(f, None)"),
    ("`X_Y` is 42", "equals(X_Y, 42)"),
    ("MAX_FILES equals 1,000.", "equals(MAX_FILES, 1000)"),
    ("`MAX_FILES` is not 40.", "not equals(MAX_FILES, 40)"),
    ("`timeout` in `config.toml` is `30`.", "equals(timeout, 30, path=config.toml)"),
    ('In config.toml, `timeout` is `"30"`.', 'equals(timeout, "30", path=config.toml)'),
    ("`server.port` (`config.json`) is set to 8080.", "equals(server.port, 8080, path=config.json)"),
    ("`mode` defaults to `strict`.", "equals(mode, strict)"),
    ("By default, `timeout` in `a.py` is 30.", "equals(timeout, 30, path=a.py)"),
    ("By default `mode` is fixed at `strict`.", "equals(mode, strict)"),
    ("`mode` does not default to `strict`.", "not equals(mode, strict)"),
    ("`mode` is set to “very strict” by default.", 'equals(mode, "very strict")'),
    ("The default of `debug` is `False`.", "equals(debug, false)"),
    ("The default value for `mode` in `a.py` is `strict`.", "equals(mode, strict, path=a.py)"),
    ("30 is the default of `timeout`.", "equals(timeout, 30)"),
    ("`timeout` is `30` by default.", "equals(timeout, 30)"),
    ("`timeout` has the default value 30.", "equals(timeout, 30)"),
    ('`hosts` is `["a", "b"]`.', "equals(hosts, [a, b])"),
    ("`config.toml` sets `timeout` to 30.", "equals(timeout, 30, path=config.toml)"),
    ("`limit` is at least 3.", "compare(limit, >=, 3)"),
    ("`limit` is no more than three in `a.py`.", "compare(limit, <=, 3, path=a.py)"),
    ("`README.md` contains `foo`.", "contains(foo, path=README.md)"),
    ("README.md mentions “docker compose up”.", 'contains("docker compose up", path=README.md)'),
    ("The file `docs/a.md` contains the text `x = 3`", 'contains("x = 3", path=docs/a.md)'),
    ("`foo_bar` occurs in `docs/a.md`.", "contains(foo_bar, path=docs/a.md)"),
    ("The file CHANGELOG.md contains an entry dated 2026-05-25.", "contains(2026-05-25, path=CHANGELOG.md)"),
    ("CHANGELOG.md contains an entry dated 2026-05-25", "contains(2026-05-25, path=CHANGELOG.md)"),
    ("`a.py` doesn't mention `eval`.", "absent(eval, path=a.py)"),
    ("`a.py` contains no `eval`.", "absent(eval, path=a.py)"),
    ("There is no `x` in `a.py`.", "absent(x, path=a.py)"),
    ("`README.md` exists.", "exists(README.md)"),
    ("docs/a.md does not exist.", "missing(docs/a.md)"),
    ("There is no file `docs/a.md`.", "missing(docs/a.md)"),
    ("`a.py` has 3 occurrences of `TODO`.", "count(TODO, =, 3, path=a.py)"),
    ("`a.py` contains at least two occurrences of `TODO`.", "count(TODO, >=, 2, path=a.py)"),
    ("Line 12 of `a.py` contains `x = 1`.", 'line(a.py, 12, "x = 1")'),
    ("Commit 4F2A91C is dated 2026-05-25.", "commit(4f2a91c, date=2026-05-25)"),
    ("Commit `4f2a91c` is by Ada Lovelace.", 'commit(4f2a91c, author="Ada Lovelace")'),
    (
        "Commit 4f2a91c by Ada Lovelace is dated 25 May 2026.",
        'commit(4f2a91c, author="Ada Lovelace", date="25 May 2026")',
    ),
    ("Commit 4f2a91c touched `a.py`.", "changed(a.py, 4f2a91c)"),
    ("`a.py` was last changed before 2026-05-25.", "last_changed(a.py, <, 2026-05-25)"),
    ("a.py was last changed on 2026-05-25", "last_changed(a.py, =, 2026-05-25)"),
    ("`A` extends `B`.", "extends(A, B)"),
    ("`A` in `a.py` inherits from `B`.", "extends(A, B, path=a.py)"),
    ("`A` is a subclass of `B`.", "extends(A, B)"),
    ("`A` does not extend `B`.", "not extends(A, B)"),
    ("`f` raises `ValueError`.", "raises(f, ValueError)"),
    ("`f` in `a.py` never throws an `E`.", "not raises(f, E, path=a.py)"),
    ("`f` reaches `g`.", "reaches(f, g)"),
    ("`f` takes a parameter `p`.", "parameter(f, p)"),
    ("`f` takes a parameter `p` with default `1`.", "parameter(f, p, default=1)"),
    ("`f` takes a parameter `p` of type `int`.", "parameter(f, p, type=int)"),
    ("The parameter `p` of `f` defaults to 1.", "parameter(f, p, default=1)"),
    ("`A` has a field `x`.", "field(A, x)"),
    ("`A` has a field `x` with default 1.", "field(A, x, default=1)"),
    ("`A` has a field `x` of type `int`.", "field(A, x, type=int)"),
    ("`f` returns a `bool`.", "result(f, bool)"),
    ("`f` does not return an `int`.", "not result(f, int)"),
    ("`f` panics with the message “a b” if `x > 3`.", """when(f, "x > 3", 'panic!("a b")')"""),
    ("The return type of `f` is `int`.", "result(f, int)"),
    ("`f` has the return type `int`.", "result(f, int)"),
    ("The members of `COLORS` are `red`, `green` and `blue`.", "members(COLORS, [red, green, blue])"),
    ("`parse_time` occurs only in `a.py`.", "only_in(parse_time, [a.py])"),
    ("`parse_time` is only used in `a.py` and `b.py`.", "only_in(parse_time, [a.py, b.py])"),
    ("If `x is None`, `f` returns `0`.", 'when(f, "x is None", "return 0")'),
)


@pytest.mark.parametrize(("sentence", "check"), CLAIMS)
def test_a_sentence_gives_the_check_of_its_form_and_is_all_said_by_it(sentence: str, check: str):
    """In canonical form, whatever the assertion's kind; whole once its nouns and its symbols are confirmed."""
    parsed = parse_check(check)
    assert isinstance(parsed, Check)
    found = claim(sentence, "denial")
    assert found == claim(sentence, "assertion")
    assert found is not None
    assert found.checks == (canonical(parsed),)
    assert claim(sentence, "refusal") is None
    kinds = {noun.name: frozenset((noun.noun,)) for noun in found.nouns}
    expected = ("whole", (), "form", ()) if found.whole else ("part", ((0, len(sentence)),), "", ())
    assert cover(sentence, [parsed], confirmed=Confirmed(unique=True, kinds=kinds)) == expected


BEHIND = st.lists(st.sampled_from([*"\"'`»”’)]}>\\*_~|,;:! ", "\\n", '\\"', "】", "›", "**", "```"]), max_size=6).map(
    "".join
)


@pytest.mark.parametrize("sentence", [sentence for sentence, _ in CLAIMS])
@given(behind=BEHIND, before=st.text('"»”)]}】›', max_size=3))
@example(behind="»", before="")
@example(behind="`)", before="")
@example(behind="\\n", before="")
@example(behind='\\"', before="")
@example(behind='")"', before="")
@example(behind="", before="»")
@example(behind=")", before=")")
def test_marks_that_close_nothing_hide_no_claim(sentence: str, behind: str, before: str):
    """Whatever stands behind a sentence's end, and whichever closing marks before it, it is read as without them."""
    spoken = sentence.removesuffix(".")
    marked = f"{spoken}{before}.{behind}"
    expected = claim(sentence)
    assert expected is not None
    checks = [check for check in map(parse_check, expected.checks) if isinstance(check, Check)]
    assert claim(marked) == expected
    assert cover(marked, checks).level == cover(sentence, checks).level


@pytest.mark.parametrize(
    ("sentence", "last"),
    [
        ("`retry` calls foo_.", ["foo_", "."]),
        ("`retry` calls foo_", ["foo_"]),
        ("`retry` calls save!", ["save", "!"]),
        ("`MAX` is 5 in (`a.py`).", ["(", "a.py", ")", "."]),
        ("`MAX` is 5 in `a.py`.**", ["a.py", "."]),
        ("**`MAX` is 5 in `a.py`.**", ["a.py", "."]),
        ("*`MAX` is 5 in `a.py`.*", ["a.py", "."]),
        ("`a.py` contains `.)`.", [".)", "."]),
        ('`a.py` contains ").".', [").", "."]),
        ("`MAX` is 5...", ["5", ".", ".", "."]),
        ("`MAX` is 5..»", ["5", ".", "."]),
        ("Does `f` call `g`?»", ["g", "?"]),
    ],
)
def test_marks_that_close_something_or_belong_to_a_name_stay(sentence: str, last: list[str]):
    assert [token.text for token in tokens_of(sentence)][-len(last) :] == last


@pytest.mark.parametrize(
    ("sentence", "checks"),
    [
        ("Created `a.py`.", ("exists(a.py)",)),
        ("I added `tests/test_a.py` with 3 tests.", ("exists(tests/test_a.py)",)),
        ("Added `f` to `a.py`.", ("not absent(f, path=a.py)",)),
        ("Deleted `a.py`.", ("missing(a.py)",)),
        ("Removed `f` from `a.py`.", ("deleted(f, path=a.py)",)),
        ("I removed the function `f` from `a.py`.", ("deleted(f, path=a.py)",)),
        ("Renamed `a.py` to `b.py`.", ("missing(a.py)", "exists(b.py)")),
        ("`LIMIT` is now 60.", ("equals(LIMIT, 60)",)),
        ("I updated `a.py`: `LIMIT` is now 60.", ("equals(LIMIT, 60, path=a.py)",)),
        ("Raised `LIMIT` to 60 in `a.py`.", ("equals(LIMIT, 60, path=a.py)",)),
        ("The version in `pyproject.toml` is 1.5.0.", ("equals(version, 1.5.0, path=pyproject.toml)",)),
        ("`a.py` line 2 sets `LIMIT = 60`.", ('line(a.py, 2, "LIMIT = 60")',)),
        ("Removed the `f` parameter from `a.py`.", None),
        ("Did not remove `f` from `a.py`.", None),
    ],
)
def test_changes_can_only_be_refuted(sentence: str, checks: tuple[str, ...] | None):
    """What an agent says that it changed gives checks of how it stands now, and these never cover the sentence."""
    found = claim(sentence)
    assert (None if found is None else found.checks) == checks
    assert found is None or not found.whole


def test_rows_are_at_most_sixty_and_each_has_a_sentence():
    """A row without one would be a row without a test."""
    checks = {form.checks.partition("(")[0].removeprefix("not ") for form in FORMS}
    assert len(FORMS) <= 60
    assert checks - {"commit"} <= {check.removeprefix("not ").partition("(")[0] for _, check in CLAIMS}


def test_every_slot_of_a_check_is_one_of_its_pattern():
    """Else a sentence could end a reader."""
    for form in (*FORMS, *CHANGES):
        slots = set(re.findall(r"\{(\w+)", form.pattern)) | {"at", "kind"}
        slots |= {"symbol"} if "{definition}" in form.pattern or "{kinded}" in form.pattern else set()
        assert set(re.findall(r"\{(\w+)", f"{form.checks}{form.denied}")) <= slots, form


def test_a_commit_that_touched_a_file_gives_two_checks():
    """Of its author and of the file; bare, such a sentence has no one check that its evidence could be counted by."""
    sentence = "Commit abc1234 by Ada Lovelace touched `a.py`."
    found = claim(sentence)
    assert found is not None
    assert found.checks == ('commit(abc1234, author="Ada Lovelace")', "changed(a.py, abc1234)")
    assert cover(sentence, [parse_check(one) for one in found.checks]).by == "form"
    assert cover(sentence, [parse_check(found.checks[1])]).level == "part"


def test_a_channel_is_asked_for_its_subscribers():
    """Only where a channel was looked at."""
    sentence, check = "The channel has 3 subscribers.", parse_check("count(subscribers, =, 3)")
    assert claim(sentence) is not None
    assert cover(sentence, [check], scope="channel").by == "form"
    assert cover(sentence, [check], confirmed=Confirmed(unique=True)).level == "part"


@pytest.mark.parametrize(
    "sentence",
    [
        "`f` always calls `g`.",
        "Only `f` calls `g`.",
        "`f` only calls `g`.",
        "`f` calls `g` and `h`.",
        "`f` calls `g` twice.",
        "`f` calls `g`?",
        "`f` calls g(1).",
        "So.",
        "`f` so calls `g`.",
        "By contrast `f`.",
        "`f` calls `g`, for example `h`.",
        "`f` calls `g` as well as `h`.",
        "`f` asserts that a is 3.",
        "By default `f` calls `g`.",
        "By `default`, `mode` is `3`.",
        "`f` has a `g(1)`.",
        "`f` panics with the message “m”.",
        "`f` panics with the message “m” unless `x`.",
        "`f` returns the `int`.",
        "`f` called `g`.",
        "`f` will call `g`.",
        "`f` may call `g`.",
        "`f` no longer calls `g`.",
        "`f` calls `g` unless `x`.",
        "`f` calls g.",
        "f calls `g`.",
        "“f” calls “very home”.",
        "`f` is called.",
        "`f` calls `g` in `a.py` in `b.py`.",
        "`a.py` contains `x` in `b.py`.",
        "`x` in `a.py` is 3 in `b.py`.",
        "`a.py` contains x.",
        "`a.py` contains no bugs.",
        "`a.py` contains no “bugs”.",
        "`a.py` contains an entry dated 2026-05-25.",
        "There is no `eval`.",
        "There is no `two words` in `a.py`.",
        "timeout is 30.",
        "`timeout` is 30 seconds.",
        "`timeout` is about 30.",
        "`timeout` is 30 or 40.",
        "`timeout` is deprecated.",
        "`timeout` is `deprecated`.",
        "`timeout` is `a + b`.",
        "`timeout` was 30.",
        "`f` is not defined.",
        "`/etc/passwd` exists.",
        "`release` exists.",
        "`a.py` was last changed before Tuesday.",
        "`a.py` was last modified before 2026-05-25.",
        "Commit abc is dated 2026-05-25.",
        "Commit 4f2a91c was dated 2026-05-25.",
        "`f` does not return `x`.",
        "It is `f`.",
        "`f`",
        "",
        "\ud800 is 3.",
        "`x`\u200b is 3.",
        "`f` c\u0430lls `g`.",
        "`f` calls `g` [1].",
    ],
)
def test_any_other_sentence_gives_none(sentence: str):
    """One word left over, an argument that is not beyond doubt, another tense: no check is derived."""
    assert claim(sentence, "assertion") is None


HARMLESS = {"the", "text", "file", "value", "in", "of"} | {words[0] for words, _ in TIES}


@given(st.sampled_from(CLAIMS), st.text(alphabet=string.ascii_letters, min_size=1, max_size=8), st.integers(0, 12))
def test_one_word_more_gives_no_check(pair: tuple[str, str], word: str, place: int):
    """Wherever it is put; a noun that an index has to prove is told."""
    words = pair[0].split(" ")
    before = " ".join(words[:place])
    outside = before.count("`") % 2 == 0 and before.count("“") == before.count("”")
    assume(place <= len(words) and outside and word.lower() not in HARMLESS)
    found, own = claim(" ".join([*words[:place], word, *words[place:]])), claim(pair[0])
    assert own is not None
    # A capital may belong to the name of a person, which then is another one.
    told = found is not None and (found.nouns != own.nouns or (found.checks != own.checks and word in found.checks[0]))
    assert found is None or told or word.lower() in ("no", "not", "never")


NAMES = st.from_regex(r"[a-z][a-z0-9]{0,6}(_[a-z0-9]{1,6}){0,2}", fullmatch=True)


@given(NAMES, NAMES, st.integers(-(10**12), 10**12), st.booleans())
def test_the_arguments_are_those_of_the_sentence(name: str, other: str, number: int, denies: bool):
    """Names and numbers come as they are written, each in its place, and the denial with them."""
    found = claim(f"`{name}` is{' not' * denies} {number}.")
    assert found is not None
    assert found.checks == (f"{'not ' * denies}equals({name}, {number})",)
    verb = "does not call" if denies else "calls"
    found = claim(f"`{name}` {verb} `{other}`.")
    assert found is not None
    assert found.checks == (f"{'not ' * denies}calls({name}, {other})",)


@given(st.text(max_size=80))
def test_any_text_is_read(sentence: str):
    """Whatever it is: there is no claim, or it is covered by the checks that it gives."""
    found = claim(sentence)
    covered = cover(sentence, [] if found is None else [parse_check(one) for one in found.checks])
    assert isinstance(covered, Coverage)
    assert (covered.level == "none") == (found is None)


NONE = Derived((), False, "none")


@pytest.mark.parametrize(
    ("text", "kind", "declared", "derived"),
    [
        ("`f` calls `g`.", "assertion", ["calls( f,g)", "no"], Derived(("calls( f,g)", "no"), True, "declared")),
        ("`f` calls `g`.", "denial", ["x"], Derived(("x",), True, "declared")),
        ("`f` calls `g`.", "refusal", ["calls(f, g)"], NONE),
        ("`f` calls `g`.", "assertion", None, Derived(("calls(f, g)",), False, "claim")),
        ("`f` calls `g`.", "assertion", [], Derived(("calls(f, g)",), False, "claim")),
        ("In `a.py`, `f` does not call `g`.", "denial", None, Derived(("not calls(f, g, path=a.py)",), False, "claim")),
        ("The retry limit is far too high.", "assertion", None, NONE),
        ("`f` calls `g` every single time.", "assertion", None, NONE),
        ("Commit abc1234 by Ada Lovelace touched `a.py`.", "assertion", None, NONE),
        (f"`a.py` contains `{'x' * 2000}`.", "assertion", None, NONE),
    ],
)
def test_an_assertion_has_its_own_checks_or_one_of_a_form(
    text: str, kind: str, declared: list[str] | None, derived: Derived
):
    """Never that its sentence stands somewhere, and of a form only one check, since evidence is counted by it."""
    assert checks_of(text, kind, declared) == derived  # type: ignore[arg-type]


def test_the_forms_have_a_version():
    """What a bind lane's ledger names."""
    assert FORMS_VERSION >= 1


@given(st.text(max_size=200), st.sampled_from(["assertion", "denial", "refusal"]))
def test_what_is_derived_is_one_canonical_check_or_none(text: str, kind: str):
    """Well formed, and the same every time."""
    found = checks_of(text, kind, None)  # type: ignore[arg-type]
    assert found == checks_of(text, kind, [])  # type: ignore[arg-type]
    assert (len(found.checks), found.declared) == (0 if found.form == "none" else 1, False)
    for one in found.checks:
        check = parse_check(one)
        assert isinstance(check, Check)
        assert canonical(check) == one
