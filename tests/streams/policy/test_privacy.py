"""What of an observation leaves, and in which form [S §12]; and that a header says with which key."""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Any, get_args

import msgspec
import pytest
from builders import emission_value, observation_value
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs import blocks
from sluice.codecs.blocks import Block, Header, Source
from sluice.codecs.errors import UsageError
from sluice.codecs.identifiers import IDENTIFIER_PATTERN
from sluice.streams.adjudication import fold as core
from sluice.streams.adjudication import snapshot
from sluice.streams.policy.policy import Policy, Privacy, PrivacyRules
from sluice.streams.policy.privacy import (
    NO_SECRETS,
    RedactionPolicy,
    Secret,
    Secrets,
    key_named,
    may_be_credentials,
    with_key,
    without_key,
)

SECRET = "correct horse battery staple"
ONE, OTHER = Secret(SECRET), Secret("another secret of some length")
CLEAR, HASHED, OMITTED = (PrivacyRules(observation_ids=form, chain_sources=form) for form in get_args(Privacy))
PSEUDONYM = "peercred:" + "0f" * 32
IDS = st.from_regex(IDENTIFIER_PATTERN, fullmatch=True)


@given(IDS)
def test_a_hashed_id_is_an_hmac_behind_its_key_s_id_and_an_identifier(observation_id: str) -> None:
    """HMAC-SHA256 over the id's bytes, behind 8 hexadecimal digits of the secret's SHA-256: no more is to be known."""
    shown = ONE.hashed(observation_id)
    digest = hmac.new(SECRET.encode(), observation_id.encode(), hashlib.sha256).hexdigest()

    assert shown == f"hmac:{hashlib.sha256(SECRET.encode()).hexdigest()[:8]}:{digest}"
    assert re.match(IDENTIFIER_PATTERN, shown)


@given(IDS, st.booleans())
def test_only_clear_shows_an_id_as_it_is(observation_id: str, bound: bool) -> None:
    """Of the identity-bound tier not even that; hashed, equal ids stay equal."""
    for rules in (CLEAR, HASHED, OMITTED):
        for secret in (None, ONE):
            shown = RedactionPolicy(rules, secret).observation_id(observation_id, identity_bound=bound)
            is_clear = rules is CLEAR and not bound and not may_be_credentials(observation_id)
            assert (shown == observation_id) == is_clear
            if rules is HASHED:
                assert shown == (None if secret is None else secret.hashed(observation_id))
            elif not is_clear:
                assert shown is None


@pytest.mark.parametrize(
    "claimed", ["peercred:1000", "peercred:uid=1000", "PeerCred:uid=1000", "peercred:", PSEUDONYM + "0", PSEUDONYM[:-1]]
)
def test_what_may_be_a_peer_s_credentials_never_leaves_in_clear(claimed: str) -> None:
    """Whatever tier an observer claims for it, and though an emitter declared it; an HMAC over them may."""
    assert RedactionPolicy(CLEAR).observation_id(claimed, identity_bound=False) is None
    assert RedactionPolicy(CLEAR).observation_id(PSEUDONYM, identity_bound=False) == PSEUDONYM


def test_a_chain_s_sources_follow_their_own_rule() -> None:
    """Hashed or gone, with what else says where it was, in every branch; that there was a source stays."""
    step = {"step": "derived", "left": [{"step": "retrieval", "source": "a.md", "metadata": {"path": "a.md"}}]}
    expected: list[dict[str, Any]] = [{"step": "retrieval", "source": ONE.hashed("a.md")}, {"step": "retrieval"}]
    for secret, inner in zip((ONE, None), expected, strict=True):
        copy = msgspec.json.decode(msgspec.json.encode(step))
        RedactionPolicy(HASHED, secret).source(copy)
        assert copy["left"] == [inner]


def test_a_secret_tells_nobody() -> None:
    """Neither on purpose nor in a traceback: only its id."""
    assert SECRET not in f"{ONE!r} {ONE} {Secrets(ONE)!r}"
    assert ONE.id in repr(ONE)


def test_the_header_names_the_key_where_something_is_hashed_and_only_there() -> None:
    """A ledger that hashes nothing has the headers that it always had."""
    plain = core.fold_version()

    assert Secrets(ONE).key_for(HASHED) == ONE.id
    assert [Secrets(ONE).key_for(CLEAR), Secrets(ONE).key_for(None), NO_SECRETS.key_for(HASHED)] == [""] * 3
    assert core.fold_version("murmur2", "") == plain == with_key(plain, "")
    assert core.fold_version("murmur2", ONE.id) == f"{plain} privacy={ONE.id}"


@given(st.sampled_from(["murmur2", "crc32"]), st.sampled_from(["", ONE.id, OTHER.id]))
def test_what_a_header_names_can_be_read_back(partitioner: Any, key: str) -> None:
    """The key, and the version without it."""
    named = core.fold_version(partitioner, key)

    assert (key_named(named), without_key(named)) == (key, core.fold_version(partitioner))


# ---------------------------------------------------------------- through the fold

T = 1_795_251_600_000


class Ledger:
    """Blocks of one lane that hashes; `secrets` writes it, whoever folds it has others."""

    def __init__(self, secrets: Secrets, rules: PrivacyRules = HASHED) -> None:
        self.state = core.new_state(0, 1, secrets=secrets)
        self.blocks: list[Block] = []
        self.outputs: list[bytes] = []
        self.policy = Policy(privacy=rules)
        self.block(0, [core.Event(core.EventKind.POLICY, 0, 0, T, [], None, self.policy.document)])

    def block(self, at: int, events: list[Any]) -> None:
        header = Header(
            lane=0,
            lanes=1,
            height=len(self.blocks),
            prev=self.blocks[-1].hash if self.blocks else blocks.GENESIS,
            time=T + at,
            watermark=T + at,
            policy=self.state.policy_hash or self.policy.hash,
            fold=core.fold_version(key=self.state.key_in_force),
            sources=[Source(topic, 0, 0) for topic in core.INPUTS],
            outputs=blocks.outputs_root([]),
        )
        block, _ = blocks.seal(header, events)
        self.blocks.append(block)
        self.outputs += [one.value for one in core.fold(self.state, block)]

    def records(self, number: int) -> None:
        """An emission that is admitted by two observations."""
        key = f"em-{number}"
        notes = [{"substrate_class": "substrate.grep", "observation_id": "seen:1"}]
        said = emission_value(key, at=T + number, claim={"provenance": notes})
        seen = [
            observation_value(f"substrate.{name}", emission_id=key, at=T + number, observation_id="seen:1")
            for name in ("grep", "git.log")
        ]
        self.block(
            number,
            [
                core.event_for(source, number, T, [], key.encode(), msgspec.json.encode(value))
                for source, value in [(0, said), *((1, one) for one in seen)]
            ],
        )


def folded(ledger: Ledger, secrets: Secrets) -> list[bytes]:
    """The outputs of folding the same blocks again."""
    state = core.new_state(0, 1, secrets=secrets)
    return [output.value for block in ledger.blocks for output in core.fold(state, block)]


def test_the_same_ledger_gives_the_same_bytes_whichever_secret_is_current() -> None:
    """What the header names is used: a secret that came later changes nothing of what is there."""
    ledger = Ledger(Secrets(ONE))
    ledger.records(1)

    assert f'"observation_id":"{ONE.hashed("seen:1")}"'.encode() in ledger.outputs[0]
    assert b'"seen:1"' not in b"".join(ledger.outputs)
    assert folded(ledger, Secrets(OTHER, [ONE])) == folded(ledger, Secrets(ONE)) == ledger.outputs


@pytest.mark.parametrize("secrets", [NO_SECRETS, Secrets(OTHER)], ids=["none", "another"])
def test_a_ledger_is_not_folded_without_its_secret(secrets: Secrets) -> None:
    """One sentence names both keys, and no secret."""
    ledger = Ledger(Secrets(ONE))
    ledger.records(1)

    with pytest.raises(UsageError, match=f"another privacy_secret.*{ONE.id}") as raised:
        folded(ledger, secrets)
    assert SECRET not in str(raised.value)


def test_where_no_secret_was_given_ids_are_left_out_for_good() -> None:
    """The header names no key; who has a secret later folds the same bytes."""
    ledger = Ledger(NO_SECRETS)
    ledger.records(1)

    assert "privacy=" not in ledger.blocks[-1].header.fold
    assert b'"observation_id"' not in ledger.outputs[0]
    assert folded(ledger, Secrets(ONE)) == ledger.outputs


def test_a_policy_that_hashes_nothing_needs_no_secret() -> None:
    """Though a header named one: an auditor of clear ids is asked for none."""
    ledger = Ledger(Secrets(ONE), CLEAR)
    ledger.records(1)

    assert "privacy=" not in ledger.blocks[-1].header.fold
    assert folded(ledger, NO_SECRETS) == ledger.outputs


def test_no_snapshot_holds_a_secret() -> None:
    """A lane gets its secrets from its own process, and goes on hashing with them."""
    ledger = Ledger(Secrets(ONE))
    ledger.records(1)
    chunks = list(snapshot.dump(ledger.state))

    again = snapshot.load(chunks, Secrets(ONE))

    assert not any(SECRET.encode() in chunk or ONE.id.encode() in chunk for chunk in chunks)
    assert again.key_in_force == ONE.id
    assert snapshot.load(chunks).key_in_force == ""
