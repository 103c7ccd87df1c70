"""Names of workers: how they are made, and who may keep one."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import errors
from aiokafka.consumer.group_coordinator import GroupCoordinator

from sluice.codecs.errors import DoesNotHoldError
from sluice.topology.engine.app import create_app
from sluice.topology.engine.worker import named
from sluice.topology.kafka import membership
from sluice.topology.kafka.membership import FencedInstanceIdError, Standing, hold_on, judged, keep_standing
from sluice.topology.settings.settings import Settings, load_settings


def test_each_process_of_a_named_worker_has_a_name_of_its_own():
    """Static members are named by pod and process, and the first keeps its name when more are added."""
    assert [named(Settings(instance="pod-7"), process).instance for process in range(2)] == ["pod-7-0", "pod-7-1"]


def test_without_a_name_a_worker_is_a_dynamic_member():
    """Nothing is made up: it leaves the group when it ends."""
    assert named(Settings(), 1) == Settings()
    assert create_app(Settings()).conf.consumer_group_instance_id is None


def test_the_name_reaches_the_group():
    """Faust hands it to the consumer."""
    assert create_app(Settings(instance="pod-7-0")).conf.consumer_group_instance_id == "pod-7-0"


@pytest.mark.parametrize("name", ["pod/7", "a b", "x" * 201])
def test_a_name_that_kafka_would_refuse_is_refused_at_once(name: str):
    """The sentence names the setting."""
    with pytest.raises(Exception, match="the setting instance is wrong"):
        load_settings(None, {"instance": name})


class Coordinator:
    """As much of aiokafka's as joins and forgets."""

    def __init__(self) -> None:
        self.member_id, self.rejoins = "member-1", 0
        self._closing = SimpleNamespace(done=lambda: False)
        self.during: Any = lambda: None

    def reset_generation(self) -> None:
        self.member_id = ""

    def request_rejoin(self) -> None:
        self.rejoins += 1

    async def _do_rejoin_group(self, subscription: Any) -> bool:
        self.during()
        return True


class TestStanding:
    def test_a_session_without_an_answer_is_lost(self):
        """Counted from when the last answered heartbeat went out: the coordinator heard it no earlier."""
        one = Standing(10.0)
        one.answered(100.0)
        one.answered(99.0)  # answers may overtake one another

        assert not one.is_lost(109.9)
        assert one.is_lost(110.0)

    def test_before_the_first_answer_nothing_is_lost(self):
        """There are no lanes yet that could be somebody else's."""
        assert not Standing(10.0).is_lost(1e9)

    def test_a_rebalance_takes_as_long_as_it_takes(self):
        """Heartbeats wait behind the join then, and the coordinator keeps who waits for it; the lanes stand anyway."""
        one = Standing(10.0)
        one.answered(100.0)
        one.joining = True

        assert not one.is_lost(200.0)

    def test_who_was_lost_stays_so_until_it_has_joined(self):
        """To ask to be let in again makes nobody a member."""
        one = Standing(10.0)
        one.answered(100.0)
        assert one.is_lost(110.0)

        one.joining = True
        assert one.is_lost(111.0)
        one.joining = False
        assert one.is_lost(111.0)
        one.answered(112.0)
        assert not one.is_lost(112.5)

    async def test_heartbeats_and_joins_are_told(self, monkeypatch: pytest.MonkeyPatch):
        """An unanswered heartbeat counts for nothing, nor does a join that failed."""
        now = [100.0]
        monkeypatch.setattr(membership, "monotonic", lambda: now[0])
        beats, joins = [True, False], [False, True]

        async def beat() -> bool:
            now[0] += 3.0  # on its way
            return beats.pop(0)

        async def rejoin(_: Any) -> bool:
            assert one.joining
            return joins.pop(0)

        one, coordinator = Standing(10.0), SimpleNamespace(_do_heartbeat=beat, _do_rejoin_group=rejoin)
        keep_standing(coordinator, one)
        assert await coordinator._do_heartbeat()  # went out at 100
        assert not await coordinator._do_heartbeat()
        assert (one.is_lost(109.9), one.is_lost(110.0)) == (False, True)

        assert not await coordinator._do_rejoin_group(None)
        assert one.is_lost(110.0)
        assert await coordinator._do_rejoin_group(None)
        assert not one.is_lost(110.0)

    def test_the_real_package_has_what_is_replaced(self):
        """Two coroutines of aiokafka's coordinator, by name and parameters."""
        for name, parameters in (("_do_heartbeat", ["self"]), ("_do_rejoin_group", ["self", "subscription"])):
            method = getattr(GroupCoordinator, name)
            assert inspect.iscoroutinefunction(method)
            assert list(inspect.signature(method).parameters) == parameters


async def test_a_named_member_joins_with_its_old_id_first():
    """A heartbeat or a commit that is told of an unknown member does not make it forget who it is."""
    one = Coordinator()
    hold_on(one)
    one.reset_generation()
    one.reset_generation()

    assert (one.member_id, one.rejoins) == ("member-1", 2)


async def test_an_id_that_is_nobodys_any_more_is_forgotten():
    """The broker says so in its answer to the join; then the member joins as a new one."""
    one = Coordinator()
    hold_on(one)
    one.during = lambda: one.reset_generation()
    assert await one._do_rejoin_group(None)

    assert one.member_id == ""


def test_kafkas_error_has_its_name():
    """aiokafka knows no error 82, and would call it an unknown one; a worker with a name teaches it."""
    hold_on(Coordinator())

    assert errors.for_code(82) is FencedInstanceIdError


def test_a_name_that_somebody_else_took_is_reported_in_one_sentence():
    """With what to do; other errors of the broker stay what they are."""
    with pytest.raises(DoesNotHoldError, match="instance pod-7-0: another worker has joined"), judged("pod-7-0"):
        raise errors.KafkaError(repr(FencedInstanceIdError()))
    with pytest.raises(errors.KafkaError), judged("pod-7-0"):
        raise errors.GroupAuthorizationFailedError("g")
