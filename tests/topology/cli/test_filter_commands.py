"""`sluice parse | render | fold | schema` as a user calls them: lines in, lines out, one sentence where it fails."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from builders import attestation_value, observation_value, review_value, sighting_value
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from sluice.codecs import records
from sluice.codecs.errors import Fault, UsageError
from sluice.codecs.strict_schema import strict_emission_schema
from sluice.codecs.times import parse_time
from sluice.streams.policy.policy import DEFAULT_POLICY
from sluice.topology.cli import main
from sluice.topology.cli.filter_commands import read_policy
from sluice.topology.kafka.input_records import prepare

GREP = "substrate.grep"
INLINE = {"emission_id": "em-1", "emitted_at": 0, "text": "It is so. [substrate.grep; observation-id=o1]"}
BEFORE = "2026-11-21T09:00:00Z"


def sluice(*arguments: str, given: str | list[Any] = "") -> Result:
    text = given if isinstance(given, str) else "".join(json.dumps(line) + "\n" for line in given)
    return CliRunner().invoke(main, arguments, input=text)


def answers(result: Result) -> list[Any]:
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return [json.loads(line) for line in result.stdout.splitlines()]


# ---------------------------------------------------------------- parse and render


def test_parse_answers_with_the_json_form_of_either_encoding() -> None:
    """Spans, span keys and annotations; parsing its own answer again changes nothing."""
    (parsed,) = answers(sluice("parse", given=[INLINE]))

    assert parsed["text"] == "It is so."
    (assertion,) = parsed["assertions"]
    assert (assertion["span"], assertion["span_key"]) == ({"chars": [0, 9]}, "c:0-9")
    assert assertion["provenance"] == [{"substrate_class": GREP, "observation_id": "o1"}]
    assert answers(sluice("parse", given=[parsed])) == [parsed]


def test_parse_reads_footnotes_and_blocks_of_checks() -> None:
    """The text is what is left; what is not read is told on standard error, and is no failure."""
    text = 'The cap is 5.[^1] So.\n\n[^1]: f(a)\n[^2]: g(b)\n\n```checks\n[{"say": "So.", "checks": ["h(c)"]}]\n```\n'
    result = sluice("parse", given=[{"emission_id": "em-1", "emitted_at": 0, "text": text}])
    (parsed,) = answers(result)
    assert result.exit_code == 0
    assert (parsed["text"], [one["checks"] for one in parsed["assertions"]]) == (
        "The cap is 5. So.\n",
        [["f(a)"], ["h(c)"]],
    )
    assert result.stderr == "sluice: em-1: No sentence refers to the footnote 2, which is a check; it is left out.\n"
    assert answers(sluice("parse", given=[parsed])) == [parsed]


RECORDS: dict[str, dict[str, Any]] = {
    "observations": observation_value(at=BEFORE, observation_id="o1"),
    "sightings": sighting_value("o1", at=BEFORE),
    "reviews": review_value(),
    "attestations": attestation_value(),
}


@pytest.mark.parametrize("topic", RECORDS)
def test_parse_takes_every_record_that_produce_takes(topic: str) -> None:
    """Its fields tell which it is, or `--topic`; it comes out as lanes read it, without what they do not know."""
    record = RECORDS[topic]

    assert answers(sluice("parse", given=[record | {"colour": "red"}])) == [record]
    assert answers(sluice("parse", "--topic", topic, given=[record])) == [record]


def test_parse_gives_an_emission_without_a_time_the_present_one() -> None:
    """As produce does."""
    before = time.time_ns() // 1_000_000
    (parsed,) = answers(sluice("parse", given=[{"emission_id": "em-1", "text": "It is so."}]))

    emitted = parse_time(parsed["emitted_at"])
    assert emitted is not None
    assert before <= emitted <= time.time_ns() // 1_000_000


@pytest.mark.parametrize(
    ("line", "topic"),
    [
        ("{", None),
        ("[]", None),
        ('{"emission_id": "em-1"}', None),
        ('{"emission_id": "em-1", "text": "So.", "decision": "admit"}', None),
        ('{"emission_id": "em 1", "text": "So."}', None),
        ('{"emission_id": "em-1", "text": "So.", "assertions": [{"span": {"chars": [0, 9]}}]}', None),
        (json.dumps(RECORDS["reviews"] | {"decision": "perhaps"}), None),
        (json.dumps(RECORDS["observations"] | {"observed_at": "noon"}), None),
        (json.dumps(RECORDS["attestations"] | {"issued_at": "noon"}), None),
        (json.dumps(RECORDS["reviews"]), "emissions"),
        (json.dumps({"emission_id": "em-1", "emitted_at": 0, "text": "a" * 1_000_000}), None),
    ],
    ids=range(11),
)
def test_parse_refuses_what_produce_refuses_in_the_same_words(line: str, topic: str | None) -> None:
    """Whoever tries a file out learns what would become of it."""
    options = () if topic is None else ("--topic", topic)
    refused = prepare(line.encode(), topic, 0)
    assert isinstance(refused, Fault)

    result = sluice("parse", *options, given=line + "\n")

    assert answers(result) == [{"line": 1, "error": {"reason": refused.reason, "detail": refused.detail}}]
    assert result.exit_code == 1


@pytest.mark.parametrize("command", ["parse", "look"])
def test_a_member_that_occurs_twice_is_told(command: str) -> None:
    """The last one counts, as in every decoder here; on standard error a sentence says so."""
    twice = '{"emission_id":"em-1","emitted_at":0,"text":"good","text":"evil"}'
    result = sluice(command, given=json.dumps(INLINE) + "\n" + twice + "\n")

    assert result.exit_code == 0
    assert result.stderr == "sluice: line 2: the member 'text' occurs twice in one object; the last one counts\n"


def test_render_answers_with_the_in_line_encoding() -> None:
    """What parse takes apart, render puts together."""
    parsed = sluice("parse", given=[INLINE]).stdout

    assert answers(sluice("render", given=parsed)) == [{"text": INLINE["text"]}]


@pytest.mark.parametrize("command", ["parse", "render"])
def test_a_bad_emission_is_answered_with_its_reason_and_the_run_goes_on(command: str) -> None:
    """Exit 1 at the end; the other lines have their answers."""
    bad = {"emission_id": "em-1", "text": "So.", "emitted_at": "noon"}
    result = sluice(command, given="{\n" + json.dumps(bad) + "\n" + json.dumps(INLINE) + "\n")

    first, second, third = answers(result)
    assert (first["line"], first["error"]["reason"]) == (1, "not-json")
    assert (second["line"], second["error"]["reason"]) == (2, "schema")
    assert "emitted_at" in second["error"]["detail"]
    assert "error" not in third
    assert result.exit_code == 1


def test_render_names_the_field_that_a_group_cannot_hold() -> None:
    """It refuses rather than loses it."""
    claim = {"span": {"chars": [0, 9]}, "confidence": 0.5}
    result = sluice("render", given=[INLINE | {"text": "It is so.", "assertions": [claim]}])

    (answer,) = answers(result)
    assert "confidence" in answer["error"]["detail"]
    assert result.exit_code == 1


# ---------------------------------------------------------------- fold


def history(at: str = BEFORE) -> list[dict[str, Any]]:
    subject = {"emission_id": "em-1", "span": {"chars": [0, 9]}}
    seen = {"observed_at": at, "observer": "observer-1", "subject": subject, "outcome": "corroborates"}
    return [
        {"at": at, "topic": "emissions", "value": INLINE | {"emitted_at": at}},
        *(
            {"at": at, "topic": "observations", "value": {"observation_id": "o", "substrate_class": cls, **seen}}
            for cls in (GREP, "substrate.git.log")
        ),
    ]


def test_fold_answers_with_each_output(tmp_path: Path) -> None:
    """Under the reference rules two classes admit; the verdict stands behind the decision where the policy asks."""
    asked = tmp_path / "policy.toml"
    asked.write_text('verdicts = "settled"\n', "utf-8")
    output, told = answers(sluice("fold", "--policy", str(asked), given=history()))
    reference = [one["value"] for one in answers(sluice("fold", given=history())) if one["topic"] == "admitted"]

    assert (output["topic"], output["value"]["status"]) == ("admitted", "admitted")
    assert (told["topic"], told["key"]) == ("verdicts", output["value"]["emission_id"])
    assert [value["policy"] for value in reference] == [DEFAULT_POLICY.hash]


def test_fold_lets_time_pass_at_the_end_where_it_is_asked_to() -> None:
    """`--until` a time, in either way of writing it."""
    written = sluice("fold", "--until", "2026-11-21T10:00:00.001Z", given=history())
    number = sluice("fold", "--until", "1795255200001", given=history())

    words = [one["value"]["status"] for one in answers(written) if one["topic"] == "admitted"]
    assert words == ["admitted", "decayed-to-uncertainty"]
    assert number.stdout == written.stdout


def test_fold_reads_a_policy_and_says_what_is_unwise_about_it(tmp_path: Path) -> None:
    """Warnings go to standard error, with file and line; the data stay clean."""
    file = tmp_path / "policy.toml"
    file.write_text("[admissibility]\nk = { internal = 1 }\n", "utf-8")

    result = sluice("fold", "--policy", str(file), given=history()[:2])

    assert [one["value"]["k"] for one in answers(result) if one["topic"] == "admitted"] == [1]
    assert result.stderr.startswith(f"{file}:2: warning: admissibility.k.internal: is below the memo's floor")
    assert result.exit_code == 0


def test_a_bad_line_has_its_place_among_the_outputs() -> None:
    """The fold goes on after it."""
    result = sluice("fold", given="nonsense\n" + "".join(json.dumps(line) + "\n" for line in history()))

    first, second, *_ = answers(result)
    assert (first["line"], first["error"]["reason"]) == (1, "not-json")
    assert second["topic"] == "admitted"
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--until", "tomorrow"], "--until is not a time"),
        (["--policy", "missing.toml"], "cannot read the policy 'missing.toml': No such file or directory"),
        (["missing.jsonl"], "cannot read 'missing.jsonl'"),
    ],
)
def test_wrong_usage_is_one_sentence_on_standard_error(arguments: list[str], part: str, tmp_path: Path) -> None:
    """Exit 2, nothing on standard output, no traceback."""
    done = subprocess.run(
        [sys.executable, "-c", "from sluice.topology.cli import main; main()", "fold", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        input="",
        check=False,
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("sluice: ")
    assert part in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_policy_with_errors_is_refused_with_every_line_of_them(tmp_path: Path) -> None:
    """Before any line is read."""
    file = tmp_path / "policy.toml"
    file.write_text("[admissibility]\nhorizon = 1\ntrust = 2\n", "utf-8")

    with pytest.raises(UsageError) as caught:
        read_policy(str(file))

    assert [line.split(": ")[0] for line in str(caught.value).splitlines()] == [f"{file}:2", f"{file}:3"]


def test_a_policy_that_is_no_text_is_refused(tmp_path: Path) -> None:
    """With a sentence, not with a decoding error."""
    file = tmp_path / "policy.toml"
    file.write_bytes(b"\xff\xfe")

    with pytest.raises(UsageError, match="it is not UTF-8"):
        read_policy(str(file))


def test_without_a_file_the_policy_is_the_reference_one() -> None:
    """Every key has a default."""
    assert read_policy(None) is DEFAULT_POLICY


# ---------------------------------------------------------------- schema


@pytest.mark.parametrize("name", [*records.INPUTS, *records.OUTPUTS])
def test_schema_prints_the_schema_of_a_record(name: str) -> None:
    """By its name, or its topic's; a valid one of draft 2020-12."""
    schema = json.loads(sluice("schema", name).stdout)

    Draft202012Validator.check_schema(schema)
    assert json.loads(sluice("schema", name + "s").stdout) == schema


def test_schema_prints_all_of_them_by_name() -> None:
    """One document for whoever wants the whole contract."""
    everything = json.loads(sluice("schema").stdout)

    assert list(everything) == [*records.INPUTS, *records.OUTPUTS]
    assert everything["review"] == json.loads(sluice("schema", "review").stdout)


def test_schema_prints_the_strict_one_of_an_emission() -> None:
    """For a model that is held to a schema; no other record is a model's to write."""
    assert json.loads(sluice("schema", "emission", "--strict").stdout) == strict_emission_schema()
    assert json.loads(sluice("schema", "emissions", "--strict").stdout) == strict_emission_schema()
    for arguments in (["--strict"], ["review", "--strict"]):
        result = sluice("schema", *arguments)
        assert result.exit_code == 2
        assert "--strict: a model answers with emissions only" in result.stderr


def test_schema_of_a_record_that_is_none_says_which_there_are() -> None:
    """Wrong usage, with the known names."""
    result = CliRunner().invoke(main, ["schema", "opinion"])

    assert result.exit_code == 2
    assert "there is no record 'opinion'" in result.stderr
    assert "emission" in result.stderr


def test_help_of_schema_names_every_record() -> None:
    """Nobody has to guess one to be told of them."""
    said = "".join(sluice("schema", "--help").stdout.split())  # a long name may go on in the next line

    assert [name for name in [*records.INPUTS, *records.OUTPUTS] if name not in said] == []


@pytest.mark.parametrize("command", ["parse", "render", "fold", "schema"])
def test_every_filter_has_help_with_an_example(command: str) -> None:
    """A stranger can copy it."""
    result = sluice(command, "--help")

    assert result.exit_code == 0
    assert "Example:" in result.stdout
    assert "sluice " + command in result.stdout
