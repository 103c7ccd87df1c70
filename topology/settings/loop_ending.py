"""How an event loop of our own ends: what is left is cancelled, and waited for only so long."""

from __future__ import annotations

import asyncio


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
