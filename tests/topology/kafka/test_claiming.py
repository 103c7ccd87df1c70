"""A claim's marker: version 3 of `TxnOffsetCommit`, byte by byte, and what the coordinator's answers come to."""

from __future__ import annotations

import struct
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import GroupAuthorizationFailedError, IllegalGenerationError
from aiokafka.producer.sender import Sender, TxnOffsetCommitHandler
from aiokafka.producer.transaction_manager import TransactionManager
from aiokafka.structs import OffsetAndMetadata

from sluice.topology.kafka.membership import (
    Member,
    NotAMemberError,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse_v3,
    check_member,
)

PLACE = TopicPartition("ledger", 2)
MEMBER = Member("sluice", "m-1", 7, "w-0")


def request(member: Member = MEMBER) -> TxnOffsetCommitRequest:
    return TxnOffsetCommitRequest("sluice-lane-2", (11, 3), member, {PLACE: 42})


@pytest.mark.parametrize(("instance", "encoded"), [("w-0", b"\x04w-0"), (None, b"\x00")])
def test_the_request_names_the_member_as_kafka_lays_it_out(instance: str | None, encoded: bytes):
    """Compact strings and arrays have their length and one; what has no value is null; tagged fields are none."""
    made = request(MEMBER._replace(instance=instance)).prepare({28: (0, 5)})

    assert (made.API_KEY, made.API_VERSION, made.FLEXIBLE_VERSION) == (28, 3, True)
    assert made.encode() == (
        b"\x0esluice-lane-2"
        b"\x07sluice"
        + struct.pack(">qh", 11, 3)
        + struct.pack(">i", 7)
        + b"\x04m-1"
        + encoded
        + b"\x02\x07ledger"
        + b"\x02"
        + struct.pack(">iqi", 2, 42, -1)
        + b"\x01\x00"  # empty metadata; no tagged fields
        + b"\x00\x00"
    )


def test_a_broker_that_cannot_check_is_told_apart():
    """No older version is sent: it would name nobody."""
    with pytest.raises(NotImplementedError):
        request().prepare({28: (0, 2)})


def answer(code: int) -> Any:
    """The coordinator's, as it comes over the wire."""
    row = b"\x02\x07ledger\x02" + struct.pack(">ih", 2, code) + b"\x00\x00\x00"
    return TxnOffsetCommitResponse_v3.decode(BytesIO(struct.pack(">i", 0) + row))


class Claimed:
    """aiokafka's own transaction manager and sender, over a coordinator that gives these answers."""

    def __init__(self, *codes: int) -> None:
        self.codes, self.sent, self.lost = list(codes), list[Any](), list[Any]()
        self.transaction = TransactionManager("sluice-lane-2", 60_000)
        self.transaction.set_pid_and_epoch(11, 3)
        self.transaction.begin_transaction()
        sender: Any = SimpleNamespace(
            _txn_manager=self.transaction, _retry_backoff=0.0, client=self,
            _find_coordinator=self._find, _coordinator_dead=self.lost.append,
        )  # fmt: skip
        self.sender = sender
        check_member(SimpleNamespace(_sender=sender), MEMBER)

    async def _find(self, kind: Any, key: str) -> int:
        assert key == "sluice"
        return 5

    async def send(self, node: int, request: Any, group: Any = None) -> Any:
        self.sent.append((node, request.member, request.producer, request.offsets))
        return answer(self.codes.pop(0))

    async def commit(self) -> None:
        """As the sender does until nothing is left to be committed."""
        done = self.transaction.add_offsets_to_txn({PLACE: OffsetAndMetadata(42, "")}, "sluice")
        self.transaction.consumer_group_added("sluice")
        while (left := self.transaction.offsets_to_commit()) is not None:
            await self.sender._do_txn_offset_commit(*left)
        await done


async def test_a_current_member_is_let_through():
    """The member and the producer's epoch stand in the request."""
    claimed = Claimed(0)
    await claimed.commit()

    assert claimed.sent == [(5, MEMBER, (11, 3), {PLACE: 42})]
    assert not claimed.transaction.is_empty_transaction()  # it is committed, and the marker with it


@pytest.mark.parametrize("code", [22, 25, 27, 82])
async def test_a_member_that_was_replaced_is_refused_for_good(code: int):
    """Another generation, an unknown id, a rebalance under way, another worker under its name: nothing is committed."""
    claimed = Claimed(code)
    with pytest.raises(NotAMemberError):
        await claimed.commit()

    assert len(claimed.sent) == 1
    with pytest.raises(NotAMemberError):
        claimed.transaction.committing_transaction()


@pytest.mark.parametrize(("codes", "lost"), [((14, 0), 0), ((15, 16, 0), 2), ((3, 7, 0), 0)])
async def test_a_coordinator_that_moves_or_loads_is_asked_again(codes: tuple[int, ...], lost: int):
    """The group is somewhere else, or not there yet: no member was refused."""
    claimed = Claimed(*codes)
    await claimed.commit()

    assert (len(claimed.sent), len(claimed.lost)) == (len(codes), lost)


async def test_what_else_is_wrong_keeps_its_name():
    """A right that is missing is none of the group's members."""
    claimed = Claimed(30)
    with pytest.raises(GroupAuthorizationFailedError):
        await claimed.commit()
    with pytest.raises(GroupAuthorizationFailedError):
        claimed.transaction.committing_transaction()


def test_the_names_of_aiokafka_that_this_rests_on():
    """Not public: a later aiokafka may have others."""
    assert callable(Sender._do_txn_offset_commit)
    assert {"create_request", "handle_response"} <= set(dir(TxnOffsetCommitHandler))
    assert {"error_transaction", "offset_committed", "add_offsets_to_txn"} <= set(dir(TransactionManager))
    assert AIOKafkaProducer.send_offsets_to_transaction
    assert IllegalGenerationError.errno == 22
