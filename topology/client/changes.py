"""What happens to the admitted set, one typed change at a time (docs/reference/records.md).

What is admitted is `rendered`: what observers verified, a sentence for each check (docs/checks.md). The emitter's own
words stay in their frame [V §5]: a change has no attribute that is the bare text, and neither `str()` nor `repr()` of
it shows any. To get the text, go through `untrusted_text`, or take `framed()`.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from ...codecs.json_decoding import decoder_of
from ...codecs.records import Admitted as AdmittedRecord
from ...codecs.records import CheckCount, CoverageLevel, UntrustedAssertion
from ...codecs.times import parse_time

_decode = decoder_of(AdmittedRecord).decode
_encode = msgspec.json.Encoder().encode
_FIRST = ("@type", "warning", "rendered", "assertion")
T = TypeVar("T")


class Change(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """One change of the admitted set.

    Attributes:
        key: `emission_id#span-key`, which names the assertion.
        record: the word on `admitted`. Its `untrusted_text` is the frame.
        partition: where it stands.
        offset: where it stands there; None where no record says so, but the reader's clock.
    """

    key: str
    record: AdmittedRecord
    partition: int
    offset: int | None

    @property
    def emission_id(self) -> str:
        """Of the emission that the assertion is part of."""
        return self.record.emission_id

    @property
    def span_key(self) -> str:
        """The canonical key of its span, such as `c:0-43`."""
        return self.key.partition("#")[2]

    @property
    def rendered(self) -> list[str]:
        """What is admitted: one sentence for each check that observers verified.

        Empty where nothing was checked (`record.basis` then says on whose word it is admitted), and in a change that
        admits nothing. The sentences are ours, the names and quotes in them an emitter's, sanitised: data, never
        instruction.
        """
        return _given(self.record.untrusted_text.rendered) if self._admits else []

    @property
    def coverage(self) -> CoverageLevel | None:
        """How much of the emitter's own words `rendered` speaks of: `whole`, `part` or `none`.

        With less than `whole` the frame shows `[unchecked]` in place of the rest, which is not admitted. None where
        nothing was checked, and in a change that admits nothing.
        """
        coverage = self.record.coverage
        return coverage if self._admits and coverage is not UNSET else None

    @property
    def checks(self) -> list[CheckCount]:
        """The assertion's checks by name, each with how many distinct classes verified it; what they say is
        `rendered`. Empty where nothing was checked, and in a change that admits nothing."""
        return _given(self.record.checks) if self._admits else []

    @property
    def _admits(self) -> bool:
        """Not by its record alone: of an end that the reader's clock tells, that is the last admission."""
        return isinstance(self, Admitted | Renewed)

    @property
    def untrusted_text(self) -> UntrustedAssertion:
        """The frame: what stands in it was written by strangers and is data, never instruction."""
        return self.record.untrusted_text

    @property
    def valid_until(self) -> int | None:
        """The last instant of its validity, Unix milliseconds; None where it has none."""
        return valid_until(self.record)

    def framed(self) -> str:
        """The frame as JSON, under its own name, to be handed on whole: into a prompt, say. What observers verified
        (`rendered`) stands before the emitter's words (`assertion`)."""
        given: dict[str, Any] = msgspec.to_builtins(self.record.untrusted_text)
        frame = {name: given[name] for name in (*_FIRST, *(one for one in given if one not in _FIRST)) if name in given}
        return _encode({"_untrusted_text": frame}).decode()

    def __repr__(self) -> str:
        where = "by the clock" if self.offset is None else f"{self.partition}/{self.offset}"
        return (
            f"<{type(self).__name__} {self.key} attempt {self.record.attempt} revision {self.record.revision} {where}>"
        )


class Admitted(Change, frozen=True, kw_only=True):
    """It is admitted, until `valid_until`."""


class Renewed(Change, frozen=True, kw_only=True):
    """Newer evidence moved `valid_until` on. After compaction it may be the first word that a reader gets."""


class Decayed(Change, frozen=True, kw_only=True):
    """Its evidence aged out. `record` is the lane's word, or, where the clock told it, the last admission."""

    @property
    def told_by(self) -> Literal["lane", "reader"]:
        """Who says so: a lane that is down writes no decays, so the reader's own clock tells them too."""
        return "reader" if self.offset is None or self.record.status in ("admitted", "renewed") else "lane"


class Contradicted(Change, frozen=True, kw_only=True):
    """An observer saw otherwise: it is admitted no more."""


class Rejected(Change, frozen=True, kw_only=True):
    """A reviewer refused it, or its evidence was invented: it is admitted no more."""


class Refused(Change, frozen=True, kw_only=True):
    """The emitter declined to answer, or policy withholds what was said; `record.basis` tells which."""


AnyChange: TypeAlias = Admitted | Renewed | Decayed | Contradicted | Rejected | Refused

CHANGES: dict[str, type[AnyChange]] = {
    "admitted": Admitted,
    "renewed": Renewed,
    "decayed-to-uncertainty": Decayed,
    "contradicted": Contradicted,
    "rejected": Rejected,
    "refused": Refused,
}
"""The kind of change by the status of the record."""


def read_record(value: bytes | None) -> AdmittedRecord | None:
    """The record of a word on `admitted`; None where it is none that this version knows."""
    try:
        record = _decode(value or b"")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return record if record.status in CHANGES else None


def _given(values: list[T] | UnsetType) -> list[T]:
    return [] if values is UNSET else list(values)


def valid_until(record: AdmittedRecord) -> int | None:
    """The last instant of a record's validity, Unix milliseconds; None where it has none."""
    return None if record.valid_until is UNSET else parse_time(record.valid_until)
