"""Signed notes: a text, an empty line, and signatures that a key's name and id stand beside (C2SP signed-note).

    text line(s)
    <empty line>
    — name base64(key id, 4 bytes, and signature)

Ed25519 only. Keys have the forms that C2SP and Go's `golang.org/x/mod/sumdb/note` give them: a verifier is
`name+hhhhhhhh+base64(0x01, public key)`, a signer `PRIVATE+KEY+name+hhhhhhhh+base64(0x01, seed)`; the id is the first
four bytes of SHA-256 over the name, a line feed, 0x01 and the public key. Making a new key needs randomness, so that
is done elsewhere.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from .errors import DoesNotHoldError, UsageError, cut

if TYPE_CHECKING:  # a twelfth of a command's imports, and most commands neither sign nor verify
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

ED25519: Final = b"\x01"
SEED_BYTES: Final = 32
MAX_BYTES: Final = 1_000_000
MAX_KEY: Final = 1000
"""Characters of a key as text: a name of 256 and 54 more at the most, with some white space around."""
MAX_SIGNATURES: Final = 100
_NAME = re.compile(r"[^\s+\x00-\x1f\x7f\ud800-\udfff]{1,256}")
_SIGNATURE = re.compile(r"— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})")
_PRIVATE: Final = "PRIVATE+KEY+"
_FORM: Final = "name+hhhhhhhh+base64"
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")


class Verifier:
    """Whose signature is believed: a name and a public key.

    Attributes:
        name: as signature lines have it.
        id: 4 bytes.
    """

    def __init__(self, name: str, public_key: Ed25519PublicKey) -> None:
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        self.name, self._key = name, public_key
        self._raw = public_key.public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.id = _key_id(name, self._raw)

    @classmethod
    def parse(cls, text: str) -> Verifier:
        """The verifier of this text.

        Raises:
            UsageError: it is none; the sentence says what is wrong.
        """
        given = text.strip()
        if given.startswith(_PRIVATE):  # and is not quoted
            raise UsageError(
                "a private key is no verifier", expected=_FORM, hint="`sluice key show FILE` prints its verifier"
            )
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        name, key_id, raw = _parse_key(given, "verifier")
        verifier = cls(name, Ed25519PublicKey.from_public_bytes(raw))
        if key_id != verifier.id:
            raise UsageError("the verifier's id is not that of its name and key", got=cut(given))
        return verifier

    @property
    def public_key(self) -> bytes:
        """Its 32 bytes."""
        return self._raw

    def __str__(self) -> str:
        return f"{self.name}+{self.id.hex()}+{base64.b64encode(ED25519 + self._raw).decode()}"

    def holds(self, text: str, signature: bytes) -> bool:
        """Whether the signature is this key's over the text."""
        from cryptography.exceptions import InvalidSignature

        try:
            self._key.verify(signature, text.encode())
        except InvalidSignature:
            return False
        return True


class Signer:
    """Who signs: a name and a private key. `str()` of it tells the name only; `encoded` is the secret."""

    def __init__(self, name: str, seed: bytes) -> None:
        """
        Args:
            name: without white space and `+`; by it the signature is found.
            seed: 32 bytes that nobody else knows.

        Raises:
            UsageError: there is no such name or seed.
        """
        if not _NAME.fullmatch(name):
            raise UsageError("not a key's name", expected="1 to 256 characters without white space and +", got=name)
        if len(seed) != SEED_BYTES:
            raise UsageError("not a private key's seed", expected=f"{SEED_BYTES} bytes", got=f"{len(seed)} bytes")
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        self.name, self._seed = name, seed
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self.verifier = Verifier(name, self._key.public_key())

    @classmethod
    def parse(cls, text: str) -> Signer:
        """The signer of this text; an error never quotes it.

        Raises:
            UsageError: it is none.
        """
        given = text.strip()
        if not given.startswith(_PRIVATE):
            raise UsageError("not a private key", expected=_PRIVATE + _FORM)
        try:
            name, key_id, seed = _parse_key(given.removeprefix(_PRIVATE), "private key")
        except UsageError as error:
            raise UsageError(error.what, expected=error.expected) from None
        signer = cls(name, seed)
        if key_id != signer.verifier.id:
            raise UsageError("the private key's id is not that of its name and key")
        return signer

    def encoded(self) -> str:
        """The secret, as a text that `parse` reads."""
        return f"{_PRIVATE}{self.name}+{self.verifier.id.hex()}+{base64.b64encode(ED25519 + self._seed).decode()}"

    def __str__(self) -> str:
        return f"signer {self.name}+{self.verifier.id.hex()}"

    __repr__ = __str__

    def sign_bytes(self, raw: bytes) -> bytes:
        """The 64 bytes of a signature over these, for what is no note (signatures.py)."""
        return self._key.sign(raw)

    def sign(self, text: str) -> str:
        """The signed note of a text.

        Raises:
            ValueError: a text ends in a line feed, holds no other control character, and is not half a megabyte long.
        """
        if not text.endswith("\n") or _CONTROL.search(text) or len(text.encode()) > MAX_BYTES // 2:
            raise ValueError("a note's text ends in a line feed, holds no other control character, and is bounded")
        signature = base64.b64encode(self.verifier.id + self._key.sign(text.encode())).decode()
        return f"{text}\n— {self.name} {signature}\n"


class Signature(NamedTuple):
    """One signature line: the key's name, its id, and what it signed with."""

    name: str
    key_id: bytes
    raw: bytes


class Note(NamedTuple):
    """A note as it stands: whether a signature holds is another question (`signers_of`)."""

    text: str
    signatures: Sequence[Signature]


def parse_note(note: str | bytes) -> Note:
    """The parts of a note, unverified.

    Raises:
        DoesNotHoldError: it is none.
    """
    raw = note if isinstance(note, bytes) else note.encode("utf-8", "surrogatepass")
    if len(raw) > MAX_BYTES:
        raise DoesNotHoldError("a note is too long", expected=f"{MAX_BYTES} bytes at most", got=f"{len(raw)}")
    try:
        whole = raw.decode()
    except UnicodeDecodeError as error:
        raise DoesNotHoldError(f"a note is not UTF-8: {error.reason} at byte {error.start}") from None
    if found := _CONTROL.search(whole):
        raise DoesNotHoldError("a note holds a control character", got=f"{found[0]!r} at character {found.start()}")
    text, found, below = whole.rpartition("\n\n")
    if not found or not below.endswith("\n"):
        raise DoesNotHoldError("a note has no signatures", expected="a text, an empty line, and signature lines")
    if below.count("\n") > MAX_SIGNATURES:
        raise DoesNotHoldError("a note has too many signatures", expected=f"{MAX_SIGNATURES} at most")
    lines = below[:-1].split("\n")
    return Note(text + "\n", [_signature(line) for line in lines])


def _signature(line: str) -> Signature:
    match = _SIGNATURE.fullmatch(line)
    raw = unbase64(match[2]) if match else None
    if match is None or raw is None or len(raw) < 5:
        raise DoesNotHoldError("a note has a line that is no signature", expected="— name base64", got=cut(line))
    return Signature(match[1], raw[:4], raw[4:])


def signers_of(note: Note, verifiers: Iterable[Verifier]) -> Sequence[Verifier]:
    """All of these who have signed the note, each once, in the order of the signatures: one or more.

    Raises:
        DoesNotHoldError: none of them has, or a signature under one of their names and ids does not hold.
    """
    known = {(verifier.name, verifier.id): verifier for verifier in verifiers}
    signed: dict[tuple[str, bytes], Verifier] = {}
    for name, key_id, raw in note.signatures:
        verifier = known.get((name, key_id))
        if verifier is None:
            continue
        if not verifier.holds(note.text, raw):
            raise DoesNotHoldError("a signature does not hold", path=verifier.name, hint="the note was changed")
        signed[name, key_id] = verifier
    if not signed:
        raise DoesNotHoldError(
            "the note is signed by nobody whose key is known",
            expected=_names(known) or "a key",
            got=_names((name, key_id) for name, key_id, _ in note.signatures),
        )
    return list(signed.values())


def _names(keys: Iterable[tuple[str, bytes]]) -> str:
    return cut(", ".join(f"{name}+{key_id.hex()}" for name, key_id in keys))


def unbase64(text: str) -> bytes | None:
    """The bytes of a base64 text (RFC 4648, section 4), None where it is none.

    Strict: one text for the same bytes, so that no changed character means the same.
    """
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if base64.b64encode(raw).decode() == text else None


def _key_id(name: str, public_key: bytes) -> bytes:
    return sha256(name.encode() + b"\n" + ED25519 + public_key).digest()[:4]


def _parse_key(text: str, what: str) -> tuple[str, bytes, bytes]:
    """A key's name, the id that it gives itself, and its 32 bytes."""
    name, _, rest = text.partition("+")
    key_id, _, encoded = rest.partition("+")
    raw = unbase64(encoded)
    if not _NAME.fullmatch(name) or not re.fullmatch("[0-9a-f]{8}", key_id) or not raw:
        raise UsageError(f"not a {what}", expected=_FORM, got=cut(text))
    if raw[:1] != ED25519 or len(raw) != 1 + SEED_BYTES:
        raise UsageError(f"the {what} is of another kind", expected="an Ed25519 key of 32 bytes", got=cut(text))
    return name, bytes.fromhex(key_id), raw[1:]
