"""Attestations: the fold of the lane `attestations` -> `grounded`, its state, and verdict summaries [V §3 to §5]."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import islice
from typing import Any, Final, Literal, NamedTuple, cast

import msgspec

from ...codecs.blocks import MAX_INPUT_BYTES, Block, Event, EventKind, Output, refused
from ...codecs.errors import DoesNotHoldError, Fault
from ...codecs.partition import Partitioner
from ...codecs.records import Time
from ...codecs.signatures import ATTESTATION, DEFAULT_ORIGIN, key_of, normalised
from ...codecs.times import format_time, parse_time
from ..adjudication import snapshot, validation
from ..adjudication.outputs import attestation_rules, dead_letter, source_of, traceparent_of
from ..policy import policy
from ..policy.keys import Key, counted, is_signed, what_came
from ..policy.policy import Attestations, Composition, Headers, Policy, follow, policy_of_document
from ..sanitise import AttestationRules, frame_attestation

WORD_BYTES: Final = 155
"""What a remembered word takes in memory (docs/capacity.md)."""


class _SignedBy(msgspec.Struct, gc=False):
    """What of an attestation says who speaks, and when."""

    validator_did: str
    signature: str | None = None
    issued_at: Time | None = None
    canonicalisation_version: str | None = None


_signers = msgspec.json.Decoder(_SignedBy)


class Validators(NamedTuple):
    """What a policy says about validators.

    Attributes:
        rules: the policy's table `attestations`.
        max_skew: how far ahead of the block's time a word may have been issued, milliseconds.
        origin: the deployment's, for which keys are succeeded.
        memory: bytes for the newest words of validators that the policy does not list.
    """

    rules: Attestations = Attestations()
    max_skew: int = 30_000
    origin: str = DEFAULT_ORIGIN
    memory: int = 128 << 20

    @classmethod
    def of(cls, policy: Policy) -> Validators:
        """Those of a policy."""
        rules = policy.admissibility
        return cls(policy.attestations, rules.max_skew, policy.origin, rules.max_waiting_bytes)

    def most_words(self, did: str) -> int | None:
        """How many words of validators like this one are remembered; None, of one that the policy lists: all."""
        return None if self.rules.validators.get(did) else max(1, self.memory // WORD_BYTES)


def unauthorised_validator(validators: Validators, value: bytes, time: int) -> Fault | None:
    """Why an attestation is not its validator's word, or comes in a form that the policy does not take.

    Args:
        validators: the policy in force.
        value: the attestation as it came; it has its types already.
        time: the block's, Unix ms.
    """
    word, rules = _signers.decode(value), validators.rules
    given = word.canonicalisation_version
    if given is not None and given < rules.min_canonicalisation:
        expected = f"{rules.min_canonicalisation} or later"
        return Fault("mistyped", f"$.canonicalisation_version: expected {expected}, got {given!r}")
    did = normalised(word.validator_did)
    if did is None:
        return Fault("mistyped", f"$.validator_did: expected a DID, got {word.validator_did[:80]!r}")
    keys = _keys(rules, did)
    if not keys and rules.require_signatures:
        return Fault("unauthorised-validator", f"$.validator_did: expected one with a key in the policy, got {did!r}")
    counting = counted(did, keys, validators.origin)
    if keys and not is_signed(counting, time, word.signature, value, ATTESTATION):
        expected = f"the signature of {did!r}"
        return Fault("unauthorised-validator", f"$.signature: expected {expected}, got {what_came(word.signature)}")
    if keys and word.issued_at is None:
        return Fault("mistyped", "$.issued_at: expected the time at which it was signed, got nothing")
    issued, latest = _issued(word), time + validators.max_skew
    if issued is not None and issued > latest:
        return Fault("clock-skew", f"$.issued_at: expected a time up to {format_time(latest)}, got {word.issued_at}")
    return None


def issue_of(value: bytes) -> tuple[str, int | None]:
    """Whose word an attestation is, by the one spelling of its DID, and when it was issued (Unix ms), if it says so.

    Args:
        value: as it came; it is one that `unauthorised_validator` finds nothing against.
    """
    word = _signers.decode(value)
    return cast(str, normalised(word.validator_did)), _issued(word)


def _issued(word: _SignedBy) -> int | None:
    return None if word.issued_at is None else cast(int, parse_time(word.issued_at))


def _keys(rules: Attestations, did: str) -> list[Key]:
    """The keys of a validator: those that the policy lists; where it lists no validator, the one that a `did:key`
    holds."""
    if rules.validators:
        return rules.validators.get(did, [])
    own = key_of(did) if rules.require_signatures else None
    return [] if own is None else [Key(public_key=own)]


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


INPUTS = ("attestations",)
GROUNDED = "grounded"

_encode = msgspec.json.Encoder().encode


def fold(state: State, block: Block) -> list[Output]:
    """Each attestation's record or dead letter, in order.

    Raises:
        DoesNotHoldError: an event of a kind that this version does not know.
    """
    state.begin_block()
    return [output for event in block.events if (output := _apply(state, block, event)) is not None]


def _apply(state: State, block: Block, event: Event) -> Output | None:
    kind = event.kind
    if kind == EventKind.RECORD:
        framed = _framed(state, block, event)
        if not isinstance(framed, Fault):
            state.counters["grounded"] += 1
            return _grounded(event, framed)
        fault = framed
    elif kind == EventKind.OVERSIZE:
        fault = Fault("oversize", f"the record has more than {MAX_INPUT_BYTES} octets")
    elif kind == EventKind.POLICY:
        if not state.take_policy(event.value or b"", event.headers, block.header.time):
            state.counters["no-policy"] += 1  # the adjudicating lane tells of it in a dead letter
        return None
    elif kind == EventKind.GAP:
        state.counters["lost"] += msgspec.json.decode(event.value or b"0", type=int) - event.offset
        return None
    elif kind == EventKind.QUARANTINE:
        offsets, fault = refused(event)
        state.counters["quarantined"] += offsets
    elif kind == EventKind.ADOPT:
        policy.demand_adoption(event, state.policy, block.header.time)
        return None
    elif kind == EventKind.LEDGER:
        return None  # the chain says which one may stand there
    else:
        raise DoesNotHoldError("the block has an event of a kind that this version does not know", got=str(kind))
    state.counters["dead-letters"] += 1
    return dead_letter(block, event, fault)


def _framed(state: State, block: Block, event: Event) -> dict[str, Any] | Fault:
    """The attestation, framed, if it is its validator's newest word; else why not."""
    value = event.value or b""
    framed = frame_attestation(value, state.rules, source=source_of(block, event))
    if isinstance(framed, Fault):
        return framed
    fault = (
        _misrouted(state, event, framed)
        or unauthorised_validator(state.validators, value, block.header.time)
        or _stale(state, value, framed)
    )
    return framed if fault is None else fault


def _misrouted(state: State, event: Event, framed: dict[str, Any]) -> Fault | None:
    """The key is the claim hash; its lane is that of the lower-case digits, so that one claim has one memory however a
    word writes it."""
    claim: str = framed["attestations"][0]["claim_hash"]
    lower = claim.lower()
    wanted = claim if event.key == claim.encode() else lower
    return validation.wrong_key(event.key, "claim hash", wanted, state.partitioner) or validation.wrong_partition(
        lower, state.lane, state.lanes, state.partitioner
    )


def _stale(state: State, value: bytes, framed: dict[str, Any]) -> Fault | None:
    """Why a word is not the validator's newest on its claim; if it is, it is from now on, under its DID's one spelling:
    one validator, one vote. The order of a word that does not say when it was issued is that in which it came."""
    entry = framed["attestations"][0]
    did, issued = issue_of(value)
    entry["validator_did"] = did
    if issued is None:
        return None
    newest = state.words.newest(entry["claim_hash"], did)
    if newest is not None and issued <= newest:
        expected = f"a time after {format_time(newest)}, that of this validator's newest word on the claim"
        return Fault("stale-word", f"$.issued_at: expected {expected}, got {format_time(issued)}")
    state.words.take(entry["claim_hash"], did, issued, state.validators.most_words(did))
    return None


def _grounded(event: Event, framed: dict[str, Any]) -> Output:
    headers = [("content-type", b"application/json")]
    if (traceparent := traceparent_of(event)) is not None:
        headers.append(("traceparent", traceparent))
    return Output(GROUNDED, event.key, _encode(framed), headers)


Verdict = Literal["VERIFIED", "SUPPORTED", "DISPUTED", "FALSE", "UNVERIFIABLE"]
CAUTIOUS: Final[tuple[Verdict, ...]] = ("FALSE", "DISPUTED", "UNVERIFIABLE", "SUPPORTED", "VERIFIED")
"""The verdicts from the most cautious to the least. Of verdicts with equally many votes, the first one here wins."""


class Composed(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The verdict summary [V §5.1].

    Attributes:
        primary_verdict: the verdict that most validators give, of several such the most cautious; None where no
            attestation counts, or the domain's rule is not met.
        validator_count: how many validators count, each once.
        disagreement_present: whether they give different verdicts.
        verdicts: how many validators give each verdict, so that the disagreement can be seen.
    """

    primary_verdict: Verdict | None
    validator_count: int
    disagreement_present: bool
    verdicts: dict[Verdict, int]


def compose(verdicts: Mapping[Verdict, int], composition: Composition = "most", quorum: int = 1) -> Composed:
    """The summary of so many validators a verdict.

    Args:
        verdicts: how many say what.
        composition, quorum: of the consensus domain, by the policy. Where they are not met there is no primary verdict;
            what was said is shown all the same.
    """
    given: dict[Verdict, int] = {}
    primary: Verdict | None = None
    for verdict in CAUTIOUS:
        count = verdicts.get(verdict, 0)
        if count > 0:
            if primary is None or count > given[primary]:
                primary = verdict
            given[verdict] = count
    count = sum(given.values())
    if primary is not None and not _is_met(given[primary], count, composition, quorum):
        primary = None
    return Composed(
        primary_verdict=primary,
        validator_count=count,
        disagreement_present=len(given) > 1,
        verdicts=given,
    )


_STRENGTH: Final[tuple[Composition, ...]] = ("most", "majority", "unanimous")


def stricter(
    composition: Composition, quorum: int, asked: Composition | None, asked_quorum: int | None
) -> tuple[Composition, int]:
    """The rule that a consumer chooses, never weaker than the domain's [V §1.1, §2]: the stricter of both.

    Args:
        composition, quorum: the domain's, by the policy.
        asked, asked_quorum: the consumer's; None for none.
    """
    chosen = _STRENGTH[max(_STRENGTH.index(composition), 0 if asked is None else _STRENGTH.index(asked))]
    return chosen, max(quorum, asked_quorum or 1)


def _is_met(votes: int, count: int, composition: Composition, quorum: int) -> bool:
    """Whether so many votes of `count` make a verdict."""
    if count < quorum:
        return False
    if composition == "unanimous":
        return votes == count
    return composition == "most" or 2 * votes > count


__all__ = ["GROUNDED", "INPUTS", "State", "fold"]
