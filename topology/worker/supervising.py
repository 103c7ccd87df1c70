"""Tasks that go on for as long as their worker does: where one of them ends, that is told, and it is begun again.

asyncio says nothing of a task that has failed while somebody still holds it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import structlog
from aiokafka.errors import KafkaError

from ...codecs.errors import SluiceError

FIRST_SECONDS: Final = 1.0
MOST_SECONDS: Final = 60.0
"""The pause doubles up to this; after a run that has lasted so long the first pause comes again."""

EXPECTED: Final = (SluiceError, KafkaError, OSError)
"""What ends a task and says all in a sentence: a broker that is away, a ledger that does not hold."""

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


async def supervised(name: str, run: Callable[[], Awaitable[None]]) -> None:
    """Runs something again and again until cancelled, with a pause after each end.

    Args:
        name: what it does, as the log calls it.
        run: begins it anew.
    """
    task: Any = asyncio.current_task()
    loop, pause = asyncio.get_running_loop(), FIRST_SECONDS
    while True:
        begun_at, error = loop.time(), None
        try:
            await run()
        except Exception as failure:  # noqa: BLE001 -- whatever it is, nobody else would hear of it
            error = failure
        except asyncio.CancelledError as cancelled:
            if task.cancelling():
                raise
            error = cancelled  # what it awaited was cancelled, and not this task
        if loop.time() - begun_at >= MOST_SECONDS:
            pause = FIRST_SECONDS
        why = "it ended" if error is None else str(error) or repr(error)
        told = {"task": name, "error": why, "seconds": pause}
        if isinstance(error, EXPECTED):
            log.warning("a task of the worker ended: it begins again", **told)
        else:
            log.error("a task of the worker ended: it begins again", **told, exc_info=error)
        await asyncio.sleep(pause)
        pause = min(2 * pause, MOST_SECONDS)
