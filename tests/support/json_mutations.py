"""Values of wrong types anywhere in a sample."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

SCALARS = (
    st.none()
    | st.booleans()
    | st.sampled_from([0, -1, 10**30, 10**400, 1.5, float("nan"), float("inf")])
    | st.sampled_from(["", "\0", "\ud800", "text", "assistant", "[]", "{}", "x" * 300, b"\xff", object])
    | st.sampled_from(["char_location", "web_search_result_location", "chat", "execute_tool", '"a"'])
    | st.text(max_size=5)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "id", "content", "a", "parts"]), inner, max_size=3)
    ),
    max_leaves=5,
)


def places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        found.append((value, key))
        places(inner, found)
    return found


def copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: copied(inner) for key, inner in value.items()}
    return [copied(inner) for inner in value] if isinstance(value, list) else value


@st.composite
def mutated(draw: st.DrawFn, sample: Any, values: st.SearchStrategy[Any] = VALUES) -> Any:
    """The sample with one to six of its values changed, removed, or replaced by others of it."""
    whole = [copied(sample)]
    for _ in range(draw(st.integers(1, 6))):
        found = places(whole, [])
        holder, key = found[draw(st.integers(0, len(found) - 1))]
        change = draw(st.sampled_from(["value", "value", "remove", "other"]))
        if change == "remove" and holder is not whole:
            del holder[key]
        elif change == "other":
            other, name = found[draw(st.integers(0, len(found) - 1))]
            holder[key] = copied(other[name])
        else:
            holder[key] = draw(values)
    return whole[0]
