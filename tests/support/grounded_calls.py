"""A source, two tools of other data and a prompt, for the tests of what calls contribute; time stands still."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sluice.codecs.records import Retrieval
from sluice.streams.grounded import Grounded, prompt, tool, using_clock

NOW = 1_795_248_000_000
AT = "2026-11-21T08:00:00Z"


@pytest.fixture(autouse=True)
def clock() -> Iterator[None]:
    """Retrievals are dated as the tests know."""
    with using_clock(lambda: NOW):
        yield


@tool(data="grounded")
def fetch(doc_id: str) -> Grounded[str]:
    """Fetches a document."""
    return f"text of {doc_id}"  # type: ignore[return-value]


@tool(data="financial")
def ledger(account: int) -> Grounded[int]:
    return account * 2  # type: ignore[return-value]


@tool(data="pii")
def person(name: str) -> str:
    return name


@prompt(model="some-model-1")
def summarise(doc: str, question: str = "What?") -> Grounded[str]:
    assert type(doc) is str
    return f"{doc}, in short"  # type: ignore[return-value]


def plain(value: Grounded[Any]) -> Any:
    return value.unwrap_discarding_sources()


def retrieval(name: str = "fetch", **fields: Any) -> Retrieval:
    return Retrieval(source=name, timestamp=AT, data=["grounded"], **fields)
