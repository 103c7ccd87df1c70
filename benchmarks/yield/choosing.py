"""Choices that look free and are the same everywhere: by SHA-256 of what they are about, by no generator's state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import TypeVar

One = TypeVar("One")


def number(*about: object) -> int:
    """A large number, the same for the same words."""
    return int.from_bytes(sha256("\x1f".join(map(str, about)).encode()).digest()[:8], "big")


def pick(among: Sequence[One], *about: object) -> One:
    """One of them."""
    return among[number(*about) % len(among)]


def shuffled(among: Iterable[One], *about: object) -> list[One]:
    """All of them, in an order that says nothing."""
    return sorted(among, key=lambda one: number(*about, repr(one)))
