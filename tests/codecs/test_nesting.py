"""Nesting is told from the bytes alone, before anything decodes them."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.json_text import MAX_NESTING, deeper_than

VALUES = st.recursive(
    st.none() | st.integers() | st.text(alphabet='ab"\\[]{}é'),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='k"\\[{', max_size=3), inner, max_size=4)
    ),
    max_leaves=30,
)


def depth_of(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth_of, inner), default=0)


@given(VALUES, st.integers(0, 6), st.booleans())
def test_depth_is_that_of_the_decoded_value(value: Any, levels: int, ascii_only: bool) -> None:
    """Brackets in strings and keys, escaped or not, do not count; arrays and objects do."""
    data = json.dumps(value, ensure_ascii=ascii_only).encode()

    assert deeper_than(levels, data) == (depth_of(value) > levels)


def test_the_bound_itself_is_not_too_deep() -> None:
    """A text nested exactly as deep as allowed passes; one level more does not."""
    assert not deeper_than(MAX_NESTING, b"[" * MAX_NESTING + b"]" * MAX_NESTING)
    assert deeper_than(MAX_NESTING, b"[" * (MAX_NESTING + 1) + b"]" * (MAX_NESTING + 1))


def test_a_string_that_never_closes_takes_linear_time() -> None:
    """A megabyte of escaped quotes in an open string is read once, not once a quote."""
    data = b"[" * (MAX_NESTING + 1) + b'"' + b'\\"' * 500_000

    assert deeper_than(MAX_NESTING, data)
    assert not deeper_than(MAX_NESTING + 1, b"]" + data)
