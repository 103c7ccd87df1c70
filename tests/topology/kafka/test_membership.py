"""Names of workers: how they are made, and who may keep one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import errors

from sluice.codecs.errors import DoesNotHoldError
from sluice.topology.kafka.membership import FencedInstanceIdError, hold_on, judged
from sluice.topology.settings.settings import Settings, load_settings
from sluice.topology.worker.app import create_app
from sluice.topology.worker.processes import named


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
    """aiokafka knows no error 82, and would call it an unknown one."""
    assert errors.for_code(82) is FencedInstanceIdError


def test_a_name_that_somebody_else_took_is_reported_in_one_sentence():
    """With what to do; other errors of the broker stay what they are."""
    with pytest.raises(DoesNotHoldError, match="instance pod-7-0: another worker has joined"), judged("pod-7-0"):
        raise errors.KafkaError(repr(FencedInstanceIdError()))
    with pytest.raises(errors.KafkaError), judged("pod-7-0"):
        raise errors.GroupAuthorizationFailedError("g")
