"""Signatures under records: who says what a record says (docs/reference/records.md, `signature`; [S §11.1, §11.3]).

A record's member `signature` is the standard base64 of an Ed25519 signature (RFC 8032). What is signed is a sequence of
fields (`signed_bytes`): the scheme, the deployment's origin, the topic, the type of the record, and the RFC 8785 form
of the record without that member. The form covers exactly the members that were sent, known ones and others. So a
record can be passed on, re-ordered or indented, and still hold; nothing can be added to it. What has no canonical form
(a member named twice, an integer beyond 2^53) is signed by nobody.

The fields before the form bind a signature to one use (`Domain`): a review of one deployment is no review of another,
and no observation. An emitter's signature leaves out the proposals of its assertions: other parties add those, and each
has a signature of its own (`sign_proposal`).

Pure: no key is made or read here. A public key is 32 bytes; people write it as base64, as hex, or as the verifier line
that `sluice key` prints.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from .canonical import CanonicalError, fast_canonical, parse_json
from .digests import digest_of
from .errors import UsageError
from .notes import Signer, Verifier, unbase64

if TYPE_CHECKING:  # see notes.py
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

SIGNATURE: Final = "signature"
SCHEME: Final = "sluice/1"
"""The first field of what is signed."""
LENGTH_BYTES: Final = 8
"""Each field stands behind its length in so many bytes, big-endian."""
DEFAULT_ORIGIN: Final = "sluice"
"""The origin of a deployment that names none."""
KEY_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
PUBLIC_KEY: Final = "an Ed25519 public key: base64 or hex of its 32 bytes, or the line that `sluice key show` prints"
"""What a public key may be written as, for a sentence."""

_P: Final = 2**255 - 19
_D: Final = -121665 * pow(121666, -1, _P) % _P
_HEX: Final = re.compile(r"[0-9A-Fa-f]{64}")


class Domain(NamedTuple):
    """What a signature is for; the same record signed for something else does not hold.

    Attributes:
        topic: the logical topic, without a deployment's prefix.
        record: the type of the record.
        origin: the policy's `origin`, which the setting `origin` repeats; None leaves the field out, for
            signers who need not know the deployment.
    """

    topic: str
    record: str
    origin: str | None = None


EMISSION: Final = Domain("emissions", "emission")
OBSERVATION: Final = Domain("observations", "observation")
PROPOSAL: Final = Domain("emissions", "proposal")
"""Of a member of an emission, not of a record: in `DOMAINS` the topic stands for emissions."""
SIGHTING: Final = Domain("sightings", "sighting")
REVIEW: Final = Domain("reviews", "review")
ATTESTATION: Final = Domain("attestations", "attestation")
"""A validator need not know who reads its word: this domain stays without an origin."""
DOMAINS: Final = {one.topic: one for one in (EMISSION, OBSERVATION, SIGHTING, REVIEW, ATTESTATION)}
"""By logical topic, without an origin."""


def domain_of(topic: str, origin: str) -> Domain:
    """What a record of this input topic is signed for in this deployment.

    Raises:
        KeyError: nothing on that topic is signed.
    """
    domain = DOMAINS[topic]
    return domain if domain is ATTESTATION else domain._replace(origin=origin)


class Signing(NamedTuple):
    """Who signs what goes out, and for which deployment."""

    signer: Signer
    origin: str


def signed_bytes(domain: Domain, form: bytes) -> bytes:
    """What a signature is over: scheme, origin (where the domain has one), topic, record type and canonical form.

    Each field is its length in 8 bytes, big-endian, then its bytes (UTF-8), so that no two sequences of fields give the
    same bytes.

    Args:
        domain: what the signature is for.
        form: the RFC 8785 form of the record without its member `signature`.
    """
    origin = () if domain.origin is None else (domain.origin.encode(),)
    fields = (SCHEME.encode(), *origin, domain.topic.encode(), domain.record.encode(), form)
    return b"".join(len(field).to_bytes(LENGTH_BYTES, "big") + field for field in fields)


def public_key_of(text: str) -> str | None:
    """A public key in its one form, the base64 of its 32 bytes; None for what is none.

    Args:
        text: base64, hex, or a C2SP verifier `name+id+base64`, whose id must be that of its name and key.
    """
    raw = _raw(text.strip())
    return None if raw is None or _is_anybody_s(raw) else base64.b64encode(raw).decode()


def _raw(given: str) -> bytes | None:
    if _HEX.fullmatch(given):
        return bytes.fromhex(given)
    raw = unbase64(given)
    if raw is not None and len(raw) == KEY_BYTES:
        return raw
    try:
        return Verifier.parse(given).public_key
    except UsageError:
        return None


def _is_anybody_s(raw: bytes) -> bool:
    """Whether a key is a point of order 1, 2, 4 or 8, under which whoever likes can sign: all zeros, for instance.

    OpenSSL verifies with such keys as RFC 8032 §5.1.7 says. On Ed25519's curve their y is 1, -1, 0 or a root of
    d y^4 + 2 y^2 - 1, which is where doubling a point gives y = 0.
    """
    y = int.from_bytes(raw, "little") % 2**255 % _P
    return y in (0, 1, _P - 1) or (_D * y**4 + 2 * y**2 - 1) % _P == 0


def signed(record: dict[str, Any], signer: Signer, domain: Domain) -> dict[str, Any]:
    """The record with the signer's signature as its last member, in place of one that was there.

    Args:
        record: JSON-ready; it is not changed.
        signer: whose.
        domain: what it is signed for.

    Raises:
        CanonicalError: it holds something that RFC 8785 cannot say.
    """
    signature = signer.sign_bytes(signed_bytes(domain, fast_canonical(_said(record, domain))))
    said = {name: value for name, value in record.items() if name != SIGNATURE}
    return {**said, SIGNATURE: base64.b64encode(signature).decode()}


def _said(record: Mapping[str, Any], domain: Domain) -> dict[str, Any]:
    """What a party says in a record: all but its signature and, in an emission, what other parties proposed."""
    said = {name: value for name, value in record.items() if name != SIGNATURE}
    assertions = said.get("assertions") if domain.topic == EMISSION.topic else None
    if isinstance(assertions, list):
        said["assertions"] = [_without_proposal(one) for one in cast("list[Any]", assertions)]
    return said


def _without_proposal(assertion: Any) -> Any:
    if not isinstance(assertion, dict):
        return assertion
    return {name: value for name, value in cast("dict[str, Any]", assertion).items() if name != "proposal"}


def emission_digest(emission: Mapping[str, Any]) -> str:
    """What a proposal names as `digest`: of the emission without its signature and without proposals.

    Args:
        emission: the record, JSON-ready or as `canonical.parse_json` reads it.

    Raises:
        CanonicalError: it holds something that RFC 8785 cannot say.
    """
    return digest_of(fast_canonical(_said(emission, EMISSION)))


def sign_proposal(proposal: Mapping[str, Any], span_key: str, signer: Signer, origin: str) -> dict[str, Any]:
    """The proposal with the proposer's signature as its last member.

    It covers the origin, the span and every member of the proposal, `digest` (`emission_digest`) among them; so it
    holds for one assertion of one attempt of one emission.

    Args:
        proposal: JSON-ready, with its `digest`; it is not changed.
        span_key: of the assertion (`spans.span_key`).
        signer: the proposer's key.
        origin: the deployment's name.

    Raises:
        CanonicalError: it holds something that RFC 8785 cannot say.
    """
    said = {name: value for name, value in proposal.items() if name != SIGNATURE}
    signature = signer.sign_bytes(_proposal_bytes(said, span_key, origin))
    return {**said, SIGNATURE: base64.b64encode(signature).decode()}


def is_signed_proposal(
    public_keys: Iterable[str], proposal: Mapping[str, Any], digest: str, span_key: str, origin: str
) -> bool:
    """Whether a proposal, as it came, is signed with any of these keys for this assertion of this emission.

    Args:
        public_keys: each in any form that `public_key_of` reads.
        proposal: as `canonical.parse_json` reads it.
        digest: of the emission (`emission_digest`).
        span_key: of the assertion.
        origin: the deployment's name.
    """
    signature = proposal.get(SIGNATURE)
    if not isinstance(signature, str) or proposal.get("digest") != digest or not _is_formed(signature):
        return False
    said = {name: value for name, value in proposal.items() if name != SIGNATURE}
    try:
        data = _proposal_bytes(said, span_key, origin)
    except CanonicalError:
        return False
    return any(is_signature(key, signature, data) for key in public_keys)


def _proposal_bytes(said: Mapping[str, Any], span_key: str, origin: str) -> bytes:
    return signed_bytes(PROPOSAL._replace(origin=origin), fast_canonical({"span": span_key, "proposal": said}))


def holds(public_key: str, signature: str, record: bytes, domain: Domain) -> bool:
    """Whether a record, as it came, is signed with this key.

    Args:
        public_key: in any form that `public_key_of` reads; with what is none, nothing is signed.
        signature: what the record's member says.
        record: a JSON object in UTF-8.
        domain: what it has to be signed for.
    """
    return is_signed_by_any([public_key], signature, record, domain)


def is_signed_by_any(public_keys: Iterable[str], signature: str, record: bytes, domain: Domain) -> bool:
    """Whether a record, as it came, is signed with any of these keys.

    The record is read once, and only where the signature has the form of one.

    Args:
        public_keys: each in any form that `public_key_of` reads.
        signature: what the record's member says.
        record: a JSON object in UTF-8.
        domain: what it has to be signed for.
    """
    keys = list(public_keys)
    if not keys or not _is_formed(signature):
        return False
    try:
        data = signed_bytes(domain, fast_canonical(_said(parse_json(record), domain)))
    except CanonicalError:
        return False
    return any(is_signature(key, signature, data) for key in keys)


def _is_formed(signature: str) -> bool:
    raw = unbase64(signature)
    return raw is not None and len(raw) == SIGNATURE_BYTES


def is_signature(public_key: str, signature: str, data: bytes) -> bool:
    """Whether these bytes are signed with this key.

    Args:
        public_key: in any form that `public_key_of` reads; with what is none, nothing is signed.
        signature: standard base64 of 64 bytes.
        data: what has to be signed, all of it.
    """
    key, raw = _key(public_key), unbase64(signature)
    if key is None or raw is None or len(raw) != SIGNATURE_BYTES:
        return False
    from cryptography.exceptions import InvalidSignature

    try:
        key.verify(raw, data)
    except InvalidSignature:
        return False
    return True


@lru_cache(maxsize=1024)  # keys are few, and read for every record: 0.1 us instead of 9
def _key(public_key: str) -> Ed25519PublicKey | None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    raw = public_key_of(public_key)
    return None if raw is None else Ed25519PublicKey.from_public_bytes(base64.b64decode(raw))
