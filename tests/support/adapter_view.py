"""A view of the adapter's, filled by the code that the lanes run: framed attestations and decided assertions."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from builders import attestation_value

from sluice.codecs import records
from sluice.codecs.canonical import assertion_hash
from sluice.codecs.errors import Fault
from sluice.codecs.times import format_time
from sluice.streams.sanitise import WARNING, AttestationRules, Trace, clean, clean_tree, frame_attestation
from sluice.topology.http.adapter_view import AdapterView, Arrived, Batch

NOW = 1_795_250_000_000
HOUR = 3_600_000
DOMAIN = "scientific-default"
IDENTITY = "test"


def claim(name: str) -> str:
    """A claim's hash."""
    return "0x" + sha256(name.encode()).hexdigest()


def attested(
    rationale: str = "",
    *,
    about: str = "claim",
    by: str = "one",
    verdict: str = "VERIFIED",
    domain: str = DOMAIN,
    rules: AttestationRules | None = None,
    **fields: Any,
) -> bytes:
    """A record of `grounded`, as the framing lane makes it."""
    stated = {"claim_hash": claim(about), "validator_did": f"did:web:{by}.example", "consensus_domain": domain}
    body = attestation_value(**{**stated, "verdict": verdict, "rationale": rationale, **fields})
    framed = frame_attestation(
        body, rules or AttestationRules(typing="lenient", consensus_domains=(domain,)), source="attestations/0/7"
    )
    assert not isinstance(framed, Fault), framed
    return msgspec.json.encode(framed)


def decided(
    text: str,
    *,
    emission: str = "em-1",
    status: str = "admitted",
    kind: str = "assertion",
    until: int | None = NOW + HOUR,
    rendered: Sequence[str] | None = None,
    shown: str | None = None,
    **fields: Any,
) -> bytes:
    """A record of `admitted`; the closing words carry no text.

    Args:
        text: as it was emitted.
        emission, status, kind, until: of the record.
        rendered: what observers verified, a sentence for each check; with it the record says what was checked.
        shown: the text as the record shows it, where that is not all of it.
        fields: further members.
    """
    trace = Trace()
    speaks = status in ("admitted", "renewed")
    framed: dict[str, Any] = {}
    if rendered is not None:
        framed["rendered"] = clean_tree(list(rendered), "rendered", 16_000, "replace", trace)
        checked = [{"check": f"contains(x{number})", "path": "a.py"} for number in range(len(rendered))]
        framed["checked"] = checked
        fields = {
            "coverage": "whole" if shown is None else "part",
            "unchecked": [] if shown is None else [(0, 1)],
            "checks": [records.CheckCount("contains", 2) for _ in rendered],
        } | fields
    record = records.Admitted(
        id="0" * 32,
        emission_id=emission,
        attempt=0,
        span=records.Span(chars=(0, max(1, len(text)))),
        kind=kind,  # type: ignore[arg-type]
        status=status,  # type: ignore[arg-type]
        basis=fields.pop("basis", "corroboration"),
        revision=1,
        effect="internal",
        k=2,
        classes=["substrate.code.read", "substrate.git.log"],
        evidence=[],
        grounded=True,
        data=["grounded"],
        emitted_at=format_time(NOW - HOUR),
        admitted_at=format_time(NOW - HOUR),
        untrusted_text=records.UntrustedAssertion(
            warning=WARNING,
            assertion=clean(text if shown is None else shown, "assertion", 2000, "replace", trace) if speaks else "",
            chain=[],
            **framed,
        ),
        canonical_hash=assertion_hash(text, kind),
        canonicalisation_version="0.3",
        policy="sha256:" + "0" * 64,
        ledger=records.LedgerPlace(partition=0, height=4, index=1, block="sha256:" + "1" * 64),
        meta=trace.meta(),
        **({} if until is None else {"valid_until": format_time(until)}),
        **fields,
    )
    return msgspec.json.encode(record)


class Filled:
    """A view, and how far each partition has come."""

    def __init__(self, path: Path, identity: str = IDENTITY) -> None:
        self.view = AdapterView(path, identity)
        self.ends: dict[tuple[str, int], int] = dict(self.view.positions())

    def put(self, topic: str, *values: bytes | None, key: bytes = b"em-1#c:0-43", partition: int = 0) -> None:
        """Records that come next on a partition."""
        place = (topic, partition)
        start = self.ends.get(place, 0)
        arrived = [Arrived(start + number, key, value) for number, value in enumerate(values)]
        self.ends[place] = start + len(values)
        self.view.take({place: Batch(arrived, self.ends[place])})

    def admit(self, text: str, emission: str = "em-1", **fields: Any) -> None:
        """An assertion of an emission of its own."""
        self.put("admitted", decided(text, emission=emission, **fields), key=f"{emission}#c:0-1".encode())
