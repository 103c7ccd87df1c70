"""The in-line encoding is read without failing or guessing, and written only where it can be read again."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from search import examples

from sluice.codecs.decode import decode_emission
from sluice.codecs.errors import Fault
from sluice.codecs.identifiers import Span, hides, span_key
from sluice.codecs.inline import left_out, parse_inline, parsed_form, render_inline, write_value
from sluice.codecs.prose import sentences
from sluice.codecs.records import Annotation, Assertion, Cites, Emission, Retrieval
from sluice.codecs.times import format_time, parse_time
from sluice.codecs.vocabulary import CLASSES_1_0, TERMINALS, recognise

GREP = "substrate.grep"


def unparsed(text: str, **fields: Any) -> Emission:
    return Emission(emission_id="em-1", emitted_at="2026-11-21T09:00:00Z", text=text, **fields)


def parsed(text: str) -> Emission:
    read = parse_inline(unparsed(text))
    assert isinstance(read, Emission), read
    return read


def sentences_in(text: str) -> list[tuple[str, list[Annotation]]]:
    """Each sentence with its annotations."""
    whole = parsed(text)
    assert whole.text is not None
    return [
        (whole.text[slice(*assertion.span.chars)], assertion.annotations)
        for assertion in whole.assertions or ()
        if assertion.span is not None and assertion.span.chars is not None
    ]


def only_annotation(group: str) -> Annotation:
    """The one annotation of a sentence with one group."""
    ((sentence, (found,)),) = sentences_in(f"It is. {group}")
    assert sentence == "It is."
    return found


def is_text(bracket: str) -> bool:
    """Whether a bracket is ordinary text."""
    return parsed(f"It is. {bracket}").text == f"It is. {bracket}"


# ---------------------------------------------------------------- what a group is


def test_the_memos_example_is_one_assertion() -> None:
    """A group may spread over lines; the text that goes on has neither it nor the white space before it."""
    found = parsed(
        "The file CHANGELOG.md contains an entry dated 2026-05-25.\n"
        "   [substrate.code.read; observation-id=sha256:e3b0c4...;\n    ts=2026-05-28T11:40:00Z]\n"
    )

    assert found.text == "The file CHANGELOG.md contains an entry dated 2026-05-25.\n"
    assert found.assertions == [
        Assertion(
            span=Span(chars=(0, 57)),
            span_key="c:0-57",
            provenance=[Annotation("substrate.code.read", "sha256:e3b0c4...", "2026-05-28T11:40:00Z")],
        )
    ]


def test_every_sentence_is_an_assertion() -> None:
    """Sentences without a group are unannotated assertions, and several groups in a row belong to one."""
    assert sentences_in("One. Two. [substrate.grep][substrate.git.log]\n [unverified-inference] Three") == [
        ("One.", []),
        ("Two.", [Annotation(GREP), Annotation("substrate.git.log"), Annotation("unverified-inference")]),
        ("Three", []),
    ]
    assert [assertion.provenance for assertion in parsed("One.").assertions or ()] == [None]


@pytest.mark.parametrize("name", sorted(CLASSES_1_0 | TERMINALS))
def test_known_classes_make_a_group(name: str) -> None:
    """Each class and terminal does, bare or with its anchor."""
    assert only_annotation(f"[{name}]") == Annotation(name)
    assert only_annotation(f"[ 1.0.{name} ]") == Annotation(f"1.0.{name}")


@pytest.mark.parametrize("written", ["UNVERIFIED-INFERENCE", "Unverified-Inference", "1.0.UNVERIFIED-inference"])
def test_terminals_are_read_in_any_letter_case(written: str) -> None:
    """They come out in lower case."""
    assert only_annotation(f"[{written}]") == Annotation(written.lower())


@pytest.mark.parametrize(
    "name",
    ["substrate.telepathy", "Substrate.Grep", "substrate.grep,", "2.0.substrate.grep", "9.9.oracle", "substrate."],
)
def test_class_shaped_tokens_make_a_group(name: str) -> None:
    """Who names an unknown class gets an annotation of an unknown class, not the silence of ordinary text."""
    assert only_annotation(f"[{name}]") == Annotation(name)


@pytest.mark.parametrize("parameter", ["observation-id=x", "ts=2026-05-28T11:40:00Z", "path=a; ts=1;"])
def test_a_telling_parameter_makes_a_group(parameter: str) -> None:
    """`observation-id=` or `ts=` anywhere among the parameters does, whatever the class."""
    assert only_annotation(f"[hearsay; {parameter}]").substrate_class == "hearsay"


def test_a_group_without_a_class_is_unknown() -> None:
    """Where the class was forgotten, what stands in its place is one that nobody knows."""
    assert only_annotation("[; ts=1]") == Annotation("?", ts=1)
    assert only_annotation("[ts=1; path=a]") == Annotation("ts=1", locator={"path": "a"})


@pytest.mark.parametrize(
    "bracket",
    [
        "[1]",
        "[citation needed]",
        "[]",
        "[ ]",
        "[1.2.0]",
        "[1.0.x]",
        "[see substrate.grep]",
        "[a; b=c]",
        "[tsx; its=1]",
        "[substrate.grep",
        "[substrate.grep; ts=1",
        "substrate.grep]",
        "(substrate.grep)",
        "［substrate.grep］",
    ],
)
def test_any_other_bracket_is_ordinary_text(bracket: str) -> None:
    """So is a group that never closes, and headings of change logs."""
    assert is_text(bracket)


def test_a_bracket_that_another_interrupts_never_closes() -> None:
    """It is ordinary text; the one inside it may be a group."""
    assert sentences_in("It [substrate.grep; is [substrate.git.log] so.") == [
        ("It [substrate.grep; is so.", [Annotation("substrate.git.log")])
    ]
    assert sentences_in("It [see[substrate.grep]] is.") == [("It [see] is.", [Annotation(GREP)])]


def test_a_group_before_any_sentence_is_ordinary_text() -> None:
    """There is nothing that it could annotate; nor for those that follow it at once."""
    assert sentences_in(" [substrate.grep]\n[substrate.grep] It is. [substrate.git.log]") == [
        ("[substrate.grep]\n[substrate.grep] It is.", [Annotation("substrate.git.log")])
    ]


# ---------------------------------------------------------------- where it belongs


def test_a_group_annotates_the_sentence_before_it() -> None:
    """In the middle of a sentence, that one; across a blank line, the one whose character comes before it."""
    assert sentences_in("The file [substrate.grep] exists. Next.") == [
        ("The file exists.", [Annotation(GREP)]),
        ("Next.", []),
    ]
    assert sentences_in("Heading\n\nIt is.\n\n[substrate.grep]\n\nNext") == [
        ("Heading", []),
        ("It is.", [Annotation(GREP)]),
        ("Next", []),
    ]


def test_a_sentence_ends_where_its_group_stands() -> None:
    """What ends like a sentence before a group is one, also where a small letter, or no space, comes after it."""
    assert sentences_in('It "is." [substrate.grep] and was.') == [('It "is."', [Annotation(GREP)]), ("and was.", [])]
    assert sentences_in("In the U.S. [substrate.grep] Then.") == [("In the U.S.", [Annotation(GREP)]), ("Then.", [])]
    assert sentences_in("It is.[substrate.grep]And was.") == [("It is.", [Annotation(GREP)]), ("And was.", [])]


def test_line_ends_of_windows_are_white_space() -> None:
    """A group and its line break go as one; the text's other line ends stay."""
    found = parsed("It is.\r\n  [substrate.grep;\r\n ts=1]\r\nIt was.\r\n\r\nEnd")

    assert found.text == "It is.\r\nIt was.\r\n\r\nEnd"
    assert [assertion.span_key for assertion in found.assertions or ()] == ["c:0-6", "c:8-15", "c:19-22"]


def test_offsets_count_code_points() -> None:
    """Characters beyond the BMP count one, combining marks count one each."""
    assert [
        assertion.span_key for assertion in parsed("𝐀\U0001f600 e\u0301! [substrate.grep] 中。").assertions or ()
    ] == ["c:0-6", "c:7-9"]


# ---------------------------------------------------------------- parameters


def test_further_parameters_are_the_locator() -> None:
    """Each member has the type that observers expect; the rest are strings."""
    found = only_annotation(
        '[substrate.grep; path=a%3Bb%5D%25%20c; lines=1-40; regex=true; tolerance=0.5; arguments={"q":["é",1%5D}; x=]'
    )

    assert found == Annotation(
        GREP,
        locator={
            "path": "a;b]% c",
            "lines": [1, 40],
            "regex": True,
            "tolerance": 0.5,
            "arguments": {"q": ["é", 1]},
            "x": "",
        },
    )
    assert only_annotation("[substrate.grep; lines=7; regex=false; tolerance=2]").locator == {
        "lines": [7, 7],
        "regex": False,
        "tolerance": 2,
    }


def test_white_space_between_parameters_is_ignored() -> None:
    """Around names, values and separators alike, and so is a separator with nothing behind it."""
    assert only_annotation("[\n substrate.grep ;\r\n\tpath = a\u2003; ;\n ts=1 ; ]") == Annotation(
        GREP, ts=1, locator={"path": "a"}
    )


def test_times_may_be_milliseconds() -> None:
    """As everywhere on the wire."""
    assert only_annotation("[substrate.grep; ts=1780000000000]").ts == 1_780_000_000_000


@pytest.mark.parametrize(
    "parameters",
    [
        "nothing",
        "ts=yesterday",
        "ts=2026-05-28T11:40:00+2:00",
        "ts=99999999999999999",
        "observation-id=a b",
        "observation-id=é",
        "observation-id=",
        "observation-id=" + "a" * 257,
        "path=a; path=a",
        "ts=1; ts=2",
        "path=a b",
        "path=100%",
        "path=%C3",
        "=a",
        "pa th=a",
        "lines=a-b",
        "lines=1-40-50",
        "regex=yes",
        "tolerance=many",
        "tolerance=1e999",
        "tolerance=true",
        "arguments={",
        "arguments=" + "%5B" * 65 + "%5D" * 65,
    ],
)
def test_an_illegal_parameter_makes_the_annotation_unknown(parameters: str) -> None:
    """The rest of the emission goes on; of the illegal one nothing is kept, so that nobody acts upon it."""
    whole = sentences_in(f"It is. [substrate.grep; {parameters}; ref=main] It was.")

    assert [sentence for sentence, _ in whole] == ["It is.", "It was."]
    (found,) = whole[0][1]
    assert found.unknown
    assert found.substrate_class == GREP
    assert (found.locator or {}).get("ref") == "main"


@pytest.mark.parametrize("number", [1.2439339434374058e-05, 5e-324, 1.7976931348623157e308, 1234567890123456.7])
def test_every_double_comes_back_from_a_parameter(number: float) -> None:
    """A writer of JSON may give the small ones 23 digits behind the point."""
    assert only_annotation(f"[substrate.grep; tolerance={write_value('tolerance', number)}]").locator == {
        "tolerance": number
    }


@pytest.mark.parametrize(
    ("group", "name"),
    [
        ("[rfc3161.tsa; id=4]", "rfc3161.tsa"),
        ("[rfc6962.log; id=4; ts=2026-05-28T13:40:00+02:00]", "rfc6962.log"),
        ("[ vendor.own-evidence ;\n id = 4 ]", "vendor.own-evidence"),
        ("[Substrate-2.x; a=b]", "Substrate-2.x"),
    ],
)
def test_a_class_of_no_vocabulary_is_an_unknown_annotation(group: str, name: str) -> None:
    """Whatever its name begins with: a parameter behind it makes it one [S §4, §8]."""
    ((sentence, (found,)),) = sentences_in(f"It is. {group}")

    assert (sentence, found.substrate_class) == ("It is.", name)
    assert recognise(found.substrate_class).name is None


@pytest.mark.parametrize(
    "text", ["It is [a.py].", "It is [see a.py; x=1].", "It is [a.py; x].", "It is [u8; n=4].", "[example.com; x]"]
)
def test_a_bracket_without_a_class_and_a_parameter_is_prose(text: str) -> None:
    """Names of files and hosts stand in brackets as well."""
    assert sentences_in(text) == [(text, [])]


@pytest.mark.parametrize("name", ["UNVERIFIED-INFERENCE", "Decayed-To-Uncertainty", "1.0.UNVERIFIED-INFERENCE"])
def test_a_terminal_has_one_normal_form(name: str) -> None:
    """In JSON as in line: `parse` writes it in lower case, and `render` takes it as the memo writes it [S §5]."""
    span = Span(chars=(0, 6))
    said = Assertion(span=span, span_key=span_key(span), provenance=[Annotation(name)])
    emission = unparsed("It is.", assertions=[said])

    rendered = render_inline(emission)

    assert rendered == f"It is. [{name.lower()}]"
    (shown,) = parsed_form(emission)["assertions"]
    (read,) = parsed_form(parsed(rendered))["assertions"]
    assert shown == read
    assert shown["provenance"] == [{"substrate_class": name.lower(), "terminal": True}]


def test_words_after_the_class_are_illegal() -> None:
    """A class is one token: `[substrate.grep said so]` claims something, but not in this grammar."""
    assert only_annotation("[substrate.grep said so]") == Annotation(GREP, unknown=True)
    assert only_annotation("[UNVERIFIED-INFERENCE (a guess)]") == Annotation("unverified-inference", unknown=True)


def test_a_class_that_is_too_long_is_cut_and_unknown() -> None:
    """What comes out fits the schema of the JSON form."""
    assert only_annotation(f"[substrate.{'x' * 300}]").substrate_class == f"substrate.{'x' * 246}"


# ---------------------------------------------------------------- rendering


def test_groups_stand_behind_their_sentence() -> None:
    """In canonical order: class, observation id, time, and the locator's members in theirs."""
    text = "It is. It was"
    assertions = [
        Assertion(Span(chars=(7, 13)), "c:7-13", provenance=Annotation("unverified-inference")),
        Assertion(
            Span(chars=(0, 6)),
            "c:0-6",
            provenance=[
                Annotation(
                    GREP, "a%25b", 1, {"path": "a b", "lines": [1, 2], "regex": True, "arguments": {"a": [None]}}
                ),
                Annotation("1.0.substrate.git.log", ts="2026-05-28T11:40:00.123456Z"),
            ],
        ),
    ]
    assert render_inline(unparsed(text, assertions=assertions)) == (
        "It is. [substrate.grep; observation-id=a%2525b; ts=1; path=a%20b; lines=1-2; regex=true; "
        'arguments={"a":%5Bnull%5D}] [1.0.substrate.git.log; ts=2026-05-28T11:40:00.123456Z] '
        "It was [unverified-inference]"
    )


WORDS = st.text(alphabet="ab é\u0301𝐀中-,'(1", min_size=1, max_size=8).map(str.strip).filter(bool)
SENTENCES = st.builds("{}{}".format, WORDS, st.sampled_from([".", "?!", "。", '."', ".)"]))
TEXTS = st.lists(
    st.tuples(SENTENCES, st.sampled_from([" ", "\n", "\r\n", "\n\n", "\r\n \r\n"])), min_size=1, max_size=5
)
TIMES = st.integers(0, 10**13) | st.integers(0, 10**13).map(format_time)
FREE = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=8)
LOCATORS = st.fixed_dictionaries(
    {},
    optional={
        "path": FREE,
        "pattern": FREE,
        "lines": st.lists(st.integers(0, 99_999), min_size=2, max_size=2),
        "regex": st.booleans(),
        "tolerance": st.integers(-1000, 1000) | st.floats(allow_nan=False, allow_infinity=False),
        "arguments": st.dictionaries(FREE, st.lists(FREE | st.integers() | st.booleans() | st.none(), max_size=3)),
    },
).map(lambda locator: locator or None)
CLASSES = st.sampled_from([*sorted(CLASSES_1_0 | TERMINALS), "1.0.substrate.grep", "3.0.substrate.new"])
IDS = st.from_regex(r"[A-Za-z0-9._~:/+=@%-]{1,20}", fullmatch=True).filter(lambda name: not hides(name))
ANNOTATIONS = st.builds(Annotation, CLASSES, st.none() | IDS, st.none() | TIMES, LOCATORS)


@st.composite
def emissions(draw: st.DrawFn) -> Emission:
    text = "".join(sentence + space for sentence, space in draw(TEXTS))
    assertions = [
        Assertion(Span(chars=span), span_key(Span(chars=span)), provenance=annotations or None)
        for span in sentences(text)
        if (annotations := draw(st.lists(ANNOTATIONS, max_size=3))) or draw(st.booleans())
    ]
    return unparsed(text, assertions=assertions)


@given(emissions())
def test_parsing_what_was_rendered_is_the_identity(given_one: Emission) -> None:
    """Parsing also names the sentences that had no assertion; everything else comes back as it was."""
    rendered = render_inline(given_one)

    assert isinstance(rendered, str)
    back = parsed(rendered)
    assert back.text == given_one.text
    named = {assertion.span_key for assertion in given_one.assertions or ()}
    assert [a for a in back.assertions or () if a.span_key in named] == given_one.assertions
    assert all(a.provenance is None for a in back.assertions or () if a.span_key not in named)


PIECES = ["[", "]", ";", " ", "\n", "\r\n\r\n", ".", '"', "a", "Z", "1.0.", "substrate.", "grep", "[substrate.grep]"]
PIECES += ["[UNVERIFIED-INFERENCE]", "[foo; ts=1]", "; ts=1", "path=%5B", "=", "é\u0301", "\U0001f600", "Dr.", "%"]


@settings(max_examples=examples(400))
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_rendering_what_was_parsed_parses_alike(text: str) -> None:
    """Whatever text came in: rendered and parsed once more it is the same, or rendering says why it cannot be."""
    once = parsed(text)
    rendered = render_inline(once)
    if isinstance(rendered, Fault):
        claims = [each for assertion in once.assertions or () for each in assertion.annotations]
        literal = once.text or ""
        assert rendered.reason == "schema"
        assert (
            any(each.unknown or recognise(each.substrate_class).name is None for each in claims)  # it had illegal parts
            or parsed(literal).text != literal  # what remained when groups were taken out is one more
            or literal.startswith("[")
        )
        return
    assert parsed(str(rendered)) == once


def refused(text: str = "It is.", **fields: Any) -> str:
    """What rendering says about an emission with one assertion over its whole text."""
    whole = Span(chars=(0, len(text)))
    assertion = replace(Assertion(span=whole, span_key=span_key(whole)), **fields)
    fault = render_inline(unparsed(text, assertions=[replace(assertion, span_key=span_key(assertion.span or whole))]))
    assert isinstance(fault, Fault)
    assert fault.reason == "schema"
    return fault.detail


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kind", "denial"),
        ("kind", "refusal"),
        ("effect", "external"),
        ("grounded", False),
        ("confidence", 0.5),
        ("chain", [Retrieval(source="a")]),
        ("cites", Cites("ctx")),
        ("span", Span(tokens=(0, 2), tokenizer="x")),
        ("span", Span(path="/a")),
        ("span", Span(chars=(0, 3))),
        ("span", Span(chars=(0, 2))),
        ("span", Span(chars=(3, 6))),
    ],
)
def test_what_a_group_cannot_hold_is_refused_by_name(field: str, value: Any) -> None:
    """The fault's path is the field's."""
    assert refused(**{field: value}).startswith(f"$.assertions[0].{field}: ")


@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        (Annotation("hearsay"), "substrate_class"),
        (Annotation(GREP, observation_id="a;"), "observation_id"),
        (Annotation(GREP, ts="yesterday"), "ts"),
        (Annotation("substrate.a b"), "substrate_class"),
        (Annotation("substrate.a]"), "substrate_class"),
        (Annotation(GREP, unknown=True), "unknown"),
        (Annotation(GREP, locator={"path": 5}), "locator.path"),
        (Annotation(GREP, locator={"path": {"a": 1}}), "locator.path"),
        (Annotation(GREP, locator={"a b": "c"}), "locator.a b"),
        (Annotation(GREP, locator={"a;b": "c"}), "locator.a;b"),
        (Annotation(GREP, locator={"lines": [1]}), "locator.lines"),
        (Annotation(GREP, locator={"lines": [1.0, 2]}), "locator.lines"),
        (Annotation(GREP, locator={"lines": "1-2"}), "locator.lines"),
        (Annotation(GREP, locator={"regex": 1}), "locator.regex"),
        (Annotation(GREP, locator={"tolerance": True}), "locator.tolerance"),
        (Annotation(GREP, locator={"ts": 1}), "ts"),
        (Annotation(GREP, locator={"observation-id": "a"}), "observation_id"),
    ],
)
def test_what_a_parameter_cannot_hold_is_refused_by_name(wrong: Annotation, path: str) -> None:
    """A single annotation has no index in its path, one of a list has."""
    assert refused(provenance=wrong).startswith(f"$.assertions[0].provenance.{path}: ")
    assert refused(provenance=[Annotation(GREP), wrong]).startswith(f"$.assertions[0].provenance[1].{path}: ")


def test_a_text_with_a_literal_group_is_refused() -> None:
    """It would be read as an annotation that nobody made."""
    assert refused("Write [substrate.grep] behind it.").startswith("$.text: ")
    assert refused("[substrate.grep]", provenance=Annotation(GREP)).startswith("$.text: ")


def test_what_stands_beside_the_text_is_refused() -> None:
    """Contexts, and emissions without a text."""
    assert isinstance(fault := render_inline(unparsed("It is.", contexts={"c": "x"}, assertions=[])), Fault)
    assert fault.detail.startswith("$.contexts: ")
    assert isinstance(fault := render_inline(replace(unparsed(""), text=None, assertions=[])), Fault)
    assert fault.detail.startswith("$.text: ")


def test_an_unknown_class_needs_no_flag() -> None:
    """`unknown` on a class that is unknown anyway is what parsing it again says too."""
    whole = Span(chars=(0, 6))
    flagged = Assertion(whole, "c:0-6", provenance=Annotation("substrate.new", unknown=True))

    assert render_inline(unparsed("It is.", assertions=[flagged])) == "It is. [substrate.new]"


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    [
        "[" * 1_000_000,
        "[" * 1_000_000 + "]",
        "x[substrate.grep" * 60_000 + "]",
        "x [substrate.grep; " * 60_000 + "]",
        "x[substrate.grep;a=" * 60_000 + " [ ]",
        "x[a;b=" * 160_000 + "; ts=1]",
        "x [substrate.grep]" * 55_000,
        "([substrate.grep]" * 60_000,
        "[substrate.grep] " * 60_000,
        "x [substrate.grep" + ";" * 1_000_000 + "]",
        "x [a" + ";ts " * 250_000 + "]",
        "x [substrate.grep" + "".join(f";k{i}=v" for i in range(90_000)) + "]",
        "x [substrate.grep; arguments=" + "9" * 1_000_000 + "]",
        "x [substrate.grep; path=" + "%41é" * 200_000 + "]",
        "x" + " " * 1_000_000 + "[substrate.grep]",
    ],
    ids=range(15),
)
def test_hostile_text_takes_linear_time(text: str) -> None:
    """A megabyte of brackets, closed or not, is read in a fraction of a second, not in hours."""
    read = parse_inline(unparsed(text))
    assert isinstance(read, Fault) or len(read.text or "") <= len(text)


# ---------------------------------------------------------------- footnotes and blocks of checks


@pytest.mark.parametrize(
    ("text", "checks", "rendered"),
    [
        (
            "It is. It was.\n",
            [["f(a)", "g(b)"], ["h(c)"]],
            "It is.[^checks0-0] It was.[^checks0-1]\n\n[^checks0-0]: f(a); g(b)\n[^checks0-1]: h(c)\n",
        ),
        ("It is checks0-. No.", [["f(a;b)"]], "It is checks0-.[^checks1-0] No.\n\n[^checks1-0]: f(a;b)"),
    ],
)
def test_checks_without_an_annotation_are_rendered_as_footnotes(
    text: str, checks: list[list[str]], rendered: str
) -> None:
    """And read as they were."""
    spans = [Span(chars=span) for span in sentences(text)]
    assertions = [Assertion(span, span_key(span), checks=each) for span, each in zip(spans, checks, strict=False)]
    assert render_inline(unparsed(text, assertions=assertions)) == rendered
    back = parsed(rendered)
    assert (back.text, [one.checks for one in back.assertions or () if one.checks]) == (text, checks)


@pytest.mark.parametrize(("text", "check"), [("It is.", "no check"), ("> It is.", "f(a)"), ("It is.", "f(a) g(b)")])
def test_checks_that_no_footnote_can_hold_are_refused(text: str, check: str) -> None:
    span = Span(chars=(0, len(text)))
    found = render_inline(unparsed(text, assertions=[Assertion(span, span_key(span), checks=[check])]))
    assert isinstance(found, Fault)


def checks_of(text: str) -> list[tuple[str, list[str] | None]]:
    """Each sentence with its checks."""
    whole = parsed(text)
    assert whole.text is not None
    return [
        (whole.text[slice(*assertion.span.chars)], assertion.checks)
        for assertion in whole.assertions or ()
        if assertion.span is not None and assertion.span.chars is not None
    ]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "The cap is 1000.[^1]\n\n[^1]: equals(MAX_ASSERTIONS, 1000, path=codecs/records.py)\n",
            [("The cap is 1000.", ["equals(MAX_ASSERTIONS, 1000, path=codecs/records.py)"])],
        ),
        ("A.[^1][^2] B.[^1]\n\n[^1]: f(a)\n[^2]: g(b)", [("A.", ["f(a)", "g(b)"]), ("B.", ["f(a)"])]),
        ("A[^x] is. B.\n\n[^X]: f(a)", [("A is.", ["f(a)"]), ("B.", None)]),
        ("A.[^1]\n\n[^1]: See there.", [("A.[", None), ("^1]", None), ("[^1]: See there.", None)]),
        ('A.\n\n```checks\n[{"say": "*A*", "checks": ["f(a)"]}]\n```\n\nB.', [("A.", ["f(a)"]), ("B.", None)]),
        ("A. [substrate.grep; check=g(b)] [^1]\n\n[^1]: f(a)", [("A.", ["g(b)", "f(a)"])]),
        (
            'A.[^1]\n\n[^1]: f(a)\n\n```checks\n{"say": "A.", "checks": ["f(a)", "g(b)"]}\n```',
            [("A.", ["f(a)", "g(b)"])],
        ),
    ],
)
def test_checks_in_footnotes_and_blocks_are_their_sentences(
    text: str, wanted: list[tuple[str, list[str] | None]]
) -> None:
    """Nothing of them is left in the text; a footnote that is no check is prose."""
    assert checks_of(text) == wanted
    assert (parsed(text).text or "").count("f(a)") == 0


@pytest.mark.parametrize(
    "text",
    [
        "> It is. [substrate.grep]",
        "> It is.\nstill [substrate.grep]",
        "It shows:\n\n```\nIt is. [substrate.grep]\n```",
        "It shows:\n\n    It is. [substrate.grep]",
        "It shows `It is. [substrate.grep]` there.",
        "It is.[^1]\n\n> [^1]: f(a)",
        "It is `so[^1]` there.\n\n```\n[^1]: f(a)\n```",
        '````md\n```checks\n[{"say": "A.", "checks": ["f(a)"]}]\n```\n````\n\nA.',
        '> ```checks\n> [{"say": "A.", "checks": ["f(a)"]}]\n> ```\n\nA.',
    ],
)
def test_what_is_quoted_or_shown_as_an_example_annotates_nothing(text: str) -> None:
    """It is another one's, or nobody's: ordinary text, as it stands."""
    whole = parsed(text)
    assert whole.text == text
    assert all(one.provenance is None and one.checks is None for one in whole.assertions or ())


def test_a_code_span_hides_no_group_behind_it() -> None:
    """A back-tick in a group's value opens none, nor does one that its paragraph does not close."""
    text = "A. [substrate.grep; pattern=`x] B. [substrate.grep; pattern=y`] C `d.\n\nE. [substrate.grep] F` g."
    assert [len(found) for _, found in sentences_in(text)] == [1, 1, 0, 1, 0]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("A.[^1]\n\n[^1]: f(a)", []),
        ("A.\n\n[^1]: f(a)", ["No sentence refers to the footnote 1, which is a check; it is left out."]),
        ("A.\n\n[^1]: f(a)\n[^2]: f(a)", ["No sentence refers to 2 footnotes that are checks; they are left out."]),
        ("[^1] A.\n\n[^1]: f(a)", ["1 of the references to footnotes stand before any words; they are left out."]),
        (
            "A.\n```checks\n{",
            ["A block of checks is no JSON, and no fence closes it: Input data was truncated; it is left out."],
        ),
    ],
)
def test_what_is_left_out_is_told(text: str, told: list[str]) -> None:
    """One sentence for each kind."""
    assert left_out(unparsed(text)) == told


def test_a_block_that_nothing_closes_and_nobody_can_read_stays_in_the_text() -> None:
    """Prose may stand in it."""
    text = "A.\n\n```checks\n[{\n\nThe rest."
    assert parsed(text).text == text
    assert parsed('A.\n\n```checks\n[{"say": "A.", "checks": ["f(a)"]}]').text == "A."


def test_a_footnote_that_a_thousand_sentences_share_is_bounded() -> None:
    """So short a text would become forty million characters of checks."""
    text = "It is.[^1] " * 1_000 + "\n\n[^1]: " + "; ".join(f"f({'x' * 1_990}{number})" for number in range(20))
    read = parse_inline(unparsed(text))
    assert isinstance(read, Fault)
    assert (read.reason, "characters of checks" in read.detail) == ("too-many-annotations", True)


def test_a_thousand_footnotes_that_name_one_another_are_read() -> None:
    """None is followed to another; each that is checks belongs to the sentences that refer to it."""
    notes = "".join(f"[^{number}]: f(a{number})\n" for number in range(500))
    loops = "".join(f"[^{number}]: [^{number - 1}]\n" for number in range(501, 1000))
    text = "".join(f"S is{number}.[^{number}]\n" for number in range(500)) + "\n" + notes + "\n" + loops
    found = checks_of(text)
    assert [checks for _, checks in found if checks] == [[f"f(a{number})"] for number in range(500)]


FULL: dict[str, Any] = {
    "emission_id": "em-1",
    "emitted_at": 1_779_968_400_000,
    "emitter": {"system": "bot"},
    "effect": "external",
    "vocabulary": "1.0",
    "text": "It is. It was.",
    "assertions": [
        {
            "span": {"chars": [0, 6]},
            "assertion": "It is.",
            "kind": "denial",
            "provenance": {"substrate_class": "substrate.grep", "observation_id": "x", "ts": 5, "locator": {"a": [1]}},
            "effect": "external",
            "grounded": False,
            "confidence": 0.5,
            "chain": [
                {
                    "step": "derived",
                    "operator": "+",
                    "left": [{"step": "retrieval", "source": "s", "timestamp": 1000, "metadata": {"timestamp": 7}}],
                }
            ],
            "cites": {"context": "c", "strictly": True},
            "ignored": 1,
        },
        {"span": {"chars": [7, 14]}},
    ],
    "contexts": {"c": "…"},
    "attempt": 2,
    "group": "answer-1",
    "part": 0,
    "final": False,
}


def decoded(record: dict[str, Any]) -> Emission:
    found = decode_emission(json.dumps(record).encode())
    assert isinstance(found, Emission), found
    return found


def test_everything_that_was_given_is_there() -> None:
    """Times are RFC 3339, also in a chain; span keys, kinds and lists are written out; metadata stays as it is."""
    assert parsed_form(decoded(FULL)) == {
        "emission_id": "em-1",
        "emitted_at": "2026-05-28T11:40:00Z",
        "emitter": {"system": "bot"},
        "effect": "external",
        "vocabulary": "1.0",
        "text": "It is. It was.",
        "assertions": [
            {
                "span": {"chars": [0, 6]},
                "span_key": "c:0-6",
                "assertion": "It is.",
                "kind": "denial",
                "provenance": [
                    {
                        "substrate_class": "substrate.grep",
                        "observation_id": "x",
                        "ts": "1970-01-01T00:00:00.005Z",
                        "locator": {"a": [1]},
                    }
                ],
                "effect": "external",
                "grounded": False,
                "confidence": 0.5,
                "chain": [
                    {
                        "step": "derived",
                        "operator": "+",
                        "left": [
                            {
                                "step": "retrieval",
                                "source": "s",
                                "timestamp": "1970-01-01T00:00:01Z",
                                "metadata": {"timestamp": 7},
                            }
                        ],
                    }
                ],
                "cites": {"context": "c", "strictly": True},
            },
            {"span": {"chars": [7, 14]}, "span_key": "c:7-14", "kind": "assertion", "provenance": []},
        ],
        "contexts": {"c": "…"},
        "attempt": 2,
        "group": "answer-1",
        "part": 0,
        "final": False,
    }


def test_what_was_not_given_is_not_there() -> None:
    """But for the defaults that every reader needs."""
    least = {"emission_id": "e", "emitted_at": 0, "assertions": [{"assertion": "x"}]}

    assert parsed_form(decoded(least)) == {
        "emission_id": "e",
        "emitted_at": "1970-01-01T00:00:00Z",
        "effect": "internal",
        "vocabulary": "1.0",
        "assertions": [
            {
                "span": {"path": "/assertions/0"},
                "span_key": "p:/assertions/0",
                "assertion": "x",
                "kind": "assertion",
                "provenance": [],
            }
        ],
        "attempt": 0,
    }


@pytest.mark.parametrize(
    ("annotation", "flags"),
    [
        ({"substrate_class": "substrate.grep"}, {}),
        ({"substrate_class": "1.0.substrate.grep"}, {}),
        ({"substrate_class": "substrate.new"}, {"unknown": True}),
        ({"substrate_class": "7.0.substrate.grep"}, {"unknown": True}),
        ({"substrate_class": "unverified-inference"}, {"terminal": True}),
        ({"substrate_class": "1.0.decayed-to-uncertainty"}, {"terminal": True}),
        ({"substrate_class": "UNVERIFIED-INFERENCE"}, {"terminal": True}),
        ({"substrate_class": "substrate.grep", "terminal": True}, {}),
        ({"substrate_class": "substrate.grep", "unknown": True}, {"unknown": True}),
        ({"substrate_class": "substrate.new", "unknown": False}, {"unknown": True}),
    ],
)
def test_flags_stand_only_where_they_apply(annotation: dict[str, Any], flags: dict[str, bool]) -> None:
    """The vocabulary decides; an emitter can make its own annotation unknown, and nothing else."""
    form = parsed_form(
        decoded(
            {
                "emission_id": "e",
                "emitted_at": 0,
                "text": "x",
                "assertions": [{"span": {"chars": [0, 1]}, "provenance": annotation}],
            }
        )
    )

    assert form["assertions"][0]["provenance"] == [{"substrate_class": annotation["substrate_class"].lower()} | flags]


def test_the_emissions_vocabulary_decides_about_bare_classes() -> None:
    """Of a version that is not loaded nothing is known; an anchored class has its own."""
    form = parsed_form(
        decoded(
            {
                "emission_id": "e",
                "emitted_at": 0,
                "vocabulary": "2.0",
                "text": "A. [substrate.grep][1.0.substrate.grep][unverified-inference][1.0.decayed-to-uncertainty]",
            }
        )
    )

    assert form["assertions"][0]["provenance"] == [
        {"substrate_class": "substrate.grep", "unknown": True},
        {"substrate_class": "1.0.substrate.grep"},
        {"substrate_class": "unverified-inference", "unknown": True},
        {"substrate_class": "1.0.decayed-to-uncertainty", "terminal": True},
    ]


PARSE_CLASSES = st.sampled_from(["substrate.grep", "1.0.substrate.git.log", "substrate.x", "unverified-inference", "z"])
PARSE_TIMES = st.integers(0, 10**13) | st.just("2026-05-28T11:40:00.123456Z")
PARSE_ANNOTATIONS = st.fixed_dictionaries(
    {"substrate_class": PARSE_CLASSES},
    optional={
        "observation_id": st.just("sha256:1"),
        "ts": PARSE_TIMES,
        "locator": st.dictionaries(st.text(max_size=3), st.integers() | st.lists(st.text(max_size=3)), max_size=2),
        "unknown": st.booleans(),
        "terminal": st.booleans(),
    },
)
STEPS = st.recursive(
    st.fixed_dictionaries(
        {"step": st.just("retrieval")}, optional={"timestamp": PARSE_TIMES, "source": st.text(max_size=3)}
    )
    | st.fixed_dictionaries({"step": st.sampled_from(["severed", "discard", "agent-handoff", "prompt-transform"])}),
    lambda inner: st.fixed_dictionaries(
        {"step": st.just("derived")},
        optional={"left": st.lists(inner, max_size=2), "right": st.lists(inner, max_size=2)},
    ),
    max_leaves=4,
)
ASSERTIONS = st.lists(
    st.fixed_dictionaries(
        {"assertion": st.text(max_size=5)},
        optional={
            "kind": st.sampled_from(["assertion", "denial", "refusal"]),
            "provenance": PARSE_ANNOTATIONS | st.lists(PARSE_ANNOTATIONS, max_size=2),
            "effect": st.sampled_from(["internal", "external"]),
            "grounded": st.booleans(),
            "confidence": st.floats(0, 1),
            "chain": st.lists(STEPS, max_size=2),
            "cites": st.just({"context": "c"}),
        },
    ),
    max_size=3,
    unique_by=lambda assertion: assertion["assertion"],
)
EMISSIONS = st.fixed_dictionaries(
    {"emission_id": st.just("e"), "emitted_at": PARSE_TIMES, "assertions": ASSERTIONS},
    optional={
        "text": st.text(max_size=10),
        "emitter": st.just({"system": "s"}),
        "effect": st.sampled_from(["internal", "external"]),
        "vocabulary": st.sampled_from(["1.0", "3.1"]),
        "contexts": st.dictionaries(st.just("c"), st.text(max_size=3)),
        "attempt": st.integers(0, 3),
        "group": st.sampled_from([None, "answer-1"]),
        "part": st.sampled_from([None, 0, 3]),
        "final": st.sampled_from([None, False, True]),
    },
)
INLINE = st.fixed_dictionaries({"emission_id": st.just("e"), "emitted_at": PARSE_TIMES}).flatmap(
    lambda base: st.lists(
        st.sampled_from(
            ["It is. ", "no ", "[substrate.grep; ts=1]", "[x; ts=2; y]", "[substrate.grep; lines=a]", "\n\n"]
        )
    ).map(lambda pieces: base | {"text": "".join(pieces)})
)


@given(EMISSIONS | INLINE)
def test_decoding_it_again_changes_nothing(record: dict[str, Any]) -> None:
    """Parsing what was parsed prints the same, and decodes to the same emission."""
    first = parsed_form(decoded(record))
    again = decode_emission(msgspec.json.encode(first))

    assert isinstance(again, Emission)
    assert parsed_form(again) == first
    assert decode_emission(msgspec.json.encode(parsed_form(again))) == again


@given(EMISSIONS | INLINE)
def test_it_says_what_the_emission_says(record: dict[str, Any]) -> None:
    """Nothing is lost or made up: spans, annotations and all that stands beside them come back as they were."""
    emission = decoded(record)
    again = decode_emission(msgspec.json.encode(parsed_form(emission)))

    assert isinstance(again, Emission)
    assert comparable(again) == comparable(emission)


def comparable(emission: Emission) -> list[Any]:
    """An emission's parts, times in milliseconds, without the flags that the vocabulary says anyway."""
    whole = [emission.emission_id, parse_time(emission.emitted_at), emission.emitter, emission.effect]
    whole += [emission.vocabulary, emission.text, emission.contexts, emission.attempt]
    for each in emission.assertions or ():
        whole += [each.span, each.span_key, each.assertion, each.kind, each.effect, each.grounded, each.confidence]
        whole += [each.cites, each.chain is None, len(each.chain or ())]
        for annotation in each.annotations:
            whole += [annotation.substrate_class, annotation.observation_id, annotation.locator]
            whole.append(None if annotation.ts is None else parse_time(annotation.ts))
    return whole
