"""How much of a sentence its checks speak of: what is wholly covered, what never is, and which words are left."""

from __future__ import annotations

import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sluice.streams.judging.checks import TABLE, Check, parse_check
from sluice.streams.judging.coverage import Coverage, cover
from sluice.streams.judging.coverage_lexicon import NOUNS
from sluice.streams.judging.rendering import render


def judged(sentence: str, *checks: str, path: str | None = None, commit: str | None = None) -> Coverage:
    return cover(sentence, [parse_check(one) for one in checks], path=path, commit=commit)


def level(sentence: str, *checks: str, path: str | None = None, commit: str | None = None) -> str:
    found = [parse_check(one) for one in checks]
    assert all(isinstance(one, Check) for one in found), "every check of a test is well formed"
    return cover(sentence, found, path=path, commit=commit).level


def left(sentence: str, *checks: str, path: str | None = None) -> list[str]:
    """What is unchecked, as text."""
    return [sentence[start:end] for start, end in judged(sentence, *checks, path=path).unchecked]


# ---------------------------------------------------------------- what is covered


@pytest.mark.parametrize(
    ("sentence", "checks"),
    [
        (
            "`Session.request` in `src/sessions.py` calls `self.send`.",
            ["calls(Session.request, self.send, path=src/sessions.py)"],
        ),
        ("The method `send` of `Session` calls `close()`.", ["calls(Session.send, close)"]),
        ("`Session`'s `send` calls `close`.", ["calls(Session.send, close)"]),
        ("`sessions.py`'s `send` calls `close`.", ["calls(send, close, path=src/sessions.py)"]),
        ("`send` (src/sessions.py) calls `close`.", ["calls(send, close, path=src/sessions.py)"]),
        ("`src/sessions.py`: `send` calls `close`.", ["calls(send, close, path=src/sessions.py)"]),
        ("There is no call to `close` in `send`.", ["not calls(send, close)"]),
        ("`send` **calls** `close`.", ["calls(send, close)"]),
        ("- `send` calls `close`", ["calls(send, close)"]),
        ("`send` doesn’t call `close`.", ["not calls(send, close)"]),
        ("`src.sessions.send` calls `close`.", ["calls(send, close, path=src/sessions.py)"]),
        ("`std::sort` is called by `Table::order`.", ["calls(Table.order, std.sort)"]),
        ("The default of `timeout` is 30.", ["equals(timeout, 30)"]),
        ("`timeout` is `30` by default.", ["equals(Client.timeout, 30)"]),
        ("The server port is 8080.", ["equals(server.port, 8080)"]),
        ("The server's port in `a.json` is 8080.", ["equals(server.port, 8080, path=a.json)"]),
        ("The `test` script in `package.json` is `jest`.", ["equals(scripts.test, jest, path=package.json)"]),
        ("The mode in `a.toml` is `strict`.", ["equals(mode, strict, path=a.toml)"]),
        ("Both `load` and `save` call `check`.", ["calls(load, check)", "calls(save, check)"]),
        ("`load` and `save` both call `check`.", ["calls(load, check)", "calls(save, check)"]),
        ("The redirect limit (`REDIRECT_LIMIT`) is 30.", ["equals(REDIRECT_LIMIT, 30)"]),
        ("`DEBUG` is `False` at `conf.py:41`.", ["equals(DEBUG, false, path=conf.py, lines=41)"]),
        ("On line 41 of `conf.py`, `DEBUG` is `False`.", ["equals(DEBUG, false, path=conf.py, lines=41)"]),
        ("`PAIRS` is `[1, 2]`.", ["equals(PAIRS, [1, 2])"]),
        ("`timeout` is 30 seconds.", ["equals(timeout, 30s)"]),
        ("`released` is 25 May 2026.", ["equals(released, 2026-05-25)"]),
        ("`mode` is set to `'strict'`.", ["equals(mode, strict)"]),
        ("`timeout = 30` in `conf.py`.", ["equals(timeout, 30, path=conf.py)"]),
        ("30 is the default value of `timeout`.", ["equals(timeout, 30)"]),
        ("`limit` is no more than 1_000.", ["compare(limit, <=, 1000)"]),
        ("`limit` is at least 3 and at most 9.", ["compare(limit, >=, 3)", "compare(limit, <=, 9)"]),
        ("`limit` is not 3.", ["not equals(limit, 3)"]),
        ("`limit` is at least 3.", ["not compare(limit, <, 3)"]),
        ("`mode` is not set to `strict`.", ["not equals(mode, strict)"]),
        ("`a.toml` sets `x` to 1 and `y` to 2.", ["equals(x, 1, path=a.toml)", "equals(y, 2, path=a.toml)"]),
        ("`send` calls `close`, which returns `None`.", ["calls(send, close)", "returns(close, None)"]),
        ("`send` calls `close` but does not call `open`.", ["calls(send, close)", "not calls(send, open)"]),
        ("`a.py`, `b.py` and `c.py` do not import `os`.", [f"not imports(os, path={one}.py)" for one in "abc"]),
        ("`a.py` imports `os`. `b.py` imports `re`.", ["imports(os, path=a.py)", "imports(re, path=b.py)"]),
        ("`main.c` includes `stdio.h`.", ["imports(stdio.h, path=src/main.c)"]),
        ("`config.yaml` has `timeout: 30s`.", ['contains("timeout: 30s", path=config.yaml)']),
        ("The README mentions `conda`.", ["contains(conda, path=README.md)"]),
        ("The function `send` in `a.py` contains `return 3`.", ['contains("return 3", path=a.py, in=send)']),
        ("`eval` appears nowhere in `a.py`.", ["absent(eval, path=a.py)"]),
        ("`a.py` has no function `eval`.", ["absent(eval, path=a.py)"]),
        ("`eval` does not appear anywhere in `send` in `a.py`.", ["absent(eval, path=a.py, in=send)"]),
        ("`setup.py` is not in the repository.", ["missing(setup.py)"]),
        ("There is a file `docs/a.md` in the repository.", ["exists(docs/a.md)"]),
        ("`Client` is a class in `a.py`.", ["defines(Client, type, path=a.py)"]),
        ("`Client` has a `close` method.", ["defines(Client.close, method, path=a.py)"]),
        ("`a.py` has no function `f`.", ["not defines(f, path=a.py)"]),
        ("README.md has a section titled “Getting started”.", ['defines("Getting started", section, path=README.md)']),
        ("README.md has a Getting started section.", ['defines("Getting started", section, path=README.md)']),
        ("HISTORY.md has an entry for 2.32.3.", ['defines("2.32.3", section, path=HISTORY.md)']),
        ("There are two occurrences of `TODO` in `a.py`.", ["count(TODO, =, 2, path=a.py)"]),
        ("`TODO` appears exactly once in `a.py`.", ["count(TODO, =, 1, path=a.py)"]),
        ("`b` comes after `a` in `a.py`.", ["order(a, b, path=a.py)"]),
        (
            "Commit 4f2a91c was made on 25 May 2026 by Jane Doe.",
            ['commit(4f2a91c, author="Jane Doe", date=2026-05-25)'],
        ),
        ("The subject of commit 4f2a91c is “Add x”.", ['commit(4f2a91c, subject="Add x")']),
        ("Commit 4f2a91c touches `a.py` and `b.py`.", ["changed(a.py, 4f2a91c)", "changed(b.py, 4f2a91c)"]),
        ("Commit 4f2a91c did not change `a.py`.", ["not changed(a.py, 4f2a91c)"]),
        ("Commit 4f2a91c adds `x = 3` to `a.py`.", ['introduced("x = 3", 4f2a91c, path=a.py)']),
        ("The socket's peer runs as user `postgres`.", ["peer(user=postgres)"]),
        ("The process has uid 0 and gid 5.", ["peer(uid=0)", "peer(gid=5)"]),
    ],
)
def test_a_sentence_in_the_usual_words_is_wholly_covered(sentence: str, checks: list[str]):
    """Apposition, places, passive voice, lists, shared subjects: how coding agents say what a check says."""
    assert judged(sentence, *checks) == ("whole", ())


def test_the_place_looked_at_covers_its_own_names():
    """The observer's path and commit do what the check's own would; nothing is said of any other."""
    assert level("`f` in `src/a.py` calls `g`.", "calls(f, g)", path="src/a.py") == "whole"
    assert level("`f` in `a.py` calls `g`.", "calls(f, g)", path="src/a.py") == "whole"
    assert level("`f` in `b.py` calls `g`.", "calls(f, g)", path="src/a.py") == "part"
    assert level("`f` in `src/a.py` calls `g`.", "calls(f, g)") == "part"
    assert level("`f` in `src/a.py` calls `g`.", "calls(f, g, path=src/a.py)", path="b.py") == "whole"
    assert level("`f` in `b.py` calls `g`.", "calls(f, g, path=src/a.py)", path="b.py") == "part"
    assert level("As of commit 4f2a91c, `f` calls `g`.", "calls(f, g)", commit="4f2a91cdd") == "whole"
    assert level("As of commit 4f2a91c, `f` calls `g`.", "calls(f, g)", commit="0badcafe1") == "part"
    assert level("The file does not contain `eval`.", "absent(eval)", path="a.py") == "whole"


def test_what_was_looked_at_without_a_path_has_to_be_reported():
    """A check that speaks of all of its scope covers nothing where the scope is unknown."""
    absent, count = parse_check("absent(eval)"), parse_check("count(subscribers, =, 12)")
    assert cover("There is no `eval` in the repository.", [absent]).level == "part"
    assert cover("There is no `eval` in the repository.", [absent], scope="repository").level == "whole"
    assert cover("There is no `eval`.", [absent], scope="repository").level == "part"
    assert cover("The channel has 12 subscribers.", [count]).level == "part"
    assert cover("The channel has 12 subscribers.", [count], scope="channel").level == "whole"
    assert cover("`a.md` has 12 occurrences of `subscribers`.", [count], scope="channel").level == "part"


RENDERED = [
    'contains("x = 3")',
    "absent(foo)",
    "exists(b.py)",
    "missing(b.py)",
    "defines(f)",
    "defines(f, function)",
    "not defines(T.m, method, in=T)",
    "defines(test, target)",
    "defines(2026-05-25, section)",
    "equals(N, 1000)",
    "not equals(N, 1.5)",
    'equals(N, "30")',
    "compare(N, >=, 3)",
    "not compare(N, >=, 3)",
    "calls(f, g)",
    "not calls(f, g)",
    "uses(f, X)",
    "not imports(os.path)",
    'returns(f, "x + 1")',
    "count(foo, >=, 3)",
    'line(a.py, 3, "x = 1")',
    "order(a, b)",
    'commit(479a19b, author="Jane Doe", date=2026-05-25, subject="Fix it")',
    "not commit(479a19b, date=2026-05)",
    "changed(a.py, 479a19b)",
    "introduced(foo, 479a19b)",
    "last_changed(a.py, <, 2026-05-25)",
    "modified(a.py, >, 2026-05-25)",
    "peer(uid=998, user=kafka)",
]


@pytest.mark.parametrize("written", RENDERED)
def test_what_is_rendered_of_a_check_is_covered_by_it(written: str):
    """The sentence that we write for a check says no more than it does."""
    check = parse_check(written)
    assert isinstance(check, Check)
    path = "a.py" if TABLE[check.name].content else None
    assert cover(render(check, path=path, lines=None, commit=None), [check], path=path).level == "whole"


# ---------------------------------------------------------------- what is not


@pytest.mark.parametrize(
    ("sentence", "checks"),
    [
        # Nothing has to be there for a denial to hold: prose must not come in as its argument.
        ("`f` does not call `unsafe functions`.", ['not calls(f, "unsafe functions")']),
        ("`f` does not use encryption.", ["not uses(f, encryption)"]),
        ("`f` does not use “encryption”.", ["not uses(f, encryption)"]),
        ("`MAX_RETRIES` is not `deprecated`.", ["not equals(MAX_RETRIES, deprecated)"]),
        ("`MAX_RETRIES` is not “safe”.", ["not equals(MAX_RETRIES, safe)"]),
        ("`the security review` does not exist.", ['missing("the security review")']),
        ("`security` does not exist.", ["missing(security)"]),
        ("`a.py` contains no bugs.", ["absent(bugs, path=a.py)"]),
        ("`a.py` contains no “bugs”.", ["absent(bugs, path=a.py)"]),
        ("Line 41 of `a.py` does not contain “any check”.", ['not line(a.py, 41, "any check")']),
        ("Commit 4f2a91c was not made by anyone.", ["not commit(4f2a91c, author=anyone)"]),
        ("Commit 4f2a91c was not made by a human.", ['not commit(4f2a91c, author="a human")']),
        ("Commit 4f2a91c did not introduce “any problems”.", ['not introduced("any problems", 4f2a91c)']),
        # A denial of two things denies neither; of a part of a file, not the file.
        ("Commit 4f2a91c is not dated 2026-05-25.", ['not commit(4f2a91c, author="Jane Doe", date=2026-05-25)']),
        ("The process does not run as uid 0.", ["not peer(uid=0, gid=5)"]),
        ("`a.py` does not contain `eval`.", ["absent(eval, path=a.py, lines=1-5)"]),
        ("`a.py` does not contain `eval`.", ["absent(eval, path=a.py, in=f)"]),
        ("There is no `eval` in the repository.", ["absent(eval, path=a.py)"]),
        ("There is no `eval`.", ["absent(eval, path=a.py)"]),
        ("`f` is not defined.", ["not defines(f, path=a.py)"]),
        ("`a.py` does not define `f`.", ["not defines(f, function, path=a.py)"]),
        ("`f` does not call `g`.", ["not calls(Type.f, g)"]),
        ("`f` does not call `g`.", ["not calls(f, g, in=Type)"]),
        ("`f` does not call `g`.", ["not calls(f, other.g)"]),
        ("`timeout` is not 30.", ["not equals(server.timeout, 30)"]),
        ("`b.py` does not exist.", ["missing(src/b.py)"]),
        ("`a.py` has 3 occurrences of `TODO`.", ["count(TODO, =, 3, path=a.py, in=f)"]),
        ("`a.py` has 3 occurrences of `TODO`.", ["count(TODO, =, 3, path=a.py, lines=1-9)"]),
        ("There are 12 subscribers.", ["count(subscribers, =, 12, path=a.md)"]),
        # Words of prose that happen to be arguments.
        ("`connect` uses TLS.", ["uses(connect, TLS)"]),
        ("`connect` uses encryption.", ["uses(connect, encryption)"]),
        ("The server is “secure”.", ["equals(server, secure)"]),
        ("The build status is `green`.", ["equals(build_status, green)"]),
        ("never `timeout` is 30.", ["equals(never.timeout, 30)"]),
        ("`debug` is true.", ['equals(debug, "true")']),
        ("Commit 4f2a91c introduced `limit`.", ["introduced(limit, 4f2a91c, path=a.py)"]),
        ("`a.py` contains bugs.", ["contains(bugs, path=a.py)"]),
        ("`timeout` is unsafe.", ["equals(timeout, unsafe)"]),
        ("The release exists.", ["exists(release)"]),
        ("not is 3.", ['equals("not", 3)']),
        ("nginx runs as uid 0.", ["peer(uid=0)"]),
        ("Commit 4f2a91c introduced `a.py`.", ["introduced(a.py, 4f2a91c)"]),
        ("Commit 4f2a91c adds `f`.", ["introduced(f, 4f2a91c)"]),
        ("`a.c` includes `x.h`.", ["contains(x.h, path=a.c)"]),
        ("`a.py` has `x`.", ["contains(x, path=a.py)"]),
        ("Line 41 of `a.py` is `x = 3`.", ['line(a.py, 41, "x = 3")']),
        ("`X` is a class in `a.go`.", ["defines(X, type, path=a.go)"]),
        ("`fold` contains `x`.", ["contains(x, path=streams/adjudication/fold.py)"]),
        # What is said of another thing than the check's.
        ("`f` calls `g`.", ["calls(g, f)"]),
        ("`f` calls `g` from `main.py`.", ["calls(f, g, path=main.py)"]),
        ("`f` calls `main.py`'s `g`.", ["calls(f, g, path=main.py)"]),
        ("`pkg.f` calls `g`.", ["calls(f, g)"]),
        ("`f` calls `other.g`.", ["calls(f, g)"]),
        ("`f` calls `g(timeout=30)`.", ["calls(f, g)"]),
        ("`Type.f` calls `g`.", ["calls(f, g, in=Other)"]),
        ("`a.py` imports `path`.", ["imports(os.path, path=a.py)"]),
        ("`get` returns `x`.", ['returns(get, "x + 1")']),
        ("`/etc/passwd` contains `root`.", ["contains(root, path=etc/passwd)"]),
        ("`a.py` was last changed before 2026-05-25.", ["modified(a.py, <, 2026-05-25)"]),
        ("`a.py` was last modified before 2026-05-25.", ["last_changed(a.py, <, 2026-05-25)"]),
        ("`a.py` was last changed in May 2026.", ["last_changed(a.py, =, 2026-05-25)"]),
        ("`limit` is 42.", ['equals(limit, "42")']),
        ("`limit` is “42”.", ["equals(limit, 42)"]),
        ("`limit` is 42.", ["equals(limit, 42s)"]),
        ("`a` comes after `b`.", ["order(a, b)"]),
        # A cue is bound to the arguments of its own check, in its own clause.
        ("`a` calls `g` and `f` is 1.", ["equals(a, 1)", "calls(f, g)"]),
        ("`a` is 1 and calls `g`.", ["equals(a, 1)", "calls(f, g)"]),
        ("`f` calls `g`, which returns `None`.", ["calls(f, g)", "returns(f, None)"]),
        ("`f` does not call `g` and call `h`.", ["not calls(f, g)", "calls(f, h)"]),
        ("`f` calls `g` or `h`.", ["calls(f, g)", "calls(f, h)"]),
        ("`f` calls `g`, `h` but `i`.", ["calls(f, g)", "calls(f, h)", "calls(f, i)"]),
        ("`f` and `h` call `g`.", ["calls(f, g)"]),
        ("`f` call `g`.", ["calls(f, g)"]),
        ("`limit` is between 3 and 9.", ["compare(limit, >=, 3)", "compare(limit, <=, 9)"]),
        ("In `a.py`, `f` calls `g` and `t` is 30.", ["calls(f, g, path=a.py)", "equals(t, 30, path=b.py)"]),
        ("`f` in `a.py` calls `g`, and `t` is 30.", ["calls(f, g, path=a.py)", "equals(t, 30, path=b.py)"]),
        # Text tricks.
        ("`f` с\u0430lls `g`.", ["calls(f, g)"]),
        ("`f` ca\u200blls `g`.", ["calls(f, g)"]),
        ("`f` \u200bcalls `g`.", ["calls(f, g)"]),
        ("`f` calls \u202e`g`.", ["calls(f, g)"]),
        ("`f` calls `g`\u0338.", ["calls(f, g)"]),
        ("`f` NOT calls `g`.", ["calls(f, g)"]),
        ("`f` calls\nnot `g`.", ["calls(f, g)"]),
        ("`f` `never` calls `g`.", ["calls(f, g)"]),
        ("`f` “calls” `g`.", ["calls(f, g)"]),
        ("“`f` calls `g`.”", ["calls(f, g)"]),
        ("(`f` calls `g`).", ["calls(f, g)"]),
        ("un`f` calls `g`.", ["calls(f, g)"]),
        ("`f` calls `g`-free code.", ["calls(f, g)"]),
        ("`f`calls `g`.", ["calls(f, g)"]),
        ("`f` calls `g`'s wrapper.", ["calls(f, g)"]),
        ("`f` calls nothing but `g`.", ["calls(f, g)"]),
        ("Wrong: `f` calls `g`.", ["calls(f, g)"]),
        ("`f` calls `g`. False.", ["calls(f, g)"]),
        ("False. In `a.py`, `f` calls `g`.", ["calls(f, g, path=a.py)"]),
        ("No: in `a.py`, `f` calls `g`.", ["calls(f, g, path=a.py)"]),
        ("`f` calls `g`?", ["calls(f, g)"]),
        ("`f` calls `g` ...", ["calls(f, g)"]),
        ("`f` calls `g` and.", ["calls(f, g)"]),
        ("`f` calls `g`*.", ["calls(f, g)"]),
        ("`f` calls `g` <!-- not -->", ["calls(f, g)"]),
        ("`f` calls ~~`g`~~.", ["calls(f, g)"]),
        ("`f` n'appelle pas `g`.", ["calls(f, g)"]),
        ("****", ['contains("**")']),
        ("`limit` is not not 42.", ["equals(limit, 42)"]),
        ("`limit` isn't 42.", ["equals(limit, 42)"]),
        ("`limit` isn’t 42.", ["equals(limit, 42)"]),
        ("`limit` is non-42.", ["equals(limit, 42)"]),
        ("`limit` is 42 (not).", ["equals(limit, 42)"]),
        ("`limit` is 42 or 43.", ["equals(limit, 42)"]),
        ("`limit` is 42–50.", ["equals(limit, 42)"]),
        ("`limit` is 42 %.", ["equals(limit, 42)"]),
        ("`limit` is 42%.", ["equals(limit, 42)"]),
        ("`limit` is ~42.", ["equals(limit, 42)"]),
        ("`limit` is 42nd.", ["equals(limit, 42)"]),
        ("`limit` is −42.", ["equals(limit, 42)"]),
        ("`limit` is ４２.", ["equals(limit, 42)"]),
        ("`limit` =\u0338 42.", ["equals(limit, 42)"]),
        ("`limit = 42` is false.", ["equals(limit, 42)"]),
        ("There is no `limit = 42`.", ["equals(limit, 42)"]),
        ("`limit` is 42. It is unsafe.", ["equals(limit, 42)"]),
    ],
)
def test_a_sentence_that_could_be_false_is_not_wholly_covered(sentence: str, checks: list[str]):
    """Each of these reads as something that its checks, all of them true, do not say."""
    assert level(sentence, *checks) == "part"


@pytest.mark.parametrize(
    "sentence",
    [
        "Release 1.2.3 is backdoored by the maintainers.",
        "The retry limit is above 42.",
        "The retry limit is not 42.",
    ],
)
def test_the_sentences_that_were_admitted_once_are_not_covered(sentence: str):
    """Those of docs/checks.md: their words are in the file, and what they say is not."""
    checks = ['contains("retry limit 42")', 'contains("release 1.2.3")', 'equals("retry limit", 42)']
    assert level(sentence, *checks, path="a.txt") != "whole"


def test_a_sentence_that_stands_in_the_file_is_covered_in_part_at_most():
    """That it stands there does not make it true, whether the check was derived or declared."""
    sentence = "The retry limit is above 42."
    check = parse_check('contains("The retry limit is above 42")')
    assert cover(sentence, [check], derived_sentence=True) == ("part", ((0, len(sentence)),))
    assert cover(sentence, [check]) == ("part", ((0, len(sentence) - 1),))
    assert cover("  ", [check], derived_sentence=True) == ("part", ())


def test_a_check_that_nobody_can_read_keeps_the_sentence_from_being_whole():
    """It may say what the sentence says, or the opposite."""
    assert judged("`f` calls `g`.", "calls(f, g)", "proves(f, g)") == ("part", ())
    assert judged("`f` calls `g`.", "proves(f, g)").level == "none"


@pytest.mark.parametrize(
    ("sentence", "check"),
    [
        ("Release 1.2.3 is backdoored.", "calls(f, g)"),
        ("`a.py` is fast.", "contains(x, path=a.py)"),
        ("`f` is fast.", "contains(x, in=f)"),
        ("The port is open.", 'contains("the")'),
        ("It is not so.", "contains(not)"),
        ("", "calls(f, g)"),
    ],
)
def test_a_check_of_which_nothing_stands_in_the_sentence_is_not_bound_to_it(sentence: str, check: str):
    """Its place alone binds no check, and neither do words that say nothing."""
    assert level(sentence, check) == "none"


# ---------------------------------------------------------------- what is left


@pytest.mark.parametrize(
    ("sentence", "checks", "expected"),
    [
        ("`f` calls `g` and deletes all data.", ["calls(f, g)"], ["and deletes all data"]),
        ("`f` calls `g`, `h` and `i`.", ["calls(f, g)", "calls(f, i)"], ["`h` and `i`"]),
        ("`f` never calls `g`.", ["calls(f, g)"], ["`f` never calls `g`"]),
        ("`f` calls `g` only when `x` is set, and so on.", ["calls(f, g)"], ["only when `x` is set, and so on"]),
        ("It is false that `f` calls `g`.", ["calls(f, g)"], ["It is false that"]),
        ("In `b.py`, `f` calls `g`.", ["calls(f, g, path=a.py)"], ["In `b.py`"]),
        ("`f` calls `g` in `b.py`.", ["calls(f, g, path=a.py)"], ["in `b.py`"]),
        ("`f` in `b.py` calls `g`.", ["calls(f, g, path=a.py)"], ["`f` in `b.py` calls `g`"]),
        ("`limit` is 42 \N{EM DASH} *never* 43.", ["equals(limit, 42)"], ["\N{EM DASH} *never* 43"]),
        ("Ｗｉｄｅ, `f` calls `g`.", ["calls(f, g)"], ["Ｗｉｄｅ"]),
    ],
)
def test_what_is_left_when_the_rest_is_taken_out_is_true_by_itself(
    sentence: str, checks: list[str], expected: list[str]
):
    """A clause is covered as a run of words that one check says, or not at all; offsets are those of the sentence."""
    assert left(sentence, *checks) == expected


def test_a_sentence_beyond_the_bounds_is_covered_nowhere():
    """A stranger's long sentence costs no more than its length."""
    sentence = "`f` calls `g`, " * 200
    assert judged(sentence, "calls(f, g)") == ("part", ((0, len(sentence.strip())),))


def test_a_number_of_any_length_is_a_number_or_none():
    """Thousands of digits are neither a line nor a value, and raise nothing."""
    many = "1" * 9000
    assert level(f"`a.py:{many}` contains `x`.", "line(a.py, 3, x)") == "part"
    assert level(f"`limit` is {many}.", "equals(limit, 42)") == "part"
    assert level(f"`limit` is `{many} s`.", "equals(limit, 42s)") == "part"


def test_checks_are_one_where_they_are_written_alike():
    """1 and true are two values, whatever the language that this is written in says."""
    for checks in (["equals(x, 1)", "equals(x, true)"], ["equals(x, true)", "equals(x, 1)"]):
        assert level("`x` is true.", *checks) == "whole"


# ---------------------------------------------------------------- laws

PIECES = st.sampled_from(
    [
        *(
            "`f`",
            "`g`",
            "`a.py`",
            "a.py",
            "f",
            "g",
            "42",
            "1,000",
            "30 s",
            "2026-05-25",
            "4f2a91c",
            "“x”",
            '"x"',
            "`",
            "“",
            "”",
        ),
        *(
            "calls",
            "is",
            "not",
            "does",
            "call",
            "at least",
            "in",
            "and",
            "which",
            ",",
            ".",
            ":",
            ";",
            "(",
            ")",
            "the",
            "*",
            "**",
        ),
        *(
            "there is no",
            "contains",
            "was last changed before",
            "Commit",
            "line 3",
            "\u200b",
            "é",
            "\n",
            "'s",
            "-",
            "🙃",
            "\0",
            "\ud800",
        ),
    ]
)
CHECKS = st.lists(
    st.sampled_from(
        [
            *("calls(f, g)", "not calls(f, g)", "equals(f, 42)", "compare(f, >=, 1000)", "contains(x, path=a.py)"),
            *(
                "absent(x, path=a.py)",
                "exists(a.py)",
                "missing(a.py)",
                "defines(f, function, path=a.py)",
                "peer(uid=42)",
            ),
            *(
                "last_changed(a.py, <, 2026-05-25)",
                "commit(4f2a91c, date=2026-05-25)",
                "line(a.py, 3, x)",
                "nonsense",
                "",
            ),
            *("equals(f, [a, null])", "equals(f, 30s)", "not equals(f, null)", "order(x, g)", "count(x, =, 42)"),
        ]
    ),
    max_size=5,
)


@given(
    st.one_of(
        st.text(max_size=80), st.lists(PIECES, max_size=14).map(" ".join), st.lists(PIECES, max_size=14).map("".join)
    ),
    CHECKS,
)
def test_coverage_is_well_formed_whatever_it_is_given(sentence: str, checks: list[str]):
    """Spans are in order, apart, within the sentence; `whole` leaves nothing, and `none` covers nothing."""
    found = judged(sentence, *checks, path="a.py", commit="4f2a91c0")
    past = -1
    for start, end in found.unchecked:
        assert past < start < end <= len(sentence)
        assert sentence[start:end].strip() == sentence[start:end] or not sentence.isascii()
        past = end
    if found.level == "whole":
        assert found.unchecked == ()
        assert all(isinstance(parse_check(one), Check) for one in checks)
    if found.level == "none" and sentence.strip():
        assert found.unchecked == ((sentence.find(sentence.strip()), len(sentence.rstrip())),)


WORDS = st.text(alphabet=string.ascii_letters + "'’-~!?&%äß\u0430\u200b", min_size=1, max_size=9)
KNOWN = {word for texts in NOUNS.values() for text in texts for word in text.split()} | {"the", "file", "and", "but"}
"""Words that may stand in some place of these sentences without changing what they say."""


@given(
    st.sampled_from(
        [
            ("`f` calls `g`", "calls(f, g)"),
            ("`limit` in `a.py` is 42", "equals(limit, 42, path=a.py)"),
            ("There is no `eval` in `a.py`", "absent(eval, path=a.py)"),
            ("Commit 4f2a91c changed `a.py`", "changed(a.py, 4f2a91c)"),
        ]
    ),
    WORDS,
    st.integers(0, 7),
)
def test_any_word_that_is_put_in_is_unchecked(pair: tuple[str, str], word: str, place: int):
    """The list of words is closed: what nobody thought of changes the meaning."""
    sentence, check = pair
    words = sentence.split(" ")
    assume(word.casefold() not in KNOWN and place <= len(words) and word.strip("!?-"))
    longer = " ".join([*words[:place], word, *words[place:]])
    assert level(f"{sentence}.", check) == "whole"
    assert level(f"{longer}.", check) == "part"


INVISIBLE = st.sampled_from(
    "\u200b\u200c\u200d\u2060\u00ad\ufeff\u202e\u202a\u2066\u0301\u034f\U000e0041\u3164\u115f\u1d52"
)


@given(
    st.sampled_from(["`f` calls `g`", "The retry limit is 42", "`a.py` does not exist"]), INVISIBLE, st.integers(0, 21)
)
def test_a_character_that_is_not_seen_is_never_covered(sentence: str, character: str, place: int):
    """Wherever it is put: in a word, between two, in a code span."""
    checks = ("calls(f, g)", "equals(retry_limit, 42)", "missing(a.py)")
    assume(place <= len(sentence))
    assert level(sentence[:place] + character + sentence[place:], *checks) != "whole"


@given(CHECKS, st.lists(PIECES, max_size=12).map(" ".join))
def test_the_order_of_the_checks_does_not_matter(checks: list[str], sentence: str):
    """Each clause needs some check that says it, whichever."""
    assert judged(sentence, *checks, path="a.py").level == judged(sentence, *reversed(checks), path="a.py").level


@pytest.mark.parametrize(
    "piece", ["`f` calls `g` and ", "in `a.py` ", "`f` in `a.py`, ", "(", "`", "“", "*", "a ", "2026-05-25 "]
)
def test_cost_grows_with_the_length_of_the_sentence(piece: str, monkeypatch: pytest.MonkeyPatch):
    """Readings of patterns are bounded, however long the sentence and however many the checks."""
    from sluice.streams.judging import coverage_clauses

    read: list[int] = []
    before = coverage_clauses.readings

    def counted(*arguments: object) -> object:
        read.append(1)
        return before(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(coverage_clauses, "readings", counted)
    checks = [parse_check(f"calls(f, g{number}, path=a.py)") for number in range(20)]
    for length in (2_000, 20_000):
        cover((piece * length)[:length], [*checks, parse_check("calls(f, g)")], path="a.py")
    assert len(read) < 100_000
