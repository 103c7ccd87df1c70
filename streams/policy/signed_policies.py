"""Which policy may follow upon another one (docs/security.md, "Who may change the policy").

A policy may list keys under `[policies.keys]`. A policy that follows upon such a one counts only
where one of those keys, in its time, signed it, and where its `sequence` is greater: so nobody can bring an older
policy back that was signed once. Anything else is a dead letter `unauthorised-policy`, and the policy in force stays.

The signature stands in a header of the record, over the exact bytes of the document and the deployment's origin; so a
policy has the same hash signed and unsigned. The policy that a ledger begins with is the worker's own file, and needs
no signature. Pure.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Final

import msgspec

from ...codecs.errors import Fault
from ...codecs.notes import Signer
from ...codecs.signatures import Domain, is_signature, signed_bytes
from .keys import Key, counted, what_came
from .policy import Policy, policy_of_document

HEADER: Final = "sluice-signature"
"""The header of a record on `policies` that holds the base64 of the signature."""
_REASON: Final = "unauthorised-policy"
Headers = Iterable[tuple[str, bytes | None]]


def signature_of(headers: Headers) -> bytes | None:
    """The signature that a record carries: the first header of the name; None where there is none."""
    return next((value or b"" for name, value in headers if name == HEADER), None)


def sign(document: bytes, signer: Signer, origin: str) -> bytes:
    """The signature under a policy's document, as its header has it.

    Args:
        document: of the policy that is to follow.
        signer: one whom the policy in force lists.
        origin: the deployment's name, as the policy in force has it.
    """
    return base64.b64encode(signer.sign_bytes(_signed(document, origin)))


def follow(before: Policy | None, document: bytes, headers: Headers, time: int) -> Policy | Fault:
    """The policy of a document, where it may follow upon the one before it; else what is wrong.

    Args:
        before: the newest that counts; None where there is none yet.
        document: as it came.
        headers: of its record.
        time: at which the key has to count, Unix ms: the block's.
    """
    try:
        policy = policy_of_document(document)
    except msgspec.MsgspecError as error:
        return Fault("schema", f"$: expected a policy document, got {error}")
    if policy.document != document:
        return Fault("schema", "$: expected a policy document in canonical form, as `sluice policy apply` writes it")
    if before is None or not before.policies.keys:
        return policy
    signature = signature_of(headers)
    if not _is_signed(before, document, signature, time):
        names = ", ".join(sorted(before.policies.keys))
        got = what_came(None if signature is None else "")
        return Fault(_REASON, f"{HEADER}: expected a signature of {names}, got {got}")
    least, given = before.policies.sequence + 1, policy.policies.sequence
    if given < least:
        return Fault(_REASON, f"$.policies.sequence: expected {least} or more, got {given}")
    return policy


def signer_of(before: Policy, document: bytes, headers: Headers, time: int) -> str | None:
    """The name under which a policy lists the key that signed the one that follows; None where none did.

    Args:
        before: the policy that lists the keys.
        document: the policy that follows, as it stands in the ledger.
        headers: of its record; one has the signature.
        time: at which a key has to count, Unix ms.
    """
    signature = signature_of(headers)
    for name in sorted(before.policies.keys):
        if _is_signed_by(_counting(before, name, time), document, signature, before.origin):
            return name
    return None


def _is_signed(before: Policy, document: bytes, signature: bytes | None, time: int) -> bool:
    keys = [key for name in before.policies.keys for key in _counting(before, name, time)]
    return _is_signed_by(keys, document, signature, before.origin)


def _counting(policy: Policy, name: str, time: int) -> list[Key]:
    return [key for key in counted(name, policy.policies.keys[name], policy.origin) if key.counts_at(time)]


def _is_signed_by(keys: Iterable[Key], document: bytes, signature: bytes | None, origin: str) -> bool:
    if signature is None:
        return False
    data, text = _signed(document, origin), signature.decode("latin-1")
    return any(is_signature(key.public_key, text, data) for key in keys)


def _signed(document: bytes, origin: str) -> bytes:
    return signed_bytes(Domain("policies", "policy", origin), document)
