"""Floor: bare aiokafka. Consume, decode, join in a dict, produce; nothing is kept, nothing is guaranteed."""

from __future__ import annotations

import asyncio

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from join import Seen, advance, arguments, tell_begun


async def main() -> None:
    """Joins until it is ended."""
    broker, prefix, begun, _, _ = arguments()
    consumer = AIOKafkaConsumer(
        prefix + "emissions",
        prefix + "observations",
        bootstrap_servers=broker,
        group_id=prefix + "peer",
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=2_000_000,
    )
    producer = AIOKafkaProducer(bootstrap_servers=broker, linger_ms=5, max_batch_size=250_000)
    await consumer.start()
    await producer.start()
    known: dict[bytes, Seen] = {}
    emissions, admitted, first = prefix + "emissions", prefix + "admitted", True
    while True:
        for partition, batch in (await consumer.getmany(timeout_ms=200)).items():
            if first:
                tell_begun(begun)
                first = False
            is_emission = partition.topic == emissions
            for record in batch:
                key = record.key
                seen = known.get(key)
                if seen is None:
                    seen = known[key] = Seen()
                for value in advance(seen, is_emission, record.value, record.timestamp, key.decode()):
                    await producer.send(admitted, key=key, value=value)


asyncio.run(main())
