"""What the annotations of an assertion claim [S §4, §5, §6]: taken in on arrival, never evidence [S §11.1]."""

from __future__ import annotations

import msgspec

from ...codecs.records import Assertion, Emission
from ...codecs.times import parse_time
from ...codecs.vocabulary import DECAYED, UNVERIFIED, Terminal, recognise
from . import grounding
from .emission_state import NUMBER_OF, Declared, short


class Claims(msgspec.Struct, gc=False):
    """What an assertion's annotations claim: those that may count, and what decides by itself.

    Attributes:
        newer: how many anchors of a later vocabulary there are.
        latest: the latest instant that the assertion speaks of, Unix ms.
    """

    ids: list[bytes]
    declared: list[Declared]
    terminal: Terminal | None
    unknown: bool
    newer: int
    latest: int


def claims_of(emission: Emission, assertion: Assertion) -> Claims:
    """The claims of one assertion; a class is one of the emission's vocabulary where it names no version itself.

    Args:
        emission: which holds it.
        assertion: the one.
    """
    ids: list[bytes] = []
    declared: list[Declared] = []
    terminal: Terminal | None = None
    unknown, newer, latest, vocabulary = False, 0, 0, emission.vocabulary
    for annotation in assertion.annotations:
        name, is_terminal, is_newer = recognise(annotation.substrate_class, vocabulary)
        newer += is_newer
        ts = None if annotation.ts is None else parse_time(annotation.ts)
        if ts is not None and ts > latest:
            latest = ts
        if name is None or annotation.unknown:
            unknown = True
        elif is_terminal:
            terminal = terminal or (DECAYED if name == DECAYED else UNVERIFIED)
        else:
            place = -1
            if annotation.declared_id is not None:
                kept = short(annotation.declared_id)
                if kept not in ids:
                    ids.append(kept)
                place = ids.index(kept)
            declared.append(Declared(NUMBER_OF[name], place, ts))
    if assertion.chain:
        latest = max(latest, grounding.latest(assertion.chain))
    return Claims(ids, declared, terminal, unknown, newer, latest)
