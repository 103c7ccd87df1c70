"""No identifier leaves but as the policy lets it [S §12]: every record of every output topic is looked at.

What strangers write is that of `test_nothing_unsanitised.py`, which brings about every kind of record; here every
identifier in it has a mark. In clear they may stand in the ledger (and the inputs) and in dead letters, which are
quarantine, and nowhere else: neither on a topic nor on the screen of who reads them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import commands
import pytest
import test_nothing_unsanitised as strangers
from lanes_on_kafka import read

from sluice.codecs.blocks import unseal
from sluice.streams.policy.privacy import Secret, key_named
from sluice.topology.kafka.topics import TOPICS
from sluice.topology.settings.settings import Settings

pytestmark = pytest.mark.long

SECRET = "correct horse battery staple"
PSEUDONYM, PERSON, CREDENTIAL, DETAIL, SOURCE = (
    f"{name}-4711" for name in ("pseudo", "person", "uid", "detail", "home")
)
PEER = "substrate.unix.peercred"
IDS = {
    strangers.GIT: f"id:{PSEUDONYM}",
    strangers.CODE: f"id:{PERSON}",
    strangers.GREP: f"id:{PSEUDONYM}",
    PEER: f"peercred:{CREDENTIAL}",
}
FORMS = ("clear", "hashed", "omitted")
SHOWN = {"clear": {PSEUDONYM, SOURCE}, "hashed": set[str](), "omitted": set[str]()}
"""The marks that may be read, by what the policy says."""


def marked(value: Any) -> Any:
    """What strangers wrote with every identifier marked; what is seen of code is identity-bound."""
    if isinstance(value, list):
        return [marked(item) for item in value]
    if not isinstance(value, dict):
        return value
    made = {name: marked(item) for name, item in value.items()}
    if "observation_id" in made:
        made["observation_id"] = IDS[made["substrate_class"]]
    if made.get("substrate_class") == strangers.CODE and "outcome" in made:
        made |= {"tier": "identity-bound", "locator": {"user": DETAIL}, "detail": {"found": [], "who": DETAIL}}
    if made.get("step") == "retrieval":
        made["source"] = f"/{SOURCE}"
    return made


def with_marks(record: strangers.Record) -> strangers.Record:
    return record._replace(value=marked(record.value))


def peers() -> Iterator[strangers.Record]:
    """An assertion that a pseudonymous observation of credentials in clear bears out."""
    yield strangers.hostile_emission(
        "peer", provenance=[strangers.hostile_annotation(PEER), strangers.hostile_annotation(strangers.GIT)]
    )
    yield strangers.hostile_observation("peer", PEER, len(strangers.hostile("peer")))
    yield strangers.hostile_observation("peer", strangers.GIT, len(strangers.hostile("peer")))


class Run(NamedTuple):
    """All that was written under one policy, and what the commands show of it."""

    form: str
    written: list[strangers.Written]
    consumed: str
    explained: str
    stored: str
    keys: set[str]


async def _run(settings: Settings, folder: Path, form: str) -> Run:
    rules = f'[privacy]\nobservation_ids = "{form}"\nchain_sources = "{form}"\n'
    policy, secret = strangers.POLICY + rules, {"SLUICE_PRIVACY_SECRET": SECRET}
    written = await strangers.write(settings, folder, policy, with_marks, peers, **secret)
    topics = [topic for topic, spec in TOPICS.items() if spec.role == "output" and topic != "dead-letters"]
    asked = [("em-decays",), *((f"em-{name}", "--json") for name in ("decays", "turns", "invented", "peer"))]
    consumed = await _sluice(settings, folder, [("consume", topic) for topic in topics])
    explained = await _sluice(settings, folder, [("explain", *arguments) for arguments in asked])
    ledger = [unseal(one.value) for lane in (await read(settings, "ledger")).values() for one in lane]
    stored = b"".join(event.value or b"" for block in ledger for event in block.events).decode()
    keys = {key_named(block.header.fold) for block in ledger if block.header.height > 0}
    return Run(form, written, consumed, explained, stored, keys)


async def _sluice(settings: Settings, folder: Path, asked: Sequence[Sequence[str]]) -> str:
    """What commands show to whoever has the secret, on both of their outputs."""
    environment = commands.variables_of(settings, SLUICE_PRIVACY_SECRET=SECRET)
    found = await asyncio.to_thread(commands.run_each, asked, folder, environment=environment)
    assert [done.stderr for done in found if done.status] == []
    return "\n".join(done.stdout + done.stderr for done in found)


@pytest.fixture(scope="module", params=FORMS)
def run(request: pytest.FixtureRequest, kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Everything under one of the policies."""
    folder = tmp_path_factory.mktemp(f"privacy-{request.param}")
    prefix = f"p{sha256(str(folder).encode()).hexdigest()[:12]}"
    settings = Settings(broker=kafka, topic_prefix=f"{prefix}.", app_id=prefix, partitions=2)
    return asyncio.run(_run(settings, folder, request.param))


def marks(text: str) -> set[str]:
    """The marks that can be read in a text."""
    return {mark for mark in (PSEUDONYM, PERSON, CREDENTIAL, DETAIL, SOURCE) if mark in text}


def everything(record: strangers.Written) -> str:
    """A record's key, value and headers."""
    headers = b" ".join(name.encode() + b" " + value for name, value in record.headers)
    return ((record.key or b"") + record.value + headers).decode(errors="replace")


def test_every_kind_of_record_was_written_and_every_mark_was_sent(run: Run):
    """Otherwise nothing below would prove much; the ledger holds what came, as it came."""
    assert strangers.missing(run.written) == {}
    assert marks(run.stored) == {PSEUDONYM, PERSON, CREDENTIAL, DETAIL, SOURCE}


@pytest.mark.parametrize("topic", sorted(topic for topic, spec in TOPICS.items() if spec.role == "output"))
def test_no_output_topic_shows_what_the_policy_keeps_back(run: Run, topic: str):
    """Of the identity-bound tier no id, of a peer no credential; hashed or omitted no id and no source at all."""
    found = " ".join(everything(one) for one in run.written if one.topic == topic)

    if topic == "dead-letters":
        assert marks(found) <= {PSEUDONYM, PERSON, SOURCE}  # raw by design: of what was refused
    else:
        assert marks(found) <= SHOWN[run.form]


def test_what_the_policy_lets_out_is_there(run: Run):
    """In clear the pseudonymous ids and the sources; hashed the same, and the identity-bound ones, as HMACs."""
    found = " ".join(everything(one) for one in run.written if one.topic == "admitted")
    secret = Secret(SECRET)

    assert marks(found) == SHOWN[run.form]
    hashed = {name for name in (*IDS.values(), f"/{SOURCE}") if secret.hashed(name) in found}
    assert hashed == ({*IDS.values(), f"/{SOURCE}"} if run.form == "hashed" else set())
    assert ("hmac:" in found) == (run.form == "hashed")


def test_no_command_shows_more(run: Run):
    """`consume` of every topic, `explain` for people and as JSON; declared ids as little as observed ones."""
    assert run.consumed
    assert run.explained
    assert marks(run.consumed) <= SHOWN[run.form]
    assert marks(run.explained) <= SHOWN[run.form]


def test_the_secret_stands_nowhere(run: Run):
    """In no record and no ledger; the headers name its id, where something is hashed."""
    text = run.stored + run.consumed + run.explained + " ".join(everything(one) for one in run.written)

    assert SECRET not in text
    assert run.keys == ({Secret(SECRET).id} if run.form == "hashed" else {""})
