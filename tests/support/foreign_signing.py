"""Signatures as a program in any language makes them: with an Ed25519 and an RFC 8785 library, and no code of ours."""

from __future__ import annotations

import base64
import struct
from typing import Any

import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

RECORD_TYPES = {
    "emissions": "emission",
    "observations": "observation",
    "sightings": "sighting",
    "reviews": "review",
    "attestations": "attestation",
}


def key_of(number: int) -> Ed25519PrivateKey:
    """A private key that is the same in every run."""
    return Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)


def public(key: Ed25519PrivateKey) -> str:
    """Its public key, as a policy has it."""
    return base64.b64encode(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()


def sign(key: Ed25519PrivateKey, topic: str, record: dict[str, Any], origin: str = "sluice") -> dict[str, Any]:
    """The record with its signature, for this topic of this deployment."""
    bare = {name: value for name, value in record.items() if name != "signature"}
    origins = [] if topic == "attestations" else [origin]
    fields = ["sluice/1", *origins, topic, RECORD_TYPES[topic]]
    parts = [*(field.encode() for field in fields), rfc8785.dumps(bare)]
    message = b"".join(struct.pack(">Q", len(part)) + part for part in parts)
    return bare | {"signature": base64.b64encode(key.sign(message)).decode()}
