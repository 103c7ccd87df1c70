"""What the adapters share: texts and objects of strangers, and the bounds of a record."""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import sha256
from typing import Any, Final, cast

import msgspec

from ...codecs.blocks import MAX_INPUT_BYTES
from ...codecs.errors import Fault
from ...codecs.records import Emission
from ..sinks import Recorded

LONGEST_NAME: Final = 256
_HALVES: Final = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """The text as UTF-8 can hold it: half a character becomes U+FFFD; no offset changes."""
    return _HALVES.sub("\ufffd", text)


def plain(value: object) -> dict[str, Any]:
    """The object as a dictionary: itself, what its `model_dump()` gives, or an empty one."""
    if not isinstance(value, dict):
        dump = cast("Callable[[], object] | None", getattr(value, "model_dump", None))
        value = dump() if callable(dump) and not isinstance(value, type) else None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def shortened(name: str) -> str:
    """A name that an identifier holds: a longer one ends in its hash."""
    if len(name) <= LONGEST_NAME:
        return name
    return name[: LONGEST_NAME - 25] + "~" + sha256(name.encode()).hexdigest()[:24]


def recorded(emission: Emission, headers: tuple[tuple[str, bytes], ...] = ()) -> Recorded | Fault:
    """The emission as a sink takes it, or `oversize` where no topic takes it."""
    value = msgspec.json.encode(emission)
    if len(value) > MAX_INPUT_BYTES:
        return Fault("oversize", f"the emission has {len(value)} bytes; at most {MAX_INPUT_BYTES} are taken")
    return Recorded(emission.emission_id, value, headers)
