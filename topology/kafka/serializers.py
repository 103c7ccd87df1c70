"""Our records as Faust codecs: `app.topic("emissions", value_serializer="sluice-emission")` in anybody's Faust app.

For users' own agents; the lanes take ranges of raw bytes and decode in the fold. A record that the lanes would refuse
is refused here with the same sentence, so that Faust's own handling of undecodable values sees it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from faust.serializers.codecs import Codec

from ...codecs.decode import decode_emission, decode_observation, decode_review
from ...codecs.errors import Fault


class RecordCodec(Codec):
    """One record type: structs on the inside, JSON on the wire.

    Raises:
        ValueError: on `loads`, with path, expected and got.
    """

    decode: Callable[[bytes], Any]

    def _loads(self, s: bytes) -> Any:
        record = type(self).decode(s)
        if isinstance(record, Fault):
            raise ValueError(f"{record.reason}: {record.detail}")
        return record

    def _dumps(self, s: Any) -> bytes:
        return msgspec.json.encode(s)


class EmissionCodec(RecordCodec):
    """`sluice-emission`: emissions in either encoding in, `Emission` out."""

    decode = staticmethod(decode_emission)


class ObservationCodec(RecordCodec):
    """`sluice-observation`."""

    decode = staticmethod(decode_observation)


class ReviewCodec(RecordCodec):
    """`sluice-review`."""

    decode = staticmethod(decode_review)
