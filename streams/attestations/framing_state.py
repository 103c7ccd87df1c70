"""What a framing lane keeps: the policy, counters, and for each validator and claim the time of the newest word.

An older word of a validator must not replace a newer one. So a lane remembers, for each claim and validator, when the
newest word was issued (docs/security.md). That takes 25 bytes in a snapshot, about 155 in memory (docs/capacity.md).

A lane never forgets the entries of validators that the policy lists, because their signatures do not expire: that part
of the state grows with claims times listed validators. Anybody can make up other validators, with a key of their own
(`did:key`) or without one. So of these a lane keeps as many entries as `max_waiting_bytes` holds, the latest ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice
from typing import Final

import msgspec

from ...codecs.errors import DoesNotHoldError, Fault
from ...codecs.partition import Partitioner
from ..adjudication import snapshot
from ..adjudication.outputs import attestation_rules
from ..policy.policy import Policy, policy_of_document
from ..policy.signed_policies import Headers, follow
from ..sanitise import AttestationRules
from .validators import Validators

FORMAT: Final = 2
CHUNK: Final = 50_000
"""So many words make a chunk of a snapshot: a little more than a megabyte."""
NAME_BYTES: Final = 16


Row = tuple[bytes, int, bool]
"""A claim and validator, when the newest word was issued, and whether the policy listed the validator."""


class NewestWords:
    """When each validator's newest word on each claim was issued.

    Invariant: while a claim and validator are remembered, their time only grows; they stand in one of the two tables,
    and in that of the others the one that spoke last stands last.
    """

    def __init__(self) -> None:
        self._issued: dict[bytes, int] = {}  # by validators that the policy listed
        self._others: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._issued) + len(self._others)

    def newest(self, claim: str, did: str) -> int | None:
        """When the newest word was issued that was taken, Unix ms; None where there is none that says so.

        Args:
            claim: the claim's hash.
            did: the validator's, in its one spelling.
        """
        name = _name(claim, did)
        found = self._issued.get(name)
        return self._others.get(name) if found is None else found

    def take(self, claim: str, did: str, issued: int, most_others: int | None) -> None:
        """Takes a word that is newer than the newest.

        Args:
            claim: the claim's hash.
            did: the validator's, in its one spelling.
            issued: Unix ms.
            most_others: so many words of validators that the policy does not list are remembered; None: it lists this
                one.
        """
        name = _name(claim, did)
        assert issued > self._issued.get(name, -(1 << 62)), "an older word is refused first"
        before = self._others.pop(name, None)
        assert before is None or issued > before, "an older word is refused first"
        if most_others is None or name in self._issued:
            self._issued[name] = issued
            return
        self._others[name] = issued
        while len(self._others) > most_others:
            del self._others[next(iter(self._others))]

    def at_rest(self) -> list[Row]:
        """A copy that does not change."""
        return [
            *((name, issued, True) for name, issued in self._issued.items()),
            *((name, issued, False) for name, issued in self._others.items()),
        ]

    def restore(self, rows: Iterable[Row]) -> None:
        """Takes the rows of a snapshot, in their order."""
        for name, issued, is_listed in rows:
            (self._issued if is_listed else self._others)[name] = issued


def _name(claim: str, did: str) -> bytes:
    # A DID may be long, and there may be many: a hash is enough to know a pair again. The claim has one length; its
    # digits name the same claim in either case, as in views.
    return sha256(f"{claim.lower()}{did}".encode()).digest()[:NAME_BYTES]


class State:
    """What a framing lane has: where it is, the policy, the newest words, and counters.

    Args:
        lane: its number.
        lanes: how many lanes there are.
        partitioner: the name of the lanes' partitioner.
    """

    def __init__(self, lane: int, lanes: int, partitioner: Partitioner) -> None:
        self.lane, self.lanes = lane, lanes
        self.partitioner: Partitioner = partitioner
        self.rules = self.next_rules = AttestationRules()
        self.validators = self.next_validators = Validators()
        self.policy_hash = ""
        self.policy = self.next_policy = Policy()
        self.words = NewestWords()
        self.counters: Counter[str] = Counter()
        self._document = b""

    def announce(self, document: bytes) -> bool:
        """A policy of a snapshot is in force from the next block on; False where the document is none."""
        try:
            policy = policy_of_document(document)
        except msgspec.MsgspecError:
            return False
        self._follow(policy, document)
        return True

    def take_policy(self, document: bytes, headers: Headers, time: int) -> bool:
        """A policy is in force from the next block on; False where the document is none, or may not follow.

        Args:
            document, headers, time: as in `policy.signed_policies.follow`.
        """
        found = follow(self.next_policy, document, headers, time)
        if isinstance(found, Fault):
            return False
        self._follow(found, document)
        return True

    def begin_block(self) -> None:
        """What was announced before is in force now."""
        self.rules, self.validators, self.policy = self.next_rules, self.next_validators, self.next_policy

    @property
    def document(self) -> bytes:
        """The policy that is in force from the next block on; empty before the first."""
        return self._document

    def _follow(self, policy: Policy, document: bytes) -> None:
        self.next_rules, self.next_validators = attestation_rules(policy), Validators.of(policy)
        self.policy_hash, self._document, self.next_policy = policy.hash, document, policy


# ---------------------------------------------------------------- snapshots


class Head(msgspec.Struct, gc=False, kw_only=True):
    """What a snapshot begins with: all but the words."""

    frame: int
    lane: int
    lanes: int
    partitioner: Partitioner
    document: bytes
    counters: dict[str, int]


LAYOUT: Final = snapshot.layout_of(repr((FORMAT, NAME_BYTES, Row)), Head)
"""As `snapshot.LAYOUT`."""

_encoder = msgspec.msgpack.Encoder(order="sorted")
_head = msgspec.msgpack.Decoder(Head)
_chunk = msgspec.msgpack.Decoder(list[Row])


def dump(state: State) -> Iterator[bytes]:
    """The state as it is now, in chunks, as `snapshot.dump`: they may be made later, while the lane goes on."""
    head = Head(
        frame=FORMAT,
        lane=state.lane,
        lanes=state.lanes,
        partitioner=state.partitioner,
        document=state.document,
        counters=dict(state.counters),
    )
    return _chunks(_encoder.encode(head), state.words.at_rest())


def _chunks(head: bytes, words: list[Row]) -> Iterator[bytes]:
    yield head
    rows = iter(words)
    while chunk := list(islice(rows, CHUNK)):
        yield _encoder.encode(chunk)


def load(chunks: Iterable[bytes]) -> State:
    """The state that `dump` was given.

    Raises:
        DoesNotHoldError: the chunks are not those of a snapshot that this version reads.
    """
    given = iter(chunks)
    try:
        head = _head.decode(next(given, b""))
        if head.frame != FORMAT:
            raise DoesNotHoldError("the snapshot has another format", expected=str(FORMAT), got=str(head.frame))
        state = State(head.lane, head.lanes, head.partitioner)
        if head.document and not state.announce(head.document):
            raise DoesNotHoldError("the snapshot's policy is none")
        state.counters = Counter(head.counters)
        for chunk in given:
            state.words.restore(_chunk.decode(chunk))
    except msgspec.MsgspecError as error:
        raise DoesNotHoldError(f"the snapshot does not hold a framing lane's state: {error}") from error
    return state
