"""What the console and the review routes ask the view: plain SQL in, rows as structs out. Nothing is decided here."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple, get_args

import msgspec

from ...codecs.canonical import CanonicalError, assertion_hash
from ...codecs.records import Kind
from ...streams.attestations.framing import Composed, Verdict, compose
from ...streams.policy.policy import DEFAULT_POLICY, AttestationDomain, Policy, policy_of_document
from .kept_view import about_of, find_rows
from .review_rules import Lease, OpenRequest
from .service_view import CHECKPOINTS, Filter, Verdicts, members_of, standing_of, status_of

SAMPLE: Final = 5000
"""So many of the newest records the insight page counts over."""
MOST_FOUND: Final = 50
"""Of each kind that a look-up finds, and attestations of a claim that a page shows."""
SAMPLE_OF_OUTPUTS: Final = 500
"""As `SAMPLE`, where each has to be put together from the output topics."""
CLAIM: Final = re.compile(r"0x[0-9a-f]{64}")
_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}")
_verdicts = msgspec.json.Decoder(Verdicts)


class RequestRow(NamedTuple):
    """A request for review as the queue lists it."""

    key: str
    emission_id: str
    span_key: str
    attempt: int
    at: int
    reason: str
    status: str
    effect: str
    emitter: str | None
    text: str
    holder: str | None
    until: int
    due: int | None


def policy_of(db: sqlite3.Connection) -> Policy:
    """The policy in force; the reference policy where none is known."""
    document = about_of(db).get("policy")
    try:
        return policy_of_document(document.encode()) if document else DEFAULT_POLICY
    except msgspec.MsgspecError:
        return DEFAULT_POLICY


def request_of(db: sqlite3.Connection, key: str) -> tuple[OpenRequest, dict[str, Any]] | None:
    """The newest request of an assertion, and its record."""
    row = db.execute("SELECT attempt, at, ended, record, due FROM requests WHERE key=?", (key,)).fetchone()
    if row is None:
        return None
    admitted = db.execute(
        "SELECT DISTINCT reviewer FROM reviews WHERE key=? AND attempt=? AND decision='admit' AND reviewer IS NOT NULL",
        (key, row[0]),
    )
    due = row[1] + policy_of(db).admissibility.review_window if row[4] is None else row[4]
    record = msgspec.json.decode(row[3])
    request = OpenRequest(
        row[0], due, not row[2], frozenset(name for (name,) in admitted), record.get("canonical_hash")
    )
    return request, record


def lease_of(db: sqlite3.Connection, key: str) -> Lease | None:
    """Who holds it."""
    row = db.execute("SELECT holder, until FROM leases WHERE key=?", (key,)).fetchone()
    return None if row is None else Lease(*row)


def held_by(db: sqlite3.Connection, holder: str, now: int, claimed: Collection[str] = ()) -> int:
    """The number of open requests that a reviewer holds at `now` (Unix ms), or is about to.

    `claimed` are keys of requests that the reviewer has asked for, whether the view holds that or not. Those that
    another reviewer holds do not count.
    """
    return db.execute(
        "SELECT count(*) FROM ("
        "SELECT r.key FROM leases l JOIN requests r ON r.key=l.key WHERE l.holder=? AND l.until>? AND NOT r.ended"
        " UNION SELECT r.key FROM json_each(?) c JOIN requests r ON r.key=c.value LEFT JOIN leases l ON l.key=r.key"
        " WHERE NOT r.ended AND (l.key IS NULL OR l.until<=? OR l.holder=?))",
        (holder, now, msgspec.json.encode(list(claimed)).decode(), now, holder),
    ).fetchone()[0]


_OPEN: Final = (
    " FROM requests r LEFT JOIN emissions e ON e.emission_id=r.emission_id AND e.attempt=r.attempt"
    " LEFT JOIN leases l ON l.key=r.key"
    " WHERE NOT r.ended AND CASE WHEN r.due IS NULL THEN r.at > ? ELSE r.due >= ? END"
    " AND (? = '' OR e.system = ?) AND (? = '' OR r.reason = ?)"
    " AND NOT EXISTS (SELECT 1 FROM reviews v WHERE v.key=r.key AND v.attempt=r.attempt AND v.reviewer=?)"
)


def _open_arguments(db: sqlite3.Connection, now: int, emitter: str, reason: str, reviewer: str) -> tuple[Any, ...]:
    since = now - policy_of(db).admissibility.review_window
    return (since, now, emitter, emitter, reason, reason, reviewer)


def open_requests(
    db: sqlite3.Connection, now: int, emitter: str, reason: str, reviewer: str, limit: int
) -> list[RequestRow]:
    """The open requests that a reviewer has not decided, the one that ends first at the top."""
    rows = db.execute(
        "SELECT r.key, r.emission_id, r.span_key, r.attempt, r.at, r.reason, r.status, r.effect, e.system, r.record,"
        " l.holder, l.until, r.due" + _OPEN + " ORDER BY r.at, r.key LIMIT ?",
        (*_open_arguments(db, now, emitter, reason, reviewer), limit),
    )
    return [
        RequestRow(
            *row[:9],
            text=text_of(msgspec.json.decode(row[9])),
            holder=row[10] if (row[11] or 0) > now else None,
            until=row[11] or 0,
            due=row[12],
        )
        for row in rows
    ]


def count_open(db: sqlite3.Connection, now: int, emitter: str, reason: str, reviewer: str) -> int:
    """How many there are."""
    arguments = _open_arguments(db, now, emitter, reason, reviewer)
    return db.execute("SELECT count(*)" + _OPEN, arguments).fetchone()[0]


def kinds_of_open(db: sqlite3.Connection, now: int) -> list[tuple[str, str, int]]:
    """By emitter and reason, how many are open."""
    since = now - policy_of(db).admissibility.review_window
    return db.execute(
        "SELECT coalesce(e.system, ''), r.reason, count(*) FROM requests r"
        " LEFT JOIN emissions e ON e.emission_id=r.emission_id AND e.attempt=r.attempt"
        " WHERE NOT r.ended AND CASE WHEN r.due IS NULL THEN r.at > ? ELSE r.due >= ? END"
        " GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 50",
        (since, now),
    ).fetchall()


def text_of(record: dict[str, Any]) -> str:
    """The text in a record's frame; empty where there is none."""
    text: object = members_of(record.get("_untrusted_text")).get("assertion")
    return text if isinstance(text, str) else ""


# ---------------------------------------------------------------- emissions


class EmissionHistory(NamedTuple):
    """All that the view has of an emission."""

    emission: bytes | None
    status: dict[str, Any] | None
    decisions: dict[str, list[dict[str, Any]]]
    observations: list[dict[str, Any]]
    reviews: list[tuple[str, str, str, str]]
    requests: list[str]


def history_of(db: sqlite3.Connection, emission_id: str) -> EmissionHistory:
    """The newest attempt of an emission, its verdicts, and what they rest on."""
    row = db.execute(
        "SELECT record FROM emissions WHERE emission_id=? ORDER BY attempt DESC LIMIT 1", (emission_id,)
    ).fetchone()
    decisions: dict[str, list[dict[str, Any]]] = {}
    for key, record in db.execute("SELECT key, record FROM decisions WHERE emission_id=? LIMIT 2000", (emission_id,)):
        decisions.setdefault(key.partition("#")[2], []).append(msgspec.json.decode(record))
    observations = [
        msgspec.json.decode(record)
        for (record,) in db.execute("SELECT record FROM observations WHERE emission_id=? LIMIT 2000", (emission_id,))
    ]
    reviews = db.execute(
        "SELECT key, coalesce(reviewer, ''), decision, reason FROM reviews WHERE key >= ? AND key < ? LIMIT 500",
        (emission_id + "#", emission_id + "$"),
    ).fetchall()
    requests = [
        span
        for (span,) in db.execute("SELECT span_key FROM requests WHERE emission_id=? AND NOT ended", (emission_id,))
    ]
    return EmissionHistory(
        None if row is None else row[0], status_of(db, emission_id), decisions, observations, reviews, requests
    )


def newest(db: sqlite3.Connection, wants: Filter, limit: int) -> list[tuple[int, Verdicts]]:
    """The newest records of `verdicts` that a filter takes, with their times."""
    return list(islice(((at, verdicts) for at, _, verdicts in _recent(db) if wants.takes(verdicts)), limit))


def _recent(db: sqlite3.Connection) -> Iterator[tuple[int, int | None, Verdicts]]:
    """What became of the newest emissions, the last first: when, when they came, and what. By the records of
    `verdicts`; where nobody writes any, by the output topics."""
    rows = db.execute(
        "SELECT v.at, e.at, v.record FROM verdicts v LEFT JOIN emissions e ON e.emission_id=v.emission_id AND"
        " e.attempt=0 WHERE v.newest ORDER BY v.id DESC LIMIT ?",
        (SAMPLE,),
    ).fetchall()
    for at, emitted, record in rows:
        yield at, emitted, _verdicts.decode(record)
    if rows:
        return
    decided = db.execute(
        "SELECT d.emission_id, max(d.at), e.at FROM decisions d LEFT JOIN emissions e ON e.emission_id=d.emission_id"
        " AND e.attempt=0 GROUP BY d.emission_id ORDER BY 2 DESC LIMIT ?",
        (SAMPLE_OF_OUTPUTS,),
    ).fetchall()
    for emission_id, at, emitted in decided:
        status = status_of(db, emission_id)
        if status is not None:
            yield at, emitted, msgspec.convert(status, Verdicts)


class Found(NamedTuple):
    """What a look-up found; each list has at most `MOST_FOUND`.

    Attributes:
        emissions: ids that are the asked one, or begin with it.
        assertions: those with the asked text or canonical hash: emission, span key, status, text.
        claims: the hash of each, and a validator's words about it.
    """

    emissions: list[str]
    assertions: list[tuple[str, str, str, str]]
    claims: list[tuple[str, str]]


def look_up(db: sqlite3.Connection, asked: str) -> Found:
    """What an id, a key, a hash or a text names.

    `asked` is an emission's id or the beginning of one, an assertion's key, a canonical hash (`sha256:…`), a claim hash
    (`0x…`), the text of an assertion, or words of what validators say.
    """
    emission_id = asked.partition("#")[0]
    rows = db.execute(
        "SELECT emission_id FROM emissions WHERE emission_id >= ? AND emission_id < ? UNION"
        " SELECT emission_id FROM verdicts WHERE newest AND emission_id >= ? AND emission_id < ? LIMIT ?",
        (*(emission_id, emission_id + "\x7f") * 2, MOST_FOUND),
    )
    return Found([name for (name,) in rows], _assertions(db, asked), _claims(db, asked))


def _assertions(db: sqlite3.Connection, asked: str) -> list[tuple[str, str, str, str]]:
    """Assertions with this text: what looks alike has the same canonical hash."""
    try:
        hashes = [asked] if _HASH.fullmatch(asked) else [assertion_hash(asked, kind) for kind in get_args(Kind)]
    except CanonicalError:
        return []
    marks = ",".join("?" * len(hashes))
    found: dict[str, tuple[str, str, str, str]] = {}
    for key, record in db.execute(
        f"SELECT key, record FROM decisions WHERE canonical_hash IN ({marks}) ORDER BY at DESC LIMIT ?",
        (*hashes, 2 * MOST_FOUND),
    ):
        word: dict[str, Any] = msgspec.json.decode(record)
        emission_id, _, span_key = key.partition("#")
        found.setdefault(key, (emission_id, span_key, word["status"], text_of(word)))
    return list(found.values())[:MOST_FOUND]


def _claims(db: sqlite3.Connection, asked: str) -> list[tuple[str, str]]:
    named = asked.strip().lower()
    if CLAIM.fullmatch(named):
        where, values = "claim_hash=?", [named]
    elif _HASH.fullmatch(asked):
        where, values = "canonical_hash=?", [asked]
    else:
        values = find_rows(db, "claim_words", asked, MOST_FOUND)[:200]
        where = f"id IN ({','.join('?' * len(values))})"
    found: dict[str, str] = {}
    for claim, shown in db.execute(
        f"SELECT claim_hash, shown FROM attestations WHERE standing AND {where} ORDER BY id DESC", values
    ):
        found.setdefault(claim, msgspec.json.decode(shown)["_untrusted_text"]["rationale"])
    return list(found.items())[:MOST_FOUND]


class Claim(NamedTuple):
    """A claim within one consensus domain, as its validators see it.

    Attributes:
        domain: of the policy's registry.
        composed: what they come to together, by the domain's rules; who is not counted is left out.
        attestations: the standing ones, the newest first: when they came, whether they count, and the framed record.
        more: whether there are more than are shown.
    """

    domain: str
    composed: Composed
    attestations: list[tuple[int, bool, dict[str, Any]]]
    more: bool


def claim_of(db: sqlite3.Connection, claim_hash: str) -> list[Claim]:
    """What validators say of a claim, domain by domain."""
    rules = policy_of(db).attestations.domains
    found: list[Claim] = []
    for (domain,) in db.execute(
        "SELECT DISTINCT domain FROM attestations WHERE standing AND claim_hash=? ORDER BY domain LIMIT 20",
        (claim_hash,),
    ).fetchall():
        given: dict[Verdict, int] = dict(
            db.execute(
                "SELECT verdict, count(*) FROM attestations WHERE standing AND counts AND claim_hash=? AND domain=?"
                " GROUP BY verdict",
                (claim_hash, domain),
            )
        )
        rows = db.execute(
            "SELECT at, counts, shown FROM attestations WHERE standing AND claim_hash=? AND domain=?"
            " ORDER BY id DESC LIMIT ?",
            (claim_hash, domain, MOST_FOUND + 1),
        ).fetchall()
        of = rules.get(domain, AttestationDomain())
        shown = [(at, bool(counts), msgspec.json.decode(record)) for at, counts, record in rows[:MOST_FOUND]]
        found.append(Claim(domain, compose(given, of.composition, of.quorum), shown, len(rows) > MOST_FOUND))
    return found


# ---------------------------------------------------------------- lanes


class LaneStanding(NamedTuple):
    """How far a lane is, as far as the topics say.

    Attributes:
        ledger: by its logical name.
        lane: its number.
        height, told_at: of the block that its newest record on `verdicts` is of, and when that came (Unix ms); None
            where there is no such record. Lanes of other ledgers write none.
        checkpoint: the newest note that names this lane, as it stands; None where there is none.
    """

    ledger: str
    lane: int
    height: int | None
    told_at: int | None
    checkpoint: bytes | None


def lanes_of(db: sqlite3.Connection) -> list[LaneStanding]:
    """Every lane of every ledger, by the index of each partition."""
    rows = db.execute("SELECT ledger, partition, note FROM checkpoints")
    notes = {(ledger, partition): note for ledger, partition, note in rows}
    lanes = max(len(standing_of(db).offsets), *(lane + 1 for _, lane in notes), 0)
    found: list[LaneStanding] = []
    for lane in range(lanes):
        row = db.execute(
            "SELECT at, record FROM verdicts WHERE partition=? ORDER BY offset DESC LIMIT 1", (lane,)
        ).fetchone()
        at, record = row or (None, b"{}")
        height: object = members_of(msgspec.json.decode(record).get("ledger")).get("height")
        note = notes.get(("ledger", lane))
        found.append(LaneStanding("ledger", lane, height if isinstance(height, int) else None, at, note))
    others = [one for one in CHECKPOINTS.values() if one != "ledger"]
    return found + [
        LaneStanding(one, lane, None, None, notes.get((one, lane))) for one in others for lane in range(lanes)
    ]


# ---------------------------------------------------------------- insight


class Insight(NamedTuple):
    """Counts over the newest records.

    Attributes:
        by_emitter, by_class, by_kind: of each name, how many assertions are decided and how many of them admitted.
        seconds: from the emission to its being settled, sorted.
        missing: why what was not admitted was not, by reason.
        agreed, compared: of the pairs of reviewers that decided one assertion, how many decided alike.
        lag: by topic, records that are not in the view.
    """

    by_emitter: dict[str, tuple[int, int]]
    by_class: dict[str, tuple[int, int]]
    by_kind: dict[str, tuple[int, int]]
    seconds: list[float]
    missing: dict[str, int]
    agreed: int
    compared: int
    lag: dict[str, int]


def insight_of(db: sqlite3.Connection) -> Insight:
    """What the insight page shows."""
    by_emitter: dict[str, tuple[int, int]] = {}
    by_class: dict[str, tuple[int, int]] = {}
    by_kind: dict[str, tuple[int, int]] = {}
    missing: dict[str, int] = {}
    seconds: list[float] = []
    for at, emitted, verdicts in _recent(db):
        if verdicts.settled and emitted is not None:
            seconds.append(max(0, at - emitted) / 1000)
        for one in verdicts.assertions:
            if one.attempt != verdicts.attempt or one.status == "pending":
                continue
            admitted = one.status in ("admitted", "renewed")
            _count(by_emitter, verdicts.emitter or "(none)", admitted)
            _count(by_kind, one.kind, admitted)
            for name in one.classes_seen:
                _count(by_class, name, admitted)
            if not admitted:
                reason = one.reason or one.status
                missing[reason] = missing.get(reason, 0) + 1
    agreed = compared = 0
    for first, last, reviewers in db.execute(
        "SELECT min(decision), max(decision), count(DISTINCT reviewer) FROM reviews GROUP BY key, attempt"
    ):
        if reviewers > 1:
            compared += 1
            agreed += first == last
    lag = {
        name.removeprefix("behind."): int(value)
        for name, value in db.execute("SELECT name, value FROM about WHERE name LIKE 'behind.%'")
    }
    return Insight(by_emitter, by_class, by_kind, sorted(seconds), missing, agreed, compared, lag)


def _count(counts: dict[str, tuple[int, int]], name: str, admitted: bool) -> None:
    decided, of_them = counts.get(name, (0, 0))
    counts[name] = decided + 1, of_them + admitted
