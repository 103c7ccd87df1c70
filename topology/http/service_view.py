"""The service's view: emissions, what became of them, and what people were asked, in one SQLite file (kept_view.py).

It holds what emitters wrote as they wrote it; the page that shows it escapes it (html_escape.py). It holds nothing that
the topics do not hold. Of a record of `verdicts` only identifiers, enumerated values, numbers and times are taken, and
what does not look like that is refused: who may write to the topic is for the broker to say.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from heapq import merge
from itertools import islice
from typing import Any, ClassVar, Final, NamedTuple, cast, get_args

import msgspec

from ...codecs.decode import decode_emission, decode_json, decode_observation, decode_review
from ...codecs.errors import DoesNotHoldError, Fault
from ...codecs.identifiers import Span, span_key
from ...codecs.json_text import decode_any
from ...codecs.notes import parse_checkpoint, parse_note
from ...codecs.records import Effect, Identifier, RequestEnd, Status
from ...codecs.times import parse_time
from ..engine.folds import folds
from ..kafka.topics import TOPICS
from .adapter_view import UnfitRecord, grounded_entry, strings
from .kept_view import PARTITIONS, Arrived, KeptView, about_of
from .review_rules import Lease, key_of, lease_after, read_word

STATUSES: Final = frozenset({"pending", *get_args(Status)} - {"renewed"})
"""What a verdict can be: `renewed` is a word about an assertion that is `admitted`."""
EFFECTS: Final = frozenset(get_args(Effect))
_SPAN_KEY: Final = re.compile(r"[A-Za-z0-9._~:/+=@%-]{1,2048}")


class AssertionVerdict(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What became of one assertion; see docs/serving.md for the members."""

    span_key: str
    status: str
    attempt: int = 0
    kind: str = "assertion"
    effect: str = "internal"
    reason: str | None = None
    disposition: str | None = None
    classes_seen: list[str] = []
    missing_floor: int = 0
    valid_until: str | None = None


class Verdicts(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What became of one emission."""

    emission_id: str
    settled: bool
    attempt: int = 0
    emitter: str | None = None
    decided_at: str | None = None
    assertions: list[AssertionVerdict] = []


class ReadVerdicts(NamedTuple):
    """A record that may be shown: its words, and all of it as it came."""

    verdicts: Verdicts
    record: dict[str, Any]
    at: int


_verdicts = msgspec.json.Decoder(Verdicts)


def read_verdicts(key: bytes | None, value: bytes | None) -> ReadVerdicts | None:
    """The record of an emission; None where it is none, or says more than it may. `key` is the Kafka record's."""
    found = decode_json(value, _verdicts)
    if isinstance(found, Fault):
        return None
    record = decode_any(value or b"")
    try:
        fits = all(_fits(text) for _, text in strings(record))
    except UnfitRecord:  # nested too deeply
        return None
    if key != found.emission_id.encode() or not fits:
        return None
    return ReadVerdicts(found, record, (parse_time(found.decided_at) if found.decided_at else None) or 0)


def _fits(text: str) -> bool:
    """An identifier, or the name of a check that is negated."""
    return _SPAN_KEY.fullmatch(text.removeprefix("not ")) is not None


class Filter(NamedTuple):
    """Which verdicts a stream is asked for; an empty part lets all through.

    `emitters` are names of systems. One assertion of the newest attempt has to have one of `statuses` and one of
    `effects`.
    """

    emitters: frozenset[str] = frozenset()
    statuses: frozenset[str] = frozenset()
    effects: frozenset[str] = frozenset()

    def unknown(self) -> tuple[str, str] | None:
        """The name of a part and a value of it that no verdict can have; None where every value can occur."""
        parts = (("status", self.statuses - STATUSES), ("effect", self.effects - EFFECTS))
        return next(((name, value) for name, values in parts for value in sorted(values)), None)

    def takes(self, verdicts: Verdicts) -> bool:
        """Whether the record is wanted."""
        if self.emitters and verdicts.emitter not in self.emitters:
            return False
        if not self.statuses and not self.effects:
            return True
        return any(
            (not self.statuses or one.status in self.statuses) and (not self.effects or one.effect in self.effects)
            for one in verdicts.assertions
        )


# ---------------------------------------------------------------- positions


def position_text(offsets: Sequence[int]) -> str:
    """The id of an event among all verdicts: of each partition the offset to go on at, with dots between them."""
    return ".".join(str(offset) for offset in offsets)


def parse_position(text: str | None, partitions: int) -> list[int] | None:
    """The position that an event's id (Last-Event-ID) names; None where it is none of a topic of so many partitions."""
    if not text or len(text) > 20 * partitions or not re.fullmatch(r"[0-9]{1,18}(\.[0-9]{1,18})*", text):
        return None
    offsets = [int(one) for one in text.split(".")]
    return offsets if len(offsets) == partitions else None


# ---------------------------------------------------------------- events on the wire


def event(name: str, data: bytes, id_: str) -> bytes:
    """A server-sent event; `data` is one line of JSON."""
    return b"id: " + id_.encode() + b"\nevent: " + name.encode() + b"\ndata: " + data + b"\n\n"


def beat(id_: str) -> bytes:
    """Keeps a connection open, and moves the id on without an event."""
    return b": \n" + (b"id: " + id_.encode() + b"\n" if id_ else b"") + b"\n"


def sdk_start(emission_id: str) -> bytes:
    """The first part of a message of the AI SDK."""
    return sdk_part({"type": "start", "messageId": emission_id})


def sdk_parts(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The data parts of a record: one an assertion, which replaces the one of its id, and one of the whole."""
    emission_id, attempt = record["emission_id"], record.get("attempt", 0)
    parts: list[dict[str, Any]] = [
        {"type": "data-verdict", "id": f"{emission_id}#{one['span_key']}", "data": {"emission_id": emission_id, **one}}
        for one in record.get("assertions", ())
        if one.get("attempt", 0) == attempt
    ]
    whole = {"emission_id": emission_id, "attempt": attempt, "settled": record["settled"]}
    return [*parts, {"type": "data-settled" if record["settled"] else "data-pending", "id": emission_id, "data": whole}]


SDK_END: Final = ({"type": "finish"},)


def sdk_part(part: dict[str, Any], id_: str = "") -> bytes:
    """One part as the AI SDK's stream protocol has it."""
    head = b"id: " + id_.encode() + b"\n" if id_ else b""
    return head + b"data: " + msgspec.json.encode(part) + b"\n\n"


SDK_DONE: Final = b"data: [DONE]\n\n"


DAY: Final = 86_400_000
SUPERSEDED_KEPT: Final = DAY
"""A record of `verdicts` that a newer one replaced is kept so long, for streams that go on from it."""
EMISSIONS_KEPT: Final = 7 * DAY
"""As the topic's retention."""
VERDICTS_KEPT: Final = 30 * DAY
AT_ONCE: Final = 10_000
PAGE_BYTES: Final = 2_000_000
"""Of the records that a stream which goes on reads at once."""
SCHEMA: Final = """
CREATE TABLE emissions (
    emission_id TEXT NOT NULL, attempt INTEGER NOT NULL, partition INTEGER NOT NULL, at INTEGER NOT NULL,
    system TEXT, effect TEXT NOT NULL, record BLOB NOT NULL, PRIMARY KEY (emission_id, attempt)
) WITHOUT ROWID;
CREATE INDEX emissions_by_time ON emissions (at);
CREATE TABLE verdicts (
    id INTEGER PRIMARY KEY AUTOINCREMENT, partition INTEGER NOT NULL, offset INTEGER NOT NULL, at INTEGER NOT NULL,
    emission_id TEXT NOT NULL, emitter TEXT, settled INTEGER NOT NULL, newest INTEGER NOT NULL, record BLOB NOT NULL,
    UNIQUE (partition, offset)
);
CREATE UNIQUE INDEX newest_verdicts ON verdicts (emission_id) WHERE newest;
CREATE INDEX verdicts_by_time ON verdicts (at, newest);
CREATE TABLE decisions (
    key TEXT NOT NULL, topic TEXT NOT NULL, emission_id TEXT NOT NULL, revision INTEGER NOT NULL, at INTEGER NOT NULL,
    canonical_hash TEXT, record BLOB NOT NULL, PRIMARY KEY (key, topic)
) WITHOUT ROWID;
CREATE INDEX decisions_of ON decisions (emission_id);
CREATE INDEX decisions_by_hash ON decisions (canonical_hash) WHERE canonical_hash IS NOT NULL;
CREATE INDEX decisions_by_time ON decisions (at);
CREATE TABLE requests (
    key TEXT PRIMARY KEY, emission_id TEXT NOT NULL, span_key TEXT NOT NULL, attempt INTEGER NOT NULL,
    revision INTEGER NOT NULL, at INTEGER NOT NULL, reason TEXT NOT NULL, status TEXT NOT NULL, effect TEXT NOT NULL,
    ended INTEGER NOT NULL, due INTEGER, record BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX open_requests ON requests (at, key) WHERE NOT ended;
CREATE INDEX requests_of ON requests (emission_id);
CREATE TABLE reviews (
    partition INTEGER NOT NULL, offset INTEGER NOT NULL, key TEXT NOT NULL, attempt INTEGER NOT NULL,
    reviewer TEXT, decision TEXT NOT NULL, reason TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (partition, offset)
) WITHOUT ROWID;
CREATE INDEX reviews_of ON reviews (key, attempt);
CREATE TABLE leases (key TEXT PRIMARY KEY, holder TEXT NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE observations (
    partition INTEGER NOT NULL, offset INTEGER NOT NULL, emission_id TEXT NOT NULL, at INTEGER NOT NULL,
    record BLOB NOT NULL, PRIMARY KEY (partition, offset)
) WITHOUT ROWID;
CREATE INDEX observations_of ON observations (emission_id);
CREATE INDEX observations_by_time ON observations (at);
CREATE TABLE attestations (
    id INTEGER PRIMARY KEY, claim_hash TEXT NOT NULL, domain TEXT NOT NULL, validator_did TEXT NOT NULL,
    verdict TEXT NOT NULL, canonical_hash TEXT NOT NULL UNIQUE, counts INTEGER NOT NULL, standing INTEGER NOT NULL,
    at INTEGER NOT NULL, shown BLOB NOT NULL
);
CREATE UNIQUE INDEX one_word_each ON attestations (claim_hash, domain, validator_did) WHERE standing;
CREATE VIRTUAL TABLE claim_words USING fts5(words, content='', tokenize='porter unicode61 remove_diacritics 2');
CREATE TABLE checkpoints (
    ledger TEXT NOT NULL, partition INTEGER NOT NULL, at INTEGER NOT NULL, note BLOB NOT NULL,
    PRIMARY KEY (ledger, partition)
) WITHOUT ROWID;
"""

CHECKPOINTS: Final = {fold.checkpoints: fold.ledger for fold in folds()}
"""Each topic of checkpoints, and the ledger that they are of, by their logical names."""
_SHOWN: Final = (
    *("emissions", "observations", "reviews", "verdicts", "admitted", "inadmissible", "review-requests"),
    *("review-leases", "grounded", *CHECKPOINTS),
)


class ServiceView(KeptView):
    """The service's view."""

    topics: ClassVar[Sequence[str]] = tuple(name for name in _SHOWN if name in TOPICS)
    schema: ClassVar[str] = SCHEMA
    version: ClassVar[str] = "serve-6"
    tails: ClassVar[Mapping[str, int]] = dict.fromkeys(CHECKPOINTS, 64)

    def prune(self, now: int) -> int:
        """Drops what the topics drop as well, and verdicts that were replaced long ago; `now` is in Unix ms."""
        old, month = now - EMISSIONS_KEPT, now - VERDICTS_KEPT
        with self._transaction():
            return sum(
                self._db.execute(f"DELETE FROM {what}", arguments).rowcount
                for what, arguments in (
                    (
                        "verdicts WHERE id IN"
                        " (SELECT id FROM verdicts WHERE at < ? AND (NOT newest OR at < ?) LIMIT ?)",
                        (now - SUPERSEDED_KEPT, month, AT_ONCE),
                    ),
                    (
                        "emissions WHERE (emission_id, attempt) IN"
                        " (SELECT emission_id, attempt FROM emissions WHERE at < ? LIMIT ?)",
                        (old, AT_ONCE),
                    ),
                    ("observations WHERE at < ?", (old,)),
                    ("decisions WHERE at < ?", (month,)),
                    ("reviews WHERE at < ?", (month,)),
                    ("requests WHERE at < ?", (month,)),
                    ("leases WHERE until < ?", (now - DAY,)),
                )
            )

    def _store(self, topic: str, partition: int, record: Arrived) -> None:
        if not self._takes[topic](self, topic, partition, record):
            self.refuse(topic, partition, record, "it is none of its topic's")

    def _emission(self, _topic: str, partition: int, record: Arrived) -> bool:
        """The first one of an id and attempt is what lanes decide about."""
        emission = decode_emission(record.value)
        if isinstance(emission, Fault) or record.key != emission.emission_id.encode():
            return True  # it becomes a dead letter, and there is nothing to show
        self._db.execute(
            "INSERT OR IGNORE INTO emissions VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                *(emission.emission_id, emission.attempt, partition, record.timestamp),
                *(emission.emitter.system if emission.emitter else None, emission.effect, record.value),
            ),
        )
        return True

    def _observation(self, _topic: str, partition: int, record: Arrived) -> bool:
        found = decode_observation(record.value)
        if isinstance(found, Fault) or record.key != found.subject.emission_id.encode():
            return True  # a dead letter
        self._db.execute(
            "INSERT OR IGNORE INTO observations VALUES (?, ?, ?, ?, ?)",
            (partition, record.offset, found.subject.emission_id, record.timestamp, record.value),
        )
        return True

    def _review(self, _topic: str, partition: int, record: Arrived) -> bool:
        found = decode_review(record.value)
        if isinstance(found, Fault) or record.key != found.emission_id.encode():
            return True  # a dead letter
        self._db.execute(
            "INSERT OR IGNORE INTO reviews VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(partition, record.offset, key_of(found.emission_id, span_key(found.span)), found.attempt),
                *(found.reviewer, found.decision, found.reason, record.timestamp),
            ),
        )
        return True

    def _decision(self, topic: str, _partition: int, record: Arrived) -> bool:
        """The last word on an assertion; a newer one than the request's ends the request."""
        key = (record.key or b"").decode(errors="replace")
        if record.value is None:
            self._db.execute("DELETE FROM decisions WHERE key=? AND topic=?", (key, topic))
            return True
        found = _read(_decisions, record.value)
        if found is None or key != key_of(found.emission_id, span_key(found.span)):
            return False
        self._db.execute(
            "INSERT OR REPLACE INTO decisions VALUES (?, ?, ?, ?, ?, ?, ?)",
            (key, topic, found.emission_id, found.revision, record.timestamp, found.canonical_hash, record.value),
        )
        self._db.execute(
            "UPDATE requests SET ended=1 WHERE key=? AND (attempt<? OR (attempt=? AND revision<?))",
            (key, found.attempt, found.attempt, found.revision),
        )
        return True

    def _request(self, _topic: str, _partition: int, record: Arrived) -> bool:
        """A request, or the record that ends it. A newer attempt on `emissions` ends none: the lane may refuse it."""
        key = (record.key or b"").decode(errors="replace")
        if record.value is None:
            self._db.execute("UPDATE requests SET ended=1 WHERE key=?", (key,))
            return True
        found = _read(_decisions, record.value)
        if found is None or key != key_of(found.emission_id, span_key(found.span)):
            return False
        if found.status in ENDED:
            self._db.execute("UPDATE requests SET ended=1 WHERE key=? AND attempt<=?", (key, found.attempt))
            return True
        newer = self._db.execute("SELECT 1 FROM decisions WHERE key=? AND revision>?", (key, found.revision)).fetchone()
        self._db.execute(
            "INSERT OR REPLACE INTO requests VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(key, found.emission_id, span_key(found.span), found.attempt, found.revision, record.timestamp),
                *(found.reason or "", found.status, found.effect, newer is not None),
                *(None if found.deadline is None else parse_time(found.deadline), record.value),
            ),
        )
        return True

    def _lease(self, _topic: str, _partition: int, record: Arrived) -> bool:
        word = read_word(record.key, record.value)
        if word is None:
            return record.value is None
        key = key_of(word.emission_id, word.span_key)
        row = self._db.execute("SELECT holder, until FROM leases WHERE key=?", (key,)).fetchone()
        lease = lease_after(Lease(*row) if row else None, word, record.timestamp)
        if lease is None:
            self._db.execute("DELETE FROM leases WHERE key=?", (key,))
        else:
            self._db.execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?)", (key, *lease))
        return True

    def _verdict(self, _topic: str, partition: int, record: Arrived) -> bool:
        if record.value is None:
            self._db.execute(
                "DELETE FROM verdicts WHERE emission_id=?", ((record.key or b"").decode(errors="replace"),)
            )
            return True
        read: ReadVerdicts | None = read_verdicts(record.key, record.value)
        if read is None:
            return False
        found = read.verdicts
        self._db.execute("UPDATE verdicts SET newest=0 WHERE newest AND emission_id=?", (found.emission_id,))
        self._db.execute(
            "INSERT OR REPLACE INTO verdicts VALUES (NULL, ?, ?, ?, ?, ?, ?, 1, ?)",
            (
                *(partition, record.offset, record.timestamp or read.at, found.emission_id, found.emitter),
                *(found.settled, one_line(record.value or b"")),
            ),
        )
        return True

    def _attestation(self, _topic: str, _partition: int, record: Arrived) -> bool:
        """A validator's word on a claim; each validator's newest one stands, and the same one counts once."""
        try:
            entry = grounded_entry(record.value)
        except UnfitRecord:
            return False
        db = self._db
        if db.execute("SELECT 1 FROM attestations WHERE canonical_hash=?", (entry.canonical_hash,)).fetchone():
            return True
        db.execute(
            "UPDATE attestations SET standing=0, shown=x'' WHERE standing AND claim_hash=? AND domain=?"
            " AND validator_did=?",
            (entry.claim_hash, entry.consensus_domain, entry.validator_did),
        )
        added = db.execute(
            "INSERT INTO attestations VALUES (NULL, ?, ?, ?, ?, ?, ?, 1, ?, ?)",
            (
                *(entry.claim_hash, entry.consensus_domain, entry.validator_did, entry.verdict, entry.canonical_hash),
                *(entry.counts, record.timestamp, msgspec.json.encode(entry.shown)),
            ),
        )
        db.execute("INSERT INTO claim_words(rowid, words) VALUES (?, ?)", (added.lastrowid, entry.words))
        return True

    def _checkpoint(self, topic: str, partition: int, record: Arrived) -> bool:
        """The newest checkpoint of a lane, as it stands: who signed it is looked at when it is shown."""
        try:
            checkpoint = parse_checkpoint(parse_note(record.value or b"").text)
        except DoesNotHoldError:
            return False
        if checkpoint.lane != partition or ledger_named_by(checkpoint.origin) != CHECKPOINTS[topic]:
            return False
        self._db.execute(
            "INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?)",
            (CHECKPOINTS[topic], partition, record.timestamp, record.value),
        )
        return True

    _takes: ClassVar[dict[str, Callable[[ServiceView, str, int, Arrived], bool]]] = {
        "emissions": _emission,
        "observations": _observation,
        "reviews": _review,
        "verdicts": _verdict,
        "admitted": _decision,
        "inadmissible": _decision,
        "review-requests": _request,
        "review-leases": _lease,
        "grounded": _attestation,
        **dict.fromkeys(CHECKPOINTS, _checkpoint),
    }


ENDED: Final = get_args(RequestEnd)


def ledger_named_by(origin: str) -> str:
    """The logical name of the ledger that a checkpoint's origin names, behind whatever prefix its topics have."""
    name = origin.rpartition("/")[0]
    return max(filter(name.endswith, CHECKPOINTS.values()), key=len, default="")


def members_of(value: object) -> dict[str, Any]:
    """The members of an object in a record of any writer; none where it is no object."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def items_of(value: object) -> list[Any]:
    """The items of a list in such a record; none where it is no list."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def one_line(record: bytes) -> bytes:
    """A JSON record without line ends: each would end a field of the event that it goes out with."""
    return msgspec.json.format(record, indent=-1) if b"\n" in record or b"\r" in record else record


class _Decided(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What the view has to know of an output record."""

    emission_id: Identifier
    span: Span
    status: str
    attempt: int = 0
    revision: int = 0
    reason: str | None = None
    effect: str = "internal"
    deadline: str | None = None
    canonical_hash: str | None = None


_decisions = msgspec.json.Decoder(_Decided)


def _read(decoder: msgspec.json.Decoder[_Decided], value: bytes) -> _Decided | None:
    try:
        return decoder.decode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


# ---------------------------------------------------------------- questions


def verdicts_of(db: sqlite3.Connection, emission_id: str) -> tuple[int, dict[str, Any]] | None:
    """The newest record of an emission, and its offset."""
    found = db.execute("SELECT offset, record FROM verdicts WHERE newest AND emission_id=?", (emission_id,)).fetchone()
    return None if found is None else (found[0], {"attempt": 0, "assertions": [], **msgspec.json.decode(found[1])})


def status_of(db: sqlite3.Connection, emission_id: str) -> dict[str, Any] | None:
    """What is known of an emission: its record on `verdicts`; where there is none of its newest attempt, each assertion
    by its last record on the output topics, or as pending.

    None where nothing is known of it.
    """
    published = verdicts_of(db, emission_id)
    row = db.execute(
        "SELECT record, system FROM emissions WHERE emission_id=? ORDER BY attempt DESC LIMIT 1", (emission_id,)
    ).fetchone()
    emission = None if row is None else decode_emission(row[0])
    if isinstance(emission, Fault):
        emission = None
    if published is not None and (emission is None or published[1].get("attempt", 0) >= emission.attempt):
        return published[1]
    decided = _decided(db, emission_id)
    if emission is None and not decided:
        return None
    attempt = emission.attempt if emission is not None else max(one["attempt"] for one in decided.values())
    entries: dict[str, dict[str, Any]] = {
        one.span_key: {"attempt": attempt, "span_key": one.span_key, "kind": one.kind, "status": "pending"}
        for one in (emission.assertions if emission is not None else None) or ()
        if one.span_key is not None
    }
    entries.update((key, one) for key, one in decided.items() if one["attempt"] == attempt)
    earlier = (
        published[1]["assertions"]
        if published is not None
        else [one for one in decided.values() if one["attempt"] < attempt]
    )
    found: dict[str, Any] = {
        "emission_id": emission_id,
        "attempt": attempt,
        "settled": not any(one["status"] == "pending" for one in entries.values()),
        "assertions": [*earlier, *entries.values()],
    }
    return found if row is None or row[1] is None else {**found, "emitter": row[1]}


def _decided(db: sqlite3.Connection, emission_id: str) -> dict[str, dict[str, Any]]:
    """Of each assertion its last word on the output topics, by span key."""
    found: dict[str, dict[str, Any]] = {}
    for key, record in db.execute(
        "SELECT key, record FROM decisions WHERE emission_id=? ORDER BY revision", (emission_id,)
    ):
        word: dict[str, Any] = msgspec.json.decode(record)
        span = key.partition("#")[2]
        found[span] = {"span_key": span, "attempt": word.get("attempt", 0), "status": word["status"]} | {
            name: word[name]
            for name, kind in (("kind", str), ("effect", str), ("reason", str), ("valid_until", str))
            if isinstance(word.get(name), kind)
        }
        if isinstance(word.get("classes"), list):
            found[span]["classes_seen"] = [one for one in word["classes"] if isinstance(one, str)]
    return found


class Standing(NamedTuple):
    """How far the view is: what its writer told, and behind which offset of each partition of `verdicts`."""

    about: dict[str, str]
    offsets: list[int]


def standing_of(db: sqlite3.Connection) -> Standing:
    """How far the view is."""
    about = about_of(db)
    offsets = [0] * int(about.get(f"{PARTITIONS}verdicts", "0"))
    for partition, offset in db.execute("SELECT partition, next_offset FROM positions WHERE topic='verdicts'"):
        if partition < len(offsets):
            offsets[partition] = offset
    return Standing(about, offsets)


class Change(NamedTuple):
    """One record of `verdicts` as it came into the view; `id` counts them."""

    id: int
    partition: int
    offset: int
    emission_id: str
    record: bytes


def changes_after(db: sqlite3.Connection, id_: int, limit: int) -> list[Change]:
    """The records that came into the view after one."""
    found = db.execute(
        "SELECT id, partition, offset, emission_id, record FROM verdicts WHERE id > ? ORDER BY id LIMIT ?", (id_, limit)
    )
    return [Change(*row) for row in found]


def changes_from(db: sqlite3.Connection, offsets: Sequence[int], until: int, limit: int) -> list[Change]:
    """The next records at or behind a position, in the order in which they came into the view; none at the end.

    By the index of partition and offset, which holds the ids as well: the rest of the view is not read. At most `limit`
    records up to the id `until`, and not more than `PAGE_BYTES` of them but for one.
    """
    places = [
        db.execute(
            "SELECT id, offset FROM verdicts WHERE partition=? AND offset>=? AND +id<=? ORDER BY offset LIMIT ?",
            (partition, offset, until, limit),
        )
        for partition, offset in enumerate(offsets)
    ]
    found: list[Change] = []
    size = 0
    for id_, _ in islice(merge(*places), limit):
        row = db.execute(
            "SELECT id, partition, offset, emission_id, record FROM verdicts WHERE id=?", (id_,)
        ).fetchone()
        change = Change(*row)
        size += len(change.record)
        if found and size > PAGE_BYTES:
            break
        found.append(change)
    return found


def last_change(db: sqlite3.Connection) -> int:
    """The greatest id that a record of `verdicts` has had in the view, whether it is still there or not."""
    found = db.execute("SELECT seq FROM sqlite_sequence WHERE name='verdicts'").fetchone()
    return 0 if found is None else found[0]
