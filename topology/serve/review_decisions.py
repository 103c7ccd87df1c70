"""Reviews: what a person may decide, and the record of the decision. Pure.

The reviewer of a record is the person who is signed in; nothing in a request's body changes that. Where the service has
a role's key, it signs the record in the name of the role; the reviewer's name is in the signed part.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from hashlib import sha256
from typing import Any, Final, Literal, NamedTuple

import msgspec

from ...codecs.errors import Fault, schema_fault
from ...codecs.spans import IDENTIFIER_PATTERN, parse_span_key, span_key
from ...codecs.times import format_time
from .access import LOCAL, Principal
from .bodies import Refused, refusal_of
from .inert import is_seen
from .leases import Lease

MAX_REASON: Final = 500
MAX_COMMENT: Final = 2000
Decision = Literal["admit", "refuse"]
_IDENTIFIER: Final = re.compile(IDENTIFIER_PATTERN)
_OURS: Final = ("token:", "sha256:")
"""How reviewers begin that are no subjects of an identity provider."""


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is posted to `/v1/reviews`: one of `span` and `span_key`, and why (required)."""

    emission_id: str
    decision: Decision
    reason: str
    span: dict[str, Any] | None = None
    span_key: str | None = None
    comment: str = ""
    attempt: int = 0


class Wanted(NamedTuple):
    """A decision that may be sent.

    Attributes:
        key: of the assertion.
        record: the review.
    """

    key: str
    record: dict[str, Any]


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


_asked = msgspec.json.Decoder(Asked)


def read_asked(body: bytes) -> Asked | Refused:
    """What a body asks for, or why it is none."""
    from ...codecs.decode import decode_json

    found = decode_json(body, _asked)
    if isinstance(found, Fault):
        return refusal_of(1, found)
    fault = _fault_of(found)
    return found if fault is None else refusal_of(1, fault)


def _fault_of(asked: Asked) -> Fault | None:
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


def wanted(asked: Asked, reviewer: str, now: int, role: str | None) -> Wanted | Refused:
    """The review of a reviewer.

    Args:
        asked: what is decided, and why.
        reviewer: who is signed in.
        now: Unix ms.
        role: whose key signs; None where nothing is signed.
    """
    from ...codecs.decode import decode_review

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
    return Wanted(f"{review.emission_id}#{span_key(review.span)}", record)


class No(NamedTuple):
    """Why a decision is not taken: a status of HTTP and one sentence."""

    status: int
    why: str


def refused(
    asked: Asked, request: OpenRequest | None, lease: Lease | None, reviewer: str, now: int, *, needs_lease: bool
) -> No | None:
    """Why a reviewer may not decide this now; None where it may.

    Args:
        asked: what is decided.
        request: what was put up for review; None where nothing was.
        lease: who holds it.
        reviewer: who is signed in.
        now: Unix ms.
        needs_lease: people who read at the console claim a request first; programs need not.
    """
    if asked.decision == "admit":
        if request is None:
            return No(404, "this assertion is not up for review")
        if asked.attempt != request.attempt:
            return No(409, f"attempt {request.attempt} is up for review, not attempt {asked.attempt}")
        if not request.is_open:
            return No(409, "this request has been decided, or a newer attempt has taken its place")
        if now >= request.due:
            return No(409, f"this request ended at {format_time(request.due)}")
        if reviewer in request.admitted_by:
            return No(409, "you have admitted it already: it waits for another reviewer")
    if lease is not None and lease.is_live(now) and lease.holder != reviewer:
        return No(409, f"somebody else holds this request until {format_time(lease.until)}")
    if needs_lease and (lease is None or not lease.is_live(now) or lease.holder != reviewer):
        return No(409, "your claim of this request has ended: claim it again")
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
