"""Signed notes: a text, an empty line, and signatures that a key's name and id stand beside (C2SP signed-note), and
checkpoints: what a lane's history was at one moment (C2SP tlog-checkpoint).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote

from . import merkle
from .blocks import GENESIS
from .errors import DoesNotHoldError, UsageError, cut
from .times import format_time, parse_time

if TYPE_CHECKING:
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
        """The verifier of this text. Raises `UsageError`, which says what is wrong with it."""
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
        """Raises `UsageError` for a name with white space or `+`, and a seed that has not 32 bytes."""
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
        """The signer of this text. Raises `UsageError`, which never quotes it."""
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
        """The signed note of a text. Raises `ValueError` for one that does not end in a line feed, holds another
        control character, or is half a megabyte long."""
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
    """The parts of a note, unverified. Raises `DoesNotHoldError` for what is none."""
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
    """All of these who have signed the note, each once, in the order of the signatures. Raises `DoesNotHoldError` where
    none has, or a signature under one of their names and ids does not hold."""
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
    """The bytes of a base64 text (RFC 4648, section 4) in its one spelling; None for any other."""
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


_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_SIZE = re.compile(r"0|[1-9][0-9]{0,17}")
_RETENTION = re.compile(r"retention ([a-z]+(?:-[a-z]+)*) (-1|0|[1-9][0-9]{0,17})", re.ASCII)
_ORIGIN = re.compile(r"\S+/(0|[1-9][0-9]{0,8})", re.ASCII)
NO_CHECKPOINT: Final = GENESIS
"""What `previous` names in a lane's first checkpoint."""


class Head(NamedTuple):
    """A tree: how many leaves it has, and its root (32 bytes)."""

    size: int = 0
    root: bytes = merkle.EMPTY_ROOT


class Checkpoint(NamedTuple):
    """What a checkpoint says.

    Attributes:
        origin: names the lane's log, and nothing else has this name.
        head: the tree of the lane's blocks.
        block: the hash of the last block in it.
        time: that block's, Unix ms.
        previous: the hash of the lane's checkpoint before this one (`digest`), or `NO_CHECKPOINT`.
        tips: by lane, the newest checkpoint that was known when this one was written; this lane's own is this one's.
        retentions: by logical topic, the `retention.ms` that the broker named last; -1: for ever.
    """

    origin: str
    head: Head
    block: str
    time: int
    previous: str
    tips: Sequence[Head]
    retentions: Sequence[tuple[str, int]] = ()

    def text(self) -> str:
        """The note's text, to be signed."""
        lines = [
            self.origin,
            str(self.head.size),
            _base64(self.head.root),
            f"block {self.block}",
            f"time {format_time(self.time)}",
            f"previous {self.previous}",
            *(f"tip {lane} {tip.size} {_base64(tip.root)}" for lane, tip in enumerate(self.tips)),
            *(f"retention {topic} {kept}" for topic, kept in self.retentions),
        ]
        return "\n".join(lines) + "\n"

    @property
    def lane(self) -> int:
        """Which lane's log this is: what its origin ends in."""
        return int(self.origin.rpartition("/")[2])

    @property
    def digest(self) -> str:
        """What the next checkpoint of the lane names as `previous`."""
        return digest(self.text())


def digest(text: str) -> str:
    """The hash of a checkpoint's text, without its signatures: another signature does not change it."""
    return "sha256:" + sha256(text.encode()).hexdigest()


def origin(ledger_id: str, ledger: str, lane: int) -> str:
    """The name of a lane's log: of a ledger by its `ledger_id` (or the application's name), the topic's full name
    (`ledger`) and the `lane` number.

    Characters that no origin should have (white space and `+` among them) are percent-encoded; different logs keep
    different names, since neither a topic's name nor a number holds a slash.
    """
    return f"{quote(ledger_id, safe='/:@', errors='surrogatepass')}/{ledger}/{lane}"


def is_hash(name: str) -> bool:
    """Whether this is a hash as blocks are named: `sha256:` and 64 hex digits in lower case."""
    return _HASH.fullmatch(name) is not None


def leaf_of(block: str) -> bytes:
    """The leaf, hashed, of a block in its lane's tree, by the block's hash; a stranger's word needs `is_hash` first."""
    return merkle.leaf_hash(bytes.fromhex(block.removeprefix("sha256:")))


def parse_checkpoint(text: str) -> Checkpoint:
    """The checkpoint of a note's text, in the lines that `text` writes. Raises `DoesNotHoldError`, which names the
    line."""
    lines = text.split("\n")
    if lines.pop() or len(lines) < 7:
        raise DoesNotHoldError("a checkpoint is too short", expected="seven lines or more", got=str(len(lines)))
    behind_tips = next((at for at, line in enumerate(lines) if line.startswith("retention ")), len(lines))
    found = Checkpoint(
        lines[0],
        Head(_size(lines[1], lines[1]), _root(lines[2], lines[2])),
        _named(lines[3], "block"),
        parse_time(lines[4].removeprefix("time ")) or 0,
        _named(lines[5], "previous"),
        [_tip(lane, line) for lane, line in enumerate(lines[6:behind_tips])],
        [_retention(line) for line in lines[behind_tips:]],
    )
    if found.text() != text or not _ORIGIN.fullmatch(found.origin):
        raise DoesNotHoldError("a checkpoint is not in the form that checkpoints are written in", got=cut(lines[0]))
    if not found.head.size or found.lane >= len(found.tips) or found.tips[found.lane] != found.head:
        raise DoesNotHoldError("a checkpoint does not name its own tree among its tips", got=cut(lines[0]))
    return found


def _named(line: str, name: str) -> str:
    value = line.removeprefix(f"{name} ")
    if not is_hash(value):
        raise DoesNotHoldError("malformed checkpoint line", expected=f"{name} sha256:…", got=cut(line))
    return value


def _tip(lane: int, line: str) -> Head:
    parts = line.split(" ")
    if len(parts) != 4 or parts[:2] != ["tip", str(lane)]:
        raise DoesNotHoldError("malformed checkpoint line", expected=f"tip {lane}, size and root", got=cut(line))
    return Head(_size(parts[2], line), _root(parts[3], line))


def _retention(line: str) -> tuple[str, int]:
    found = _RETENTION.fullmatch(line)
    if found is None:
        raise DoesNotHoldError("malformed checkpoint line", expected="retention, a topic and ms", got=cut(line))
    return found[1], int(found[2])


def _size(text: str, line: str) -> int:
    if not _SIZE.fullmatch(text):
        raise DoesNotHoldError("malformed checkpoint line", expected="a tree's size", got=cut(line))
    return int(text)


def _root(text: str, line: str) -> bytes:
    raw = unbase64(text)
    if raw is None or len(raw) != merkle.HASH_BYTES:
        raise DoesNotHoldError("malformed checkpoint line", expected="a root in base64", got=cut(line))
    return raw


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
