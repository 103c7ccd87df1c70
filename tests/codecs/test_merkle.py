"""Roots and proofs are those of RFC 6962, section 2.1, and nothing else passes for one.

They are held against the standard's recursive definitions, its published test vectors, and another implementation.
"""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymerkle import InmemoryTree, InvalidProof

from sluice.codecs import merkle
from sluice.codecs.errors import DoesNotHoldError

# The inputs and roots that Certificate Transparency's own implementations are tested with: a tree of the first n.
VECTOR_LEAVES = [
    bytes.fromhex(text)
    for text in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
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


# ---------------------------------------------------------------- trees that grow

LEAVES = [merkle.leaf_hash(str(number).encode()) for number in range(300)]


@given(st.integers(0, 300))
def test_a_frontier_has_the_root_of_all_its_leaves(size: int) -> None:
    """Appending one by one, with nothing kept but full subtrees, ends at the root of the whole list."""
    leaves = LEAVES[:size]
    tree = merkle.Frontier()
    for leaf in leaves:
        tree = tree.append(leaf)

    assert (tree.size, tree.root()) == (size, merkle.root(leaves))
    assert len(tree.roots) == size.bit_count()


def test_a_frontier_is_a_value() -> None:
    """Appending leaves the tree before as it was: a lane may drop a block that was not committed."""
    before = merkle.Frontier().append(LEAVES[0]).append(LEAVES[1]).append(LEAVES[2])
    root = before.root()

    before.append(LEAVES[3])

    assert (before.size, before.root()) == (3, root)


# ---------------------------------------------------------------- proofs

VECTORS = [merkle.leaf_hash(entry) for entry in VECTOR_LEAVES]
SIZES = st.integers(1, 40)


def unhex(*texts: str) -> list[bytes]:
    return [bytes.fromhex(text) for text in texts]


NODE_01 = "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"
NODE_23 = "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e"
NODE_45 = "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a"
NODE_67 = "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0"
NODE_0_3 = "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"
NODE_4_7 = "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"
LEAF_0 = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
LEAF_1 = "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7"
LEAF_4 = "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"


@pytest.mark.parametrize(
    ("index", "size", "path"),
    [
        (0, 1, unhex()),
        (0, 8, unhex(LEAF_1, NODE_23, NODE_4_7)),
        (5, 8, unhex(LEAF_4, NODE_67, NODE_0_3)),
        (2, 3, unhex(NODE_01)),
        (1, 5, unhex(LEAF_0, NODE_23, LEAF_4)),
    ],
)
def test_inclusion_proofs_are_the_published_ones(index: int, size: int, path: list[bytes]) -> None:
    """Certificate Transparency's own vectors (with its indices from 0)."""
    assert merkle.inclusion_proof(VECTORS[:size], index) == path
    merkle.demand_inclusion(VECTORS[index], index, size, path, bytes.fromhex(VECTOR_ROOTS[size]))


@pytest.mark.parametrize(
    ("first", "second", "path"),
    [
        (1, 1, unhex()),
        (1, 8, unhex(LEAF_1, NODE_23, NODE_4_7)),
        (6, 8, unhex(NODE_45, NODE_67, NODE_0_3)),
        (2, 5, unhex(NODE_23, LEAF_4)),
    ],
)
def test_consistency_proofs_are_the_published_ones(first: int, second: int, path: list[bytes]) -> None:
    """Certificate Transparency's own vectors."""
    assert merkle.consistency_proof(VECTORS[:second], first) == path
    merkle.demand_consistency(
        first, bytes.fromhex(VECTOR_ROOTS[first]), second, bytes.fromhex(VECTOR_ROOTS[second]), path
    )


@given(SIZES, st.data())
def test_every_leaf_has_a_proof_that_holds(size: int, data: st.DataObject) -> None:
    """For each size and place, no longer than the tree is high."""
    index = data.draw(st.integers(0, size - 1))
    path = merkle.inclusion_proof(LEAVES[:size], index)

    merkle.demand_inclusion(LEAVES[index], index, size, path, merkle.root(LEAVES[:size]))

    assert len(path) <= (size - 1).bit_length()


@given(SIZES, st.data())
def test_every_earlier_tree_has_a_proof_that_holds(second: int, data: st.DataObject) -> None:
    """From the empty tree to the whole one."""
    first = data.draw(st.integers(0, second))
    path = merkle.consistency_proof(LEAVES[:second], first)

    merkle.demand_consistency(first, merkle.root(LEAVES[:first]), second, merkle.root(LEAVES[:second]), path)


def flipped(data: st.DataObject, hashed: bytes) -> bytes:
    """The hash with one bit changed."""
    bit = data.draw(st.integers(0, 8 * len(hashed) - 1), label="bit")
    return (int.from_bytes(hashed, "big") ^ (1 << bit)).to_bytes(len(hashed), "big")


def changed(data: st.DataObject, path: list[bytes]) -> list[bytes]:
    """The path with a bit changed, an element dropped, doubled or added, or two exchanged."""
    kinds = ["add", *(["flip", "drop", "double"] if path else []), *(["exchange"] if len(path) > 1 else [])]
    kind, other = data.draw(st.sampled_from(kinds), label="kind"), list(path)
    at = data.draw(st.integers(0, max(0, len(path) - 1)), label="at")
    if kind == "flip":
        other[at] = flipped(data, other[at])
    elif kind == "drop":
        del other[at]
    elif kind == "double":
        other.insert(at, other[at])
    elif kind == "add":
        other.insert(at, data.draw(st.binary(max_size=33)))
    else:
        other[0], other[-1] = other[-1], other[0]
    return other


@given(SIZES, st.data())
def test_no_other_path_shows_a_leaf(size: int, data: st.DataObject) -> None:
    """A path with anything changed in it is refused."""
    index = data.draw(st.integers(0, size - 1))
    path = merkle.inclusion_proof(LEAVES[:size], index)
    other = changed(data, path)

    with pytest.raises(DoesNotHoldError):
        merkle.demand_inclusion(LEAVES[index], index, size, other, merkle.root(LEAVES[:size]))


@given(SIZES, st.data())
def test_a_path_shows_its_own_leaf_in_its_own_tree_only(size: int, data: st.DataObject) -> None:
    """Another leaf, another place, another root are refused."""
    index = data.draw(st.integers(0, size - 1))
    path, root = merkle.inclusion_proof(LEAVES[:size], index), merkle.root(LEAVES[:size])
    place = data.draw(st.integers(-2, size + 2).filter(lambda other: other != index))

    for leaf, at, wanted in (
        (flipped(data, LEAVES[index]), index, root),
        (LEAVES[index], place, root),
        (LEAVES[index], index, flipped(data, root)),
    ):
        with pytest.raises(DoesNotHoldError):
            merkle.demand_inclusion(leaf, at, size, path, wanted)


@given(SIZES, SIZES, st.data())
def test_another_size_needs_another_root(size: int, other: int, data: st.DataObject) -> None:
    """Under the root of the other size's tree a path is refused: somebody has to vouch for size and root together."""
    index = data.draw(st.integers(0, size - 1))
    path = merkle.inclusion_proof(LEAVES[:size], index)
    if other == size:
        return

    with pytest.raises(DoesNotHoldError):
        merkle.demand_inclusion(LEAVES[index], index, other, path, merkle.root(LEAVES[:other]))


@given(SIZES, st.data())
def test_no_other_path_shows_an_earlier_tree(second: int, data: st.DataObject) -> None:
    """A path with anything changed in it is refused."""
    first = data.draw(st.integers(0, second))
    path = merkle.consistency_proof(LEAVES[:second], first)
    other = changed(data, path)

    with pytest.raises(DoesNotHoldError):
        merkle.demand_consistency(first, merkle.root(LEAVES[:first]), second, merkle.root(LEAVES[:second]), other)


@given(SIZES, st.data())
def test_a_path_shows_its_own_two_trees_only(second: int, data: st.DataObject) -> None:
    """Another root on either side, and another tree of either size, are refused."""
    first = data.draw(st.integers(1, second))
    path = merkle.consistency_proof(LEAVES[:second], first)
    old, new = merkle.root(LEAVES[:first]), merkle.root(LEAVES[:second])
    smaller = data.draw(st.integers(1, second + 1).filter(lambda other: other != first))

    for sizes, roots in (
        ((first, second), (flipped(data, old), new)),
        ((first, second), (old, flipped(data, new))),
        ((smaller, second), (merkle.root(LEAVES[:smaller]), new)),
        ((first, second + 1), (old, merkle.root(LEAVES[: second + 1]))),
    ):
        with pytest.raises(DoesNotHoldError):
            merkle.demand_consistency(sizes[0], roots[0], sizes[1], roots[1], path)


@pytest.mark.parametrize(("first", "root"), [(0, LEAVES[0]), (-1, merkle.EMPTY_ROOT)])
def test_an_empty_tree_has_one_root(first: int, root: bytes) -> None:
    """It is the beginning of every tree, and nothing else passes for it."""
    merkle.demand_consistency(0, merkle.EMPTY_ROOT, 3, merkle.root(LEAVES[:3]), [])

    with pytest.raises(DoesNotHoldError):
        merkle.demand_consistency(first, root, 3, merkle.root(LEAVES[:3]), [])


def test_the_border_between_two_hashes_is_where_it_is() -> None:
    """Bytes moved from one hash of a proof to the next would hash alike: a hash has 32 bytes or is none."""
    path, root = merkle.consistency_proof(LEAVES[:7], 6), merkle.root(LEAVES[:7])
    # The first climb of this proof is (path[2], path[0]): 64 bytes that could be cut elsewhere.
    start, right, left = path

    with pytest.raises(DoesNotHoldError, match="no hash"):
        merkle.demand_consistency(6, merkle.root(LEAVES[:6]), 7, root, [left[-1:] + start, right, left[:-1]])
    with pytest.raises(DoesNotHoldError, match="no hash"):
        merkle.demand_inclusion(LEAVES[0] + b"!", 0, 1, [], LEAVES[0])


@pytest.mark.parametrize(("size", "index"), [(0, 0), (3, 3), (3, -1)])
def test_what_is_not_there_has_no_proof(size: int, index: int) -> None:
    """Asking for it is the caller's mistake."""
    with pytest.raises(IndexError):
        merkle.inclusion_proof(LEAVES[:size], index)
    with pytest.raises(IndexError):
        merkle.consistency_proof(LEAVES[:size], index + 1 if index >= 0 else index)


def test_a_tree_of_a_monstrous_size_costs_nothing() -> None:
    """What a stranger's file says of sizes is refused by the length of its path, not by building anything."""
    with pytest.raises(DoesNotHoldError, match="not as long"):
        merkle.demand_inclusion(LEAVES[0], 2**63 - 2, 2**63 - 1, [], LEAVES[0])


# ---------------------------------------------------------------- an implementation that is not ours


@pytest.fixture(scope="module")
def theirs() -> InmemoryTree:
    """pymerkle's tree over the same entries: it hashes as RFC 9162 says, which is as RFC 6962 does."""
    tree = InmemoryTree(algorithm="sha256")
    tree.append_entries([str(number).encode() for number in range(70)])
    return tree


@pytest.mark.parametrize("size", range(1, 71))
def test_another_implementation_has_the_same_roots(theirs: InmemoryTree, size: int) -> None:
    """Root by root, as the tree grows."""
    assert theirs.get_root(size) == merkle.root(LEAVES[:size])


@given(st.integers(1, 70), st.data())
def test_another_implementation_takes_our_inclusion_proofs_and_we_take_its(
    theirs: InmemoryTree, size: int, data: st.DataObject
) -> None:
    """Its path begins with the leaf itself and counts from one; the rest is ours, hash by hash."""
    index = data.draw(st.integers(0, size - 1))
    proof = theirs.prove_inclusion(index + 1, size)
    ours = merkle.inclusion_proof(LEAVES[:size], index)

    merkle.demand_inclusion(proof.path[0], index, size, proof.path[1:], theirs.get_root(size))
    proof.path = [LEAVES[index], *ours]
    proof.verify(LEAVES[index], merkle.root(LEAVES[:size]), index=index + 1, size=size)


@given(st.integers(1, 70), st.data())
def test_another_implementation_shows_our_trees_consistent(
    theirs: InmemoryTree, second: int, data: st.DataObject
) -> None:
    """Its proof, which takes smaller steps than RFC 6962's, holds between our roots, and not between others."""
    first = data.draw(st.integers(1, second))
    proof = theirs.prove_consistency(first, second)

    proof.verify(merkle.root(LEAVES[:first]), merkle.root(LEAVES[:second]), prior_size=first, later_size=second)

    with pytest.raises(InvalidProof):
        proof.verify(LEAVES[80], merkle.root(LEAVES[:second]), prior_size=first, later_size=second)


def subproof(first: int, start: int, end: int, whole: bool) -> list[tuple[int, int]]:
    """SUBPROOF of RFC 6962, section 2.1.2, word for word: the leaves that each hash of the proof is over."""
    size = end - start
    if first == size:
        return [] if whole else [(start, end)]
    k = 1
    while k * 2 < size:
        k *= 2
    if first <= k:
        return [*subproof(first, start, start + k, whole), (start + k, end)]
    return [*subproof(first - k, start + k, end, False), (start, start + k)]


@given(st.integers(1, 70), st.data())
def test_our_consistency_proofs_are_the_standard_s_with_another_implementation_s_hashes(
    second: int, data: st.DataObject
) -> None:
    """The standard's recursion says over which leaves a hash is; the other implementation says which hash that is."""
    first = data.draw(st.integers(1, second))

    def hashed(start: int, end: int) -> bytes:
        tree = InmemoryTree(algorithm="sha256")
        tree.append_entries([str(number).encode() for number in range(start, end)])
        return tree.get_root()

    assert merkle.consistency_proof(LEAVES[:second], first) == [
        hashed(*one) for one in subproof(first, 0, second, True)
    ]
