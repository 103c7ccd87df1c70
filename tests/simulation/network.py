"""The way from a process to the broker and back: slow, and for a while unreliable.

A request may fail before it reached the broker, after it took effect, or reach the broker long after its sender gave
it up. What fails, and how often, is the run's weather; it ends before the run does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
from aiokafka.errors import KafkaConnectionError, KafkaError, NodeNotReadyError, RequestTimedOutError

from .loop import SimulatedLoop


class Weather(msgspec.Struct):
    """Chances of what goes wrong, each of one request or range."""

    lost: float = 0.0  # a request never arrives
    unheard: float = 0.0  # it takes effect, and its answer is lost
    late: float = 0.0  # its sender gives it up, and it takes effect later
    refused: float = 0.0  # the broker answers that it cannot just now
    slow: float = 0.0  # a way takes up to a second
    frame_lost: float = 0.0
    frame_twice: float = 0.0
    frame_stale: float = 0.0  # one from before a seek comes after it
    frame_late: float = 0.0


CALM = Weather()
Answer = Callable[[Any], None]


class Network:
    """All ways to the one broker. `away` is true while it does not answer."""

    def __init__(self, loop: SimulatedLoop, random: Random, tell: Callable[[str], None] = lambda text: None) -> None:
        self.loop, self._random, self.tell = loop, random, tell
        self.weather = CALM
        self.away = False
        self.last_lost: dict[tuple[str, int], bool] = {}
        """Where the next range that has records gets lost, and whether its lane hears that it is on its way."""

    def happens(self, chance: float) -> bool:
        """A throw of the dice."""
        return chance > 0 and self._random.random() < chance

    def delay(self) -> float:
        """Seconds of one way."""
        if self.happens(self.weather.slow):
            return self._random.uniform(0.01, 1.0)
        return self._random.uniform(0.0005, 0.004)

    async def ask(self, handle: Callable[[Answer], None], *, may_be_late: bool = True) -> Any:
        """Has the broker handle a request, and returns what it answers.

        Args:
            handle: run at the broker, in the world's own time; it answers at once or later.
            may_be_late: whether the request may take effect after its sender has given it up.

        Raises:
            KafkaError: the way failed, or the broker refused.
        """
        answer = await self.post(handle, may_be_late=may_be_late)
        if isinstance(answer, KafkaError):
            raise answer
        return answer

    def post(self, handle: Callable[[Answer], None], *, may_be_late: bool = True) -> asyncio.Future[Any]:
        """As `ask`, without waiting: the future gets the answer, or the error."""
        future = self.loop.create_future()
        weather, back = self.weather, self.delay()
        if self.away or self.happens(weather.lost):
            error = NodeNotReadyError() if self.away else KafkaConnectionError()
            self.loop.later(back, _tell, future, error)
        elif may_be_late and self.happens(weather.late):
            self.loop.later(back, _tell, future, RequestTimedOutError())
            self.loop.later(back + self._random.uniform(0.0, 3.0), self._arrive, handle, future, 0.0, False)
        else:
            self.loop.later(self.delay(), self._arrive, handle, future, back, not self.happens(weather.unheard))
        return future

    def _arrive(
        self, handle: Callable[[Answer], None], future: asyncio.Future[Any], back: float, is_heard: bool
    ) -> None:
        if self.away:
            _tell(future, KafkaConnectionError())
            return

        def answer(what: Any) -> None:
            self.loop.later(back, _tell, future, what if is_heard and not self.away else KafkaConnectionError())

        try:
            handle(answer)
        except KafkaError as error:
            answer(error)


def _tell(future: asyncio.Future[Any], what: Any) -> None:
    if not future.done():
        future.set_result(what)
