"""What `sluice consume` says where it prints nothing: how many assertions wait for a verdict, and until when."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from aiokafka.errors import TopicAuthorizationFailedError
from builders import emission_value, span_of
from click.testing import CliRunner, Result

from sluice.codecs.times import parse_time
from sluice.streams.policy.policy import DEFAULT_POLICY
from sluice.topology.cli import kafka_commands as consume_cli
from sluice.topology.cli import main, pending
from sluice.topology.engine import policies
from sluice.topology.kafka.connect import open_producer
from sluice.topology.kafka.local_broker import EmbeddedBroker
from sluice.topology.settings.settings import Settings

HORIZON = DEFAULT_POLICY.admissibility.horizon


def now() -> int:
    return time.time_ns() // 1_000_000


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An embedded broker on which a lane has decided by the reference policy."""

    async def in_force(_: Settings) -> list[policies.InForce]:
        return [policies.InForce(0, 7, DEFAULT_POLICY.hash), policies.InForce(1, -1, "")]

    monkeypatch.setattr(policies, "in_force", in_force)
    with EmbeddedBroker() as embedded:
        yield embedded.address


def put(broker: str, *records: tuple[str, str, dict[str, Any] | bytes], at: int | None = None) -> None:
    async def send() -> None:
        async with open_producer(Settings(broker=broker)) as producer:
            for topic, key, value in records:
                raw = value if isinstance(value, bytes) else json.dumps(value).encode()
                await producer.send_and_wait(topic, raw, key=key.encode(), timestamp_ms=at)

    asyncio.run(send())


def two_assertions(name: str, text: str = "It is so. It was so.", **more: Any) -> tuple[str, str, dict[str, Any]]:
    assertions = [{"span": span_of("It is so.")}, {"span": span_of("It was so.", 10)}]
    return "emissions", name, emission_value(name, text, at=now(), **{"assertions": assertions, **more})


def consume(broker: str, *arguments: str) -> Result:
    environment = {"SLUICE_BROKER": broker, "SLUICE_DELIVERY": "at-least-once"}
    return CliRunner(env=environment).invoke(main, ["consume", *arguments])


@pytest.mark.parametrize("topic", ["admitted", "inadmissible", "review-requests", "re-emission-requests"])
def test_it_counts_what_waits_and_says_until_when(broker: str, topic: str) -> None:
    """A horizon after the last of the emissions came."""
    before = now()
    put(broker, two_assertions("em-1"), two_assertions("em-2"), ("emissions", "x", b"nonsense"))

    result = consume(broker, topic)

    assert (result.exit_code, result.stdout) == (0, "")
    said = re.fullmatch(
        rf"sluice: nothing to show from {topic}: 4 assertions of 2 emissions wait for a verdict, "
        r"the last one until (\S+) \(horizon 10m\)\n",
        result.stderr,
    )
    assert said is not None, result.stderr
    until = parse_time(said[1])
    assert until is not None
    assert before - 1000 <= until - HORIZON <= now()


def test_what_has_a_verdict_on_any_topic_does_not_wait(broker: str) -> None:
    """But a later attempt does."""
    put(
        broker,
        two_assertions("em-1"),
        two_assertions("em-2", attempt=1),
        ("inadmissible", "em-1#c:0-9", {"status": "below-floor", "attempt": 0}),
        ("re-emission-requests", "em-1#c:10-20", {"status": "rejected", "attempt": 0}),
        ("inadmissible", "em-2#c:0-9", {"status": "rejected", "attempt": 0}),
        ("inadmissible", "em-2#c:10-20", {"status": "rejected", "attempt": 1}),
    )

    result = consume(broker)

    assert "from admitted: 1 assertion of 1 emission waits for a verdict" in result.stderr


def test_an_emission_older_than_the_horizon_waits_no_more(broker: str) -> None:
    """Its verdict has fallen, or was not to be written."""
    put(broker, two_assertions("em-1"), at=now() - HORIZON - 1000)

    result = consume(broker)

    assert result.stderr == "sluice: nothing to show from admitted: no assertion of the last 10m waits for a verdict\n"


def test_records_that_were_read_and_not_shown_are_counted(broker: str) -> None:
    """An empty answer must not look like an empty topic."""
    put(broker, ("admitted", "em-1#c:0-9", {"status": "admitted", "valid_until": "2001-01-01T00:00:00Z"}))

    result = consume(broker)

    assert "nothing to show from admitted (1 record read, past valid_until or not of what was asked for): no " in (
        result.stderr
    )
    assert consume(broker, "--all").stderr == ""


@pytest.mark.parametrize("topic", ["grounded", "dead-letters"])
def test_of_topics_without_verdicts_nothing_is_said(broker: str, topic: str) -> None:
    """Nothing on them waits."""
    put(broker, two_assertions("em-1"))

    assert consume(broker, topic).output == ""


def test_where_no_worker_has_run_it_says_so(broker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits would wait for ever."""

    async def in_force(_: Settings) -> list[policies.InForce]:
        return [policies.InForce(0, -1, "")]

    monkeypatch.setattr(policies, "in_force", in_force)

    said = "sluice: nothing to show from admitted: no worker has run yet; `sluice worker` decides\n"
    assert consume(broker).stderr == said


def test_of_too_many_records_it_says_at_least(broker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is to be cheap; too many verdicts cannot be compared, and nothing is said."""
    monkeypatch.setattr(pending, "MOST_RECORDS", 1)
    put(broker, two_assertions("em-1"), two_assertions("em-2"))
    assert "at least 2 assertions of 1 emission wait" in consume(broker).stderr

    put(broker, *(("inadmissible", name, {"status": "refused", "attempt": 0}) for name in "ab"))
    assert consume(broker).output == ""


def test_another_policy_has_another_horizon(broker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The longest of those in force."""
    rules = msgspec.structs.replace(DEFAULT_POLICY.admissibility, horizon=3_600_000)
    longer = msgspec.structs.replace(DEFAULT_POLICY, admissibility=rules)

    async def in_force(_: Settings) -> list[policies.InForce]:
        return [policies.InForce(0, 1, DEFAULT_POLICY.hash), policies.InForce(1, 1, "sha256:other")]

    async def document_of(_: Settings, digest: str) -> Any:
        return longer if digest == "sha256:other" else None

    monkeypatch.setattr(policies, "in_force", in_force)
    monkeypatch.setattr(policies, "document_of", document_of)
    put(broker, two_assertions("em-1"), at=now() - HORIZON - 1000)

    assert "2 assertions of 1 emission wait for a verdict" in consume(broker).stderr
    assert "(horizon 1h)" in consume(broker).stderr


def test_whoever_follows_is_reported_after_a_while_and_once(broker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And then gets what comes; where something came before, nothing is said."""
    monkeypatch.setattr(consume_cli, "QUIET_SECONDS", 0.1)
    asked: list[int] = []

    async def sentence(settings: Settings, topic: str, at: int, hidden: int = 0) -> str:
        asked.append(hidden)
        return "nothing"

    monkeypatch.setattr(pending, "pending_sentence", sentence)

    async def printing(wanted: consume_cli._Wanted, comes: bool) -> bool:
        wanted.kept += comes
        await asyncio.sleep(0.5)
        return True

    for comes in (True, False):
        wanted = consume_cli._Wanted(frozenset(), False)
        asyncio.run(
            consume_cli._print_with_pending(printing(wanted, comes), Settings(broker=broker), "admitted", wanted, True)
        )
    assert asked == [0]


def test_who_may_not_read_the_other_topics_is_not_reported(broker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may read one output topic has no less than before."""

    async def refused(_: Settings) -> list[policies.InForce]:
        raise TopicAuthorizationFailedError("ledger")

    monkeypatch.setattr(policies, "in_force", refused)

    result = consume(broker)

    assert (result.exit_code, result.output) == (0, "")


def test_who_cannot_be_reported_is_not(monkeypatch: pytest.MonkeyPatch, broker: str) -> None:
    """A notice never fails the command, nor holds it up."""

    async def slow(_: Settings) -> list[policies.InForce]:
        await asyncio.sleep(60)
        return []

    monkeypatch.setattr(pending, "SECONDS", 0.1)
    monkeypatch.setattr(policies, "in_force", slow)
    put(broker, two_assertions("em-1"))

    result = consume(broker)

    assert (result.exit_code, result.output) == (0, "")
