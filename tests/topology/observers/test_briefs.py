"""What the result of a tool call says, without a server: numbers of any size."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest

from sluice.codecs.canonical import canonical_json
from sluice.streams.judging.checks import Check, parse_check
from sluice.streams.judging.documents import verify_json_value
from sluice.topology.observers.mcp_brief import Brief, brief_of, with_digits

SNOWFLAKE = 1_234_567_890_123_456_789


class Result:
    """As MCP's SDK gives it."""

    is_error = False

    def __init__(self, structured: dict[str, Any]) -> None:
        self._structured = structured

    def model_dump(self, **_: object) -> dict[str, Any]:
        text = msgspec.json.encode(self._structured).decode()
        return {"content": [{"type": "text", "text": text}], "structuredContent": self._structured}


def brief(value: Any) -> Brief:
    return brief_of(cast("Any", Result({"id": value})), {"server": "s", "tool": "t"})


@pytest.mark.parametrize("value", [30, 2**53, 2**53 + 1, SNOWFLAKE, -SNOWFLAKE, 10**30, [SNOWFLAKE], {"of": SNOWFLAKE}])
def test_an_integer_of_any_size_has_an_id_of_its_own(value: Any) -> None:
    """The digits count, not the number that a double holds; a result without such integers keeps its RFC 8785 id."""
    assert brief(value).seen != brief(31).seen
    assert len({brief(number).seen for number in (SNOWFLAKE, SNOWFLAKE + 1, float(SNOWFLAKE))}) == 3
    assert with_digits({"id": 30, "of": [True, None, 0.5]}) == {"id": 30, "of": [True, None, 0.5]}
    assert canonical_json(with_digits({"id": value}))


@pytest.mark.parametrize("value", [30, 2**53, 2**53 + 1, SNOWFLAKE, -SNOWFLAKE, 10**30, 10**30 + 1])
def test_an_integer_of_any_size_is_compared_by_its_digits(value: int) -> None:
    """True for itself, false for its neighbours."""
    decided = [
        verify_json_value(cast("Check", parse_check(f"equals(id, {number})")), {"id": value}).holds
        for number in (value - 1, value, value + 1)
    ]
    assert decided == [False, True, False]
