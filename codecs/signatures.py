"""Signatures under records: who says what an observation says (docs/reference/records.md, `signature`; [S §11.1,
§11.3]).

A record's member `signature` is the standard base64 of an Ed25519 signature (RFC 8032) over the RFC 8785 form of the
record without that member: of exactly the members that were sent, known ones and others. So a record can be passed on,
re-ordered or indented, and still hold; nothing can be added to it. What has no canonical form (a member named twice,
an integer beyond 2^53) is signed by nobody.

Pure: no key is made or read here. A public key is 32 bytes; people write it as base64, as hex, or as the verifier line
that `sluice key` prints.
"""

from __future__ import annotations

import base64
import re
from functools import lru_cache
from typing import Any, Final, cast

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from .canonical import CanonicalError, fast_canonical, parse_json
from .errors import UsageError
from .notes import Signer, Verifier, unbase64

SIGNATURE: Final = "signature"
KEY_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
PUBLIC_KEY: Final = "an Ed25519 public key: base64 or hex of its 32 bytes, or the line that `sluice key show` prints"
"""What a public key may be written as, for a sentence."""

_P: Final = 2**255 - 19
_D: Final = -121665 * pow(121666, -1, _P) % _P
_HEX: Final = re.compile(r"[0-9A-Fa-f]{64}")


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


def signed(record: dict[str, Any], signer: Signer) -> dict[str, Any]:
    """The record with the signer's signature as its last member, in place of one that was there.

    Args:
        record: JSON-ready; it is not changed.
        signer: whose.

    Raises:
        CanonicalError: it holds something that RFC 8785 cannot say.
    """
    said = {name: value for name, value in record.items() if name != SIGNATURE}
    return {**said, SIGNATURE: base64.b64encode(signer.sign_bytes(fast_canonical(said))).decode()}


def holds(public_key: str, signature: str, record: bytes) -> bool:
    """Whether a record, as it came, is signed with this key.

    Args:
        public_key: in any form that `public_key_of` reads; with what is none, nothing is signed.
        signature: what the record's member says.
        record: a JSON object in UTF-8.
    """
    key, raw = _key(public_key), unbase64(signature)
    if key is None or raw is None or len(raw) != SIGNATURE_BYTES:
        return False
    try:
        said = cast("dict[str, Any]", parse_json(record))
        said.pop(SIGNATURE, None)
        key.verify(raw, fast_canonical(said))
    except (CanonicalError, InvalidSignature):
        return False
    return True


@lru_cache(maxsize=1024)  # keys are few, and read for every record: 0.1 us instead of 9
def _key(public_key: str) -> Ed25519PublicKey | None:
    raw = public_key_of(public_key)
    return None if raw is None else Ed25519PublicKey.from_public_bytes(base64.b64decode(raw))
