"""Answers of prompts with the passages that they cite, and the check that each citation stands in what was
retrieved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Generic, Literal, TypeVar, cast

import msgspec

from ...codecs.errors import UsageError
from ...codecs.identifiers import Identifier
from ...codecs.unicode_text import nfkc
from ..judging.prose_literals import PLAIN, cited_spans, code_spans, outermost
from .scope import CitationViolation

T = TypeVar("T")

GROUNDED: Final = "grounded"
"""The data category of what was retrieved [C §1]."""


class Answer(msgspec.Struct, Generic[T], frozen=True):
    """A result, and the confidence of the function that made it. A plain result is as sure as can be.

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
    """Metadata as the chain holds it: a copy of plain JSON values.

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


Strictness = Literal["normalised"] | bool
"""How a quote is compared: True character for character, False not at all."""

_MARKS: Final = str.maketrans(dict.fromkeys([*PLAIN, "`"], '"'))


def check_strictness(prompt: str, strictly: object, cites: Sequence[str]) -> None:
    """What a prompt declares: a misspelt or pointless option would verify nothing, and look as if it did.

    Raises:
        UsageError: it is none of the three, or there is nothing to cite.
    """
    if not any(strictly is one for one in (True, False)) and strictly != "normalised":
        raise UsageError(
            "strictly is not known", path=prompt, expected="True, False or 'normalised'", got=repr(strictly)
        )
    if strictly is not False and not cites:
        raise UsageError("strictly has nothing to verify", path=prompt, hint="name the parameter: cites=...")


def quoted_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of everything that the text quotes, in code points, without the marks; in order, outermost only."""
    return outermost({*cited_spans(text), *code_spans(text)})


def verify(prompt: str, parameter: str, answer: object, contexts: Sequence[str], strictly: Strictness) -> None:
    """Every quote of an answer stands in one of its contexts.

    Args:
        answer: a text, or anything that JSON can hold: then every text inside it.

    Raises:
        CitationViolation: the first quote that does not.
    """
    if strictly is False:
        return
    normalise = normal if strictly == "normalised" else _as_it_is
    within = [normalise(context) for context in contexts]
    for text in texts_of(answer):
        for start, end in quoted_spans(text):
            quote = normalise(text[start:end])
            if not any(quote in context for context in within):
                raise CitationViolation(prompt, parameter, (start, end), text[start:end])


def normal(text: str) -> str:
    """One kind of quotation mark, NFKC (which makes … three full stops), single spaces and none at the ends."""
    return " ".join(nfkc(text.translate(_MARKS)).split())


def _as_it_is(text: str) -> str:
    return text


def texts_of(value: object) -> Iterator[str]:
    """A text, or the texts inside a value that JSON can hold, keys left out; nothing where it cannot."""
    if isinstance(value, str):
        yield value
        return
    try:
        todo: list[Any] = [msgspec.to_builtins(value)]
    except (TypeError, ValueError):
        return
    while todo:
        one = todo.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            todo += reversed(list(cast("dict[Any, Any]", one).values()))
        elif isinstance(one, (list, tuple)):
            todo += reversed(cast("Sequence[Any]", one))
