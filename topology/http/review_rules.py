"""Reviews: what a person may decide, the record of the decision, and who holds a request for the moment. Pure.

The reviewer of a record is the person who is signed in; nothing in a request's body changes that. Where the service has
a role's key, it signs the record in the name of the role; the reviewer's name is in the signed part.

A word on `review-leases` asks for a lease, lengthens it, or gives it back. The first one by offset wins; a lease ends
by the broker's time of its word and the seconds that it asks for. So every reader of the topic comes to the same
holder. A lease is a courtesy between people: who decided is in the review, and what counts is the policy's to say.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from hashlib import sha256
from typing import Any, Final, Literal, NamedTuple

import msgspec

from ...codecs.decode import decode_json, decode_review
from ...codecs.errors import Fault, schema_fault
from ...codecs.identifiers import IDENTIFIER_PATTERN, parse_span_key, span_key
from ...codecs.records import Identifier
from ...codecs.times import format_time
from .auth_middleware import LOCAL, Principal
from .html_escape import is_seen
from .request_bodies import RefusedLine, refusal_of

MAX_LEASE_SECONDS: Final = 600
"""Far below the time for which the topic keeps every word (topics.py)."""
LEASE_SECONDS: Final = 300
MOST_HELD: Final = 20
"""Requests that one reviewer may hold at a time at the console: who holds all of them keeps the others from working."""


class LeaseWord(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One word on `review-leases`, key `emission_id#span-key`.

    `holder` asks for `seconds` from the broker's time on, at most `MAX_LEASE_SECONDS`; 0 gives the lease back.
    """

    emission_id: Identifier
    span_key: str
    holder: Identifier
    seconds: int = LEASE_SECONDS


class Lease(NamedTuple):
    """Who holds a request, and until when (Unix ms)."""

    holder: str
    until: int

    def is_live(self, now: int) -> bool:
        """Whether it is held at this time."""
        return now < self.until


def lease_after(current: Lease | None, word: LeaseWord, at: int) -> Lease | None:
    """The lease after a word that came at the broker's time `at` (Unix ms); words of a key come in the order of
    offsets.
    """
    if current is not None and current.is_live(at) and current.holder != word.holder:
        return current  # somebody was first
    if word.seconds <= 0:
        return None
    return Lease(word.holder, at + 1000 * min(word.seconds, MAX_LEASE_SECONDS))


def key_of(emission_id: str, span_key: str) -> str:
    """The key of an assertion, as outputs have it."""
    return f"{emission_id}#{span_key}"


_words = msgspec.json.Decoder(LeaseWord)


def read_word(key: bytes | None, value: bytes | None) -> LeaseWord | None:
    """The word of a record; None where it is none."""
    word = decode_json(value, _words)
    if isinstance(word, Fault):
        return None
    return word if key == key_of(word.emission_id, word.span_key).encode() else None


MAX_REASON: Final = 500
MAX_COMMENT: Final = 2000
Decision = Literal["admit", "refuse"]
_IDENTIFIER: Final = re.compile(IDENTIFIER_PATTERN)
_OURS: Final = ("token:", "sha256:")
"""How reviewers begin that are no subjects of an identity provider."""


class ReviewRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is posted to `/v1/reviews`: one of `span` and `span_key`, and why (required)."""

    emission_id: str
    decision: Decision
    reason: str
    span: dict[str, Any] | None = None
    span_key: str | None = None
    comment: str = ""
    attempt: int = 0


class OpenRequest(NamedTuple):
    """A request for review as the rules look at it.

    Attributes:
        attempt: of the assertion that is up for review.
        due: until when, Unix ms.
        is_open: nothing ended it so far.
        admitted_by: who has admitted it already, where the policy asks for several.
        canonical_hash: of the assertion, as the request has it; None where it does not say.
    """

    attempt: int
    due: int
    is_open: bool
    admitted_by: Collection[str] = ()
    canonical_hash: str | None = None


_asked = msgspec.json.Decoder(ReviewRequest)


def read_review_request(body: bytes) -> ReviewRequest | RefusedLine:
    """What a body asks for, or why it is none."""
    asked = decode_json(body, _asked)
    if not isinstance(asked, Fault):
        asked = _fault_of(asked) or asked
    return refusal_of(1, asked) if isinstance(asked, Fault) else asked


def _fault_of(asked: ReviewRequest) -> Fault | None:
    if not is_seen(asked.reason):
        return schema_fault("$.reason", "why it is decided so", "nothing")
    if len(asked.reason) > MAX_REASON:
        return schema_fault("$.reason", f"at most {MAX_REASON} characters", len(asked.reason))
    if len(asked.comment) > MAX_COMMENT:
        return schema_fault("$.comment", f"at most {MAX_COMMENT} characters", len(asked.comment))
    if (asked.span is None) == (asked.span_key is None):
        return schema_fault("$.span", "a span, or a span_key instead", "both" if asked.span else "none")
    if asked.span_key is not None and parse_span_key(asked.span_key) is None:
        return schema_fault("$.span_key", "a span key such as c:0-43", asked.span_key)
    return None


def wanted(asked: ReviewRequest, reviewer: str, now: int, role: str | None) -> tuple[str, dict[str, Any]] | RefusedLine:
    """The key of an assertion, and the record of a reviewer's decision about it.

    `now` is in Unix ms; `role` says whose key signs, None where nothing is signed.
    """
    span: Any = asked.span
    if asked.span_key is not None:
        span = msgspec.to_builtins(parse_span_key(asked.span_key))
    comment = asked.comment.strip()
    record: dict[str, Any] = {
        "emission_id": asked.emission_id,
        "span": span,
        "decision": asked.decision,
        "attempt": asked.attempt,
        "reviewer": reviewer,
        "reason": asked.reason.strip() + (f": {comment}" if comment else ""),
        "decided_at": format_time(now),
    }
    if role is not None:
        record["role"] = role
    review = decode_review(msgspec.json.encode(record))
    if isinstance(review, Fault):
        return refusal_of(1, review)
    return f"{review.emission_id}#{span_key(review.span)}", record


class NotDecided(NamedTuple):
    """Why a decision is not taken: a status of HTTP and one sentence."""

    status: int
    why: str


def refused(
    asked: ReviewRequest,
    request: OpenRequest | None,
    lease: Lease | None,
    reviewer: str,
    now: int,
    *,
    needs_lease: bool,
) -> NotDecided | None:
    """Why a reviewer may not decide this now (Unix ms); None where it may.

    `request` is what was put up for review, None where nothing was; `lease` says who holds it. People who read at the
    console claim a request first (`needs_lease`); programs need not.
    """
    if asked.decision == "admit":
        if request is None:
            return NotDecided(404, "this assertion is not up for review")
        if asked.attempt != request.attempt:
            return NotDecided(409, f"attempt {request.attempt} is up for review, not attempt {asked.attempt}")
        if not request.is_open:
            return NotDecided(409, "this request has been decided, or a newer attempt has taken its place")
        if now >= request.due:
            return NotDecided(409, f"this request ended at {format_time(request.due)}")
        if reviewer in request.admitted_by:
            return NotDecided(409, "you have admitted it already: it waits for another reviewer")
    if lease is not None and lease.is_live(now) and lease.holder != reviewer:
        return NotDecided(409, f"somebody else holds this request until {format_time(lease.until)}")
    if needs_lease and (lease is None or not lease.is_live(now) or lease.holder != reviewer):
        return NotDecided(409, "your claim of this request has ended: claim it again")
    return None


def reviewer_of(principal: Principal) -> str:
    """The name that a principal's reviews carry: the subject of a person, else the name of the token.

    Tokens with one name are one reviewer. A subject that is no identifier, or could be taken for the name of a token,
    is told by its hash.
    """
    text = principal.subject or (principal.id if principal.id == principal.name else f"token:{principal.name}")
    is_plain = _IDENTIFIER.match(text) and len(text) <= 256
    if is_plain and not (principal.subject and (text.startswith(_OURS) or text == LOCAL.id)):
        return text
    return "sha256:" + sha256(text.encode()).hexdigest()
