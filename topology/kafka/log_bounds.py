"""Where logs begin and end, asked for many lanes in one request.

A lane that is taken over asks for the bounds of its inputs and of its checkpoints. Where many lanes come at once, a
request for each of them took most of the time until they ran. Here a question that comes while a request is under way
waits for the next request, which asks for all that came meanwhile. So no answer is older than its question.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from time import monotonic
from typing import Any, Final, Generic, TypeVar

from aiokafka import TopicPartition
from aiokafka.errors import KafkaTimeoutError

from .aiokafka_inside import client_of
from .client_pool import ClientPool
from .fetched import Bounds
from .requests import TopicNow, log_spans, topics_now

PATIENCE_SECONDS: Final = 30.0
AGAIN_SECONDS: Final = 0.1

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LogBounds:
    """Asks for the bounds of logs. Calls come from one event loop.

    Each leader is asked by itself, so that one that is silent holds up the lanes of no other.

    Args:
        clients: by which brokers are asked; a lane that asks has opened its producer before.
        committed: whether a log ends with its last stable offset.
    """

    def __init__(self, clients: ClientPool, *, committed: bool) -> None:
        self._clients, self._committed = clients, committed
        self._of_leader: defaultdict[int | None, _Batches[TopicPartition, tuple[int, int]]]
        self._of_leader = defaultdict(lambda: _Batches(self._ask_for_ends))
        self._of_topics = _Batches(self._ask_for_topics)

    async def of(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Bounds]:
        """The bounds of some logs as of now; leaders that do not answer are asked again for a while.

        Raises:
            KafkaError: not all leaders answered in `PATIENCE_SECONDS`, or no lane has a client.
        """
        topics, ends = await asyncio.gather(
            self._of_topics.ask({one.topic for one in partitions}), self._ends(partitions)
        )
        cluster: Any = client_of(self._clients.client()).cluster
        found: dict[TopicPartition, Bounds] = {}
        for one in partitions:
            now = topics.get(one.topic)
            count = len(cluster.partitions_for_topic(one.topic) or ()) if now is None else now.partitions
            found[one] = Bounds(count, *ends[one], "" if now is None else now.id)
        return found

    async def _ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, tuple[int, int]]:
        """The first offset of each, and the one behind the last."""
        known: dict[TopicPartition, tuple[int, int]] = {}
        gives_up_at = monotonic() + PATIENCE_SECONDS
        while True:
            cluster: Any = client_of(self._clients.client()).cluster
            of_leader: defaultdict[int | None, list[TopicPartition]] = defaultdict(list)
            for one in partitions:
                if one not in known:
                    of_leader[cluster.leader_for_partition(one)].append(one)
            asked = (self._of_leader[leader].ask(some) for leader, some in of_leader.items())
            for answers in await asyncio.gather(*asked):
                known.update(answers)
            left = [one for one in partitions if one not in known]
            if not left:
                return known
            if monotonic() > gives_up_at:
                raise KafkaTimeoutError(f"no leader says where {left[0].topic}/{left[0].partition} ends")
            await asyncio.sleep(AGAIN_SECONDS)

    async def _ask_for_ends(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
        return await log_spans(self._clients.client(), partitions, 0, committed=self._committed)

    async def _ask_for_topics(self, topics: Collection[str]) -> dict[str, TopicNow]:
        owner = self._clients.client()
        # Any node is asked: where the first one is silent, another one.
        return await topics_now(owner, topics) or await topics_now(owner, topics)


class _Batches(Generic[K, V]):
    """Puts questions to a broker, at most one request of its kind under way at a time.

    Args:
        ask: puts a request; its answer may lack some of what was asked for.
    """

    def __init__(self, ask: Callable[[Collection[K]], Awaitable[dict[K, V]]]) -> None:
        self._ask = ask
        self._waiting: list[tuple[Collection[K], asyncio.Future[dict[K, V]]]] = []
        self._asking: asyncio.Task[None] | None = None

    async def ask(self, wanted: Collection[K]) -> dict[K, V]:
        """What a request brings of these that goes out from now on."""
        answer: asyncio.Future[dict[K, V]] = asyncio.get_running_loop().create_future()
        self._waiting.append((wanted, answer))
        if self._asking is None:
            self._asking = asyncio.create_task(self._run())
        return await answer

    async def _run(self) -> None:
        try:
            while self._waiting:
                waiting, self._waiting = self._waiting, []
                try:
                    found = await self._ask({one for wanted, _ in waiting for one in wanted})
                except Exception as error:  # noqa: BLE001 -- it is told to all who asked
                    for _, answer in waiting:
                        if not answer.done():
                            answer.set_exception(error)
                    continue
                for wanted, answer in waiting:
                    if not answer.done():
                        answer.set_result({one: found[one] for one in wanted if one in found})
        finally:
            self._asking = None
