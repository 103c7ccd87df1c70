"""Quix Streams: both inputs concatenated, one stateful step in RocksDB with a changelog, exactly once."""

from __future__ import annotations

from typing import Any

from join import Seen, advance, arguments, tell_begun
from msgspec import msgpack
from quixstreams import Application, State

broker, prefix, begun, _, folder = arguments()
decode, encode = msgpack.Decoder(Seen).decode, msgpack.Encoder().encode
started: list[bool] = []


def step(value: tuple[bool, bytes], key: str, timestamp: int, headers: Any, state: State) -> list[bytes]:
    """The join, with what is known kept by the framework under the record's key."""
    if not started:
        tell_begun(begun)
        started.append(True)
    kept = state.get_bytes("seen")
    seen = Seen() if kept is None else decode(kept)
    outputs = advance(seen, value[0], value[1], timestamp, key)
    state.set_bytes("seen", encode(seen))
    return outputs


app = Application(
    broker_address=broker,
    consumer_group=prefix + "peer",
    auto_offset_reset="earliest",
    processing_guarantee="exactly-once",
    commit_interval=0.1,
    state_dir=folder,
    auto_create_topics=True,  # its changelog
    loglevel="WARNING",
)
raw: dict[str, Any] = {"key_deserializer": "str", "value_deserializer": "bytes"}
emissions = app.dataframe(app.topic(prefix + "emissions", **raw)).apply(lambda value: (True, value))
observations = app.dataframe(app.topic(prefix + "observations", **raw)).apply(lambda value: (False, value))
admitted = app.topic(prefix + "admitted", key_serializer="str", value_serializer="bytes")
joined = emissions.concat(observations).apply(step, stateful=True, metadata=True, expand=True)
joined.to_topic(admitted)
app.run()
