"""Decoders for JSON of strangers, in which no number costs more than its length.

msgspec reads a number such as `1e308` in 14 us, a hundred times what others take: a record of 0.9 MB that holds nothing
else took 2 s. Python's own reading of such a number is as exact and has no such case.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isinf
from typing import Any, Final, TypeVar

import msgspec

T = TypeVar("T")


def decoder_of(kind: type[T]) -> msgspec.json.Decoder[T]:
    """A decoder of one type, for bytes that anybody may have written; it takes and refuses what msgspec's own does."""
    return msgspec.json.Decoder(kind, float_hook=_number)


def _number(literal: str) -> float:
    number = float(literal)
    if isinf(number):
        raise ValueError("Number out of range")  # as msgspec says it
    return number


decode_any: Final[Callable[[bytes], Any]] = msgspec.json.Decoder(float_hook=_number).decode
"""Decodes plain values."""
