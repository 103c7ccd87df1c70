"""Dead letters of adjudication (docs/reference/records.md).

What does not decode, or may not be taken, is quarantined: the raw value untouched, with the reason, a sentence and the
source in the headers. It never stops the lane.
"""

import json

import pytest
from fold_lines import adjudicate, at, claim, emission, observation, review

GIT = "substrate.git.log"
GREP = "substrate.grep"
ADMITTED = ("admitted", "admitted", None)


def dead_letter(*lines, policy=None):
    """Folds lines of which exactly one becomes a dead letter, and returns that output line."""
    (letter,) = adjudicate(lines, policy).lines_on("dead-letters")
    return letter


def raw(when, topic, value, key="em-1"):
    """A line with any value at all."""
    return {"at": at(when), "topic": topic, "key": key, "value": value}


# ---------------------------------------------------------------- not-json and schema


@pytest.mark.parametrize("topic", ["emissions", "observations", "reviews"])
def test_a_value_that_is_no_object_is_quarantined(topic):
    """On each input topic a value of another shape becomes a dead letter, with that value."""
    letter = dead_letter(raw(0, topic, [1, 2, 3]))

    assert letter["headers"]["sluice-reason"] == "schema"
    assert letter["value"] in ([1, 2, 3], "[1, 2, 3]")


@pytest.mark.parametrize("topic", ["emissions", "observations", "reviews"])
def test_an_empty_record_is_not_json(topic):
    """A record without a value, as Kafka allows it, holds no JSON."""
    assert dead_letter(raw(0, topic, None))["headers"]["sluice-reason"] == "not-json"


@pytest.mark.parametrize("topic", ["emissions", "observations", "reviews"])
def test_text_that_is_not_json_is_not_json(topic):
    """A value that is text and no JSON is quarantined as it stands."""
    letter = dead_letter(raw(0, topic, "{broken"))

    assert letter["headers"]["sluice-reason"] == "not-json"
    assert letter["value"] == "{broken"


@pytest.mark.parametrize(
    ("field", "value", "path"),
    [
        pytest.param("emitted_at", "yesterday", "emitted_at", id="not a time"),
        pytest.param("emitted_at", "2026-11-21T09:00:00", "emitted_at", id="a time without Z"),
        pytest.param("effect", "cosmic", "effect", id="not an effect"),
        pytest.param("attempt", -1, "attempt", id="a negative attempt"),
        pytest.param("text", 7, "text", id="text that is a number"),
        pytest.param("assertions", {}, "assertions", id="no list"),
        pytest.param("assertions", [{"provenance": []}], "assertions[0]", id="no span"),
        pytest.param("assertions", [{"span": {"chars": [0, 1], "path": "/a"}}], "assertions[0].span", id="two spans"),
        pytest.param("assertions", [{"span": {"path": "a"}}], "assertions[0].span", id="no pointer"),
        pytest.param(
            "assertions", [{"span": {"chars": [0, 1]}, "kind": "wish"}], "assertions[0].kind", id="not a kind"
        ),
        pytest.param(
            "assertions", [{"span": {"chars": [0, 1]}, "confidence": 1.5}], "assertions[0].confidence", id="too sure"
        ),
    ],
)
def test_a_schema_fault_names_the_path_and_what_was_expected(field, value, path):
    """The detail says where, what was expected and what is there."""
    line = emission(0, fields={field: value})

    letter = dead_letter(line)

    assert letter["headers"]["sluice-reason"] == "schema"
    assert path in letter["headers"]["sluice-detail"]
    assert "expected" in letter["headers"]["sluice-detail"].lower()
    assert letter["value"] == line["value"]


@pytest.mark.parametrize("missing", ["emission_id", "emitted_at"])
def test_a_missing_field_is_a_schema_fault(missing):
    """A required field that is not there is named."""
    line = emission(0)
    del line["value"][missing]

    letter = dead_letter(line)

    assert letter["headers"]["sluice-reason"] == "schema"
    assert missing in letter["headers"]["sluice-detail"]


@pytest.mark.parametrize(
    "missing", ["observation_id", "substrate_class", "observed_at", "observer", "subject", "outcome"]
)
def test_an_observation_needs_its_fields(missing):
    """Each required field of an observation is asked for by name."""
    line = observation(0, GREP)
    del line["value"][missing]

    letter = dead_letter(line)

    assert letter["headers"]["sluice-reason"] == "schema"
    assert missing in letter["headers"]["sluice-detail"]


def test_an_outcome_outside_the_list_is_a_schema_fault():
    """The outcomes are a closed list."""
    letter = dead_letter(observation(0, GREP, "approves"))

    assert letter["headers"]["sluice-reason"] == "schema"
    assert "outcome" in letter["headers"]["sluice-detail"]


def test_a_decision_outside_the_list_is_a_schema_fault():
    """A reviewer admits or refuses, nothing else."""
    letter = dead_letter(review(0, "perhaps"))

    assert letter["headers"]["sluice-reason"] == "schema"
    assert "decision" in letter["headers"]["sluice-detail"]


@pytest.mark.parametrize("identifier", ["", "two words", "em\u202e1", "x" * 257])
def test_an_identifier_outside_its_characters_is_a_schema_fault(identifier):
    """Identifiers are 1 to 256 plain characters, so that they may stand outside the frame."""
    assert dead_letter(emission(0, identifier))["headers"]["sluice-reason"] == "schema"


def test_an_emission_holds_at_most_a_thousand_assertions():
    """A thousand are taken, one more is refused."""
    text = "x" * 1001
    claims = [claim("x", start) for start in range(1001)]

    assert dead_letter(emission(0, text=text, claims=claims))["headers"]["sluice-reason"] == "too-many-annotations"
    assert adjudicate([emission(0, text=text, claims=claims[:1000])]).dead == []


def test_fields_that_nobody_knows_are_ignored():
    """A reader ignores what it does not know."""
    lines = [emission(0, fields={"mood": "hopeful"}), observation(1, GREP, mood="bored"), observation(2, GIT)]

    outputs = adjudicate(lines)

    assert outputs.words == [ADMITTED]
    assert outputs.dead == []


# ---------------------------------------------------------------- spans


@pytest.mark.parametrize(
    "chars", [[0, 44], [43, 44], [5, 5], [9, 3]], ids=["too long", "outside", "empty", "backwards"]
)
def test_a_span_outside_the_text_is_out_of_range(chars):
    """Offsets are half open and lie inside the text."""
    assert dead_letter(emission(0, span={"chars": chars}))["headers"]["sluice-reason"] == "span-out-of-range"


def test_the_whole_text_is_in_range():
    """The end of a span may be the length of the text."""
    assert adjudicate([emission(0, span={"chars": [0, 43]})]).dead == []


def test_offsets_count_code_points():
    """A character outside the Basic Multilingual Plane is one, as it is neither two units nor four bytes."""
    text = "🌱🌱🌱"

    assert adjudicate([emission(0, text=text, span={"chars": [0, 3]})]).dead == []
    letter = dead_letter(emission(0, text=text, span={"chars": [0, 4]}))
    assert letter["headers"]["sluice-reason"] == "span-out-of-range"


# ---------------------------------------------------------------- misrouted


@pytest.mark.parametrize("kind", ["emission", "observation", "review"])
def test_a_key_that_is_not_the_emission_id_is_misrouted(kind):
    """On every input topic the key is the emission id; the detail names the partitioner."""
    line = {
        "emission": emission(0, key="em-2"),
        "observation": observation(0, GREP, key="em-2"),
        "review": review(0, key="em-2"),
    }[kind]

    letter = dead_letter(line)

    assert letter["headers"]["sluice-reason"] == "misrouted"
    assert "murmur2" in letter["headers"]["sluice-detail"]
    assert letter["value"] == line["value"]


# ---------------------------------------------------------------- times, conflicts, reviews, size, observers


def test_a_time_from_the_future_is_clock_skew():
    """Emissions and observations from more than `max_skew` ahead are quarantined."""
    assert dead_letter(emission(0, emitted=31))["headers"]["sluice-reason"] == "clock-skew"
    assert dead_letter(observation(0, GREP, seen=31))["headers"]["sluice-reason"] == "clock-skew"


def test_an_emission_from_long_ago_is_too_old():
    """More than `max_validity` before block time, nothing in it could be admitted."""
    line = emission(0, emitted=-86_401)

    letter = dead_letter(line)

    assert letter["headers"]["sluice-reason"] == "too-old"
    assert letter["value"] == line["value"]


def test_the_second_version_of_an_emission_conflicts():
    """The dead letter holds the second version."""
    second = emission(1, emitted=0, confidence=0.5)

    letter = dead_letter(emission(0), second)

    assert letter["headers"]["sluice-reason"] == "conflicting-emission"
    assert letter["value"] == second["value"]


def test_a_review_of_nothing_is_late():
    """A review of an assertion that is unknown is quarantined, with the reviewer's words untouched."""
    line = review(0, reason="I have <b>seen</b> it myself.")

    letter = dead_letter(line)

    assert letter["headers"]["sluice-reason"] == "late-review"
    assert letter["value"] == line["value"]


def test_an_input_above_a_megabyte_is_oversize():
    """Its dead letter carries hash, length and source, not its bytes."""
    text = "x" * 1_000_001

    letter = dead_letter(emission(0, text=text))

    assert letter["headers"]["sluice-reason"] == "oversize"
    assert len(json.dumps(letter)) < 10_000


def test_an_observer_speaks_only_of_its_classes():
    """An observer that the policy lists for one class is not heard about another one."""
    policy = '[observers]\n"observer-2" = { classes = ["substrate.grep"] }\n'
    own = observation(1, GREP, observer="observer-2")
    foreign = observation(2, GIT, observer="observer-2")

    letter = dead_letter(emission(0), own, foreign, policy=policy)
    outputs = adjudicate([emission(0), own, foreign], policy, until=600.001)

    assert letter["headers"]["sluice-reason"] == "unauthorised-observer"
    assert letter["value"] == foreign["value"]
    assert outputs.words == [("inadmissible", "below-floor", "below-floor")]


def test_an_observer_without_an_entry_is_heard():
    """A list of observers shuts nobody else out, as long as no signatures are required."""
    policy = '[observers]\n"observer-2" = { classes = ["substrate.grep"] }\n'
    lines = [emission(0), observation(1, GREP, observer="observer-2"), observation(2, GIT, observer="observer-9")]

    outputs = adjudicate(lines, policy)

    assert outputs.words == [ADMITTED]
    assert outputs.dead == []


# ---------------------------------------------------------------- what a dead letter is made of


def test_the_raw_value_is_untouched():
    """Neither the order of fields nor any text of the input is changed, hidden characters included."""
    line = emission(
        0, text="a\u202eb <script>x</script> \u0430", fields={"effect": "cosmic", "unknown": {"z": 1, "a": [None]}}
    )

    assert json.dumps(dead_letter(line)["value"]) == json.dumps(line["value"])


def test_the_headers_say_reason_detail_and_source():
    """The source is topic, partition and offset; the detail is a sentence."""
    letter = dead_letter(emission(0, fields={"effect": "cosmic"}))

    assert set(letter["headers"]) >= {"sluice-reason", "sluice-detail", "sluice-source"}
    topic, partition, offset = letter["headers"]["sluice-source"].split("/")
    assert (topic, partition) == ("emissions", "0")
    assert offset.isdigit()
    assert len(letter["headers"]["sluice-detail"]) > 10


def test_each_dead_letter_names_its_own_source():
    """Two bad records of one topic have two offsets, and a bad record of another topic names that topic."""
    lines = [
        emission(0, fields={"effect": "cosmic"}),
        observation(1, GREP, "approves"),
        emission(2, "em-2", fields={"effect": "cosmic"}),
    ]

    sources = [line["headers"]["sluice-source"] for line in adjudicate(lines).lines_on("dead-letters")]

    assert [source.split("/")[0] for source in sources] == ["emissions", "observations", "emissions"]
    assert len(set(sources)) == 3


def test_one_input_has_one_fate():
    """A dead letter's emission has no other output, though most of its assertions are well formed."""
    claims = [claim("It is there."), claim("It is new.", 13), {"span": {"chars": [0, 99]}}]

    outputs = adjudicate([emission(0, text="It is there. It is new.", claims=claims)], until=3600)

    assert [line["topic"] for line in outputs] == ["dead-letters"]


def test_dead_letters_stop_nothing():
    """Bad records of every kind between good ones change nothing for the good ones."""
    good = [emission(0), observation(10, GREP), observation(20, GIT)]
    bad = [
        raw(1, "emissions", []),
        emission(2, "em-2", fields={"effect": "cosmic"}),
        emission(3, "em-3", span={"chars": [0, 99]}),
        emission(4, "em-4", key="em-5"),
        emission(5, "em-5", emitted=99),
        emission(6, "em-6", emitted=-86_401),
        emission(7, emitted=0, confidence=0.5),
        review(8, emission_id="em-7"),
        observation(9, GREP, "approves"),
    ]

    outputs = adjudicate([good[0], *bad, *good[1:]])

    assert outputs.words == adjudicate(good).words == [ADMITTED]
    assert outputs.dead == [
        "schema",
        "schema",
        "span-out-of-range",
        "misrouted",
        "clock-skew",
        "too-old",
        "conflicting-emission",
        "late-review",
        "schema",
    ]


def test_a_dead_letter_poisons_no_later_version():
    """A malformed emission is not remembered: the well-formed one that follows is the first."""
    lines = [emission(0, fields={"effect": "cosmic"}), emission(1), observation(2, GREP), observation(3, GIT)]

    outputs = adjudicate(lines)

    assert outputs.dead == ["schema"]
    assert outputs.words == [ADMITTED]


# ---------------------------------------------------------------- lines that are no lines


def test_a_line_that_is_not_json_is_answered_and_the_run_goes_on():
    """A bad line gets an error with its number, the rest is folded, and the command exits with 1 at the end."""
    lines = [emission(0), "{not a line", observation(1, GREP), observation(2, GIT)]

    outputs = adjudicate(lines)

    assert outputs.exit_code == 1
    (error,) = [line for line in outputs if "error" in line]
    assert error["line"] == 2
    assert set(error["error"]) >= {"reason", "detail"}
    assert outputs.words == [ADMITTED]


def test_time_that_runs_backwards_is_a_bad_line():
    """`at` never decreases: the line is answered with an error, and those after it are folded."""
    lines = [
        emission(10, kind="refusal"),
        emission(5, "em-2", kind="refusal"),
        emission(10, "em-3", kind="refusal"),
    ]

    outputs = adjudicate(lines)

    assert [line["line"] for line in outputs if "error" in line] == [2]
    assert [word["emission_id"] for word in outputs.on("admitted")] == ["em-1", "em-3"]
    assert outputs.exit_code == 1


def test_a_topic_that_is_no_input_is_a_bad_line():
    """Only the three inputs of adjudication are read."""
    outputs = adjudicate([raw(0, "gossip", {}), emission(1, kind="refusal")])

    assert [line["line"] for line in outputs if "error" in line] == [1]
    assert [word["status"] for word in outputs.on("admitted")] == ["refused"]


def test_good_lines_exit_with_0():
    """A run without a bad line is done."""
    assert adjudicate([emission(0), observation(1, GREP), observation(2, GIT)]).exit_code == 0
