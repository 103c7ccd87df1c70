"""`sluice produce`: what a line is, where it goes, under which key and to which partition, and what is refused."""

import asyncio
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, ConsumerRecord
from aiokafka.partitioner import murmur2
from builders import attestation_value, observation_value, review_value, sighting_value
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.errors import Fault
from sluice.codecs.notes import Signer
from sluice.codecs.signatures import Signing, domain_of, holds
from sluice.topology.cli import main
from sluice.topology.kafka.connect import partitioner
from sluice.topology.kafka.input_records import INPUT_TOPICS, Prepared, prepare
from sluice.topology.kafka.local_broker import EmbeddedBroker
from sluice.topology.settings.settings import Settings

NOW = 1_795_248_000_000  # 2026-11-21T08:00:00Z

EMISSION = {"emission_id": "em-1", "emitted_at": "2026-11-21T09:00:00Z", "text": "The log has an entry."}
SPAN, LATER = {"chars": [0, 21]}, "2026-11-21T09:00:02Z"
OBSERVATION = observation_value(span=SPAN, at=LATER)
SIGHTING = sighting_value(at=LATER)
REVIEW = review_value(span=SPAN)
ATTESTATION = attestation_value()
KINDS: list[tuple[str, dict[str, Any], str]] = [
    ("emissions", EMISSION, "em-1"),
    ("observations", OBSERVATION, "em-1"),
    ("sightings", SIGHTING, "sha256:e3b0"),
    ("reviews", REVIEW, "em-1"),
    ("attestations", ATTESTATION, "0x" + "ab" * 32),
]


def line(record: dict[str, Any], **changes: Any) -> bytes:
    return json.dumps({**record, **changes}, ensure_ascii=False).encode()


def refusal(raw: bytes, topic: str | None = None) -> Fault:
    result = prepare(raw, topic, NOW)
    assert isinstance(result, Fault)
    return result


def test_a_review_that_is_signed_here_says_when_it_was_decided():
    """An admission without that counts for nothing; unsigned, or signed elsewhere, its bytes stay as they are."""
    signing = Signing(Signer("ann", b"\1" * 32), "sluice")
    made = prepare(line(REVIEW), None, NOW, signing)
    given = prepare(line(REVIEW, decided_at=LATER), None, NOW, signing)
    foreign = line(REVIEW, signature="AAAA")

    assert isinstance(made, Prepared)
    assert isinstance(given, Prepared)
    assert json.loads(made.value)["decided_at"] == "2026-11-21T08:00:00Z"
    key = str(signing.signer.verifier)
    assert holds(key, json.loads(made.value)["signature"], made.value, domain_of("reviews", "sluice"))
    assert json.loads(given.value)["decided_at"] == LATER
    assert prepare(foreign, None, NOW, signing) == Prepared("reviews", b"em-1", foreign)
    assert prepare(line(REVIEW), None, NOW) == Prepared("reviews", b"em-1", line(REVIEW))


# ---------------------------------------------------------------- topic, key and bytes


@pytest.mark.parametrize(("topic", "record", "key"), KINDS)
def test_a_records_fields_tell_its_topic(topic: str, record: dict[str, Any], key: str):
    """Guessed or named, topic and key are the same, and the bytes are the line's own."""
    raw = b'{ "unknown":[1, 2],' + line(record)[1:]

    assert prepare(raw, None, NOW) == Prepared(topic, key.encode(), raw)
    assert prepare(raw, topic, NOW) == Prepared(topic, key.encode(), raw)


def test_every_input_topic_has_its_kind():
    """The list that `--topic` offers is the list of what is known here."""
    assert list(INPUT_TOPICS) == [topic for topic, _, _ in KINDS]


@pytest.mark.parametrize(
    ("raw", "got"),
    [
        (line(EMISSION, decision="admit"), "fields of emissions and reviews"),
        (line(OBSERVATION, content="x"), "fields of observations and sightings"),
        (b'{"emission_id": "em-1"}', "none of their fields"),
        (b"{}", "none of their fields"),
    ],
)
def test_a_record_of_no_one_kind_is_refused(raw: bytes, got: str):
    """A guess that could be wrong would send a record where it becomes a dead letter, or worse, none."""
    fault = refusal(raw)

    assert fault.reason == "schema"
    assert fault.detail.endswith(f"got {got}")
    assert "--topic" in fault.detail


def test_a_named_topic_decides_for_a_record_of_more_than_one_kind():
    """Fields that a reader does not know are ignored (docs/reference/records.md)."""
    assert isinstance(prepare(line(EMISSION, decision="admit"), "emissions", NOW), Prepared)


@pytest.mark.parametrize(
    ("raw", "reason", "detail"),
    [
        (b"nonsense", "not-json", "the value is not JSON"),
        (b"[]", "schema", "$: expected object, got array"),
        (b'"text"', "schema", "$: expected object, got str"),
        (b'{"text": "\xff"}', "not-json", ""),
        (line(EMISSION, emitted_at="yesterday"), "schema", "$.emitted_at: expected an RFC 3339 time"),
        (line(EMISSION, emitted_at=None), "schema", "$.emitted_at: expected"),
        (line(EMISSION, assertions=[{"span": {"chars": [0, 99]}}]), "span-out-of-range", "$.assertions[0].span"),
        (line(OBSERVATION, observed_at="then"), "schema", "$.observed_at: expected an RFC 3339 time"),
        (line(OBSERVATION, outcome="maybe"), "schema", "$.outcome"),
        (line(SIGHTING, observed_at="then"), "schema", "$.observed_at: expected an RFC 3339 time"),
        (line(SIGHTING, content="é" * 32_001), "schema", "$.content: expected at most 64000 octets, got 64002"),
        (line(SIGHTING, observer="a b"), "schema", "$.observer"),
        (line(REVIEW, decision="perhaps"), "schema", "$.decision"),
        (line(ATTESTATION, claim_hash="0x12"), "schema", "$.claim_hash"),
        (line(ATTESTATION, issued_at="then"), "schema", "$.issued_at: expected an RFC 3339 time"),
        (line(EMISSION, text="x" * 1_000_000), "oversize", "an input has 1000000 at the most"),
    ],
)
def test_what_is_not_valid_is_refused_as_the_lane_would(raw: bytes, reason: str, detail: str):
    """With a dead letter's reason, and a detail that says where, what was expected and what is there."""
    fault = refusal(raw)

    assert fault.reason == reason
    assert detail in fault.detail


@given(
    st.dictionaries(st.sampled_from(["text", "effect", "attempt", "x"]), st.just(0)), st.sampled_from(["", " ", "\t"])
)
def test_a_missing_emitted_at_is_put_in_front_of_the_rest(fields: dict[str, Any], space: str):
    """The rest of the line stays byte for byte as it was."""
    record = {**fields, "emission_id": "em-1", "text": 'Yes. {"emitted_at":1}', "effect": "internal", "attempt": 0}
    body = json.dumps(record)[1:].encode()

    prepared = prepare(b"{" + space.encode() + body, "emissions", NOW)

    assert isinstance(prepared, Prepared)
    assert prepared.value == b'{"emitted_at":"2026-11-21T08:00:00Z",' + space.encode() + body
    assert json.loads(prepared.value) == {"emitted_at": "2026-11-21T08:00:00Z", **record}


def test_an_empty_object_gets_no_comma():
    """What is refused must be refused for what is wrong with it."""
    assert refusal(b"{ }", "emissions").detail == "$: expected the field emission_id, got nothing"


# ---------------------------------------------------------------- partitions

MURMUR2 = [  # from the tests of Apache Kafka's own Utils.murmur2
    (b"21", -973932308),
    (b"foobar", -790332482),
    (b"a-little-bit-long-string", -985981536),
    (b"a-little-bit-longer-string", -1486304829),
    (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
    (b"abc", 479470107),
]


@pytest.mark.parametrize(("key", "expected"), MURMUR2)
def test_the_default_partitioner_is_kafkas(key: bytes, expected: int):
    """aiokafka's murmur2 gives the numbers of the Java client, and the partition is that of its default partitioner."""
    assert murmur2(key) == expected % 2**32
    for count in (1, 4, 7):
        partitions = list(range(count))
        assert partitioner(Settings())(key, partitions, partitions) == (expected & 0x7FFFFFFF) % count


def test_crc32_is_librdkafkas_partitioner():
    """`partitioner = "crc32"` follows librdkafka's `consistent`: CRC-32 of the key modulo the count."""
    choose = partitioner(Settings(partitioner="crc32"))

    assert choose(b"123456789", range(1000), []) == 0xCBF43926 % 1000  # the check value of CRC-32
    assert choose(b"em-1", [0, 1, 2, 3], [0]) == zlib.crc32(b"em-1") % 4


# ---------------------------------------------------------------- the command, on the embedded broker


def run(broker: str, text: bytes, *arguments: str, **variables: str) -> Result:
    return CliRunner(env=variables).invoke(main, ["produce", "--broker", broker, *arguments], input=text)


def records_on(broker: str, topic: str, count: int) -> list[ConsumerRecord[bytes, bytes]]:
    async def read() -> list[ConsumerRecord[bytes, bytes]]:
        consumer = AIOKafkaConsumer(
            topic, bootstrap_servers=broker[len("kafka://") :], auto_offset_reset="earliest", check_crcs=False
        )
        await consumer.start()
        try:
            async with asyncio.timeout(60):
                return [await consumer.getone() for _ in range(count)]
        finally:
            await consumer.stop()

    return asyncio.run(read())


def test_lines_are_sent_to_their_topics_and_counted():
    """Each under its key, to the partition that Kafka's partitioner gives it; the count goes to standard error."""
    with EmbeddedBroker() as broker:
        result = run(broker.address, b"\n".join(line(record) for _, record, _ in KINDS))
        got = {topic: records_on(broker.address, topic, 1)[0] for topic, _, _ in KINDS}

    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == ("sluice: sent 1 attestations, 1 emissions, 1 observations, 1 reviews, 1 sightings\n")
    for topic, record, key in KINDS:
        assert got[topic].key == key.encode()
        assert got[topic].value == line(record)
        assert got[topic].partition == (murmur2(key.encode()) & 0x7FFFFFFF) % 4


def test_a_bad_line_is_answered_and_the_others_go_on():
    """The answer has the line's number, counted over all files; the exit status is 1 at the end."""
    with EmbeddedBroker() as broker:
        text = b"\n".join([line(EMISSION), b"", b"nonsense", line(EMISSION, emission_id="em-2")])
        result = run(broker.address, text)
        got = records_on(broker.address, "emissions", 2)

    answers = [json.loads(answer) for answer in result.stdout.splitlines()]
    assert result.exit_code == 1
    assert [(answer["line"], answer["error"]["reason"]) for answer in answers] == [(3, "not-json")]
    assert result.stderr == "sluice: sent 2 emissions; 1 refused\n"
    assert {record.key for record in got} == {b"em-1", b"em-2"}


def test_one_key_keeps_its_order():
    """However many records wait for room in a batch."""
    count = 3000
    with EmbeddedBroker() as broker:
        text = b"\n".join(line(EMISSION, attempt=number, text="x" * 500) for number in range(count))
        result = run(broker.address, text)
        got = records_on(broker.address, "emissions", count)

    assert result.exit_code == 0
    assert [json.loads(record.value)["attempt"] for record in got] == list(range(count))


def test_the_partitioner_is_the_settings():
    """With SLUICE_PARTITIONER=crc32 a key goes where librdkafka would send it."""
    with EmbeddedBroker() as broker:
        run(broker.address, line(EMISSION), SLUICE_PARTITIONER="crc32")
        (record,) = records_on(broker.address, "emissions", 1)

    assert record.partition == zlib.crc32(b"em-1") % 4 != (murmur2(b"em-1") & 0x7FFFFFFF) % 4


def test_a_missing_emitted_at_is_the_present(tmp_path: Path):
    """`sluice produce` fills it in; here from a file rather than standard input."""
    (tmp_path / "emissions.jsonl").write_text('{"emission_id":"em-1","text":"Yes."}\n')
    with EmbeddedBroker() as broker:
        result = run(broker.address, b"", str(tmp_path / "emissions.jsonl"))
        (record,) = records_on(broker.address, "emissions", 1)

    assert result.exit_code == 0
    assert record.value.startswith(b'{"emitted_at":"2')
    assert record.value.endswith(b'Z","emission_id":"em-1","text":"Yes."}')


def test_a_broker_that_is_away_is_one_sentence_and_exit_status_3():
    """Nothing is read from the input before there is somewhere to send it."""
    result = run("kafka://127.0.0.1:1", line(EMISSION))

    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith("sluice: kafka://127.0.0.1:1: no Kafka broker answers: 127.0.0.1:1 refuses ")


def test_a_file_that_is_not_there_is_wrong_usage():
    """One sentence and exit status 2; what was sent before stays sent."""
    with EmbeddedBroker() as broker:
        result = run(broker.address, b"", "nowhere.jsonl")

    assert result.exit_code == 2
    assert result.stderr.startswith("sluice: cannot read 'nowhere.jsonl'")
