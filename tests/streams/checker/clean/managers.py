"""Context managers around a retrieval."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from sluice.streams.grounded import Grounded, agent, grounded_pure, prompt, tool


@tool(data="grounded")
def fetch(key: str) -> Grounded[str]:
    return key


@prompt(model="some-model-1")
def summarise(doc: str, question: str = "") -> Grounded[str]:
    return doc


@contextlib.contextmanager
def session(name: str) -> Iterator[str]:
    yield name


@agent
@grounded_pure
def inside(key: str) -> Grounded[str]:
    with session(key) as opened, contextlib.suppress(OSError):
        return fetch(opened)
    raise LookupError(key)


@agent
def cleaned_up(key: str) -> Grounded[str]:
    try:
        return fetch(key)
    except KeyError as error:
        raise LookupError(key) from error
    finally:
        print("done")
