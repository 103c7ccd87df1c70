"""Roots are those of RFC 6962, section 2.1: held against its recursive definition and its published test vectors."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs import merkle

# The inputs and roots that Certificate Transparency's own implementations are tested with: a tree of the first n.
VECTOR_LEAVES = [
    bytes.fromhex(text)
    for text in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
VECTOR_ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


def tree_hash(entries: list[bytes]) -> bytes:
    """MTH of RFC 6962, word for word: split at the largest power of two below n."""
    if not entries:
        return sha256(b"").digest()
    if len(entries) == 1:
        return sha256(b"\x00" + entries[0]).digest()
    k = 1
    while k * 2 < len(entries):
        k *= 2
    return sha256(b"\x01" + tree_hash(entries[:k]) + tree_hash(entries[k:])).digest()


@pytest.mark.parametrize(("size", "root"), list(enumerate(VECTOR_ROOTS)))
def test_roots_are_the_published_ones(size: int, root: str) -> None:
    """The known trees of no to eight leaves have their known roots."""
    leaves = [merkle.leaf_hash(entry) for entry in VECTOR_LEAVES[:size]]

    assert merkle.root(leaves).hex() == root


@given(st.lists(st.binary(max_size=8), max_size=70))
def test_a_root_is_the_recursive_definition_s(entries: list[bytes]) -> None:
    """Pairing level by level gives the tree that the standard defines by splitting."""
    assert merkle.root([merkle.leaf_hash(entry) for entry in entries]) == tree_hash(entries)


@pytest.mark.parametrize("size", [255, 256, 257, 4000])
def test_large_trees_too(size: int) -> None:
    """Around a power of two, and at a block's limit, the two definitions agree."""
    entries = [str(number).encode() for number in range(size)]

    assert merkle.root([merkle.leaf_hash(entry) for entry in entries]) == tree_hash(entries)


def test_a_leaf_is_no_node() -> None:
    """Leaves and inner nodes are told apart by their prefix, so no node can be passed off as a leaf."""
    left, right = merkle.leaf_hash(b"a"), merkle.leaf_hash(b"b")

    assert merkle.leaf_hash(left + right) != merkle.root([left, right])
    assert merkle.root([left]) == left
    assert sha256(b"").digest() == merkle.EMPTY_ROOT


@given(st.lists(st.binary(max_size=4), min_size=2, max_size=20), st.data())
def test_a_root_commits_to_content_and_order(entries: list[bytes], data: st.DataObject) -> None:
    """Changing a leaf, or exchanging two different ones, changes the root."""
    leaves = [merkle.leaf_hash(entry) for entry in entries]
    one, other = data.draw(st.tuples(*2 * [st.integers(0, len(leaves) - 1)]))
    changed = list(leaves)
    changed[one] = merkle.leaf_hash(entries[one] + b"!")
    exchanged = list(leaves)
    exchanged[one], exchanged[other] = leaves[other], leaves[one]

    assert merkle.root(changed) != merkle.root(leaves)
    assert (merkle.root(exchanged) == merkle.root(leaves)) == (leaves[one] == leaves[other])


def test_the_leaves_given_stay_as_they_were() -> None:
    """A root is computed without touching the caller's list."""
    leaves = [merkle.leaf_hash(bytes([number])) for number in range(5)]
    before = list(leaves)

    merkle.root(leaves)

    assert leaves == before
