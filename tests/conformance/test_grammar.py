"""The requirements of the substrate-provenance grammar [S §3 to §6, §8, §11.2], one test each, named after its section.

The seed says what a parser must do and leaves the encoding open; both of ours (docs/reference/records.md) are asked
alike, through the door that every emission takes: bytes to `decode_emission`, and what `sluice parse` prints of it.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from sluice.codecs import vocabulary
from sluice.codecs.decode import decode_emission
from sluice.codecs.errors import Fault
from sluice.codecs.inline import parsed_form, render_inline
from sluice.codecs.records import Emission
from sluice.codecs.vocabulary import recognise

# Written out from [S §4], so that a class that vanishes from the code is missed here.
CLASSES = [
    "substrate.git.log",
    "substrate.grep",
    "substrate.code.read",
    "substrate.fs.mtime",
    "substrate.mcp.brief",
    "substrate.do.sse-count",
    "substrate.unix.peercred",
]
TERMINALS = ["unverified-inference", "decayed-to-uncertainty"]
BASE = {"emission_id": "em-1", "emitted_at": "2026-05-28T11:41:00Z"}
SENTENCE = "It is so."


def decoded(**fields: Any) -> Emission:
    emission = decode_emission(json.dumps(BASE | fields).encode())
    assert not isinstance(emission, Fault), emission.detail
    return emission


def parsed(**fields: Any) -> list[dict[str, Any]]:
    """The assertions that `sluice parse` prints."""
    return parsed_form(decoded(**fields))["assertions"]


def in_json(*annotations: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """One assertion in the JSON encoding, parsed."""
    assertion = {"span": {"chars": [0, len(SENTENCE)]}, "provenance": list(annotations)}
    (found,) = parsed(text=SENTENCE, assertions=[assertion], **fields)
    return found


def in_line(*groups: str, **fields: Any) -> dict[str, Any]:
    """One assertion in the in-line encoding, parsed."""
    (found,) = parsed(text=" ".join([SENTENCE, *groups]), **fields)
    return found


def both(name: str, **fields: Any) -> list[dict[str, Any]]:
    """What either encoding says about one substrate-class identifier."""
    of_json = in_json({"substrate_class": name}, **fields)
    of_line = in_line(f"[{name}]", **fields)
    assert of_json == of_line
    return [of_json["provenance"][0], of_line["provenance"][0]]


# ---------------------------------------------------------------- section 3


def test_s3_assertion_is_a_part_of_the_output() -> None:
    """An assertion is a token sequence in the output: each sentence is one, and its span leads back to it."""
    text = "It is so. It was not. [substrate.grep] And 中文 𝐀!"
    emission = decoded(text=text)
    said = [emission.text[slice(*each["span"]["chars"])] for each in parsed(text=text)] if emission.text else []

    assert said == ["It is so.", "It was not.", "And 中文 𝐀!"]


def test_s3_substrate_class_identifier_is_opaque() -> None:
    """Nothing is read into its parts: no prefix, suffix or other letter case of a class is that class."""
    for name in ("substrate.git", "substrate.git.log.deep", "substrate.GREP", "substrate.grep.", "grep", "git.log"):
        assert recognise(name).name is None
        assert in_json({"substrate_class": name})["provenance"] == [{"substrate_class": name, "unknown": True}]


def test_s3_annotation_names_a_class_or_a_terminal() -> None:
    """There is no annotation without a class: the JSON encoding refuses it, the in-line one makes it unknown."""
    record = {
        "text": SENTENCE,
        "assertions": [{"span": {"chars": [0, 9]}, "provenance": {"ts": "2026-05-28T11:40:00Z"}}],
    }

    assert isinstance(decode_emission(json.dumps(BASE | record).encode()), Fault)
    assert in_line("[ts=2026-05-28T11:40:00Z]")["provenance"][0]["unknown"] is True


# ---------------------------------------------------------------- section 4


@pytest.mark.parametrize("name", CLASSES)
def test_s4_each_class_of_1_0_is_recognised(name: str) -> None:
    """In either encoding, and it is neither terminal nor unknown."""
    for annotation in both(name):
        assert annotation == {"substrate_class": name}


def test_s4_vocabulary_has_no_other_class() -> None:
    """Seven classes and the sentinel are the entirety of version 1.0; section 5 adds the second terminal."""
    assert {version: sorted(classes) for version, classes in vocabulary.VERSIONS.items()} == {"1.0": sorted(CLASSES)}
    assert sorted(vocabulary.TERMINALS) == sorted(TERMINALS)


@pytest.mark.parametrize("name", [*CLASSES, *TERMINALS])
def test_s4_version_anchor_leads_the_identifier(name: str) -> None:
    """A dotted major.minor pair before the class names its version; the class is the same one."""
    for annotation in both(f"1.0.{name}"):
        assert "unknown" not in annotation
    assert recognise(f"1.0.{name}") == recognise(name)


@pytest.mark.parametrize("name", ["substrate.weather", "substrate.grep2", "1.0.substrate.weather"])
def test_s4_unknown_identifiers_are_not_silently_interpreted(name: str) -> None:
    """They are told as unknown, so that the annotation counts as unverified-inference, and kept as they were named."""
    for annotation in both(name):
        assert annotation == {"substrate_class": name, "unknown": True}


@pytest.mark.parametrize(
    "name", ["1.1.substrate.grep", "2.0.substrate.grep", "0.9.substrate.grep", "9.9.substrate.new"]
)
def test_s4_only_loaded_versions_are_recognised(name: str) -> None:
    """Also where another version has a class of that name: which version is loaded decides, nothing else."""
    for annotation in both(name):
        assert annotation == {"substrate_class": name, "unknown": True}


def test_s4_emission_may_name_its_version() -> None:
    """Then bare identifiers are of that version, and anchored ones of their own."""
    assert both("substrate.grep", vocabulary="1.0")[0] == {"substrate_class": "substrate.grep"}
    assert both("substrate.grep", vocabulary="2.0")[0] == {"substrate_class": "substrate.grep", "unknown": True}
    assert both("1.0.substrate.grep", vocabulary="2.0")[0] == {"substrate_class": "1.0.substrate.grep"}


# ---------------------------------------------------------------- section 5


@pytest.mark.parametrize("name", TERMINALS)
def test_s5_terminals_are_first_class(name: str) -> None:
    """They stand in the slot in which classes stand, and are told as terminal without a look at the prose."""
    for annotation in both(name):
        assert annotation == {"substrate_class": name, "terminal": True}


@pytest.mark.parametrize("name", TERMINALS)
def test_s5_terminals_may_be_shouted_in_line(name: str) -> None:
    """The memo itself writes them in capitals; they come out as the identifier."""
    assert in_line(f"[{name.upper()}]")["provenance"] == [{"substrate_class": name, "terminal": True}]


def test_s5_prose_is_not_inspected() -> None:
    """A sentence that speaks of a terminal is not annotated with it."""
    (found,) = parsed(text="This is unverified-inference, decayed-to-uncertainty.")

    assert found["provenance"] == []


def test_s5_six_states_stay_distinct() -> None:
    """Assertion, denial, refusal, the two terminals and no annotation at all are six different things."""
    span = {"span": {"chars": [0, len(SENTENCE)]}}
    states = [
        span | {"provenance": {"substrate_class": "substrate.grep"}},
        span | {"provenance": {"substrate_class": "substrate.grep"}, "kind": "denial"},
        span | {"provenance": {"substrate_class": "substrate.grep"}, "kind": "refusal"},
        span | {"provenance": {"substrate_class": "unverified-inference"}},
        span | {"provenance": {"substrate_class": "decayed-to-uncertainty"}},
        span,
    ]
    assert len({json.dumps(parsed(text=SENTENCE, assertions=[state])) for state in states}) == 6


# ---------------------------------------------------------------- section 6


def test_s6_annotation_belongs_to_one_assertion() -> None:
    """Not to the emission, nor to its neighbours."""
    assert [len(each["provenance"]) for each in parsed(text="One. Two. [substrate.grep] Three.")] == [0, 1, 0]


@pytest.mark.parametrize(
    ("span", "key"),
    [
        ({"chars": [0, 9]}, "c:0-9"),
        ({"tokens": [0, 4], "tokenizer": "o200k_base"}, "t:o200k_base:0-4"),
        ({"path": "/summary/0"}, "p:/summary/0"),
    ],
)
def test_s6_span_may_have_any_of_the_forms(span: dict[str, Any], key: str) -> None:
    """Character offsets, token offsets, or a field path in structured output; each has one canonical key."""
    (found,) = parsed(text='{"summary": ["It is so."]}', assertions=[{"span": span}])

    assert (found["span"], found["span_key"]) == (span, key)


@pytest.mark.parametrize("given", [{}, {"observation_id": "sha256:e3b0c4"}, {"ts": "2026-05-28T11:40:00Z"}])
def test_s6_observation_id_and_ts_are_optional(given: dict[str, str]) -> None:
    """Each may be there or not, in either encoding."""
    group = "; ".join(["[substrate.grep"] + [f"{key.replace('_', '-')}={value}" for key, value in given.items()]) + "]"
    annotation = {"substrate_class": "substrate.grep"} | given

    assert in_json(annotation)["provenance"] == in_line(group)["provenance"] == [annotation]


def test_s6_json_example() -> None:
    """The memo's own object is an assertion as it stands."""
    example = {
        "assertion": "CHANGELOG.md contains an entry dated 2026-05-25",
        "provenance": {
            "substrate_class": "substrate.code.read",
            "observation_id": "sha256:e3b0c4...",
            "ts": "2026-05-28T11:40:00Z",
        },
    }
    (found,) = parsed(assertions=[example])

    assert found["assertion"] == example["assertion"]
    assert found["provenance"] == [example["provenance"]]


def test_s6_in_line_example() -> None:
    """The memo's bracketed annotation, line break and indentation included."""
    text = """   The file CHANGELOG.md contains an entry dated 2026-05-25.
   [substrate.code.read; observation-id=sha256:e3b0c4...;
    ts=2026-05-28T11:40:00Z]
"""
    emission = decoded(text=text)
    (found,) = parsed(text=text)

    assert emission.text == "   The file CHANGELOG.md contains an entry dated 2026-05-25.\n"
    assert found["span"] == {"chars": [3, 60]}
    assert found["provenance"] == [
        {
            "substrate_class": "substrate.code.read",
            "observation_id": "sha256:e3b0c4...",
            "ts": "2026-05-28T11:40:00Z",
        }
    ]


def test_s6_encodings_are_equivalent() -> None:
    """What the one says the other says too: rendered in line and parsed again, the annotations are the same."""
    annotations = [{"substrate_class": name, "observation_id": "a%b", "ts": "2026-05-28T11:40:00Z"} for name in CLASSES]
    emission = decoded(
        text=f"{SENTENCE} {SENTENCE}",
        assertions=[{"span": {"chars": [10, 19]}, "provenance": annotations}, {"span": {"chars": [0, 9]}}],
    )
    rendered = render_inline(emission)

    assert isinstance(rendered, str)
    assert [each["provenance"] for each in parsed(text=rendered)] == [[], annotations]


# ---------------------------------------------------------------- section 8


def test_s8_unknown_class_does_not_stall_the_emission() -> None:
    """A vocabulary mismatch in one annotation is that annotation's matter: all the others are read."""
    found = parsed(text="One. [substrate.new] Two. [substrate.grep; bad] Three. [substrate.grep]")

    assert [each["provenance"] for each in found] == [
        [{"substrate_class": "substrate.new", "unknown": True}],
        [{"substrate_class": "substrate.grep", "unknown": True}],
        [{"substrate_class": "substrate.grep"}],
    ]


def test_s8_unknown_class_is_no_known_one() -> None:
    """There is no fallback to a class that looks like it, and no trust on its face."""
    for annotation in both("substrate.git.log2"):
        assert annotation["substrate_class"] == "substrate.git.log2"
        assert annotation["unknown"] is True


def test_s8_emitter_cannot_declare_a_class_known() -> None:
    """The flags are ours to set: an emitter can only make its own annotation stricter."""
    (annotation,) = in_json({"substrate_class": "substrate.new", "unknown": False, "terminal": False})["provenance"]
    (stricter,) = in_json({"substrate_class": "substrate.grep", "unknown": True})["provenance"]

    assert annotation["unknown"] is True
    assert stricter["unknown"] is True


def test_s8_unknown_class_is_no_ordinary_text() -> None:
    """Who names a class that nobody knows gets that told, not silence: the bracket goes, the annotation stays."""
    assert decoded(text=f"{SENTENCE} [hearsay; observation-id=x]").text == SENTENCE
    assert in_line("[hearsay; observation-id=x]")["provenance"] == [
        {"substrate_class": "hearsay", "observation_id": "x", "unknown": True}
    ]


# ---------------------------------------------------------------- section 11.2


@pytest.mark.parametrize("name", ["1.1.substrate.grep", "2.0.substrate.weather", "2.0.unverified-inference"])
def test_s11_2_newer_vocabulary_fails_closed(name: str) -> None:
    """An identifier of a later version is unknown, a terminal of it included, and is told as a reason to upgrade."""
    for annotation in both(name):
        assert annotation == {"substrate_class": name, "unknown": True}
    assert recognise(name).newer


def test_s11_2_older_vocabulary_is_no_reason_to_upgrade() -> None:
    """It fails closed as well, but there is nothing newer to load."""
    assert both("0.9.substrate.grep")[0]["unknown"] is True
    assert not recognise("0.9.substrate.grep").newer
    assert not recognise("substrate.weather").newer
