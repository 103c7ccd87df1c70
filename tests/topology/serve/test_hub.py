"""The hub's task: it ends when it is told to, whatever comes at that moment."""

import asyncio

from sluice.topology.http.kept_view import Readers
from sluice.topology.http.verdict_streams import Listener, VerdictBroadcaster


async def test_news_that_come_with_the_order_to_end_do_not_keep_it(view):
    """What follows the topics may wake it in the very turn of the loop in which the service is told to stop."""
    readers = Readers(view.view.path)
    hub = VerdictBroadcaster(readers)
    task = asyncio.create_task(hub.run())
    async with asyncio.timeout(60):
        while hub.at < 0:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    for _ in range(3):
        await asyncio.sleep(0)
    hub.wake()
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=60)
    readers.close()

    assert done == {task}


async def test_a_listener_that_ends_as_something_comes_ends():
    """A stream that is closed stays closed."""
    listener = Listener(lambda _: True)
    task = asyncio.create_task(listener.next_notices(60))
    await asyncio.sleep(0)
    listener.queue.put_nowait(None)
    task.cancel()
    await asyncio.wait({task}, timeout=60)

    assert task.cancelled()
