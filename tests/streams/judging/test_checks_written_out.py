"""A check that is short as it is given is within the bound as it is written out: that is then not tried out."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

from sluice.streams.judging.checks import _SHORT, MAX_CANONICAL, Check, Unknown, canonical, parse_check

ARGUMENTS = st.one_of(
    st.text(st.characters(max_codepoint=126), max_size=200).map(json.dumps),
    st.sampled_from(["1e399", "-1e-399", "9e399", ".5e-398", "a-b", "true", "0x" + "f" * 300, "\ufdfa" * 30]),
)


@settings(max_examples=examples(300))
@given(st.sampled_from(["equals", "contains", "calls", "returns", "peer"]), st.lists(ARGUMENTS, min_size=1, max_size=3))
def test_what_is_read_is_never_longer_than_the_bound(name: str, given_arguments: list[str]):
    """Whatever makes a text longer when it is written out: numbers, escapes, characters that NFKC spells out."""
    if name == "peer":
        given_arguments = [f"{key}={one}" for key, one in zip(("uid", "gid", "pid"), given_arguments, strict=False)]
    check = parse_check(f"{name}({', '.join(given_arguments)})")
    if isinstance(check, Check):
        assert len(canonical(check)) <= MAX_CANONICAL


@pytest.mark.parametrize(
    "text",
    [
        f"equals(a, [{', '.join(['1e399'] * 30)}])",
        f"contains({json.dumps(chr(0xFDFA) * 300, ensure_ascii=False)})",
        f"contains({json.dumps(chr(0xFDFA) * 60 + 'a' * 3500)})",
    ],
    ids=["a list of numbers", "characters that NFKC spells out", "escaped ones"],
)
def test_a_check_that_grows_beyond_the_bound_is_none(text: str):
    """Also one that is short as it is given."""
    assert isinstance(parse_check(text), Unknown)


def test_a_number_takes_its_most_digits_in_a_short_check():
    """The longest numbers that a short check may hold fit."""
    check = parse_check("peer(uid=1e399, gid=1e399, pid=1e399)")
    assert isinstance(check, Check)
    assert len("peer(uid=1e399, gid=1e399, pid=1e399)") <= _SHORT
    assert 1200 < len(canonical(check)) <= MAX_CANONICAL
