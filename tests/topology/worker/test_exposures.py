"""A worker says in its log where the policy in force lets one party alone admit, once for each policy."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from scripted_lane import ToyFold, World
from structlog.testing import capture_logs

from sluice.streams.policy.keys import Key
from sluice.streams.policy.policy import DEFAULT_POLICY, Policy, Reviewers
from sluice.streams.policy.policy_toml import load_policy
from sluice.topology.cli.policy_command import policy_text
from sluice.topology.engine.folds import folds
from sluice.topology.engine.policies import Exposures

OTHER = replace(DEFAULT_POLICY, require_signatures=True)


class UnderPolicies(ToyFold):
    """A fold under the policy that it is given."""

    policy: Policy | None = DEFAULT_POLICY

    def policy_in_force(self, state: Any) -> Policy | None:
        return self.policy


def told(lines: list[Any], policy: Policy) -> list[str]:
    return [line["event"] for line in lines if line.get("policy") == policy.hash and line["log_level"] == "warning"]


def test_each_exposure_is_one_line_and_told_once():
    """Whichever lane has it first."""
    exposures = Exposures()
    with capture_logs() as lines:
        for policy in (DEFAULT_POLICY, DEFAULT_POLICY, OTHER):
            exposures.log_once(policy)

    assert told(lines, DEFAULT_POLICY) == [f"the policy's {at} {why}" for at, why in DEFAULT_POLICY.exposures()]
    assert len(told(lines, OTHER)) == len(OTHER.exposures()) == len(DEFAULT_POLICY.exposures()) - 1


def test_a_key_that_counts_for_nothing_is_told():
    """A policy that came by the topic may list one: nobody need have checked its file."""
    false = Key(public_key="AA" * 21 + "A=", signed_by="BA" * 21 + "A=", signature="A" * 86 + "==")
    policy = replace(DEFAULT_POLICY, reviewers=Reviewers(keys={"ann": [false]}))
    with capture_logs() as lines:
        Exposures().log_once(policy)

    assert told(lines, policy)[0].startswith(
        "the policy's reviewers.keys.ann lists a key as signed by one that did not"
    )


def test_the_strict_profile_has_none():
    with capture_logs() as lines:
        Exposures().log_once(load_policy(policy_text("strict"), "strict"))

    assert lines == []


async def test_a_lane_tells_at_its_start_and_when_another_policy_comes_into_force():
    """And not with each block."""
    world = World()
    fold = world.fold = UnderPolicies()
    world.make(exposures=Exposures())
    with capture_logs() as lines:
        async with world.running():
            world.inputs.send("emissions", b"a")
            await world.until(lambda: len(world.log.records) == 2)
            assert len(told(lines, DEFAULT_POLICY)) == len(DEFAULT_POLICY.exposures())
            fold.policy = OTHER
            world.inputs.send("emissions", b"b")
            await world.until(lambda: len(world.log.records) == 3)
            world.inputs.send("emissions", b"c")
            await world.until(lambda: len(world.log.records) == 4)

    assert len(told(lines, DEFAULT_POLICY)) == len(DEFAULT_POLICY.exposures())
    assert len(told(lines, OTHER)) == len(OTHER.exposures())


def test_the_adjudicating_lane_alone_says_what_is_in_force():
    """The others admit nothing."""
    for fold in folds():
        state = fold.new(0, 1)
        assert fold.policy_in_force(state) is None
        if fold.name == "adjudicate":
            state.announce(OTHER)
            assert fold.policy_in_force(state) == OTHER
