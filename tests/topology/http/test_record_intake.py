"""Decisions that a service could not send before it had to stop: kept, and sent by the next one."""

import asyncio

import pytest

from sluice.topology.http import record_intake as outbox_module
from sluice.topology.http.record_intake import Away, Busy, Denied, Outbox, Stored
from sluice.topology.http.request_bodies import TakenRecord
from sluice.topology.kafka.input_records import Prepared

RECORD = TakenRecord("em-1#c:0-10", Prepared("reviews", b"em-1", b'{"signed": "\xff"}'), b"identity \x00", b"digest")


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    monkeypatch.setattr(outbox_module, "CLOSE_AGAIN_SECONDS", 0.001)
    monkeypatch.setattr(outbox_module, "CLOSE_SECONDS", 0.2)


class Broker:
    """Takes what it is given, behind so many refusals."""

    def __init__(self, *refusals):
        self.refusals, self.stored = list(refusals), []

    async def send(self, records):
        if self.refusals:
            return self.refusals.pop(0)
        self.stored += records
        return Stored([one.id for one in records])


def _put(outbox):
    return outbox.put("desk-1", [RECORD.id], [RECORD], "admit it")


async def test_a_stop_tries_as_long_as_there_is_time(tmp_path):
    """A broker that is away for a moment loses nothing."""
    broker = Broker(Away("gone"), Busy(), Away("gone"))
    outbox = Outbox(broker.send, 60, tmp_path / "unsent")
    _put(outbox)
    await outbox.close()

    assert broker.stored == [RECORD]
    assert list(tmp_path.iterdir()) == []


async def test_what_cannot_be_sent_is_sent_by_the_next_process(tmp_path):
    """The very bytes; what was taken back is not among them, and two processes of one folder keep both."""
    away = Broker(*[Away("gone")] * 10_000)
    for _ in range(2):
        outbox = Outbox(away.send, 60, tmp_path / "unsent")
        undone = _put(outbox)
        assert outbox.undo(undone.id, "desk-1")
        _put(outbox)
        await outbox.close()
    modes = [file.stat().st_mode & 0o777 for file in tmp_path.iterdir()]
    back = Broker(Busy())
    await Outbox(back.send, 60, tmp_path / "unsent").restore()

    assert modes == [0o600, 0o600]
    assert back.stored == [RECORD, RECORD]
    assert list(tmp_path.iterdir()) == []


async def test_a_file_that_cannot_be_read_stays(tmp_path):
    """Nothing is lost with it, and the others are sent."""
    (tmp_path / "unsent.a").write_bytes(b"[{")
    outbox = Outbox(Broker(*[Away("gone")] * 10_000).send, 60, tmp_path / "unsent")
    _put(outbox)
    await outbox.close()
    back = Broker()
    await Outbox(back.send, 60, tmp_path / "unsent").restore()

    assert back.stored == [RECORD]
    assert [file.name for file in tmp_path.iterdir()] == ["unsent.a"]


async def test_what_the_broker_refuses_is_told(tmp_path):
    """Trying again would change nothing: the person sees why."""
    outbox = Outbox(Broker(Denied("the broker does not allow us this topic")).send, 0.001, tmp_path / "unsent")
    entry = _put(outbox)
    async with asyncio.timeout(60):
        while entry.state != "failed":  # noqa: ASYNC110
            await asyncio.sleep(0.001)

    assert entry.why == "the broker does not allow us this topic"
    await outbox.close()
    assert list(tmp_path.iterdir()) == []
