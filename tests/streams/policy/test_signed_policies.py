"""A policy that lists keys is followed only by one that such a key signed (docs/security.md): in all three folds."""

from __future__ import annotations

import base64
import struct
from typing import Any

import pytest
from foreign_signing import key_of, public
from msgspec.structs import replace

from sluice.codecs.blocks import GENESIS, Event, EventKind, Header, Output, Source, outputs_root, seal
from sluice.codecs.errors import Fault
from sluice.codecs.notes import Signer
from sluice.streams.adjudication import snapshot
from sluice.streams.policy.keys import Key, succession_bytes
from sluice.streams.policy.policy import (
    DEFAULT_POLICY,
    HEADER,
    Admissibility,
    Policy,
    PolicyKeys,
    follow,
    policy_of_document,
    sign,
    signer_of,
)
from sluice.streams.policy.policy_toml import load_policy, to_toml
from sluice.topology.engine.folds import folds

T = 1_800_000_000_000
ANN, BEN, STRANGER = key_of(1), key_of(2), key_of(3)
Signed = tuple[Policy, bytes | None]


def listing(sequence: int = 1, *, attempts: int = 3, origin: str = "sluice", **keys: Any) -> Policy:
    """A policy; `attempts` tells it from others, `keys` gives each name its keys."""
    listed = {name: one if isinstance(one, list) else [Key(public_key=public(one))] for name, one in keys.items()}
    rules = Admissibility(max_attempts=attempts)
    return Policy(admissibility=rules, policies=PolicyKeys(sequence=sequence, keys=listed), origin=origin)


def signed(
    one: Policy, key: Any = ANN, origin: str = "sluice", topic: str = "policies", kind: str = "policy"
) -> Signed:
    """A policy and its signature, as a program in any language makes it (RFC 8032, length-prefixed fields)."""
    fields = [b"sluice/1", origin.encode(), topic.encode(), kind.encode(), one.document]
    message = b"".join(struct.pack(">Q", len(field)) + field for field in fields)
    return one, base64.b64encode(key.sign(message))


class Lanes:
    """A lane of each fold, which take in the same policies, one a block."""

    def __init__(self, first: Policy) -> None:
        self.folds = folds()
        self.states = [fold.new(0, 1) for fold in self.folds]
        self.height = 0
        self.outputs: list[list[Output]] = []
        self.take((first, None), at=T - 100)

    def take(self, *some: tuple[Policy | bytes, bytes | None], at: int = T) -> list[str]:
        """Takes policies in; the reasons of the adjudicating lane's dead letters."""
        self.outputs = []
        for fold, state in zip(self.folds, self.states, strict=True):
            events = [self._event(len(fold.inputs), offset, *one) for offset, one in enumerate(some)]
            sources = [Source(topic, 0, 0) for topic in (*fold.inputs, "policies")]
            header = Header(
                lane=0, lanes=1, height=self.height, prev=GENESIS, time=at, watermark=at, policy="", sources=sources,
                fold=fold.version, outputs=outputs_root([]),
            )  # fmt: skip
            self.outputs.append(fold.fold(state, seal(header, events)[0]))
        self.height += 1
        return [dict(one.headers)["sluice-reason"].decode() for one in self.outputs[0]]

    @staticmethod
    def _event(source: int, offset: int, one: Policy | bytes, signature: bytes | None) -> Event:
        document = one if isinstance(one, bytes) else one.document
        headers = [] if signature is None else [(HEADER, signature)]
        return Event(EventKind.POLICY, source, offset, T, headers, None, document)

    @property
    def in_force(self) -> set[str]:
        """What the lanes decide by from the next block on."""
        return {fold.policy_hash(state) for fold, state in zip(self.folds, self.states, strict=True)}


FIRST = listing(1, ann=ANN)


@pytest.fixture
def lanes() -> Lanes:
    return Lanes(FIRST)


def test_one_that_a_listed_key_signed_follows(lanes: Lanes):
    """In every lane, from the next block on."""
    after = listing(2, attempts=4, ann=ANN)

    assert lanes.take(signed(after)) == []
    assert lanes.in_force == {after.hash}


def test_ours_is_the_signature_of_any_other_program():
    """The bytes that docs/security.md says."""
    after = listing(2, ann=ANN)
    ours = sign(after.document, Signer("ann", bytes([1]) * 32), "sluice")

    assert ours == signed(after)[1]
    assert signer_of(FIRST, after.document, [(HEADER, ours)], T) == "ann"
    assert signer_of(FIRST, after.document, [], T) is None


@pytest.mark.parametrize(
    "hostile",
    [
        (listing(2), None),
        (listing(2, ann=ANN), b""),
        (listing(2, ann=ANN), b"\xff" * 88),
        (listing(2, ann=ANN), base64.b64encode(bytes(64))),
        signed(listing(2, ann=STRANGER), STRANGER),
        (listing(2, ann=ANN), signed(listing(3, ann=ANN))[1]),
        signed(listing(2, ann=ANN), origin="staging"),
        signed(listing(2, ann=ANN), topic="reviews"),
        signed(listing(2, ann=ANN), kind="succession"),
        signed(listing(1, ann=ANN, attempts=5)),
        signed(listing(0, ann=ANN)),
        signed(FIRST),
        signed(listing(0)),
    ],
    ids=[
        *("unsigned", "empty", "no-text", "zeros", "a-stranger's", "another-document's", "another-deployment's"),
        *(
            "another-topic's",
            "another-type's",
            "the-same-sequence",
            "an-older-sequence",
            "itself",
            "keys-dropped-by-old",
        ),
    ],
)
def test_any_other_is_refused_and_the_one_in_force_stays(lanes: Lanes, hostile: Signed):
    """A dead letter of the adjudicating lane says why; the other lanes count it. The lanes stay alike."""
    assert lanes.take(hostile) == ["unauthorised-policy"]

    assert lanes.in_force == {FIRST.hash}
    assert lanes.folds[0].counters(lanes.states[0])["refused-policies"] == 1
    assert [
        fold.counters(state)["no-policy"] for fold, state in zip(lanes.folds[1:], lanes.states[1:], strict=True)
    ] == [
        1,
        1,
    ]


def test_a_record_that_was_signed_once_does_not_come_back(lanes: Lanes):
    """Whoever kept it may send it again: its sequence is over. So too where its own content is in force again."""
    loose, tight = signed(listing(2, ann=ANN)), signed(listing(3, attempts=1, ann=ANN))
    assert lanes.take(loose) == lanes.take(tight) == []

    assert lanes.take(loose) == ["unauthorised-policy"]
    again = signed(listing(4, ann=ANN))
    assert lanes.take(again) == []
    assert lanes.take(tight) == lanes.take(loose) == ["unauthorised-policy"]
    assert lanes.in_force == {again[0].hash}


def test_a_key_that_was_taken_off_the_list_signs_nothing_more(lanes: Lanes):
    """The policy that comes after is the new key's alone, in the same block already."""
    assert lanes.take(signed(listing(2, ben=BEN)), signed(listing(3, ann=ANN), ANN)) == ["unauthorised-policy"]

    assert lanes.take(signed(listing(4, ann=ANN), ANN)) == ["unauthorised-policy"]
    assert lanes.take(signed(listing(5, ben=BEN), BEN)) == []


def test_a_key_counts_in_its_time():
    """By the block's time: not before `since`, not after `until`, nor once it is revoked."""
    ann = Key(public_key=public(ANN), since=T, until=T + 10, revoked=T + 5)
    first = listing(1, ann=[ann])
    for at, reasons in ((T - 1, ["unauthorised-policy"]), (T, []), (T + 4, []), (T + 5, ["unauthorised-policy"])):
        assert Lanes(first).take(signed(listing(2, ann=ANN)), at=at) == reasons


def test_a_successor_counts_where_the_key_before_it_signed_it():
    """As of any other party; one that only says so counts for nothing."""
    form = {"name": "ann", "public_key": public(BEN), "origin": "sluice"}
    signature = base64.b64encode(ANN.sign(succession_bytes(**form))).decode()
    for given, reasons in ((signature, []), (base64.b64encode(bytes(64)).decode(), ["unauthorised-policy"])):
        ben = Key(public_key=public(BEN), signed_by=public(ANN), signature=given)
        first = listing(1, ann=[Key(public_key=public(ANN)), ben])

        assert Lanes(first).take(signed(listing(2, ann=ANN), BEN)) == reasons


def test_what_is_no_key_signs_nothing():
    """A document can list anything; so can one list nobody under a name."""
    for keys in ([Key(public_key="nonsense")], [Key(public_key=base64.b64encode(bytes(32)).decode())], []):
        lanes = Lanes(listing(1, ann=keys))

        assert lanes.take((listing(2, ann=ANN), base64.b64encode(bytes(64)))) == ["unauthorised-policy"]


def test_the_first_header_of_the_name_is_the_signature():
    """Others change nothing, before or behind it."""
    after, signature = signed(listing(2, ann=ANN))
    others = [("traceparent", b"00-1-1-01"), (HEADER, signature or b""), (HEADER, b"x")]

    assert not isinstance(follow(FIRST, after.document, others, T), Fault)
    assert isinstance(follow(FIRST, after.document, others[::-1], T), Fault)


@pytest.mark.parametrize("document", [b"{}", b'{"verdicts":"all"}', DEFAULT_POLICY.document + b" "])
def test_a_document_that_is_not_canonical_is_no_policy(document: bytes):
    """Architecture, policy: its hash names it. Of such a document no hash in a header or an output would be found."""
    lanes = Lanes(DEFAULT_POLICY)

    assert lanes.take((document, None)) == ["schema"]
    assert [state.counters["no-policy"] for state in lanes.states[1:]] == [1, 1]


def test_who_signs_may_give_the_keys_up(lanes: Lanes):
    """Then anybody may bring the next one, as where none was ever listed."""
    assert lanes.take(signed(listing(2)), signed(listing(0, attempts=9), STRANGER)) == []


def test_without_keys_nothing_is_asked():
    """As before: any document that is a policy."""
    lanes = Lanes(DEFAULT_POLICY)

    assert lanes.take((listing(0, attempts=9), None)) == []
    assert lanes.take((listing(7, ann=ANN), None), (listing(8), None)) == ["unauthorised-policy"]


def test_what_is_no_policy_is_refused_as_before(lanes: Lanes):
    """Whoever signs it."""
    assert lanes.take((b"{}x", None)) == ["schema"]  # type: ignore[arg-type]
    assert lanes.in_force == {FIRST.hash}


@pytest.mark.parametrize("announced", [False, True])
def test_a_restored_lane_refuses_what_one_that_never_stopped_does(announced: bool):
    """What a snapshot holds of the policy is enough."""
    lanes = Lanes(FIRST)
    if announced:
        lanes.take(signed(listing(2, ben=BEN)))
    lanes.states = [fold.load(list(fold.dump(state))) for fold, state in zip(lanes.folds, lanes.states, strict=True)]
    before = lanes.in_force

    assert lanes.take(signed(listing(3, ann=STRANGER), STRANGER)) == ["unauthorised-policy"]
    assert lanes.in_force == before
    assert lanes.take(signed(listing(4), BEN if announced else ANN)) == []
    assert type(lanes.folds[0]).layout == snapshot.LAYOUT


def test_a_file_lists_keys_and_sequence():
    """And comes back from what is written of it."""
    text = f'[policies]\nsequence = 7\n[policies.keys]\nann = "{public(ANN)}"\n'
    read = load_policy(text)

    assert read.policies == listing(7, ann=ANN).policies
    assert load_policy(to_toml(read)) == read
    assert policy_of_document(read.document) == read
    assert replace(read, policies=PolicyKeys()).hash == load_policy("").hash


@pytest.mark.parametrize(("given", "is_told"), [(DEFAULT_POLICY, True), (FIRST, False)])
def test_notes_say_that_nobody_has_to_sign(given: Policy, is_told: bool):
    """Whoever can write to the topic brings any policy into force, unless keys are listed."""
    assert any(path == "policies.keys" for path, _ in given.notes()) == is_told
