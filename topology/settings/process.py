"""This process: the distribution it runs, its clocks, its memory, how its event loop ends, and its children.

The cyclic garbage collector runs rarely, and between blocks (docs/internals.md): left to itself it halves throughput
once the state is large. Extras are docs/installing.md's.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from multiprocessing.connection import wait
from time import monotonic
from typing import Final, NamedTuple

from ...codecs.errors import UsageError

DISTRIBUTION: Final = "sluice-verdicts"
"""The name on the package index, where `sluice` is another project's."""

EXTRAS: Final[dict[str, tuple[str, ...]]] = {
    "aiohttp": ("observe", "worker", "mcp"),
    "authlib": ("serve",),
    "confluent_kafka": ("demo",),
    "faust": ("worker",),
    "httptools": ("mcp", "serve"),
    "httpx2": ("observe", "mcp", "serve"),
    "jinja2": ("serve",),
    "joserfc": ("serve",),
    "mcp": ("mcp", "observe"),
    "mcp_types": ("mcp", "observe"),
    "opentelemetry": ("worker",),
    "prometheus_client": ("worker", "observe", "mcp", "serve"),
    "pydantic": ("mcp",),
    "starlette": ("serve", "mcp"),
    "uvicorn": ("mcp", "serve"),
    "uvloop": ("serve",),
}
"""The extras that bring a package that the small client does not; the first one where a command has none of its own."""

COMMANDS: Final = {
    "demo": "demo",
    "faust": "worker",
    "mcp": "mcp",
    "observe": "observe",
    "serve": "serve",
    "worker": "worker",
}
"""The extra of a command, where it has one."""


def version() -> str:
    """The installed version of the distribution."""
    from importlib import metadata  # every command imports this module, and few ask

    return metadata.version(DISTRIBUTION)


def needed(package: str, command: str | None = None) -> UsageError | None:
    """The error that says which extra to install; None where no extra of ours brings the package.

    Args:
        package: the module that was not found; of a dotted name the first part counts.
        command: the subcommand that needs it.
    """
    package = package.partition(".")[0]
    bringing = EXTRAS.get(package)
    if bringing is None:
        return None
    who = f"sluice {command}" if command else "this"
    return _error(who, package, COMMANDS.get(command or "", bringing[0]))


def require(package: str, extra: str, who: str) -> None:
    """Says early what would otherwise be missed late, in a thread or a task, where no command sees it.

    Args:
        package: the module that is needed.
        extra: the extra that brings it.
        who: what needs it, as the subject of the sentence.

    Raises:
        UsageError: it is not installed.
    """
    if not _installed(package):
        raise _error(who, package, extra)


def _installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ImportError:  # somebody's finder says no in its own way
        return False


def _error(who: str, package: str, extra: str) -> UsageError:
    what = f"{who} needs the package {package}, which is not installed"
    return UsageError(what, hint=f'run pip install "{DISTRIBUTION}[{extra}]"')


class BrokerTime(NamedTuple):
    """A broker's own time for a record.

    Attributes:
        node: the broker's number.
        appended_at: what it gave the record, Unix ms.
        sent, answered: between which monotonic instants of this machine it did so, milliseconds.
    """

    node: int
    appended_at: int
    sent: int
    answered: int


def now_ms() -> int:
    """The wall clock in Unix milliseconds."""
    return time.time_ns() // 1_000_000


def monotonic_ms() -> int:
    """Milliseconds since whenever; nobody can set this clock."""
    return time.monotonic_ns() // 1_000_000


COLLECT_SECONDS = 30.0
SOON_SECONDS = 5.0
"""Lanes that are restored within so long of the last collection wait for the next: where several move at once, each
would walk what the others have made."""
SELDOM: Final = (100_000, 20, 100)
"""Thresholds of the collector for a command that makes much and ends soon."""
SERVICE: Final = (10_000, 10, 20)
"""As `SELDOM`, for one that goes on: a full collection while thousands of records are under way takes 0.4 s."""
TRIM_THRESHOLD: Final = -1
MMAP_THRESHOLD: Final = -3
"""glibc's numbers for what `mallopt` sets (malloc.h)."""
LARGEST: Final = 32 << 20
"""Larger blocks go back: glibc takes no greater threshold where a word has 64 bits."""
NEVER: Final = 2**31 - 1
"""So many bytes must be free at the heap's end before they go back: what an int holds."""
SAID: Final = ("MALLOC_", "glibc.malloc.")
"""What an operator says of the allocator begins so: in names of the environment, and within GLIBC_TUNABLES."""


class Collector:
    """Owns the process's collector from `start` to `stop`, and its heap for good (`keep_freed`).

    Only a process of our own may use it.
    """

    def __init__(self) -> None:
        self._last = monotonic()
        self._running = False

    def start(self) -> None:
        """Switches automatic collection off, and has the C library keep what is let go of.

        What is there is frozen, uncollected: the first lane that is restored would walk all modules.
        """
        keep_freed()
        gc.disable()
        gc.freeze()
        self._running, self._last = True, monotonic()

    def stop(self) -> None:
        """Gives the collector back as Python runs it."""
        if self._running:
            self._running = False
            gc.unfreeze()
            gc.enable()

    def settle(self) -> None:
        """A lane was restored: collects what that left behind, and freezes the state; the first of several, only."""
        if self._running and monotonic() - self._last > SOON_SECONDS:
            self._collect()

    def between_blocks(self) -> None:
        """Collects if it is time; cheap otherwise."""
        if self._running and monotonic() - self._last > COLLECT_SECONDS:
            self._collect()

    def _collect(self) -> None:
        gc.collect()
        gc.freeze()
        self._last = monotonic()


@contextmanager
def seldom_collected(thresholds: tuple[int, int, int] = SELDOM) -> Generator[None]:
    """Has the collector run seldom, and leave alone what is there already.

    Only a process of our own may use it; one that is forked meanwhile goes on so.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*thresholds)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def keep_freed() -> bool:
    """Has glibc keep blocks of up to `LARGEST` bytes that are let go of; it cannot be taken back.

    Returns:
        Whether it does now. Another C library has its own way, and what the environment says of glibc's stands.
    """
    names, tunables = SAID
    if any(name.startswith(names) for name in os.environ) or tunables in os.environ.get("GLIBC_TUNABLES", ""):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # musl; macOS; Windows, which has no library without a name
        return False
    return bool(mallopt(MMAP_THRESHOLD, LARGEST)) and bool(mallopt(TRIM_THRESHOLD, NEVER))


async def end_what_is_left(seconds: float) -> None:
    """Cancels the loop's other tasks, and closes its generators; run last, in the loop itself.

    A task may outlast its cancellation, as one of Faust's consumer does where its broker is gone: it is left then.

    Args:
        seconds: how long the tasks may take to end, and then the generators.
    """
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=seconds)
    closing = asyncio.create_task(asyncio.get_running_loop().shutdown_asyncgens())
    await asyncio.wait((closing,), timeout=seconds)


def bind_to_parent() -> None:
    """Lets this process end with its parent, and leave SIGINT to it: a terminal sends it to both.

    A pool's process holds the pipe open that it is asked by, so it reads no end of a parent that was killed. The thread
    is started in the child: a process that has threads is not forked.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.set_wakeup_fd(-1)  # a fork has the pipe of its parent's event loop
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
