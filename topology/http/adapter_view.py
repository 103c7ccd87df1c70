"""Records of `grounded` and `admitted` as views take them in, and the adapter's view of them.

The lanes sanitise and frame. The adapter is the choke point all the same [V §2, §8.1], and a topic is only as good as
who may write to it: so each record has to be of its type, each text in a frame has to be what the pipeline of [V §4]
makes of it (cleaning twice is cleaning once), and outside a frame only identifiers, enumerated values, numbers and
times may stand. What is not so is refused whole, and counted; nothing is repaired. The warnings are ours in any case,
and so is the note that says what of a frame is admitted: `rendered`, which stands before the emitter's words.

Text is indexed by FTS5 (kept_view.py), one index for each consensus domain and one for assertions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Final, TypeVar, cast

import msgspec
from msgspec import UNSET

from ...codecs.errors import Fault
from ...codecs.json_text import decoder_of
from ...codecs.records import MAX_CHECKS, Admitted, FramedAttestation, Grounded, SanitationMeta
from ...codecs.times import parse_time
from ...codecs.unicode_text import settle
from ...streams.adjudication.decision_json import UNCHECKED
from ...streams.adjudication.emission_state import COVERAGE
from ...streams.judging.checks import TABLE
from ...streams.sanitise import WARNING, AttestationRules, Trace, clean, frame_attestation
from .kept_view import ASSERTION_WORDS, BEHIND, TOKENIZER, Arrived, Batch, InUse, KeptView, Place, about_view

HOLDING: Final = frozenset({"admitted", "renewed"})
CHECK_NAMES: Final = frozenset(
    {"unknown", *TABLE, *(f"not {name}" for name, signature in TABLE.items() if signature.negatable)}
)
"""What stands in `checks`, outside the frame: a closed list, of which some have a space."""
CHECKED_NOTE: Final = (
    f"rendered says what observers verified, and is all that is admitted. assertion is in the emitter's words, which "
    f"nobody vouches for beyond that; {UNCHECKED} stands where no check speaks of them."
)
NOTES: Final = {
    "review": "A reviewer admitted this; no observer verified a check of it. assertion is in the emitter's words.",
    "declaration": "Its emitter declares evidence for this; nobody verified it. assertion is in the emitter's words.",
    "corroboration": "Observers bore this out as a whole; no check was verified. assertion is in the emitter's words.",
}
NO_NOTE: Final = "Nothing of this is admitted. assertion is in the emitter's words."


def problem_of(record: Admitted) -> str | None:
    """What is wrong with the members about checks, their texts apart; None where nothing is.

    Names of checks stand outside the frame; there, and in it, are at most so many as an assertion may have.
    """
    if record.checks is not UNSET and not CHECK_NAMES.issuperset(one.name for one in record.checks):
        return "text outside the frame, in checks"
    inside = record.untrusted_text
    for members in (record.checks, inside.rendered, inside.checked):
        if members is not UNSET and len(members) > MAX_CHECKS:
            return "more checks than an assertion may have"
    return None


def in_order(record: Admitted, shown: dict[str, Any]) -> dict[str, Any]:
    """The record (`shown` as plain values) with its frame in reading order: our note, what was verified, the emitter's
    prose.

    What was checked is what is admitted where evidence admitted it, so it stands nowhere else.
    """
    untrusted: dict[str, Any] = shown["_untrusted_text"]
    if record.status not in HOLDING or record.basis != "corroboration" or not untrusted.get("rendered"):
        shown = {name: one for name, one in shown.items() if name not in ("coverage", "unchecked", "checks")}
        untrusted = {name: one for name, one in untrusted.items() if name not in ("rendered", "checked")}
    given = {**untrusted, "note": _note(record, checked="rendered" in untrusted)}
    first = ("@type", "warning", "note", "rendered", "assertion")
    names = (*first, *(name for name in given if name not in first))
    return {**shown, "_untrusted_text": {name: given[name] for name in names if name in given}}


def _note(record: Admitted, *, checked: bool) -> str:
    if checked:
        return CHECKED_NOTE
    return NOTES.get(str(record.basis), NO_NOTE) if record.status in HOLDING else NO_NOTE


def with_names_inside(record: dict[str, Any]) -> dict[str, Any]:
    """A record as models are to read it: every identifier that strangers chose stands in the frame as well.

    The characters of an identifier still spell `ignore-previous-instructions`. What remains outside are names of closed
    lists, numbers, times and hashes.
    """
    inside = {name: record[name] for name in _NAMES if name in record and (name != "span" or is_named(record[name]))}
    outside = {name: one for name, one in record.items() if name not in inside}
    if not inside:
        return outside
    frame = outside.get("_untrusted_text") or {"@type": "veritas:UntrustedValidatorText", "warning": WARNING}
    return {**outside, "_untrusted_text": {**frame, **inside}}


_NAMES: Final = ("emission_id", "span", "evidence")


def is_named(span: dict[str, Any]) -> bool:
    """Whether a span has a name in it that its emitter chose: a pointer or a tokenizer; offsets are numbers."""
    return not span.keys() <= {"chars"}


T = TypeVar("T")

MARK: Final = "…"
"""Behind a text that was cut [V §4.1]. Nowhere else: NFKC makes three dots of a stranger's."""
NO_CAP: Final = 10_000_000
MAX_NESTING: Final = 200
NOT_CHECKED: Final = -1
"""In the place of a coverage, where nothing was checked."""

CHECKED_APART: Final = ("_untrusted_text", "_meta", "checks")
"""Members of a record that other rules hold for than that outside the frame stand identifiers."""
_IDENTIFIER = re.compile(r"[A-Za-z0-9._~:/+=@%-]{1,2048}")
_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_META_TEXT = re.compile(r"[\x20-\x7e]{0,512}")
_UNCHANGED: Final = Trace().meta()
_grounded = decoder_of(Grounded)
_admitted = decoder_of(Admitted)


class UnfitRecord(Exception):
    """The record is not fit to be shown; the sentence says why, without a word of the record's."""


class GroundedEntry(msgspec.Struct, frozen=True, gc=False):
    """An attestation for the view.

    Attributes:
        counts: towards consensus: no look-alikes were left in place [V §4.3].
        shown: what an answer shows of it: the framed attestation, with its canonical hash and source.
        meta: what sanitation changed, field by field.
        words: the text to be found by.
    """

    claim_hash: str
    validator_did: str
    verdict: str
    consensus_domain: str
    canonical_hash: str
    counts: bool
    shown: dict[str, Any]
    meta: SanitationMeta
    words: str


class AdmittedEntry(msgspec.Struct, frozen=True, gc=False):
    """The last word on an assertion for the view.

    Attributes:
        holds: it says that the assertion is admitted; until `valid_until` (Unix ms), that instant included.
        coverage: how much of the sentence was checked: a place in `emission_state.COVERAGE`, or `NOT_CHECKED`.
        words: the text to be found by: what was verified, and what is shown of the prose.
    """

    canonical_hash: str
    kind: str
    status: str
    holds: bool
    valid_until: int
    coverage: int
    shown: dict[str, Any]
    words: str


# ---------------------------------------------------------------- grounded


def grounded_entry(value: bytes | None) -> GroundedEntry:
    """A record of `grounded`.

    Raises:
        Refused: it is not framed and sanitised as [V §3–5] wants it.
    """
    record = _decoded(_grounded, value)
    if len(record.attestations) != 1 or not _HASH.fullmatch(record.canonical_hash):
        raise UnfitRecord("not one attestation with its canonical hash")
    (attestation,) = record.attestations
    given: dict[str, Any] = msgspec.to_builtins(attestation)
    _check_attestation(attestation, given)
    _check_meta(record.meta)
    shown = given
    _warn(shown["_untrusted_text"])
    shown["canonical_hash"], shown["canonicalisation_version"] = record.canonical_hash, record.canonicalisation_version
    if record.source is not UNSET:
        if not _IDENTIFIER.fullmatch(record.source):
            raise UnfitRecord("the source is no place")
        shown["source"] = record.source
    shown["counted"] = not record.meta.confusables_present
    texts = [text for text in _texts(given["_untrusted_text"]) if text]
    return GroundedEntry(
        claim_hash=attestation.claim_hash.lower(),  # hexadecimal digits in either case name one claim
        validator_did=attestation.validator_did,
        verdict=attestation.verdict,
        consensus_domain=attestation.consensus_domain,
        canonical_hash=record.canonical_hash,
        counts=not record.meta.confusables_present,
        shown=shown,
        meta=record.meta,
        words=settle(" \n".join(texts)),
    )


def _check_attestation(attestation: FramedAttestation, given: dict[str, Any]) -> None:
    """Takes the attestation through the whole contract once more: what comes out has to be what came in."""
    untrusted = attestation.untrusted_text
    body: dict[str, Any] = {
        "claim_hash": attestation.claim_hash,
        "validator_did": attestation.validator_did,
        "verdict": attestation.verdict,
        "consensus_domain": attestation.consensus_domain,
        "rationale": _uncut(untrusted.rationale),
        "qualifications": _uncut(untrusted.qualifications),
        "evidence": [
            {"quote": _uncut(one.untrusted_quote.quote), "uri": _raw_uri(one.untrusted_quote.source_uri)}
            for one in untrusted.evidence
        ],
        "cited_works": [
            {"title": _uncut(one.title), "uri": _raw_uri(one.source_uri) or ""} for one in untrusted.cited_works
        ],
    }
    if attestation.issued_at is not UNSET:
        body["issued_at"] = attestation.issued_at
    rules = AttestationRules(
        typing="lenient", confusables_default="flag", consensus_domains=(attestation.consensus_domain,)
    )
    again = frame_attestation(body, rules)
    if isinstance(again, Fault):
        raise UnfitRecord("an attestation that typing refuses")
    if _plain(again["attestations"][0]) != _plain(given):
        raise UnfitRecord("an attestation that sanitation would still change")


def _plain(entry: Any) -> Any:
    """Without marks of truncation and warnings, which say nothing of the text."""
    if isinstance(entry, str):
        return _uncut(entry)
    if isinstance(entry, list):
        return [_plain(one) for one in cast("list[Any]", entry)]
    if isinstance(entry, dict):
        return {name: _plain(one) for name, one in cast("dict[str, Any]", entry).items() if name != "warning"}
    return entry


def _raw_uri(shown: str | None) -> str | None:
    return None if shown is None else shown.partition("] → ")[2]


def _texts(untrusted: dict[str, Any]) -> Iterator[str]:
    yield untrusted["rationale"]
    yield untrusted["qualifications"]
    for one in untrusted["evidence"]:
        yield one["_untrusted_quote"]["quote"]
    for one in untrusted["cited_works"]:
        yield one["title"]


# ---------------------------------------------------------------- admitted


def admitted_entry(value: bytes | None) -> AdmittedEntry:
    """A record of `admitted`.

    Raises:
        Refused: it is not framed and sanitised, or text of a stranger's stands outside the frame.
    """
    record = _decoded(_admitted, value)
    _check_meta(record.meta)
    shown: dict[str, Any] = msgspec.to_builtins(record)
    for name, text in strings({name: one for name, one in shown.items() if name not in CHECKED_APART}):
        if not _IDENTIFIER.fullmatch(text):
            raise UnfitRecord(f"text outside the frame, in {name if _IDENTIFIER.fullmatch(name) else 'a member'}")
    if not _HASH.fullmatch(record.canonical_hash):
        raise UnfitRecord("no canonical hash")
    if (problem := problem_of(record)) is not None:
        raise UnfitRecord(problem)
    for name, text in strings(shown["_untrusted_text"]):
        _check_text(name, text)
    _warn(shown["_untrusted_text"])
    until = -1 if record.valid_until is UNSET else parse_time(record.valid_until)
    if until is None:
        raise UnfitRecord("valid_until is no time")
    shown = with_names_inside(in_order(record, shown))
    rendered: list[str] = shown["_untrusted_text"].get("rendered", [])
    return AdmittedEntry(
        canonical_hash=record.canonical_hash,
        kind=record.kind,
        status=record.status,
        holds=record.status in HOLDING and until >= 0,
        valid_until=until,
        coverage=COVERAGE.index(record.coverage) if rendered and record.coverage is not UNSET else NOT_CHECKED,
        shown=shown,
        words=settle(" \n".join([*rendered, record.untrusted_text.assertion.replace(UNCHECKED, " ")])),
    )


def _check_text(name: str, text: str) -> None:
    if name == "source_uri":
        framed = frame_attestation({**_ANY, "cited_works": [{"uri": _raw_uri(text)}]}, _ANY_RULES)
        if isinstance(framed, Fault) or framed["attestations"][0]["_untrusted_text"]["cited_works"][0][name] != text:
            raise UnfitRecord("a URI that is not hardened")
    elif not is_clean(text):
        raise UnfitRecord("text that sanitation would still change")


_ANY: Final = {"claim_hash": "0x" + "0" * 64, "validator_did": "did:x:y", "verdict": "FALSE", "consensus_domain": "x"}
_ANY_RULES: Final = AttestationRules(typing="lenient", consensus_domains=("x",))


# ---------------------------------------------------------------- both


def is_clean(text: str) -> bool:
    """Whether the pipeline of [V §4] leaves the text as it is; the mark of truncation apart, and look-alikes, which
    the policy `flag` lets stand."""
    plain = _uncut(text)
    return clean(plain, "", NO_CAP, "flag", Trace()) == plain


def _uncut(text: str) -> str:
    return text.removesuffix(MARK)


def _decoded(decoder: msgspec.json.Decoder[T], value: bytes | None) -> T:
    try:
        return decoder.decode(value or b"")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise UnfitRecord("not a record of its topic") from None


def _check_meta(meta: SanitationMeta) -> None:
    """`_meta` stands outside the frame: names of fields, numbers and code points, and nothing that could be read as
    more. A replacement is a single character, which may be `<`."""
    if meta == _UNCHANGED:
        return
    for _, text in strings(msgspec.to_builtins(meta)):
        if not _META_TEXT.fullmatch(text) or (len(text) > 1 and ("<" in text or "](" in text)):
            raise UnfitRecord("text in _meta")


def strings(value: Any) -> Iterator[tuple[str, str]]:
    """Every string in a value with the name of the member it stands in, and every such name as well.

    Raises:
        Refused: it is nested too deeply.
    """
    todo: list[tuple[str, Any, int]] = [("", value, 0)]
    while todo:
        name, one, depth = todo.pop()
        if depth > MAX_NESTING:
            raise UnfitRecord("nested too deeply")
        if isinstance(one, str):
            yield name, one
        elif isinstance(one, list):
            todo += [(name, item, depth + 1) for item in cast("list[Any]", one)]
        elif isinstance(one, dict):
            for key, item in cast("dict[str, Any]", one).items():
                yield "", key
                todo.append((key, item, depth + 1))


def _warn(untrusted: dict[str, Any]) -> None:
    """The warning's wording is the adapter's own [V §5.2], in the frames inside as well."""
    untrusted["warning"] = WARNING
    for quote in untrusted.get("evidence", ()):
        quote["_untrusted_quote"]["warning"] = WARNING
    for attestation in untrusted.get("attestations", ()):
        inside = attestation.get("_untrusted_text")
        if not isinstance(inside, dict):
            raise UnfitRecord("an attestation without its frame")
        _warn(cast("dict[str, Any]", inside))


TOPICS: Final = ("admitted", "grounded")
_encode = msgspec.json.Encoder().encode


class AdapterView(KeptView):
    """The adapter's view."""

    topics: ClassVar[Sequence[str]] = TOPICS

    def _opened(self) -> None:
        self._domains: dict[str, int] = dict(self._db.execute("SELECT name, id FROM domains"))

    def forget(self, topic: str, partition: int) -> None:
        """Where words on assertions are gone, none of this partition is known any more."""
        if topic != "admitted":
            return
        with self._transaction():
            for key in [
                key for (key,) in self._db.execute("SELECT key FROM assertions WHERE partition=?", (partition,))
            ]:
                self._drop(key)

    def prune(self, now: int) -> int:
        """Drops assertions whose validity has ended (Unix ms), which answers leave out in any case; says how many."""
        with self._transaction():
            past = self._db.execute(
                "SELECT key FROM assertions WHERE holds AND valid_until < ? LIMIT 10000", (now,)
            ).fetchall()
            for (key,) in past:
                self._drop(key)
        return len(past)

    # ------------------------------------------------------------ one record

    def _store(self, topic: str, partition: int, record: Arrived) -> None:
        try:
            if topic == "grounded":
                self._attest(grounded_entry(record.value))
            elif record.value is None:
                self._drop(record.key or b"")
            else:
                self._decide(record.key or b"", partition, admitted_entry(record.value))
        except UnfitRecord as refusal:
            self.refuse(topic, partition, record, str(refusal))
            if topic == "admitted":
                self._drop(record.key or b"")  # whatever held before, this was a later word on it

    def _attest(self, entry: GroundedEntry) -> None:
        db, domain = self._db, self._domain(entry.consensus_domain)
        if db.execute("SELECT 1 FROM attestations WHERE canonical_hash=?", (entry.canonical_hash,)).fetchone():
            return
        earlier = db.execute(
            "SELECT id, words FROM attestations WHERE standing AND claim_hash=? AND domain=? AND validator_did=?",
            (entry.claim_hash, domain, entry.validator_did),
        ).fetchone()
        if earlier is not None:
            # The row stays without its text, so that the same attestation, sent again, is still the same.
            db.execute("UPDATE attestations SET standing=0, shown=x'', meta=x'', words='' WHERE id=?", (earlier[0],))
            db.execute(f"INSERT INTO words_{domain}(words_{domain}, rowid, words) VALUES ('delete', ?, ?)", earlier)
        added = db.execute(
            "INSERT INTO attestations VALUES (NULL, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?)",
            (
                *(domain, entry.claim_hash, entry.validator_did, entry.verdict, entry.canonical_hash, entry.counts),
                *(_encode(entry.shown), _encode(entry.meta), entry.words),
            ),
        )
        db.execute(f"INSERT INTO words_{domain}(rowid, words) VALUES (?, ?)", (added.lastrowid, entry.words))

    def _decide(self, key: bytes, partition: int, entry: AdmittedEntry) -> None:
        self._drop(key)
        if not entry.holds and entry.status != "refused":
            return  # decayed, contradicted, rejected: from now on nobody is told of it
        words = entry.words if entry.holds else ""
        added = self._db.execute(
            "INSERT INTO assertions VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(key, partition, entry.canonical_hash, entry.kind, entry.status, entry.holds, entry.valid_until),
                *(entry.coverage, _encode(entry.shown), words),
            ),
        )
        if words:
            self._db.execute(f"INSERT INTO {ASSERTION_WORDS}(rowid, words) VALUES (?, ?)", (added.lastrowid, words))

    def _drop(self, key: bytes) -> None:
        found = self._db.execute("SELECT id, words FROM assertions WHERE key=?", (key,)).fetchone()
        if found is None:
            return
        self._db.execute("DELETE FROM assertions WHERE id=?", (found[0],))
        if found[1]:
            self._db.execute(
                f"INSERT INTO {ASSERTION_WORDS}({ASSERTION_WORDS}, rowid, words) VALUES ('delete', ?, ?)", found
            )

    def _domain(self, name: str) -> int:
        if name not in self._domains:
            added = self._db.execute("INSERT INTO domains (name) VALUES (?)", (name,)).lastrowid
            assert added is not None
            self._db.execute(
                f"CREATE VIRTUAL TABLE words_{added} USING fts5(words, content='', tokenize='{TOKENIZER}')"
            )
            self._domains[name] = added
        return self._domains[name]


__all__ = ["BEHIND", "TOKENIZER", "TOPICS", "AdapterView", "Arrived", "Batch", "InUse", "Place", "about_view"]
