"""What a framing lane keeps: the policy, counters, and of each validator the newest word on each claim.

Nobody's older word may come back as the newest one, so a lane remembers, for each claim and validator, when the newest
word was issued (docs/security.md). That is all: 24 bytes in a snapshot, about 155 in memory (docs/capacity.md). It is
never forgotten, because a signature never ends: the lane's state grows with claims times validators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice
from typing import Final

import msgspec

from ...codecs.errors import DoesNotHoldError
from ...codecs.partition import Partitioner
from ..adjudication import snapshot
from ..adjudication.outputs import attestation_rules
from ..policy.policy import Policy, policy_of_document
from ..sanitise import AttestationRules
from .validators import Validators

FORMAT: Final = 1
CHUNK: Final = 50_000
"""So many words make a chunk of a snapshot: a little more than a megabyte."""
NAME_BYTES: Final = 16


class NewestWords:
    """When each validator's newest word on each claim was issued.

    Invariant: the time of a claim and validator only grows.
    """

    def __init__(self) -> None:
        self._issued: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._issued)

    def newest(self, claim: str, did: str) -> int | None:
        """When the newest word was issued that was taken, Unix ms; None where there is none that says so.

        Args:
            claim: the claim's hash.
            did: the validator's, in its one spelling.
        """
        return self._issued.get(_name(claim, did))

    def take(self, claim: str, did: str, issued: int) -> None:
        """Takes a word that is newer than the newest."""
        name = _name(claim, did)
        assert issued > self._issued.get(name, -(1 << 62)), "an older word is refused first"
        self._issued[name] = issued

    def at_rest(self) -> dict[bytes, int]:
        """A copy that does not change."""
        return self._issued.copy()

    def restore(self, rows: Iterable[tuple[bytes, int]]) -> None:
        """Takes the rows of a snapshot."""
        self._issued.update(rows)


def _name(claim: str, did: str) -> bytes:
    # A DID may be long, and there may be many: a hash is enough to know a pair again. The claim has one length.
    return sha256(f"{claim}{did}".encode()).digest()[:NAME_BYTES]


class State:
    """What a framing lane has: where it is, the policy, the newest words, and counters."""

    def __init__(self, lane: int, lanes: int, partitioner: Partitioner) -> None:
        self.lane, self.lanes = lane, lanes
        self.partitioner: Partitioner = partitioner
        self.rules = self.next_rules = AttestationRules()
        self.validators = self.next_validators = Validators()
        self.policy_hash = ""
        self.words = NewestWords()
        self.counters: Counter[str] = Counter()
        self._document = b""

    def announce(self, document: bytes) -> bool:
        """A policy is in force from the next block on; False where the document is none."""
        try:
            policy = policy_of_document(document)
        except msgspec.MsgspecError:
            return False
        self._follow(policy, document)
        return True

    def begin_block(self) -> None:
        """What was announced before is in force now."""
        self.rules, self.validators = self.next_rules, self.next_validators

    @property
    def document(self) -> bytes:
        """The policy that is in force from the next block on; empty before the first."""
        return self._document

    def _follow(self, policy: Policy, document: bytes) -> None:
        self.next_rules, self.next_validators = attestation_rules(policy), Validators.of(policy)
        self.policy_hash, self._document = policy.hash, document


# ---------------------------------------------------------------- snapshots


class Head(msgspec.Struct, gc=False, kw_only=True):
    """What a snapshot begins with: all but the words."""

    frame: int
    lane: int
    lanes: int
    partitioner: Partitioner
    document: bytes
    counters: dict[str, int]


_Row = tuple[bytes, int]
LAYOUT: Final = snapshot.layout_of(repr((FORMAT, NAME_BYTES, _Row)), Head)
"""As `snapshot.LAYOUT`."""

_encoder = msgspec.msgpack.Encoder(order="sorted")
_head = msgspec.msgpack.Decoder(Head)
_chunk = msgspec.msgpack.Decoder(list[_Row])


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


def _chunks(head: bytes, words: dict[bytes, int]) -> Iterator[bytes]:
    yield head
    rows = iter(words.items())
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
