"""`sluice parse | render | fold | schema`: the codecs and the whole of adjudication as filters; no broker needed."""

from __future__ import annotations

import time
from typing import Any

import click
import msgspec

from ...codecs import decode, inline, records
from ...codecs.errors import Fault, UsageError
from ...codecs.inline import parsed_form
from ...codecs.strict_schema import strict_emission_schema
from ...streams.judging.checks import Unknown, parse_check
from ...streams.policy.policy import DEFAULT_POLICY, Policy
from ...streams.policy.policy_toml import load_policy
from ..kafka.input_records import INPUT_TOPICS, prepare, read_record
from ..settings.settings import Settings, load_settings
from .options import config_file
from .policy_command import policy_text, warn, warnings_of
from .standard_streams import files_argument, run_filter, run_filter_many, say, write_document


@click.command()
@files_argument
@click.option("--topic", type=click.Choice(INPUT_TOPICS), help="Where every line belongs [its fields tell].")
def parse(files: tuple[str, ...], topic: str | None) -> None:
    """Emissions in either encoding to the JSON form, with spans, canonical span keys, and terminal and unknown flags.

    Takes what `sluice produce` takes, and refuses what that refuses, in the same words: observations, sightings,
    reviews and attestations come out as lanes read them, and an emission without emitted_at gets the present time.

    An assertion's `unknown_checks` are the places of those of its checks that are malformed, or that this version does
    not know: it can not be admitted.

    \b
    Example:
      echo '{"emission_id": "em-1", "emitted_at": 0, "text": "It is so. [substrate.grep]"}' | sluice parse
    """

    def answer(line: bytes) -> Any:
        prepared = prepare(line, topic, time.time_ns() // 1_000_000)
        if isinstance(prepared, Fault):
            return prepared
        record = read_record(prepared)
        if not isinstance(record, records.Emission):
            return record
        for sentence in _left_out(prepared.value):
            say(f"{record.emission_id}: {sentence}")
        return _with_unknown_checks(parsed_form(record))

    run_filter(files, answer)


def _left_out(data: bytes) -> list[str]:
    """What is not read of the annotations in an emission's text."""
    emission = msgspec.json.decode(data, type=records.Emission)
    return inline.left_out(emission) if emission.assertions is None else []


def _with_unknown_checks(form: dict[str, Any]) -> dict[str, Any]:
    """Adds to each assertion the places of the checks that nothing can decide."""
    for assertion in form["assertions"]:
        checks = assertion.get("checks", ())
        unknown = [place for place, check in enumerate(checks) if isinstance(parse_check(check), Unknown)]
        if unknown:
            assertion["unknown_checks"] = unknown
    return form


@click.command()
@files_argument
def render(files: tuple[str, ...]) -> None:
    """Emissions to the in-line encoding, as {"text": …}; what a group cannot hold is refused with the field's name.

    \b
    Example:
      sluice parse emissions.jsonl | sluice render
    """

    def answer(line: bytes) -> Any:
        emission = decode.decode_emission(line)
        if isinstance(emission, Fault):
            return emission
        text = inline.render_inline(emission)
        return text if isinstance(text, Fault) else {"text": text}

    run_filter(files, answer)


@click.command()
@click.option("--policy", "policy_file", type=click.Path(dir_okay=False), help="Policy file [the reference policy].")
@click.option("--until", metavar="TIME", help="At the end of input, let time pass until then.")
@files_argument
@click.pass_context
def fold(ctx: click.Context, policy_file: str | None, until: str | None, files: tuple[str, ...]) -> None:
    """The whole of adjudication as a filter: one lane, a block a line.

    A line is {"at": TIME, "topic": "emissions" | "observations" | "reviews", "key": …, "value": {…}}, `at` never
    decreasing; a line with only `at` lets time pass. A missing key is taken from the value; a value that is a string
    stands for raw bytes. Each output is a line {"topic": …, "key": …, "value": {…}, "headers": {…}}.

    \b
    Example:
      sluice fold --policy policy.toml --until 2026-11-22T00:00:00Z history.jsonl
    """
    from ..engine.folds import FoldFilter, parse_until
    from ..settings.settings import secrets_of

    end, settings = parse_until(until), load_settings(config_file(ctx), {})
    filtering = FoldFilter(read_policy(policy_file, settings), secrets_of(settings))
    run_filter_many(files, filtering.line, lambda: filtering.end(end))


def read_policy(name: str | None, settings: Settings | None = None) -> Policy:
    """The policy of a file, the reference policy where none is named; what is unwise in it goes to standard error.

    Raises:
        UsageError: the file cannot be read, or is no policy.
    """
    if name is None:
        return DEFAULT_POLICY
    text = policy_text(name)
    policy = load_policy(text, name)
    warn(name, text, [*policy.problems(), *warnings_of(policy, settings)])
    return policy


@click.command()
@click.argument("record", required=False)
@click.option("--strict", is_flag=True, help="The emission as strict structured outputs take it.")
def schema(record: str | None, strict: bool) -> None:
    """The JSON Schema of a record, or of all records by name.

    RECORD is an input (emission, observation, sighting, citation, attestation, review) or an output (admitted,
    inadmissible, review-request, re-emission-request, verdicts, grounded).

    With --strict, a model that is held to the schema answers with an emission: every member is there, null where the
    record would leave it out; locators, contexts and metadata are lists of names and values.
    `sluice.codecs.strict_schema` turns the answer into the record.

    \b
    Example:
      sluice schema emission > emission.schema.json
      sluice schema emission --strict > strict.schema.json
    """
    if strict:
        if record not in ("emission", "emissions"):
            raise UsageError(
                "a model answers with emissions only", path="--strict", hint="sluice schema emission --strict"
            )
        write_document(strict_emission_schema())
        return
    types: dict[str, type[msgspec.Struct]] = {**records.INPUTS, **records.OUTPUTS}
    if record is None:
        found: Any = {name: msgspec.json.schema(type_) for name, type_ in types.items()}
    else:
        name = record if record in types else record.removesuffix("s")
        if name not in types:
            raise UsageError(f"there is no record {record!r}", hint="known records: " + ", ".join(types))
        found = msgspec.json.schema(types[name])
    write_document(found)
