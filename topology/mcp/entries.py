"""Records of `grounded` and `admitted` as the view takes them in: looked at again, whoever wrote them.

The lanes sanitise and frame. The adapter is the choke point all the same [V §2, §8.1], and a topic is only as good as
who may write to it: so each record has to be of its type, each text in a frame has to be what the pipeline of [V §4]
makes of it (cleaning twice is cleaning once), and outside a frame only identifiers, enumerated values, numbers and
times may stand. What is not so is refused whole, and counted; nothing is repaired. The warnings are ours in any case,
and so is the note that says what of a frame is admitted: `rendered`, which stands before the emitter's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, TypeVar, cast

import msgspec
from msgspec import UNSET

from ...codecs.errors import Fault
from ...codecs.json_decoding import decoder_of
from ...codecs.records import Admitted, FramedAttestation, Grounded, SanitationMeta
from ...codecs.times import parse_time
from ...codecs.unicode_text import settle
from ...streams.adjudication.checked_json import UNCHECKED
from ...streams.adjudication.emission_state import COVERAGE
from ...streams.sanitise import WARNING, AttestationRules, Trace, clean, frame_attestation
from .checked import HOLDING, in_order, problem_of, with_names_inside

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


class Refused(Exception):
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
        raise Refused("not one attestation with its canonical hash")
    (attestation,) = record.attestations
    given: dict[str, Any] = msgspec.to_builtins(attestation)
    _check_attestation(attestation, given)
    _check_meta(record.meta)
    shown = given
    _warn(shown["_untrusted_text"])
    shown["canonical_hash"], shown["canonicalisation_version"] = record.canonical_hash, record.canonicalisation_version
    if record.source is not UNSET:
        if not _IDENTIFIER.fullmatch(record.source):
            raise Refused("the source is no place")
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
        raise Refused("an attestation that typing refuses")
    if _plain(again["attestations"][0]) != _plain(given):
        raise Refused("an attestation that sanitation would still change")


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
    for name, text in _strings({name: one for name, one in shown.items() if name not in CHECKED_APART}):
        if not _IDENTIFIER.fullmatch(text):
            raise Refused(f"text outside the frame, in {name if _IDENTIFIER.fullmatch(name) else 'a member'}")
    if not _HASH.fullmatch(record.canonical_hash):
        raise Refused("no canonical hash")
    if (problem := problem_of(record)) is not None:
        raise Refused(problem)
    for name, text in _strings(shown["_untrusted_text"]):
        _check_text(name, text)
    _warn(shown["_untrusted_text"])
    until = -1 if record.valid_until is UNSET else parse_time(record.valid_until)
    if until is None:
        raise Refused("valid_until is no time")
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
            raise Refused("a URI that is not hardened")
    elif not is_clean(text):
        raise Refused("text that sanitation would still change")


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
        raise Refused("not a record of its topic") from None


def _check_meta(meta: SanitationMeta) -> None:
    """`_meta` stands outside the frame: names of fields, numbers and code points, and nothing that could be read as
    more. A replacement is a single character, which may be `<`."""
    if meta == _UNCHANGED:
        return
    for _, text in _strings(msgspec.to_builtins(meta)):
        if not _META_TEXT.fullmatch(text) or (len(text) > 1 and ("<" in text or "](" in text)):
            raise Refused("text in _meta")


def _strings(value: Any) -> Iterator[tuple[str, str]]:
    """Every string in a value with the name of the member it stands in, and every such name as well.

    Raises:
        Refused: it is nested too deeply.
    """
    todo: list[tuple[str, Any, int]] = [("", value, 0)]
    while todo:
        name, one, depth = todo.pop()
        if depth > MAX_NESTING:
            raise Refused("nested too deeply")
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
            raise Refused("an attestation without its frame")
        _warn(cast("dict[str, Any]", inside))
