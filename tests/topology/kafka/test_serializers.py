"""Our records in anybody's Faust app."""

from __future__ import annotations

import msgspec
import pytest
from builders import observation_value, review_value
from faust.serializers.codecs import get_codec

from sluice.codecs.records import Emission, Observation, Review

RECORDS = {
    "sluice-emission": (Emission, {"emission_id": "em-1", "emitted_at": 0, "text": "It is. [substrate.grep]"}),
    "sluice-observation": (Observation, observation_value(at=0)),
    "sluice-review": (Review, review_value()),
}


@pytest.mark.parametrize("name", RECORDS)
def test_faust_finds_each_codec_by_its_name_and_it_keeps_what_it_reads(name: str):
    """Through the entry points that the package declares: bytes in, the struct out, and back to what reads the same."""
    struct, value = RECORDS[name]
    codec = get_codec(name)

    record = codec.loads(msgspec.json.encode(value))

    assert isinstance(record, struct)
    assert codec.loads(codec.dumps(record)) == record


def test_what_a_lane_would_refuse_is_refused_with_its_sentence():
    """Faust's own handling of undecodable values gets path, expected and got."""
    with pytest.raises(ValueError, match=r"schema: \$\.emitted_at: expected .*, got yesterday"):
        get_codec("sluice-emission").loads(b'{"emission_id": "em-1", "emitted_at": "yesterday", "text": "x"}')
