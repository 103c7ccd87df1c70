"""Whether an answer quotes only what its context says [C §4].

The quotes are those that the lane looks for (`streams/judging/cited.py`), and besides all code spans: the library may
be stricter than the lane, never looser. `strictly=True` wants
each of them in the context character for character; `"normalised"` lets white space, quotation marks, the ellipsis and
the Unicode form differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, cast

import msgspec

from ...codecs.errors import UsageError
from ...codecs.unicode_text import nfkc
from ..judging.cited import cited_spans, outermost
from ..judging.quotes import PLAIN, code_spans
from .errors import CitationViolation

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
