"""Checkpoints: what a lane's history was at one moment, to be signed and held against it later (C2SP tlog-checkpoint).

A lane's blocks are the leaves of one RFC 6962 tree that only grows: the leaf at place h is the hash of block h, 32
bytes, hashed as a leaf. A checkpoint is a signed note of this text:

    f3kq…/ledger/2                           the log's origin: the ledger's id, its topic and the lane
    4712                                     how many blocks
    CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=   the tree's root
    block sha256:…                           the last of these blocks
    time 2026-11-21T09:00:00Z                that block's time
    previous sha256:…                        the text of the lane's checkpoint before, hashed
    tip 0 311 base64                         of every lane: the newest checkpoint known, its size and root
    tip 1 0 base64
    retention admitted 2592000000            how long each output topic keeps its records (`retention.ms`, -1: for ever)

The tips tie the lanes together: a cut tail and a whole lane that is gone leave no broken link behind, but some other
checkpoint still names them. The retentions tell an audit which records Kafka may have taken; checkpoints of earlier
packages, and of brokers that do not tell their settings, have none.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Final, NamedTuple
from urllib.parse import quote

from . import merkle
from .blocks import GENESIS
from .errors import DoesNotHoldError, cut
from .notes import unbase64
from .times import format_time, parse_time

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
    """The name of a lane's log.

    Characters that no origin should have (white space and `+` among them) are percent-encoded; different logs keep
    different names, since neither a topic's name nor a number holds a slash.

    Args:
        ledger_id: the ledger's (ledger_identity.py); of one without an id the application's name.
        ledger: the ledger topic's full name.
        lane: the lane's number.
    """
    return f"{quote(ledger_id, safe='/:@', errors='surrogatepass')}/{ledger}/{lane}"


def is_hash(name: str) -> bool:
    """Whether this is a hash as blocks are named: `sha256:` and 64 hex digits in lower case."""
    return _HASH.fullmatch(name) is not None


def leaf_of(block: str) -> bytes:
    """The leaf, hashed, of a block in its lane's tree, by the block's hash; a stranger's word needs `is_hash` first."""
    return merkle.leaf_hash(bytes.fromhex(block.removeprefix("sha256:")))


def parse_checkpoint(text: str) -> Checkpoint:
    """The checkpoint of a note's text; its lines must be the ones that `text` writes.

    Raises:
        DoesNotHoldError: it is none of ours; the sentence names the line.
    """
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
