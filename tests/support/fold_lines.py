"""Drives adjudication through its one door, the command `sluice fold` (docs/reference/commands.md), and builds the
lines that go in.

A test says when things happen in seconds relative to a fixed base time, so that it reads as a story: an emission at 0,
an observation at 5, the verdict at 600.001. Nothing here looks behind the command: what the tests see is what any
user of the filter sees. The builders fill in what a story does not care about, and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from tempfile import NamedTemporaryFile
from typing import Any

from builders import assertion_value, emission_value, observation_value, present, review_value, span_of
from click.testing import CliRunner, Result

Line = dict[str, Any]

BASE = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
TEXT = "CHANGELOG.md has an entry dated 2026-05-25."
DECLARED_ID = "sha256:e3b0c442"
SPOKEN_TOPICS = ("admitted", "inadmissible")
REQUEST_TOPICS = ("review-requests", "re-emission-requests")


class Outputs(list[Line]):
    """What `sluice fold` wrote, line by line, with the questions that tests ask of it."""

    exit_code: int = 0

    def on(self, topic: str) -> list[Line]:
        """The values written to one topic, in order."""
        return [line["value"] for line in self if line.get("topic") == topic]

    def lines_on(self, *topics: str) -> list[Line]:
        """The whole lines (topic, key, value, headers) written to some topics, in order."""
        return [line for line in self if line.get("topic") in topics]

    @property
    def about_assertions(self) -> list[str]:
        """The topics of the lines in which one assertion is spoken of, sorted; `verdicts` speaks of whole emissions."""
        return sorted(line["topic"] for line in self if line.get("topic") != "verdicts")

    @property
    def words(self) -> list[tuple[str, str, str | None]]:
        """Every verdict in order, as (topic, status, reason); requests, citations and dead letters left out."""
        return [
            (line["topic"], line["value"]["status"], line["value"].get("reason"))
            for line in self.lines_on(*SPOKEN_TOPICS)
        ]

    @property
    def requests(self) -> list[str]:
        """The topics of the requests, in order."""
        return [line["topic"] for line in self.lines_on(*REQUEST_TOPICS) if "ended_at" not in line["value"]]

    @property
    def ends(self) -> list[tuple[int, str]]:
        """How requests for a review ended, in order: the attempt, and the status."""
        ends = [value for value in self.on("review-requests") if "ended_at" in value]
        return [(value["attempt"], value["status"]) for value in ends]

    @property
    def dead(self) -> list[str]:
        """The reasons of the dead letters, in order."""
        return [line["headers"]["sluice-reason"] for line in self.lines_on("dead-letters")]


def at(seconds: float) -> str:
    """The RFC 3339 time so many seconds after the base time; `{"at": at(5)}` lets time pass."""
    milliseconds = round(seconds * 1000)
    moment = BASE + timedelta(milliseconds=milliseconds)
    fraction = f".{milliseconds % 1000:03}" if milliseconds % 1000 else ""
    return moment.strftime("%Y-%m-%dT%H:%M:%S") + fraction + "Z"


def _ended_at_once(policy: str) -> str:
    """The policy without the wait for a first look beyond the horizon, unless it says something of that itself."""
    if "max_unseen" in policy:
        return policy
    table = "[admissibility]\n"
    if table in policy:
        return policy.replace(table, f"{table}max_unseen = 0\n", 1)
    return f"admissibility.max_unseen = 0\n{policy}"


class Adjudicator:
    """`sluice fold` in this process; nothing of the result is interpreted beyond JSON."""

    def run(self, lines: Iterable[Line | str], policy: str | None = None, until: float | None = None) -> Result:
        """The raw result. A `str` among the lines goes in as it stands."""
        from sluice.topology.cli import main

        text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
        with NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as file:
            file.write(_ended_at_once(policy or ""))
            file.flush()
            ends = [] if until is None else ["--until", at(until)]
            result = CliRunner().invoke(main, ["fold", "--policy", file.name, *ends], input=text)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        answered_a_bad_line = result.exit_code == 1 and '"error"' in result.stdout
        assert result.exit_code == 0 or answered_a_bad_line, result.stderr
        return result

    def __call__(self, lines: Iterable[Line | str], policy: str | None = None, until: float | None = None) -> Outputs:
        """The outputs in order."""
        result = self.run(lines, policy, until)
        outputs = Outputs(json.loads(line) for line in result.stdout.splitlines())
        outputs.exit_code = result.exit_code
        return outputs


adjudicate = Adjudicator()
"""`adjudicate(lines, policy=None, until=None)`: runs `sluice fold`; `policy` is TOML text, `until` seconds."""


def seconds_of(text: str) -> float:
    """An output's RFC 3339 time as seconds after the base time."""
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", text), text
    return (datetime.fromisoformat(text) - BASE) / timedelta(milliseconds=1) / 1000


def annotation(substrate_class: str, seen: float | None = None, observation_id: str | None = None) -> Line:
    """What an emitter declares of one assertion."""
    ts = None if seen is None else at(seen)
    return present({"substrate_class": substrate_class, "observation_id": observation_id, "ts": ts})


def claim(text: str = TEXT, start: int = 0, **fields: Any) -> Line:
    """One assertion over `text`, annotated with one class; None removes a field."""
    note = annotation("substrate.code.read", observation_id=DECLARED_ID)
    return present(assertion_value(text, note, **{"span": span_of(text, start), **fields}))


def emission(
    when: float = 0,
    emission_id: str = "em-1",
    *,
    emitted: float | None = None,
    text: str = TEXT,
    claims: list[Line] | None = None,
    key: str | None = None,
    headers: dict[str, str] | None = None,
    fields: Line | None = None,
    **of_claim: Any,
) -> Line:
    """A line with an emission of one assertion (or of `claims`).

    Keywords that are not the emission's own become fields of the assertion; `fields` overrides the emission's.
    """
    value = emission_value(emission_id, text, at=at(when if emitted is None else emitted))
    value |= {"assertions": [claim(text, **of_claim)] if claims is None else claims, **(fields or {})}
    line: Line = {"at": at(when), "topic": "emissions", "key": emission_id if key is None else key, "value": value}
    return line if headers is None else line | {"headers": headers}


def observation(
    when: float,
    substrate_class: str,
    outcome: str = "corroborates",
    *,
    emission_id: str = "em-1",
    seen: float | None = None,
    observation_id: str | None = None,
    span: Line | None = None,
    key: str | None = None,
    **fields: Any,
) -> Line:
    """A line with what an observer saw at `seen`."""
    value = observation_value(
        substrate_class,
        outcome,
        emission_id=emission_id,
        span=span or span_of(TEXT),
        at=at(when if seen is None else seen),
        observation_id=observation_id or "seen:" + substrate_class,
        **fields,
    )
    return {"at": at(when), "topic": "observations", "key": emission_id if key is None else key, "value": value}


def review(
    when: float,
    decision: str = "admit",
    *,
    emission_id: str = "em-1",
    span: Line | None = None,
    attempt: int | None = None,
    key: str | None = None,
    **fields: Any,
) -> Line:
    """A line with a person's decision."""
    fields = {"decided_at": at(when), **fields}
    value = review_value(decision, emission_id=emission_id, span=span or span_of(TEXT), **present(fields))
    value |= present({"attempt": attempt})
    return {"at": at(when), "topic": "reviews", "key": emission_id if key is None else key, "value": value}


nothing_discarded = """
[disposition]
unverified-inference = "review"
unannotated = "review"
below-floor = "review"
decayed-to-uncertainty = "review"
contradicted = "review"
rejected = "review"
"""
"""A policy that sends every inadmissible assertion to review, so that each verdict can be seen."""
