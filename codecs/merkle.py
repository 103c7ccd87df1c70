"""RFC 6962 Merkle trees over byte strings: roots, and proofs that a leaf or an earlier tree is in one.

Everything takes leaves that are hashed already (`leaf_hash`), and works level by level: pairing neighbours and carrying
an odd last one up gives the same tree as RFC 6962's split at the largest power of two, without its recursion.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple

from . import compiled_core
from .errors import DoesNotHoldError

EMPTY_ROOT = sha256(b"").digest()
"""The root of a tree without leaves (RFC 6962, section 2.1)."""
HASH_BYTES = 32
"""The length of every hash here; a proof's hash of another length would put the border between two elsewhere."""


def leaf_hash(data: bytes) -> bytes:
    """SHA-256 over 0x00 and the data: 32 bytes."""
    return sha256(b"\x00" + data).digest()


if compiled_core.codecs is not None:
    leaf_hash = compiled_core.codecs.leaf_hash


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


def root(leaves: Sequence[bytes]) -> bytes:
    """The Merkle tree hash of leaves that are already hashed."""
    if not leaves:
        return EMPTY_ROOT
    found = None if compiled_core.codecs is None else compiled_core.codecs.root(leaves)
    if found is not None:
        return found
    level = list(leaves)
    while len(level) > 1:
        level = _above(level)
    return level[0]


def _above(level: Sequence[bytes]) -> list[bytes]:
    """The next level: neighbours paired, an odd last one carried up."""
    above = [_node(left, right) for left, right in zip(level[::2], level[1::2], strict=False)]
    if len(level) % 2:
        above.append(level[-1])
    return above


class Frontier(NamedTuple):
    """A tree that only grows, as little of it as its root and its growth need: 32 bytes for each bit of its size.

    Attributes:
        size: how many leaves there are.
        roots: of the full subtrees that they make up, the largest first; one for each 1 in the binary `size`.
    """

    size: int = 0
    roots: tuple[bytes, ...] = ()

    def append(self, leaf: bytes) -> Frontier:
        """The tree with one more leaf (hashed already)."""
        roots, hashed, size = list(self.roots), leaf, self.size
        while size & 1:
            hashed = _node(roots.pop(), hashed)
            size >>= 1
        return Frontier(self.size + 1, (*roots, hashed))

    def root(self) -> bytes:
        """The Merkle tree hash of all leaves."""
        if not self.roots:
            return EMPTY_ROOT
        hashed = self.roots[-1]
        for left in reversed(self.roots[:-1]):
            hashed = _node(left, hashed)
        return hashed


# ---------------------------------------------------------------- proofs


def inclusion_proof(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """The audit path of the leaf at `index`, from its sibling up (RFC 6962, section 2.1.1). Raises `IndexError` where
    there is none."""
    if not 0 <= index < len(leaves):
        raise IndexError(f"no leaf {index} in a tree of {len(leaves)}")
    return _siblings(list(leaves), index)


def consistency_proof(leaves: Sequence[bytes], first: int) -> list[bytes]:
    """That the tree of the first so many leaves is the beginning of this one (RFC 6962, section 2.1.2); empty where
    `first` is 0 or all of them. Raises `IndexError` where there are fewer."""
    if not 0 <= first <= len(leaves):
        raise IndexError(f"no tree of {first} leaves in one of {len(leaves)}")
    if first in (0, len(leaves)):
        return []
    # The node at the right edge of the old tree that is whole in both: below it nothing has to be shown.
    index, level = first - 1, list(leaves)
    while index & 1:
        index, level = index >> 1, _above(level)
    return [*([level[index]] if index else []), *_siblings(level, index)]


def _siblings(level: list[bytes], index: int) -> list[bytes]:
    """What stands beside the way from a node of a level up to the root."""
    path: list[bytes] = []
    while len(level) > 1:
        sibling = index ^ 1
        if sibling < len(level):
            path.append(level[sibling])
        level, index = _above(level), index >> 1
    return path


def sides(index: int, size: int) -> list[bool]:
    """Whether each sibling in the path of a leaf, from the leaf up, stands to its left. Raises `DoesNotHoldError` where
    a tree of this size has no such leaf."""
    if not 0 <= index < size:
        raise DoesNotHoldError("a proof names a leaf that its tree does not have", got=f"{index} of {size}")
    found: list[bool] = []
    last = size - 1
    while last:
        if index & 1 or index < last:  # else it is an odd last one, carried up: no sibling
            found.append(bool(index & 1))
        index, last = index >> 1, last >> 1
    return found


def climb(leaf: bytes, path: Iterable[tuple[bool, bytes]]) -> bytes:
    """The root that the path of a leaf (hashed already) leads to, from its sibling up, each with whether it stands to
    the left (`sides`). Raises `DoesNotHoldError` for what is no hash."""
    hashed = leaf
    for is_left, sibling in path:
        _demand_hash(sibling)
        hashed = _node(sibling, hashed) if is_left else _node(hashed, sibling)
    return hashed


def demand_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes], wanted: bytes) -> None:
    """Demands that a `leaf` (its hash) is at a place (`index`) of a tree of this `size` and root (`wanted`) by the
    siblings' hashes, from the leaf up (`path`; RFC 9162, 2.1.3.2). Else raises `DoesNotHoldError`.

    The caller must know `size` from a trusted source: trees of some other sizes have the same path at the same place.
    """
    _demand_hash(leaf)
    steps = sides(index, size)
    if len(path) != len(steps):
        raise DoesNotHoldError("an inclusion proof is not as long as its tree is high", expected=f"{len(steps)} hashes")
    found = climb(leaf, zip(steps, path, strict=True))
    if found != wanted:
        raise DoesNotHoldError("an inclusion proof leads to another root", expected=wanted.hex(), got=found.hex())


def demand_consistency(first: int, first_root: bytes, second: int, second_root: bytes, path: Sequence[bytes]) -> None:
    """Demands that a tree of `first` leaves with the root `first_root` is the beginning of one of `second` leaves with
    `second_root`, by the hashes of a proof (`path`; RFC 9162, 2.1.4.2). Else raises `DoesNotHoldError`."""
    if not 0 <= first <= second:
        raise DoesNotHoldError("a later tree has fewer leaves", expected=f"{first} or more", got=str(second))
    if first in (0, second):
        _demand_same(first, first_root, second, second_root, path)
        return
    # The lowest node on the old tree's right edge that is whole in the new one too. Where it is the old tree itself,
    # its root need not be told.
    at, last = first - 1, second - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    steps = sides(at, last + 1)
    given = [first_root, *path] if at == 0 else list(path)
    if len(given) != 1 + len(steps):
        raise DoesNotHoldError("a consistency proof is not as long as its trees are high")
    _demand_hash(given[0])
    # What stands to the left is part of both trees, what stands to the right of the new one only.
    older = [(is_left, sibling) for is_left, sibling in zip(steps, given[1:], strict=True) if is_left]
    if climb(given[0], older) != first_root:
        raise DoesNotHoldError("a consistency proof does not begin with the earlier root", expected=first_root.hex())
    if climb(given[0], zip(steps, given[1:], strict=True)) != second_root:
        raise DoesNotHoldError("a consistency proof does not end with the later root", expected=second_root.hex())


def _demand_same(first: int, first_root: bytes, second: int, second_root: bytes, path: Sequence[bytes]) -> None:
    """That a tree is itself, or that an empty one is empty: nothing else is to be shown."""
    if first == 0 and first_root != EMPTY_ROOT:
        raise DoesNotHoldError("a tree without leaves has another root than it must", expected=EMPTY_ROOT.hex())
    if first == second and first_root != second_root:
        raise DoesNotHoldError("two trees of one size differ", expected=first_root.hex(), got=second_root.hex())
    if path:
        raise DoesNotHoldError("a consistency proof is longer than it may be", expected="no hashes")


def _demand_hash(raw: bytes) -> None:
    if len(raw) != HASH_BYTES:
        raise DoesNotHoldError("a proof holds something that is no hash", expected="32 bytes", got=str(len(raw)))
