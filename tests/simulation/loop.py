"""Time and turns as a seed has them: an event loop without a clock, threads or sockets, and processes that can die.

Time jumps to the next timer when nothing else is ready. What is ready at one moment runs in an order that the seed
shuffles; all of it runs before anything that it brings about, so nothing starves. A *process* is whatever was started
in its name: a dead one never gets a turn again and runs no clean-up, like after SIGKILL; a frozen one gets its turns
later, like after SIGSTOP. A *trap* strikes when a process has had so many more turns, which is at any of its awaits.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from enum import Enum
from functools import cache
from heapq import heappop, heappush
from itertools import count
from random import Random
from time import monotonic
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import aiokafka.producer.message_accumulator

MAX_TURNS = 400_000
"""A run with more turns than that goes round in circles: the largest worlds take a tenth."""


class LivelockError(Exception):
    """The run does not come to an end."""


class State(Enum):
    """What a process gets of the turns that are its own."""

    RUNNING = "all"
    FROZEN = "none yet"
    DEAD = "none ever"


class Process:
    """One simulated process: a name, a wall clock that may be wrong, and whether it runs."""

    def __init__(self, name: str, loop: SimulatedLoop, offset: int = 0) -> None:
        self.name, self.offset = name, offset
        self.state = State.RUNNING
        self._loop = loop
        self.held: list[Any] = []
        """Turns that it gets when it is thawed."""
        self.traps: list[list[Any]] = []
        """Of each, how many turns are left, and what strikes."""
        self.is_cut_off = False
        """Whether it hears nothing of the group's coordinator, and of nobody else less than ever."""
        self.heard_at = 0.0
        """Simulated time of the last word that it has had of the group's coordinator."""

    def now_ms(self) -> int:
        """The process's own wall clock, Unix ms."""
        return self._loop.now_ms() + self.offset

    def spawn(self, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """A task of this process; whatever it starts is the process's too."""
        context = copy_context()
        context.run(OWNER.set, self)
        return self._loop.create_task(coroutine, context=context)

    def trap(self, turns: int, strike: Callable[[], None]) -> None:
        """Strikes before the process's turn after so many more."""
        self.traps.append([turns, strike])

    def disarm(self) -> None:
        """Takes all traps away."""
        self.traps.clear()

    def kill(self) -> None:
        """No turn ever again; nothing is cleaned up."""
        self.state = State.DEAD
        self.held.clear()
        self.traps.clear()

    def freeze(self) -> None:
        if self.state is State.RUNNING:
            self.state = State.FROZEN

    def thaw(self) -> None:
        if self.state is State.FROZEN:
            self.state = State.RUNNING
            self._loop.again(self.held)
            self.held = []

    def spring(self) -> None:
        """Counts a turn down, and lets strike what is at zero."""
        for trap in list(self.traps):
            trap[0] -= 1
            if trap[0] <= 0 and trap in self.traps:  # one before it may have killed the process
                self.traps.remove(trap)
                trap[1]()


OWNER: ContextVar[Process | None] = ContextVar("owner", default=None)
"""Whose turn it is; None for the world's own."""


class _Task(asyncio.Task[Any]):
    """A task that hashes by its number: asyncio keeps tasks in sets, whose order must be the same in every run."""

    def __init__(self, *args: Any, number: int, **options: Any) -> None:
        self._number = number
        super().__init__(*args, **options)

    def __hash__(self) -> int:
        return self._number


class _Turn:
    """A callback that waits for its turn: `asyncio.Handle`, as little of it as there is a use for here."""

    __slots__ = ("args", "callback", "context", "is_cancelled")
    callback: Callable[..., Any]
    args: tuple[Any, ...]
    context: Context
    is_cancelled: bool

    def cancel(self) -> None:
        self.is_cancelled = True
        self.callback, self.args = _nothing, ()  # what it held may go

    def cancelled(self) -> bool:
        return self.is_cancelled


class _Timer(float):
    """A turn at some time: `asyncio.TimerHandle`. It is that time, since numbers are what heaps compare fastest."""

    __slots__ = _Turn.__slots__
    callback: Callable[..., Any]
    args: tuple[Any, ...]
    context: Context
    is_cancelled: bool
    cancel, cancelled = _Turn.cancel, _Turn.cancelled

    def when(self) -> float:
        return float(self)


def _nothing() -> None:
    pass


class SimulatedLoop(asyncio.BaseEventLoop):
    """The loop of one run.

    It makes and runs its turns itself, without what `BaseEventLoop` does for threads, sockets and debugging: turns are
    what a run spends its time on.
    """

    def __init__(self, random: Random, epoch: int, tell: Callable[[str], None] = lambda text: None) -> None:
        """
        Args:
            random: of the seed.
            epoch: the true time at which the run begins, Unix ms.
            tell: takes what asyncio complains of.
        """
        super().__init__()
        self._ready: list[_Turn | _Timer] = []
        self._scheduled: list[_Timer] = []
        self._random, self._epoch = random, epoch
        self._now, self._turns = 0.0, 0
        self._numbers, self._is_over = count(), False
        self._born: list[_Task] = []  # kept, so that no task of a dead process is ever collected, and cleans up
        self._tell = tell
        self.world: Context = copy_context()
        """In which the world's own callbacks run, whoever's request brings them about."""
        self.set_task_factory(self._make)
        self.set_exception_handler(self._complain)

    def _make(self, loop: asyncio.AbstractEventLoop, coroutine: Any, context: Context | None = None) -> _Task:
        if self._is_over:
            coroutine.close()
            raise RuntimeError("the world is over")
        task = _Task(coroutine, loop=loop, context=context, number=next(self._numbers))
        self._born.append(task)
        return task

    def _complain(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        level = "exception" if "handle" in context else "debug"  # nobody ever heard of it, or nobody asked
        self._tell(f"{level}: asyncio: {context.get('exception')!r}")

    # ------------------------------------------------------------ time

    def time(self) -> float:
        """Seconds since the run began."""
        return self._now

    def now_ms(self) -> int:
        """The true time, Unix ms."""
        return self._epoch + int(self._now * 1000)

    def later(self, seconds: float, callback: Callable[..., Any], *args: Any) -> Any:
        """As `call_later`, for the world's own account."""
        return self.call_at(self._now + seconds, callback, *args, context=self.world)

    def again(self, turns: list[Any]) -> None:
        """Gives turns that were held back to whom they belong."""
        self._ready.extend(turns)

    def call_soon(self, callback: Any, *args: Any, context: Context | None = None) -> Any:
        turn = _Turn()  # without `__init__`: a call less for each turn
        turn.callback, turn.args, turn.is_cancelled = callback, args, False
        turn.context = copy_context() if context is None else context
        self._ready.append(turn)
        return turn

    def call_soon_threadsafe(self, callback: Any, *args: Any, context: Context | None = None) -> Any:
        return self.call_soon(callback, *args, context=context)  # there is one thread, and nothing to be woken

    def call_later(self, delay: float, callback: Any, *args: Any, context: Context | None = None) -> Any:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(self, when: float, callback: Any, *args: Any, context: Context | None = None) -> Any:
        timer = _Timer(when)
        timer.callback, timer.args, timer.is_cancelled = callback, args, False
        timer.context = copy_context() if context is None else context
        heappush(self._scheduled, timer)
        return timer

    get_debug = staticmethod(bool)  # False, as fast as it can be said: each future and task asks

    def _process_events(self, event_list: Any) -> None:
        pass

    # ------------------------------------------------------------ turns

    def _run_once(self) -> None:
        """Turn by turn, until told to stop."""
        shuffle, owner, timers = self._random.shuffle, OWNER, self._scheduled
        while True:
            if not self._ready or (timers and timers[0] <= self._now):
                self._let_time_pass()
            batch, self._ready = self._ready, []
            if len(batch) > 1:
                shuffle(batch)
            self._turns += len(batch)
            if self._turns > MAX_TURNS:
                raise LivelockError(f"more than {MAX_TURNS} turns")
            for turn in batch:
                if turn.is_cancelled:
                    continue
                process = turn.context.get(owner)
                if process is not None:
                    if process.traps and process.state is State.RUNNING:
                        process.spring()
                    if process.state is not State.RUNNING:
                        if process.state is State.FROZEN:
                            process.held.append(turn)
                        continue
                try:
                    turn.context.run(turn.callback, *turn.args)
                except (SystemExit, KeyboardInterrupt):
                    raise
                except BaseException as error:  # noqa: BLE001 -- as asyncio does
                    self.call_exception_handler({"message": "in a turn", "exception": error, "handle": turn})
            if self._stopping:
                return

    def _let_time_pass(self) -> None:
        """Moves on to the next timer where nothing is ready, and makes ready what is due."""
        timers, ready = self._scheduled, self._ready
        while timers and timers[0].is_cancelled:
            heappop(timers)
        if not ready and not self._stopping:
            if not timers:
                raise LivelockError("nothing will ever happen again")
            self._now = max(self._now, float(timers[0]))
        now = self._now
        while timers and timers[0] <= now:
            timer = heappop(timers)
            if not timer.is_cancelled:
                ready.append(timer)

    def dispose(self) -> None:
        """Ends what is left without a turn for anybody."""
        self._is_over = True
        asyncio._set_running_loop(self)
        for task in self._born:
            task._log_destroy_pending = False
            try:
                task.get_coro().close()
            except (RuntimeError, ValueError):  # it would have cleaned up by awaiting something
                pass
        asyncio._set_running_loop(None)
        self._born.clear()
        self._ready.clear()
        self._scheduled.clear()
        self.close()


# ---------------------------------------------------------------- what the product reads of time


class _Heard:
    """Stands for a module's logger: tells the trace."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    def __getattr__(self, level: str) -> Callable[..., None]:
        def say(text: str, *args: Any, **fields: Any) -> None:
            error = sys.exception() if level == "exception" else fields.get("exc_info")
            self._tell(f"{'exception' if error else level}: {text} {fields or ''}{' ' + repr(error) if error else ''}")

        return say


@cache
def _asking_time(module: ModuleType) -> dict[FunctionType, tuple[Any, ...]]:
    """The functions of a module that have the clock as a default, with their defaults."""
    found: dict[FunctionType, tuple[Any, ...]] = {}
    for one in vars(module).values():
        for function in vars(one).values() if isinstance(one, type) and one.__module__ == module.__name__ else [one]:
            if isinstance(function, FunctionType) and monotonic in (function.__defaults__ or ()):
                found[function] = function.__defaults__ or ()
    return found


@contextmanager
def inhabited(
    loop: SimulatedLoop, tell: Callable[[str], None], substitutes: Iterable[tuple[ModuleType, str, Any]]
) -> Iterator[None]:
    """While it lasts, the product's modules see this loop's time, speak to the trace, and meet our clients.

    Args:
        loop: of the run.
        tell: takes each log line.
        substitutes: (module, name, what stands for that name there).
    """
    clock = SimpleNamespace(monotonic=loop.time, time=lambda: loop.now_ms() / 1000, thread_time=lambda: 0.0)
    names: dict[str, Any] = {"monotonic": loop.time, "clocks": clock, "log": _Heard(tell)}
    places: list[tuple[Any, str, Any]] = [(aiokafka.producer.message_accumulator, "time", clock), *substitutes]
    for path in sorted(path for path in sys.modules if path.startswith("sluice.topology.")):
        module = sys.modules[path]
        places += [(module, name, new) for name, new in names.items() if name in vars(module)]
        for function, defaults in _asking_time(module).items():
            places.append((function, "__defaults__", tuple(loop.time if one is monotonic else one for one in defaults)))
    before = [(module, name, getattr(module, name)) for module, name, _ in places]
    aiokafka_says = logging.getLogger("aiokafka")
    level = aiokafka_says.level
    aiokafka_says.setLevel(logging.CRITICAL + 1)  # thousands of failed requests, as they are meant to be
    for module, name, new in places:
        setattr(module, name, new)
    try:
        yield
    finally:
        for module, name, old in reversed(before):
            setattr(module, name, old)
        aiokafka_says.setLevel(level)
