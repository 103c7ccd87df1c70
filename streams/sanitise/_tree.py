"""The pipeline over every text inside a JSON value, member names too: provenance chains, locators, details.

Walks with a list of its own instead of recursion: strangers choose how deep a chain's metadata is nested.
"""

from __future__ import annotations

from typing import Any, Final, cast

from ._steps import Treatment, clean
from ._trace import Trace

_OURS: Final = frozenset(
    {
        *("agent_name", "confidence", "data", "left", "metadata", "mixed", "model", "operator", "prompt_name"),
        *("reason", "right", "rule", "source", "step", "timestamp", "tokens", "where"),
    }
)
"""Member names of a chain's steps (records.py), which a field's path may show. Any other name is a stranger's text and
must not stand outside the frame: the path then has the member's number."""


def clean_tree(value: Any, field: str, cap: int, treatment: Treatment, trace: Trace) -> Any:
    """The value with every text in it cleaned, each against `cap` on its own; other values stay as they are.

    Two member names that become the same both stay: the later one gets its number behind it.

    Args:
        value: a plain JSON value; it is not changed.
        field: what the trace calls it; members and items extend it (`chain[0].source`, `chain[0].metadata[2]`, and
            `chain[0].metadata[2].name` for a member's name).
        cap, treatment, trace: those of `clean`.
    """
    result: list[Any] = [None]
    todo: list[tuple[Any, Any, Any, str]] = [(result, 0, value, field)]
    while todo:
        target, place, one, path = todo.pop()
        if isinstance(one, str):
            target[place] = clean(one, path, cap, treatment, trace)
        elif isinstance(one, (list, tuple)):
            items: list[Any] = list(cast(Any, one))
            target[place] = items
            # In reverse, so that what is popped, and therefore recorded, comes in order.
            todo += [(items, n, items[n], f"{path}[{n}]") for n in range(len(items) - 1, -1, -1)]
        elif isinstance(one, dict):
            members: dict[str, Any] = {}
            target[place] = members
            inside: list[tuple[Any, Any, Any, str]] = []
            for n, (name, member) in enumerate(cast(dict[str, Any], one).items()):
                at = f"{path}.{name}" if name in _OURS else f"{path}[{n}]"
                key = name if name in _OURS else clean(name, f"{at}.name", cap, treatment, trace)
                if key in members:
                    key = _other(key, n, members)
                members[key] = None  # takes its place in the order now
                inside.append((members, key, member, at))
            todo += reversed(inside)
        else:
            target[place] = one
    return result[0]


def _other(key: str, number: int, members: dict[str, Any]) -> str:
    while f"{key} ({number})" in members:
        number += 1
    return f"{key} ({number})"
