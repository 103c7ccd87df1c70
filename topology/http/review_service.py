"""Claims, decisions and their undoing: from a signed-in person to a signed record on `reviews`."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from ...codecs.errors import Fault
from ...codecs.signatures import Signing
from ...codecs.times import format_time
from ..kafka.input_records import Prepared, prepare
from .auth_middleware import Principal
from .queries import held_by, lease_of, request_of
from .record_intake import Conflict, Intake, Outbox, Stored
from .request_bodies import RefusedLine, TakenRecord, refusal_body, refusal_of
from .review_rules import (
    LEASE_SECONDS,
    MOST_HELD,
    Lease,
    LeaseWord,
    NotDecided,
    OpenRequest,
    ReviewRequest,
    key_of,
    read_review_request,
    refused,
    reviewer_of,
    wanted,
)
from .routes import json_response, not_taken, principal_of, route
from .verdict_streams import Sight, not_ready

READ_SECONDS: Final = 5.0
"""So long a claim may take to come back from Kafka."""
REPEAT_SECONDS: Final = 30
"""Whoever waits for an answer asks again within this."""
REMEMBERED: Final = 10_000
"""Decisions."""


class Repeats:
    """What each reviewer decided last about an assertion, and when.

    The same decision within `REPEAT_SECONDS` is a request that came twice, however it is worded: it keeps the time of
    the first, and so is one record. Behind another decision, or later, it is a decision of its own.
    """

    def __init__(self) -> None:
        self._last: OrderedDict[str, tuple[str, int]] = OrderedDict()

    def decided_at(self, what: str, decision: str, now: int) -> int:
        """When this was decided, Unix ms, as `now` is.

        `what` names the assertion, its attempt, the reviewer, and the request that is decided.
        """
        last, at = self._last.pop(what, ("", 0))
        if last != decision or not 0 <= now - at < 1000 * REPEAT_SECONDS:
            at = now
        self._last[what] = decision, at
        if len(self._last) > REMEMBERED:
            self._last.popitem(last=False)
        return at


class _Claim(NamedTuple):
    holder: str
    key: str
    until: int


class Claims:
    """Claims that are on their way to the view, so that they count before they are in it.

    Those that have not come back count until they would have ended. So no more are remembered than can be under way or
    held: `MOST_HELD` of a reviewer, and those that are being counted.
    """

    def __init__(self) -> None:
        self._known: dict[int, _Claim] = {}
        self._made = 0

    def begin(self, holder: str, key: str, until: int, now: int) -> tuple[int, frozenset[str]]:
        """A claim begins: its number, and the keys of the holder's other claims that began before it.

        Where it is never seen, it ends at `until` (Unix ms, as `now` is).
        """
        self._known = {number: one for number, one in self._known.items() if one.until > now}
        others = frozenset(one.key for one in self._known.values() if one.holder == holder and one.key != key)
        self._made += 1
        self._known[self._made] = _Claim(holder, key, until)
        return self._made, others

    def end(self, number: int) -> None:
        """It is in the view, or will never be."""
        self._known.pop(number, None)

    def given_back(self, holder: str, key: str) -> None:
        """All of this holder's claims to it have ended."""
        self._known = {number: one for number, one in self._known.items() if (one.holder, one.key) != (holder, key)}

    def __len__(self) -> int:
        return len(self._known)


@dataclass(frozen=True)
class ReviewService:
    """What reviews are made of.

    Attributes:
        sight: the view.
        intake: the way to Kafka.
        outbox: decisions that can still be taken back.
        signing: the service's key; None: reviews are not signed.
        role: whose key it is in the policy.
        now: Unix ms.
        repeats: tells a decision that is posted again from one that is made again.
        claims: those of this service that the view may not hold yet.
    """

    sight: Sight
    intake: Intake
    outbox: Outbox
    signing: Signing | None
    role: str
    now: Callable[[], int]
    repeats: Repeats = field(default_factory=Repeats)
    claims: Claims = field(default_factory=Claims)

    async def of(self, key: str) -> tuple[OpenRequest | None, Lease | None]:
        """How an assertion stands."""
        found, lease = await self.sight.readers.ask(lambda db: (request_of(db, key), lease_of(db, key)))
        return (None if found is None else found[0]), lease

    async def prepared(
        self, asked: ReviewRequest, principal: Principal, *, needs_lease: bool
    ) -> TakenRecord | RefusedLine | NotDecided:
        """The signed record of a decision, or why there is none."""
        reviewer, now = reviewer_of(principal), self.now()
        made = wanted(asked, reviewer, now, self.role if self.signing is not None else None)
        if isinstance(made, RefusedLine):
            return made
        key, record = made
        request, lease = await self.of(key)
        if (no := refused(asked, request, lease, reviewer, now, needs_lease=needs_lease)) is not None:
            return no
        what = f"{key} {asked.attempt} {reviewer} {request.due if request is not None else 0}"
        decided = self.repeats.decided_at(what, asked.decision, now)
        record["decided_at"] = format_time(decided)
        if request is not None and request.canonical_hash is not None and asked.attempt == request.attempt:
            record["canonical_hash"] = request.canonical_hash
        prepared = prepare(msgspec.json.encode(record), "reviews", now, self.signing)
        if isinstance(prepared, Fault):
            return refusal_of(1, prepared)
        identity = f"reviews {key} {asked.attempt} {reviewer} {asked.decision} {decided}".encode()
        return TakenRecord(key, prepared, identity, sha256(identity).digest())

    async def claim(self, key: str, holder: str, seconds: int = LEASE_SECONDS) -> Lease | NotDecided | None:
        """Asks for a lease and waits until it can be read who has it; 0 seconds give it back (None)."""
        emission_id, _, span_key = key.partition("#")
        word = LeaseWord(emission_id=emission_id, span_key=span_key, holder=holder, seconds=seconds)
        if seconds <= 0:
            before, _ = await self._claimed(key, holder)
            got, _ = await self._ask_for(word, before)
            if got is None:
                self.claims.given_back(holder, key)
            return got
        now = self.now()
        # It counts before the view is asked, or claims that are posted side by side would not count each other.
        number, others = self.claims.begin(holder, key, now + 1000 * seconds, now)
        is_known = True
        try:
            before, held = await self._claimed(key, holder, others)
            is_mine = before is not None and before.is_live(now) and before.holder == holder
            if held >= MOST_HELD and not is_mine:
                return NotDecided(409, f"you hold {held} requests already: decide one, or give one back")
            is_known = False
            got, is_known = await self._ask_for(word, before)
            return got
        finally:
            if is_known:
                self.claims.end(number)

    async def _claimed(self, key: str, holder: str, others: Collection[str] = ()) -> tuple[Lease | None, int]:
        """Who holds a request, and how many the reviewer holds or has claimed."""
        now = self.now()
        return await self.sight.readers.ask(lambda db: (lease_of(db, key), held_by(db, holder, now, others)))

    async def _ask_for(self, word: LeaseWord, before: Lease | None) -> tuple[Lease | NotDecided | None, bool]:
        """Writes a word and waits for what comes of it; whether that is known now."""
        key = key_of(word.emission_id, word.span_key)
        record = Prepared("review-leases", key.encode(), msgspec.json.encode(word))
        outcome = await self.intake.take([TakenRecord(key, record, b"lease " + secrets.token_bytes(12), b"")])
        if not isinstance(outcome, Stored):
            return NotDecided(503, "the broker does not take the claim now: try again"), True
        end = asyncio.get_running_loop().time() + READ_SECONDS
        while asyncio.get_running_loop().time() < end:
            lease = await self.sight.readers.ask(lambda db: lease_of(db, key))
            if lease is None and word.seconds == 0:
                return None, True
            if lease is not None and lease.is_live(self.now()):
                if lease.holder != word.holder:
                    return NotDecided(409, f"somebody else holds this request until {format_time(lease.until)}"), True
                if lease != before:
                    return lease, True
            await asyncio.sleep(0.05)
        return NotDecided(503, "the claim has not come back from the broker yet: look again in a moment"), False


def reviewing(service: ReviewService) -> list[BaseRoute]:
    """The route for programs: the review goes at once, and is acknowledged when Kafka has it."""

    async def post(request: Request) -> Response:
        principal = principal_of(request)
        assert principal is not None, "the route asks for a scope"
        made = read_review_request(await request.body())
        if isinstance(made, ReviewRequest):
            if (refusal := await not_ready(service.sight)) is not None:
                return refusal
            made = await service.prepared(made, principal, needs_lease=False)
        if isinstance(made, RefusedLine):
            return json_response(refusal_body([made]), 422)
        if isinstance(made, NotDecided):
            return json_response({"error": made.why}, made.status)
        outcome = await service.intake.take([made])
        if isinstance(outcome, Stored):
            answer = {"ids": outcome.ids, "repeated": outcome.repeated, "reviewer": reviewer_of(principal)}
            return json_response(answer, 202)
        if isinstance(outcome, Conflict):
            return json_response({"error": "it was decided otherwise before"}, 409)
        return not_taken(outcome)

    return [route("/v1/reviews", post, scope="review", methods=["POST"], meter=service.sight.meter)]
