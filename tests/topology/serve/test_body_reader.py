"""Bodies are read in a process of their own, which may be slow or killed."""

import asyncio
import json
import os
import signal

import pytest

from sluice.codecs.errors import UnreachableError
from sluice.topology.http.request_bodies import LINES_AT_ONCE, READ_AT_ONCE, BodyReader, RefusedLine, TakenRecord

GOOD = b'{"emission_id": "em-1", "text": "It is out."}'
LARGE = json.dumps({"emission_id": "em-1", "text": "It is out.", "contexts": {"c": "x" * READ_AT_ONCE}}).encode()
MANY = b"{}\n" * (LINES_AT_ONCE + 1)
NOW = 1_795_000_000_000


@pytest.fixture
def reader():
    reader = BodyReader()
    yield reader
    reader.close()


def read(reader, body):
    return reader.read(body, "", "emissions", NOW, (("traceparent", b"00"),))


def child_of(reader):
    (process,) = reader._pool._processes.values()
    return process


async def test_a_short_body_needs_no_process(reader):
    """It is read on the event loop."""
    (record,) = await read(reader, GOOD)

    assert isinstance(record, TakenRecord)
    assert reader._pool is None


@pytest.mark.parametrize(("body", "kind", "count"), [(LARGE, TakenRecord, 1), (MANY, RefusedLine, LINES_AT_ONCE + 1)])
async def test_the_event_loop_goes_on_while_a_body_is_read(reader, body, kind, count):
    """A body of many bytes, or of many short lines: its process is stopped here, and the loop is not."""
    reader.start()
    child = child_of(reader)
    os.kill(child.pid, signal.SIGSTOP)
    reading = asyncio.create_task(read(reader, body))
    done, _ = await asyncio.wait({reading}, timeout=0.05)
    os.kill(child.pid, signal.SIGCONT)
    records = await reading

    assert not done
    assert len(records) == count
    assert all(isinstance(record, kind) for record in records)


async def test_a_killed_process_fails_its_body_alone(reader):
    """It is told in one sentence, and the next body is read in a new process."""
    reader.start()
    child = child_of(reader)
    os.kill(child.pid, signal.SIGSTOP)
    reading = asyncio.create_task(read(reader, LARGE))
    await asyncio.sleep(0)
    child.kill()
    with pytest.raises(UnreachableError, match="the process that reads bodies was killed"):
        await reading
    (record,) = await read(reader, LARGE)

    assert isinstance(record, TakenRecord)
    assert record.prepared.headers == (("traceparent", b"00"),)
