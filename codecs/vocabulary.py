"""The closed substrate-class vocabulary [S §4], its version anchors and the two terminal annotations [S §5].

A class is recognised if and only if it stands in a loaded version of the vocabulary. Anything else is never guessed
at: the annotation counts as unverified-inference, which fails closed [S §11.2]. So does a terminal of a version that is
not loaded. Letter case matters for classes, and not for terminals, in either encoding.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

Terminal = Literal["unverified-inference", "decayed-to-uncertainty"]
UNVERIFIED: Final = "unverified-inference"
DECAYED: Final = "decayed-to-uncertainty"
TERMINALS: Final = frozenset({UNVERIFIED, DECAYED})

CLASSES_1_0: Final = frozenset(
    {
        "substrate.git.log",
        "substrate.grep",
        "substrate.code.read",
        "substrate.fs.mtime",
        "substrate.mcp.brief",
        "substrate.do.sse-count",
        "substrate.unix.peercred",
    }
)
VERSIONS: Final = {"1.0": CLASSES_1_0}
"""Every loaded version and its substrate-classes; the terminals belong to each."""
NEWEST: Final = max(VERSIONS, key=lambda version: tuple(map(int, version.split("."))))

_ANCHORED = re.compile(r"(\d{1,4}\.\d{1,4})\.(.+)", re.ASCII | re.DOTALL)
_VERSION = re.compile(r"\d{1,4}\.\d{1,4}", re.ASCII)


class Recognised(NamedTuple):
    """What a substrate-class identifier is.

    Attributes:
        name: the bare class or terminal; None where it is not in a loaded version.
        terminal: True for the two terminal annotations.
        newer: the version it names is later than every one loaded: a reason to upgrade [S §11.2].
    """

    name: str | None
    terminal: bool
    newer: bool


def _recognise(identifier: str, vocabulary: str) -> Recognised:
    anchored = _ANCHORED.fullmatch(identifier)
    version, name = (anchored[1], anchored[2]) if anchored else (vocabulary, identifier)
    classes = VERSIONS.get(version)
    if classes is None:
        # A terminal belongs to a version like any class: in one that is not loaded it may mean anything [S §4].
        return Recognised(None, False, bool(_VERSION.fullmatch(version)) and _order(version) > _order(NEWEST))
    terminal = name.lower()
    if terminal in TERMINALS:  # the memo writes them in upper case as well [S §2, §4]
        return Recognised(terminal, True, False)
    return Recognised(name if name in classes else None, False, False)


def _order(version: str) -> tuple[int, int]:
    major, _, minor = version.partition(".")
    return int(major), int(minor)


_cache: dict[tuple[str, str], Recognised] = {}


def recognise(identifier: str, vocabulary: str = NEWEST) -> Recognised:
    """Looks an identifier up, bare (then of `vocabulary`) or with its own anchor (`1.0.substrate.grep`) [S §4]."""
    found = _cache.get((identifier, vocabulary))
    if found is None:
        found = _recognise(identifier, vocabulary)
        if len(_cache) < 4096:  # bounded: strangers choose the identifiers
            _cache[identifier, vocabulary] = found
    return found
