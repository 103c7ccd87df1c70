"""What checks say as sentences, and the texts that teach models to write them."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sluice.codecs.decode import assertion_text, decode_emission
from sluice.codecs.records import Emission
from sluice.codecs.unicode_text import nfkc, unicodedata2
from sluice.codecs.vocabulary import CLASSES_1_0
from sluice.streams.judging.check_texts import (
    EXAMPLES,
    PROPOSER_SCHEMA,
    SENTENCE,
    SENTENCES,
    UNTAUGHT,
    Format,
    instructions,
    name,
    proposer_instructions,
    quotation,
    render,
)
from sluice.streams.judging.checks import (
    OPERATORS,
    SYMBOL_KINDS,
    TABLE,
    Check,
    Kind,
    Parameter,
    Signature,
    Value,
    canonical,
    parse_check,
)
from sluice.streams.judging.coverage import cover
from sluice.streams.sanitise import Trace, clean

HASH = "479a19b" + "0" * 33


def read(text: str) -> Check:
    """One check that is well formed."""
    check = parse_check(text)
    assert isinstance(check, Check), check
    return check


def said(text: str, path: str | None = None) -> str:
    """The sentence of a check, of a place without lines or commit."""
    return render(read(text), path=path, lines=None, commit=None)


# ---------------------------------------------------------------- the table


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        ('contains("It is.")', "`a.py` contains «It is.»."),
        ("contains(x, in=T.m)", "`a.py` contains «x» in `T.m`."),
        ("contains(x, in=f, lines=3-9)", "`a.py` contains «x» in `f` in lines 3-9."),
        ("absent(foo)", "`foo` stands nowhere in `a.py`."),
        ("not absent(foo, in=f)", "`foo` stands in `f` in `a.py`."),
        ("exists(b.py)", "`b.py` is among the tracked files (in `a.py`)."),
        ("missing(a.py)", "`a.py` is not among the tracked files."),
        ("defines(f)", "`a.py` defines `f`."),
        ("defines(f, function)", "`a.py` defines the function `f`."),
        ("not defines(T.m, method, in=T)", "`a.py` does not define the method `T.m` in `T`."),
        ("defines(test, target)", "`a.py` has the target `test`."),
        ("defines(2026-05-25, section)", "`a.py` has the section 2026-05-25."),
        ('not defines("How to", section)', "`a.py` does not have the section «How to»."),
        ("equals(N, 1_000)", "`N` in `a.py` equals 1000."),
        ("not equals(N, 1.50)", "`N` in `a.py` does not equal 1.5."),
        ('equals(N, "30")', "`N` in `a.py` equals «30»."),
        ('equals(N, "")', "`N` in `a.py` equals «»."),
        (
            "equals(T.m, [true, null, [a]], in=T, lines=7)",
            "`T.m` in `T` in line 7 of `a.py` equals [true, null, [«a»]].",
        ),
        ("compare(N, =, 1)", "`N` in `a.py` is equal to 1."),
        ("compare(N, !=, 1)", "`N` in `a.py` differs from 1."),
        ("compare(N, <, 1)", "`N` in `a.py` is less than 1."),
        ("compare(N, <=, 1)", "`N` in `a.py` is at most 1."),
        ("compare(N, >, 1)", "`N` in `a.py` is more than 1."),
        ("not compare(N, >=, 30s)", "`N` in `a.py` is not at least «30s»."),
        ("calls(f, g)", "`f` in `a.py` calls `g`."),
        ("not calls(f, g)", "The name `g` does not occur in the body of `f` in `a.py`, so it is not called there."),
        ("calls(f, g, argument=x=1)", "`f` in `a.py` calls `g` with the argument «x=1»."),
        ("uses(f, X)", "`f` in `a.py` uses `X`."),
        ("not uses(f, X)", "The name `X` does not occur in the body of `f` in `a.py`, so it is not used there."),
        ("not imports(os.path)", "The name `os.path` does not occur in `a.py`, so it is not imported there."),
        ("members(X, [a, 1])", "The members of `X` in `a.py` are [«a», 1]."),
        ("reaches(f, g)", "`f` in `a.py` reaches `g` through calls."),
        ("raises(f, E)", "`f` in `a.py` raises `E`."),
        ("not raises(f, E)", "The name `E` does not occur in `a.py`, so `f` does not raise it."),
        ("not extends(A, B)", "`A` in `a.py` does not extend `B`."),
        ("parameter(f, x, default=null)", "`f` in `a.py` has the parameter `x` with the default null."),
        ("field(C, x, type=int)", "`C` in `a.py` has the field `x` of the type «int»."),
        ("not result(f, int)", "The result of `f` in `a.py` does not have the type «int»."),
        ("when(f, not ready, return)", "In `f` in `a.py` «return» stands under the condition «not ready»."),
        ("unless(f, ready, return)", "In `f` in `a.py` «return» stands where the condition «ready» is false."),
        ("before(f, a, b)", "In `f` in `a.py` «a» stands before «b»."),
        ('returns(f, "x + 1")', "`f` in `a.py` returns «x + 1»."),
        ("count(foo, >=, 3)", "The number of occurrences of «foo» in `a.py` is at least 3."),
        ("not count(foo, =, 3)", "The number of occurrences of «foo» in `a.py` is not equal to 3."),
        ('line(b.py, 3, "x = 1")', "Line 3 of `b.py` contains «x = 1» (in `a.py`)."),
        ("not line(a.py, 3, x)", "Line 3 of `a.py` does not contain «x»."),
        ("order(a, b)", "The only «a» in `a.py` stands before the only «b»."),
    ],
)
def test_a_check_on_a_file_has_its_sentence(check: str, sentence: str):
    """Looked at in `a.py`, where the check itself names no path."""
    assert said(check, "a.py") == sentence


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        ("commit(479a19b)", "Commit `479a19b` is there."),
        ('commit(479a19b, author="Jane Doe")', "Commit `479a19b` has the author «Jane Doe»."),
        (
            'commit(479a19b, author=Jane, date=2026-05-25, subject="Fix it")',
            "Commit `479a19b` has the author «Jane», the date 2026-05-25 and the subject «Fix it».",
        ),
        ("not commit(479a19b, date=2026-05)", "Commit `479a19b` does not have the date 2026-05."),
        (
            "not commit(479a19b, author=J, date=2026)",
            "Commit `479a19b` does not have all of the author «J» and the date 2026.",
        ),
        ("changed(a.py, 479a19b)", "Commit `479a19b` changed `a.py`."),
        ("not changed(a.py, 479a19b)", "Commit `479a19b` did not change `a.py`."),
        ("introduced(x, 479a19b)", "Commit `479a19b` introduced «x»."),
        ("not removed(x, 479a19b, path=a.py)", "Commit `479a19b` did not remove «x» in `a.py`."),
        ("last_changed(a.py, <, 2026-05-25)", "`a.py` was last changed before 2026-05-25."),
        ("not last_changed(a.py, <=, 2026-05-25)", "`a.py` was not last changed no later than 2026-05-25."),
        ("modified(a.py, =, 2026-05-25T10:00Z)", "`a.py` was last modified within 2026-05-25T10:00Z."),
        ("modified(a.py, !=, soon)", "`a.py` was last modified outside of «soon»."),
        ("only_in(x, [a.py, src])", "`x` occurs in tracked files under `a.py` and `src` and in no other."),
        ("not only_in(x, src)", "`x` occurs in a tracked file that is not under `src`."),
        ("added(f, path=a.py, since=479a19b)", "«f» in `a.py` was added since `479a19b`."),
        ("not deleted(f)", "«f» was not deleted."),
        ("renamed(f, g)", "«f» was deleted and «g» was added."),
        ("touched([a.py, b.py])", "`a.py` and `b.py` changed and no other file did."),
        ("not unchanged(a.py, since=479a19b)", "`a.py` changed since `479a19b`."),
        ("fails(lint)", "The check `lint` fails."),
        ("output(test, 3 passed)", "The output of the check `test` contains «3 passed»."),
        ("peer(uid=998, user=kafka)", "The peer has the uid 998 and the user `kafka`."),
        ("not peer(pid=1)", "The peer does not have the pid 1."),
        ("count(subscribers, >, 5)", "The number of «subscribers» is more than 5."),
        ("count(errors, =, 5)", "The number of occurrences of «errors» in what was looked at is equal to 5."),
        ("contains(x)", "What was looked at contains «x»."),
        ("equals(N, 1, in=T)", "`N` in `T` in what was looked at equals 1."),
        ("equals(N, 1, lines=3)", "`N` in line 3 of what was looked at equals 1."),
    ],
)
def test_a_check_without_a_file_has_its_sentence(check: str, sentence: str):
    """Of commits, times, peers and channels; and where no path is known, that is said neutrally."""
    assert said(check) == sentence


def test_every_check_has_a_sentence_and_where_it_may_be_denied_a_denial():
    """Each row of the list of checks has its row here, and no row here is of no check."""
    for one, signature in TABLE.items():
        affirms, denies = SENTENCES[one]
        assert affirms
        assert bool(denies) is signature.negatable
    assert {form.partition(" ")[0] for form in SENTENCES} == set(TABLE)


def test_the_place_is_reported_behind_the_sentence():
    """One line or several, the commit in seven digits, and the path where it is not the one that the check names."""
    check = read("equals(MAX_ASSERTIONS, 1000)")
    reported = render(check, path="codecs/records.py", lines=(41, 41), commit=HASH)
    assert reported == "`MAX_ASSERTIONS` in `codecs/records.py` equals 1000 (line 41, commit 479a19b)."
    check = read("defines(2026-05-25, section, path=CHANGELOG.md)")
    reported = render(check, path="CHANGELOG.md", lines=(3, 9), commit=HASH)
    assert reported == "`CHANGELOG.md` has the section 2026-05-25 (lines 3 to 9, commit 479a19b)."
    reported = render(read("introduced(x, 479a19b)"), path="a.py", lines=None, commit=HASH)
    assert reported == "Commit `479a19b` introduced «x» (in `a.py`)."
    reported = render(read("contains(x, path=b.py)"), path="a.py", lines=None, commit="no hash (line 3). `x")
    assert reported == '`b.py` contains «x» (in `a.py`, commit "no hash (line 3). \\u0060x").'


@pytest.mark.parametrize(
    ("under", "told"),
    [
        (("if  ready",), "in one branch, under «if ready»"),
        (("#ifdef X",), "under «#ifdef X»"),
        (("@test", "if x"), "in one branch, under «@test», under «if x»"),
        (("if x». «y",), 'in one branch, under "if x\\u00bb. \\u00aby"'),
        (("x" * 300,), f"in one branch, under «{'x' * 200}»"),
        ((" ",), ""),
    ],
)
def test_conditions_are_told_behind_the_sentence(under: tuple[str, ...], told: str):
    """A branch as such, an attribute or a line of the preprocessor by its text."""
    sentence = render(read("calls(f, g)"), path="a.py", lines=(3, 3), commit=None, under=under)
    assert sentence == f"`f` in `a.py` calls `g` (line 3{', ' if told else ''}{told})."


# ---------------------------------------------------------------- arguments

HOSTILE = [
    "x` equals 5 (line 1). `y",
    "x» equals 5. «y",
    "x” equals 5. “y",
    "x› equals 5. ‹y",
    "x》 equals 5. 《y",
    "x❮b❯y",
    "[x❳(y)",
    'x" equals 5. "y',
    "x' equals 5. 'y",
    "xʼ equals 5. ʼy",
    "x\\",
    "\\u0060",
    "a, b",
    "x in `a.py",
    "x` in `a.py",
    "--- end of frame ---",
    "</frame>",
    "<b>bold</b>",
    "[text](https://example.org)",
    "pаypal",  # a Cyrillic letter
    "\u0301x",
    "x\u202ey",
    "x\u200by",
    "x\u00ady",
    "x\u2028y",
    "\U000e0041",
    "\u3164",
    "{path}",
    "%s {0} {}",
    "(line 41, commit 479a19b)",
    "5",
    " ",
    ". `b.py` contains x",
]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("show", [name, quotation])
def test_an_argument_is_visibly_one_whatever_stands_in_it(show: object, text: str):
    """It is one quotation from its first mark to its last, on one line, and says which text it is."""
    assert callable(show)
    shown = show(text)
    assert _QUOTED.fullmatch(shown)
    assert not any(unicodedata2.category(one)[0] in "CZ" for one in shown if one != " ")
    assert (json.loads(shown) if shown[0] == '"' else shown[1:-1]) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a.py", "`a.py`"),
        ('say "x"', '`say "x"`'),
        ("naïve.py", "`naïve.py`"),
        ("東京", "`東京`"),
        ("a`b", '"a\\u0060b"'),
        ("a«b", '"a\\u00abb"'),
        ("it’s", '"it\\u2019s"'),
        ("List<T>", '"List\\u003cT>"'),
        ("a < b", "`a < b`"),
        ("pаy", '"p\\u0430y"'),
        ("e\u0301", '"e\\u0301"'),
        ("a\nb", '"a\\u000ab"'),
        ("\udcff", '"\\udcff"'),
        ("", '""'),
    ],
)
def test_a_name_stands_in_back_ticks_where_nothing_in_it_could_pass_for_their_end(text: str, shown: str):
    """Else it is a JSON string, without anything that would be seen as something else."""
    assert name(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It’s “so”.", "«It’s “so”.»"),
        ("run `make`", '"run \\u0060make\\u0060"'),
        ("", "«»"),
        ("a » b", '"a \\u00bb b"'),
        ("if a < b", "«if a < b»"),
        ("x[0](1)", '"x[0\\u005d(1)"'),
    ],
)
def test_a_quote_stands_in_guillemets_where_nothing_in_it_could_pass_for_their_end(text: str, shown: str):
    """Typographic quotation marks inside are part of the quote."""
    assert quotation(text) == shown


def test_nothing_that_was_checked_is_cut():
    """However long an argument is, the whole of it is shown."""
    long = "x" * 1990
    assert long in said(f'contains("{long}")')
    assert "9" * 300 in said(f"equals(N, {'9' * 300})")
    assert f"0.{'0' * 90}1" in said(f"equals(N, 1e-{91})")


# ---------------------------------------------------------------- laws

_QUOTED = re.compile(r'`[^`]+`|«[^«»]*»|"(?:[^"\\`«»\n]|\\["\\]|\\u[0-9a-f]{4})*"')
_BARE = re.compile(r"479a19b|-?[0-9][0-9TZ.:+-]*(?<![.])")

WORDS = st.sampled_from(
    ["a", "b", "f", "T.m", "a.py", "2026-05-25", "2026", "30s", "1.2.3", "479a19b", "true", *HOSTILE]
)
TEXTS = (WORDS | st.text(min_size=1, max_size=8)).map(nfkc).map(lambda text: " ".join(text.split()))
NUMBERS = st.integers(-3, 3) | st.sampled_from([Decimal("1.5"), Decimal("-0.25"), 10**20])
VALUES = st.recursive(
    NUMBERS | TEXTS | st.booleans() | st.none(), lambda inner: st.lists(inner, max_size=2).map(tuple), max_leaves=3
)


def _argument(parameter: Parameter) -> st.SearchStrategy[Value]:
    return {
        Kind.TEXT: TEXTS,
        Kind.NAME: TEXTS,
        Kind.TIME: TEXTS,
        Kind.PATH: TEXTS,
        Kind.PATHS: st.lists(TEXTS, min_size=1, max_size=3, unique=True).map(sorted).map(tuple),
        Kind.ITEMS: st.lists(VALUES, max_size=2).map(tuple),
        Kind.IDENTIFIER: st.sampled_from(["foo", "a.b", "$x", "-", "479a19b"]),
        Kind.LINES: st.sampled_from(["3", "3-3", "3-9"]),
        Kind.VALUE: VALUES,
        Kind.OPERATOR: st.sampled_from(OPERATORS),
        Kind.NUMBER: NUMBERS,
        Kind.SYMBOL_KIND: st.sampled_from(SYMBOL_KINDS),
    }[parameter.kind]


@st.composite
def checks(draw: st.DrawFn) -> Check:
    """Any check that the parser could give."""
    signature = draw(st.sampled_from(list(TABLE.values())))
    arguments = [draw(_argument(one)) for one in signature.parameters if not one.optional or draw(st.booleans())]
    named = [(one.name, draw(_argument(one))) for one in signature.named if draw(st.booleans())]
    if len(named) < signature.least_named:
        named = [(signature.named[0].name, draw(_argument(signature.named[0])))]
    check = Check(signature.name, tuple(arguments), tuple(named), signature.negatable and draw(st.booleans()))
    parsed = parse_check(canonical(check))
    return parsed if isinstance(parsed, Check) else read("contains(x)")


PATHS = st.none() | st.sampled_from(["a.py", "b.py", "x` in `a.py", "what was looked at"])


def at(check: Check, path: str | None) -> str:
    """The canonical form, with the path that was looked at where the check names none: what its sentence says."""
    signature: Signature = TABLE[check.name]
    if not signature.content or check.path is not None or path is None:
        return canonical(check)
    return canonical(replace(check, named=(("path", path), *check.named)))


@given(st.lists(checks(), min_size=2, max_size=12), PATHS)
def test_two_checks_never_have_one_sentence(some: list[Check], path: str | None):
    """At the same place; a check that names no path means the one that was looked at."""
    meant: dict[str, str] = {}
    for check in some:
        sentence = render(check, path=path, lines=(1, 2), commit=HASH)
        assert meant.setdefault(sentence, at(check, path)) == at(check, path)


@given(checks(), TEXTS, PATHS)
def test_a_check_that_differs_in_one_thing_has_another_sentence(check: Check, text: str, path: str | None):
    """One argument, or the `not`."""
    others = [replace(check, negated=not check.negated)] if TABLE[check.name].negatable else []
    for place, argument in enumerate(check.arguments):
        kind = TABLE[check.name].parameters[place].kind
        if kind in (Kind.TEXT, Kind.NAME, Kind.TIME, Kind.PATH, Kind.VALUE) and isinstance(argument, str) and text:
            changed = (*check.arguments[:place], text, *check.arguments[place + 1 :])
            others.append(replace(check, arguments=changed))
    for other in others:
        if canonical(other) != canonical(check):
            assert render(other, path=path, lines=None, commit=None) != render(
                check, path=path, lines=None, commit=None
            )


@given(checks(), PATHS)
def test_no_argument_adds_a_word(check: Check, path: str | None):
    """Without what is quoted, and without numbers and dates, each sentence is one of ours, whatever was said."""
    sentence = render(check, path=path, lines=(3, 4), commit=HASH)
    rest = _BARE.sub("", _QUOTED.sub("", sentence))
    assert not any(unicodedata2.category(one)[0] in "CZ" for one in sentence if one != " ")
    assert not set(re.findall(r"[^\W\d_]+", rest)) - _OUR_WORDS
    assert not set(rest) & set('`«»"\\')
    assert sentence.endswith(".")
    assert rest.count(".") <= 1 + sum(isinstance(one, tuple) for one in check.arguments)


_OUR_WORDS = set(
    re.findall(
        r"[A-Za-z]+",
        f"""
        {list(SENTENCES.values())}
        {SYMBOL_KINDS} true false null
        what What was looked at of in line lines to commit and all the author date subject uid gid pid user
        is equal not differs from does differ less than at most more least
        within outside before no later after earlier
        type with default since under
        """,
    )
)


@given(checks(), PATHS)
def test_the_sanitiser_leaves_a_sentence_as_it_is(check: Check, path: str | None):
    """What is shown is what was checked; typographic marks alone give way to those of ASCII."""
    sentence = render(check, path=path, lines=None, commit=None)
    cleaned = clean(sentence, "rendered", 1_000_000, "replace", Trace())
    assert len(cleaned) == len(sentence)
    differing = {one for one, other in zip(sentence, cleaned, strict=True) if one != other}
    assert not any(map(str.isalnum, differing))
    assert clean(sentence, "rendered", 1_000_000, "flag", Trace()) == sentence


FORMS = get_args(Format)
TEXTS_TEACHING = {**{form: instructions(form) for form in FORMS}, "proposer": proposer_instructions()}
LISTED = re.compile(r"^- (([a-z_]+)\(.*\)): .+$", re.MULTILINE)


def answer(form: Format) -> Emission:
    """The answer that the text shows, as a program would send it."""
    shown = instructions(form).rpartition("Form")[2].partition("\n")[2]
    members: dict[str, Any] = json.loads(shown) if form == "json" else {"text": shown}
    emission = decode_emission(msgspec.json.encode({"emission_id": "em-1", "emitted_at": 0, **members}))
    assert isinstance(emission, Emission), emission
    return emission


@pytest.mark.parametrize("name", TEXTS_TEACHING)
def test_it_lists_every_check_once_and_no_other(name: str) -> None:
    """In the order of the table, but for those that need a runner."""
    taught = [name for name in TABLE if name not in UNTAUGHT]
    assert [found[1] for found in LISTED.findall(TEXTS_TEACHING[name])] == taught == list(EXAMPLES)


def test_each_example_is_that_check_with_all_that_it_takes() -> None:
    """What narrows a check further (`in`, `lines`) is left out."""
    for example, named in LISTED.findall(instructions("inline")):
        check = parse_check(example)
        assert isinstance(check, Check), check
        assert check.name == named
        signature = TABLE[named]
        assert len(check.arguments) == len(signature.parameters)
        wanted = [one.name for one in signature.named if one.name not in ("in", "lines")]
        assert [given for given, _ in check.named] == wanted


def test_it_says_before_which_checks_no_not_stands() -> None:
    """That of the table."""
    (said,) = re.findall(r"except for (.+?);", instructions("json"))

    taught = [one for name, one in TABLE.items() if name not in UNTAUGHT]
    assert said.split(", ") == [one.name for one in taught if not one.negatable]


@pytest.mark.parametrize("form", FORMS)
def test_the_answer_that_it_shows_is_an_emission_whose_check_covers_its_sentence(form: Format) -> None:
    """All forms say the same; with brackets or as JSON two kinds of places."""
    emission = answer(form)

    assertion = (emission.assertions or [])[0]
    assert assertion_text(emission, assertion) == SENTENCE
    checks = [parse_check(one) for one in assertion.checks or []]
    assert cover(SENTENCE, checks, path="src/limits.py").level == "whole"
    wanted = [] if form == "block" else ["substrate.code.read", "substrate.grep"]
    assert [one.substrate_class for one in assertion.annotations] == wanted


@pytest.mark.parametrize("form", ["inline", "json"])
def test_it_names_every_kind_of_place_and_no_other(form: Format) -> None:
    """Those of the vocabulary."""
    assert {one.rstrip(".") for one in re.findall(r"substrate\.[a-z.-]+", instructions(form))} == CLASSES_1_0


@pytest.mark.parametrize("name", ["block", "proposer"])
def test_who_writes_a_block_or_a_proposal_names_no_places(name: str) -> None:
    """Calls, or whoever looks, tell them."""
    assert "substrate" not in TEXTS_TEACHING[name]


def test_the_block_leaves_a_sentence_without_a_check_alone() -> None:
    """The answer is prose first; what has no check stays in it."""
    assertions = answer("block").assertions or []
    assert [bool(one.checks) for one in assertions] == [True, False]


def test_a_proposer_is_told_the_schema_of_its_answer() -> None:
    """One that strict structured outputs take: every member is required, and there are no others."""
    shown = json.loads(proposer_instructions().splitlines()[-1])
    assert shown == PROPOSER_SCHEMA
    item = shown["properties"]["proposals"]["items"]
    for each in (shown, item):
        assert (each["required"], each["additionalProperties"]) == (list(each["properties"]), False)
    assert list(item["properties"]) == ["number", "checks", "whole", "left"]


def test_it_is_plain_text_without_an_end() -> None:
    """It goes into a prompt as it is."""
    for text in TEXTS_TEACHING.values():
        assert text == text.strip()
        assert all(one.isprintable() or one == "\n" for one in text)
    assert len(set(TEXTS_TEACHING.values())) == len(TEXTS_TEACHING)
