"""The digest that says which record an observation or a review is about."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.identifiers import digest_of, is_digest, names


@given(st.binary(max_size=50), st.binary(max_size=50), st.integers(1, 32))
def test_a_digest_names_its_record_alone(record: bytes, other: bytes, length: int) -> None:
    """By as many first bytes of the hash as are remembered."""
    digest = digest_of(record)

    assert is_digest(digest)
    assert names(digest, sha256(record).digest()[:length])
    assert names(digest, sha256(other).digest()) == (record == other)


@pytest.mark.parametrize(
    "text", ["", "sha256:", "sha256:" + "AB" * 32, "sha512:" + "ab" * 32, "sha256:" + "ab" * 32 + "\n"]
)
def test_anything_else_is_no_digest(text: str) -> None:
    """Upper case and line ends included: one record has one digest."""
    assert not is_digest(text)
