"""What makes a run cheaper and changes nothing that it is about: a soak is as good as it has seeds.

The same few policies are written down over and over, and who signed a checkpoint is no secret here.
"""

from __future__ import annotations

import asyncio.tasks
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha512
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import msgspec
import rfc8785
from cryptography.exceptions import InvalidSignature

import sluice.streams.policy.policy
from sluice.codecs.notes import Signer
from sluice.topology.kafka import packed_batches

MOST = 200
_TASKS: Any = vars(asyncio.tasks).get("_all_tasks", vars(asyncio.tasks).get("_scheduled_tasks"))
"""All tasks, as `asyncio.all_tasks` tells them; by its name before and since Python 3.12."""
_encode = msgspec.msgpack.Encoder().encode
_written: dict[bytes, bytes] = {}


def _dumps(value: Any) -> bytes:
    """`rfc8785.dumps`, once for each value: that is Python, and takes a millisecond for a policy."""
    key = _encode(value)
    found = _written.get(key)
    if found is None:
        if len(_written) >= MOST:
            _written.clear()
        found = _written[key] = rfc8785.dumps(value)
    return found


class _Seal:
    """Stands for both halves of a key pair: a digest that nobody else makes here, at a hundredth of the cost."""

    def __init__(self, seed: bytes) -> None:
        self._seed = seed

    def sign(self, raw: bytes) -> bytes:
        return sha512(self._seed + raw).digest()

    def verify(self, signature: bytes, raw: bytes) -> None:
        if signature != self.sign(raw):
            raise InvalidSignature


def signer(name: str, seed: bytes) -> Signer:
    """A signer with its verifier, whose signatures nobody believes but that verifier."""
    found: Any = Signer(name, seed)
    found._key = found.verifier._key = _Seal(seed)
    return found


@contextmanager
def cheaply() -> Iterator[None]:
    """While it lasts, policies are written down once, and no batch is compressed; and asyncio keeps no list of all
    tasks, for which nobody asks."""
    with (
        patch.object(packed_batches, "compress", lambda records, level: records),
        patch.object(sluice.streams.policy.policy, "rfc8785", SimpleNamespace(dumps=_dumps)),
        patch.object(_TASKS, "add", lambda task: None, create=True),
    ):
        yield
