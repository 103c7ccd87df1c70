"""The reader of the topic `verdicts`: what became of the assertions of each emission, as typed records
(docs/verdicts.md).

Each record says all of its emission, so the last one of an emission stands for all before it. A record whose key is not
its emission id is none.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET

from ...codecs.records import AssertionVerdict, Verdicts
from ...codecs.times import parse_time
from .admitted_set import AdmittedRead
from .record_reader import AsyncRecordReader

TOPIC = "verdicts"
_decode = msgspec.json.Decoder(Verdicts).decode


class EmissionVerdicts(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one emission, as of one block.

    Attributes:
        record: as it stands on the topic.
        partition, offset: where it stands.
    """

    record: Verdicts
    partition: int
    offset: int

    @property
    def emission_id(self) -> str:
        """Of which emission."""
        return self.record.emission_id

    @property
    def attempt(self) -> int:
        """Its newest attempt."""
        return self.record.attempt

    @property
    def emitter(self) -> str | None:
        """Who made it; None where it does not say."""
        return None if self.record.emitter is UNSET else self.record.emitter

    @property
    def settled(self) -> bool:
        """Whether none of its assertions is pending."""
        return self.record.settled

    @property
    def decided_at(self) -> int:
        """The time of the block, Unix milliseconds."""
        return parse_time(self.record.decided_at) or 0

    @property
    def assertions(self) -> list[AssertionVerdict]:
        """Every assertion of every attempt that the lane knows, in no order."""
        return self.record.assertions

    def assertion(self, span_key: str, attempt: int | None = None) -> AssertionVerdict | None:
        """The assertion of this span, of the newest attempt unless another one is named; None where there is none."""
        number = self.attempt if attempt is None else attempt
        return next((one for one in self.assertions if (one.span_key, one.attempt) == (span_key, number)), None)

    def __repr__(self) -> str:
        settled = "settled" if self.settled else "pending"
        return f"<EmissionVerdicts {self.emission_id} attempt {self.attempt} {settled} {self.partition}/{self.offset}>"


class AsyncVerdictReader(AsyncRecordReader[EmissionVerdicts]):
    """What became of emissions, in the order of their lanes. Use it as an async context manager, and iterate. One task
    uses it.

    Arguments and errors are those of `AsyncRecordReader`.
    """

    topic = TOPIC

    def _value(self, read: AdmittedRead) -> EmissionVerdicts | None:
        try:
            record = _decode(read.value or b"")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        if read.key != record.emission_id.encode():
            return None
        return EmissionVerdicts(record=record, partition=read.partition, offset=read.offset)
