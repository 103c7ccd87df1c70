"""Signatures under records: who says what a record says (docs/reference/records.md, `signature`; [S §11.1, §11.3]),
and decentralized identifiers: one spelling for each, and the key that a `did:key` holds (docs/security.md).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from .canonical import CanonicalError, fast_canonical, parse_json
from .errors import UsageError
from .identifiers import digest_of
from .notes import Signer, Verifier, unbase64

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_DID: Final = re.compile(r"[dD][iI][dD]:([A-Za-z0-9]+):((?:[A-Za-z0-9._:-]|%[0-9A-Fa-f]{2})+)")
_PERCENT: Final = re.compile(r"%[0-9A-Fa-f]{2}")
_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_BASE58: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_DIGIT: Final = {character: value for value, character in enumerate(_BASE58)}
_ED25519_MULTICODEC: Final = b"\xed\x01"
_MOST: Final = 256
_LONGEST_HOST: Final = 253
_LABEL: Final = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_WEB: Final = re.compile(
    rf"{_LABEL}(?:\.{_LABEL})*(?:%3A[0-9]{{1,5}})?(?::(?:[A-Za-z0-9._-]|%[0-9A-F]{{2}}){{1,64}}){{0,8}}"
)
"""did:web: a host name (RFC 1123), perhaps a port, and folders."""
_KEY_BYTES: Final = {
    _ED25519_MULTICODEC: 32,
    b"\xec\x01": 32,
    b"\xe7\x01": 33,
    b"\xea\x01": 48,
    b"\xeb\x01": 96,
    b"\x80\x24": 33,
    b"\x81\x24": 49,
    b"\x82\x24": 67,
    b"\x85\x24": 0,
}
"""The keys that did:key names, by multicodec, and their lengths; an RSA key has any."""


def normalised(did: str) -> str | None:
    """A DID (at most 256 characters) in its one spelling, without path, query and fragment; None for what is none."""
    bare = re.split(r"[/?#]", did, maxsplit=1)[0]
    match = _DID.fullmatch(bare) if len(bare) <= _MOST else None
    if match is None or match[2].endswith(":"):
        return None
    method, identifier = match[1].lower(), _PERCENT.sub(_decoded, match[2])
    if method == "web":
        host, colon, rest = identifier.partition(":")
        identifier = host.lower().replace("%3a", "%3A").rstrip(".") + colon + rest
        if not _WEB.fullmatch(identifier) or len(identifier.partition(":")[0].partition("%")[0]) > _LONGEST_HOST:
            return None
    elif method == "key" and not _is_key(identifier):
        return None
    return f"did:{method}:{identifier}"


@lru_cache(1024)
def _is_key(identifier: str) -> bool:
    """Whether it is a public key of a known multicodec in a multibase form of did:key 0.9: base58btc or base64url."""
    digits = identifier[1:]
    if identifier[:1] == "z":
        decoded = _base58(digits)
    elif identifier[:1] == "u" and re.fullmatch(r"[A-Za-z0-9_-]+", digits):
        decoded = base64.urlsafe_b64decode(digits + "=" * (-len(digits) % 4)) if len(digits) % 4 != 1 else None
    else:
        return False
    length = None if decoded is None else _KEY_BYTES.get(decoded[:2])
    return decoded is not None and length is not None and (not length or len(decoded) == length + 2)


def _decoded(match: re.Match[str]) -> str:
    character = chr(int(match[0][1:], 16))
    return character if character in _UNRESERVED else match[0].upper()


def key_of(did: str) -> str | None:
    """The Ed25519 public key that a `did:key` holds (0.7: `z`, base58btc of the multicodec `ed25519-pub` and the key),
    as base64 of its 32 bytes; None for any other DID."""
    found = normalised(did)
    if found is None or not found.startswith("did:key:z"):
        return None
    decoded = _base58(found.removeprefix("did:key:z"))
    if decoded is None or decoded[:2] != _ED25519_MULTICODEC or len(decoded) != 34:
        return None
    return base64.b64encode(decoded[2:]).decode()


def did_of(public_key: bytes) -> str:
    """The `did:key` of an Ed25519 public key of 32 bytes: what `key_of` reads back."""
    number, digits = int.from_bytes(_ED25519_MULTICODEC + public_key, "big"), ""
    while number:  # the multicodec does not begin with a zero byte, so that no leading `1` is needed
        number, digit = divmod(number, 58)
        digits = _BASE58[digit] + digits
    return f"did:key:z{digits}"


def _base58(text: str) -> bytes | None:
    number = 0
    for character in text:
        digit = _DIGIT.get(character)
        if digit is None:
            return None
        number = number * 58 + digit
    zeros = len(text) - len(text.lstrip("1"))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")


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
    """What a record of this input topic is signed for in this deployment. Raises `KeyError` where nothing on it is
    signed."""
    domain = DOMAINS[topic]
    return domain if domain is ATTESTATION else domain._replace(origin=origin)


class Signing(NamedTuple):
    """Who signs what goes out, and for which deployment."""

    signer: Signer
    origin: str


def signed_bytes(domain: Domain, form: bytes) -> bytes:
    """What a signature for a `domain` is over: scheme, origin (where the domain has one), topic, record type and
    canonical `form` (RFC 8785, without the member `signature`).

    Each field is its length in 8 bytes, big-endian, then its bytes (UTF-8), so that no two sequences of fields give the
    same bytes.
    """
    origin = () if domain.origin is None else (domain.origin.encode(),)
    fields = (SCHEME.encode(), *origin, domain.topic.encode(), domain.record.encode(), form)
    return b"".join(len(field).to_bytes(LENGTH_BYTES, "big") + field for field in fields)


def public_key_of(text: str) -> str | None:
    """A public key in its one form, the base64 of its 32 bytes; None for what is none. It reads base64, hex, or a C2SP
    verifier `name+id+base64`, whose id must be that of its name and key."""
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
    """Whether a key is a point of order 1, 2, 4 or 8, with which OpenSSL verifies signatures that anyone can make (RFC
    8032 §5.1.7): on Ed25519's curve y is 1, -1, 0 or a root of d y^4 + 2 y^2 - 1, where doubling a point gives y = 0.
    """
    y = int.from_bytes(raw, "little") % 2**255 % _P
    return y in (0, 1, _P - 1) or (_D * y**4 + 2 * y**2 - 1) % _P == 0


def signed(record: dict[str, Any], signer: Signer, domain: Domain) -> dict[str, Any]:
    """A copy of a JSON-ready `record` with the `signer`'s signature for a `domain` as its last member, in place of one
    that was there. Raises `CanonicalError`."""
    return _with_signature(record, signer, signed_bytes(domain, fast_canonical(_said(record, domain))))


def _with_signature(record: Mapping[str, Any], signer: Signer, data: bytes) -> dict[str, Any]:
    return {**_unsigned(record), SIGNATURE: base64.b64encode(signer.sign_bytes(data)).decode()}


def _unsigned(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != SIGNATURE}


def _said(record: Mapping[str, Any], domain: Domain) -> dict[str, Any]:
    """What a party says in a record: all but its signature and, in an emission, what other parties proposed."""
    said = _unsigned(record)
    assertions = said.get("assertions") if domain.topic == EMISSION.topic else None
    if isinstance(assertions, list):
        said["assertions"] = [_without_proposal(one) for one in cast("list[Any]", assertions)]
    return said


def _without_proposal(assertion: Any) -> Any:
    if not isinstance(assertion, dict):
        return assertion
    return {name: value for name, value in cast("dict[str, Any]", assertion).items() if name != "proposal"}


def emission_digest(emission: Mapping[str, Any]) -> str:
    """What a proposal names as `digest`: of the emission, JSON-ready, without its signature and without proposals.
    Raises `CanonicalError`."""
    return digest_of(fast_canonical(_said(emission, EMISSION)))


def sign_proposal(proposal: Mapping[str, Any], span_key: str, signer: Signer, origin: str) -> dict[str, Any]:
    """A copy of a JSON-ready `proposal`, which has its `digest`, with the proposer's signature as its last member.

    It covers the `origin`, the span (`span_key`) and every member of the proposal; so it holds for one assertion of one
    attempt of one emission. Raises `CanonicalError` for what RFC 8785 cannot say. `signer` is the proposer's key.
    """
    return _with_signature(proposal, signer, _proposal_bytes(_unsigned(proposal), span_key, origin))


def is_signed_proposal(
    public_keys: Iterable[str], proposal: Mapping[str, Any], digest: str, span_key: str, origin: str
) -> bool:
    """Whether a proposal, as `canonical.parse_json` reads it, is signed with any of the `public_keys` (as for
    `public_key_of`) for the assertion with this `span_key` of the emission with this `digest`, in the deployment
    `origin`."""
    signature = proposal.get(SIGNATURE)
    if not isinstance(signature, str) or proposal.get("digest") != digest or not _is_formed(signature):
        return False
    try:
        data = _proposal_bytes(_unsigned(proposal), span_key, origin)
    except CanonicalError:
        return False
    return any(is_signature(key, signature, data) for key in public_keys)


def _proposal_bytes(said: Mapping[str, Any], span_key: str, origin: str) -> bytes:
    return signed_bytes(PROPOSAL._replace(origin=origin), fast_canonical({"span": span_key, "proposal": said}))


def holds(public_key: str, signature: str, record: bytes, domain: Domain) -> bool:
    """Whether a `record` (a JSON object in UTF-8), as it came, is signed for a `domain` with a `public_key`; its member
    says the `signature`. With what `public_key_of` cannot read nothing is signed."""
    return is_signed_by_any([public_key], signature, record, domain)


def is_signed_by_any(public_keys: Iterable[str], signature: str, record: bytes, domain: Domain) -> bool:
    """As `holds`, with any of the `public_keys`. The `record` is read once, and only where the `signature` has the form
    of one for a `domain`."""
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
    """Whether `data`, all of it, is signed with a `public_key`; `signature` is standard base64 of 64 bytes."""
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
