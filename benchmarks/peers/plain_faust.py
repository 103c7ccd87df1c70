"""Plain Faust: an agent over both inputs, a dict, one `send` for each match; without any guarantee.

Faust is known to drop a partition's first message after a rebalance (robinhood/faust 115): where the table says that
some are missing, those they are.
"""

from __future__ import annotations

import sys

import faust
from join import Seen, advance, arguments, tell_begun

broker, prefix, begun, _, folder = arguments()
sys.argv[1:] = ["worker", "-l", "ERROR", "--without-web"]
app = faust.App(
    prefix + "peer",
    broker="kafka://" + broker,
    store="memory://",
    value_serializer="raw",
    topic_disable_leader=True,
    consumer_auto_offset_reset="earliest",
    topic_allow_declare=False,
    datadir=folder,
)
inputs = app.topic(prefix + "emissions", prefix + "observations", key_type=bytes, value_type=bytes)
admitted = app.topic(prefix + "admitted", key_type=bytes, value_type=bytes)
known: dict[bytes, Seen] = {}


@app.agent(inputs)
async def join(stream):
    """One event after the other, as an agent's user writes it."""
    first = True
    async for event in stream.events():
        if first:
            tell_begun(begun)
            first = False
        message = event.message
        key = message.key
        seen = known.get(key)
        if seen is None:
            seen = known[key] = Seen()
        at = int(message.timestamp * 1000)
        for value in advance(seen, message.topic == prefix + "emissions", message.value, at, key.decode()):
            await admitted.send(key=key, value=value)


app.main()
