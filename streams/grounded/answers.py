"""`Answer`: what a tool or a prompt says about its result beside the result itself [C §3, §7]."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Generic, TypeVar, cast

import msgspec

from ...codecs.errors import UsageError
from ...codecs.spans import Identifier

T = TypeVar("T")

GROUNDED: Final = "grounded"
"""The data category of what was retrieved [C §1]."""


class Answer(msgspec.Struct, Generic[T], frozen=True):
    """A result, and how sure whoever made it is. A plain result is as sure as can be.

    Attributes:
        value: the result.
        confidence: 0 to 1; where the decorator declares one, the lesser of the two counts.
        metadata: of a tool: what the retrieval step tells besides; JSON.
        tokens: of a prompt: how many the model took.
        source: of a tool: what was retrieved, where that is not the tool's name; the path of a file, say.
        model: of a prompt: which model answered, where that is not the declared one.

    Raises:
        UsageError: a confidence beyond 0 to 1, tokens below 0, metadata that JSON cannot hold.
    """

    value: T
    confidence: float = 1.0
    metadata: Mapping[str, Any] = {}
    tokens: int | None = None
    source: str | None = None
    model: str | None = None

    def __post_init__(self) -> None:
        check_confidence("confidence", self.confidence)
        if self.tokens is not None and self.tokens < 0:
            raise UsageError("tokens are counted from 0", path="Answer", got=str(self.tokens))


def answer_of(result: Any) -> Answer[Any]:
    """A function's result as an answer."""
    return cast("Answer[Any]", result) if isinstance(result, Answer) else Answer(result)


def as_json(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata as the chain holds it: plain JSON values that nobody else holds.

    Raises:
        UsageError: there is something that JSON cannot hold.
    """
    try:
        return msgspec.json.decode(msgspec.json.encode(dict(metadata)), type=dict[str, Any])
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"JSON cannot hold it: {error}", path="Answer.metadata") from error


def check_confidence(name: str, confidence: float | None) -> None:
    """A declared confidence.

    Raises:
        UsageError: it is beyond 0 to 1.
    """
    if confidence is not None and not 0.0 <= confidence <= 1.0:
        raise UsageError("not a confidence", path=name, expected="a number from 0 to 1", got=str(confidence))


def least(*confidences: float | None) -> float | None:
    """What a step says: the least of what was said to it, and nothing where it is as sure as can be."""
    found = min((one for one in confidences if one is not None), default=1.0)
    return found if found < 1.0 else None


def categories(data: str | Iterable[str]) -> tuple[str, ...]:
    """Declared data categories, sorted [C §6].

    Raises:
        UsageError: one is no identifier (docs/reference/records.md).
    """
    found = sorted({data} if isinstance(data, str) else set(data))
    try:
        msgspec.convert(found, list[Identifier])
    except msgspec.ValidationError as error:
        raise UsageError(f"not a data category: {error}", path="data", got=repr(found)) from error
    return tuple(found)
