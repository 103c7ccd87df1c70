"""Floor: bare librdkafka (confluent-kafka). Consume, decode, join in a dict, produce; nothing is guaranteed."""

from __future__ import annotations

from confluent_kafka import Consumer, Producer
from join import Seen, advance, arguments, tell_begun


def main() -> None:
    """Joins until it is ended."""
    broker, prefix, begun, _, _ = arguments()
    consumer = Consumer({"bootstrap.servers": broker, "group.id": prefix + "peer", "auto.offset.reset": "earliest"})
    producer = Producer(
        {
            "bootstrap.servers": broker,
            "partitioner": "murmur2_random",
            "linger.ms": 5,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    emissions, admitted = prefix + "emissions", prefix + "admitted"
    consumer.subscribe([emissions, prefix + "observations"])
    known: dict[bytes, Seen] = {}
    first = True
    while True:
        batch = consumer.consume(4000, 0.05)
        if batch and first:
            tell_begun(begun)
            first = False
        for message in batch:
            if message.error():
                continue
            key = message.key()
            seen = known.get(key)
            if seen is None:
                seen = known[key] = Seen()
            at = message.timestamp()[1]
            for value in advance(seen, message.topic() == emissions, message.value(), at, key.decode()):
                producer.produce(admitted, key=key, value=value)
        producer.poll(0)


main()
