"""What must hold for a whole attestation [V §3-5]: an envelope or a fault, and the frame holds all of the text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from laws import Oracles, check_meta, check_plain, check_result, hold, timed
from uris import check_shown

from sluice.codecs.errors import Fault
from sluice.streams import sanitise
from sluice.streams.sanitise import AttestationRules, _typing

_HASH = re.compile(r"sha256:[0-9a-f]{64}")
# What may stand outside the frame besides the names and words of [V §5.1]: identifiers, and times.
_IDENTIFIER = re.compile(r"0x[0-9a-fA-F]{64}|did:[a-z0-9]+:[!-~]{1,512}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_WORDS: Final = frozenset(
    {"@type", "@version", "query", "consensus_domain", "verdict_summary", "primary_verdict", "validator_count"}
    | {"disagreement_present", "attestations", "canonicalisation_version", "claim_hash", "validator_did", "verdict"}
    | {"issued_at", "veritas:GroundedAttestationResponse", "0.1", "0.2", "0.3", "scientific-default", "asked"}
    | {"VERIFIED", "SUPPORTED", "DISPUTED", "FALSE", "UNVERIFIABLE"}
)
_FRAME: Final = ["@type", "cited_works", "evidence", "qualifications", "rationale", "validator_did", "warning"]


def check_attestation(body: Any, confusables: Any, typing: Any, slow: Oracles | None) -> None:
    """One attestation, or any bytes: an envelope or a fault, and nothing of the text outside the frame."""
    by = "word" if confusables.endswith("-in-words") else "letter"
    rules = AttestationRules(
        typing=typing, confusables_default=confusables.partition("-")[0], confusables_by_default=by
    )
    answer = timed("framing", lambda: sanitise.frame_attestation(body, rules, query="asked"))
    if isinstance(answer, Fault):
        hold(answer.reason in ("not-json", "mistyped", "confusable-text"), "a fault has a reason of the list", answer)
        return hold(len(answer.detail.encode()) < 2000, "a fault is one short sentence", answer.detail)
    envelope = json.loads(json.dumps(answer, allow_nan=False).encode())
    hold(_HASH.fullmatch(envelope.pop("canonical_hash")), "the hash is one", answer)
    meta = envelope.pop("_meta")
    frame = envelope["attestations"][0].pop("_untrusted_text")
    hold(sorted(frame) == _FRAME, "the frame is whole", frame)
    for text in _strings(envelope):
        hold(text in _WORDS or _IDENTIFIER.fullmatch(text), "nothing of the text stands outside the frame", text)
    scripts = meta["scripts"]
    hold(all(re.fullmatch("[A-Za-z_]+", one) for one in scripts), "scripts are names", scripts)
    check_meta(meta)
    cut = {entry["field"] for entry in meta["truncated"]}
    for name, text, cap in _texts(frame):
        check_result(text, cap, confusables, name in cut, slow)
    if typing == "strict":
        for name, text, _ in _texts(frame):
            if not name.startswith("cited_works"):  # titles are not among the contract's plain texts
                check_plain(text, "strict typing lets no structure out", slow)
                hold(_typing.problem_of(text, "strict") is None, "what strict typing lets out it would let in", text)
    quotes = [one["_untrusted_quote"] for one in frame["evidence"]]
    hold(len(quotes) <= 5, "at most five quotes come out", len(quotes))
    hold(len(frame["cited_works"]) <= 100, "at most a hundred cited works come out", len(frame["cited_works"]))
    for one in (*quotes, *frame["cited_works"]):
        if one["source_uri"] is not None:
            check_shown(one["source_uri"], one["source_uri"].partition("] → ")[2])
    return None


def _texts(frame: dict[str, Any]) -> Iterator[tuple[str, str, int]]:
    """Field, text and cap [V §4.1] of every text in the frame."""
    yield "rationale", frame["rationale"], 2000
    yield "qualifications", frame["qualifications"], 2000
    for place, one in enumerate(frame["evidence"]):
        yield f"evidence[{place}].quote", one["_untrusted_quote"]["quote"], 1000
    for place, one in enumerate(frame["cited_works"]):
        yield f"cited_works[{place}].title", one["title"], 300


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, member in value.items():
            yield name
            yield from _strings(member)
    elif isinstance(value, list):
        for member in value:
            yield from _strings(member)
