"""What a worker sees of the topics below its lanes."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from sluice.topology.engine.folds import folds
from sluice.topology.engine.telemetry import Watch, group_topics, sentence_of
from sluice.topology.kafka.requests import TopicNow
from sluice.topology.settings.settings import Settings

AS_THEY_ARE = {"emissions": TopicNow(4, "e"), "admitted": TopicNow(4, "a"), "ledger": TopicNow(4, "l")}


@pytest.mark.parametrize(
    ("topics", "starts", "said"),
    [
        ({}, {}, ()),
        ({}, {("ledger", 0): 0}, ()),
        (
            {"emissions": TopicNow(6)},
            {},
            ("emissions has 6 partitions (expected 4): what lies in the others is not read",),
        ),
        ({"admitted": TopicNow(6)}, {}, ("admitted has 6 partitions (expected 4): the number never changes",)),
        ({"emissions": TopicNow(2)}, {}, ("emissions has 2 partitions (expected 4): the number never changes",)),
        ({"admitted": TopicNow(0)}, {}, ("the broker has no topic admitted any more; `sluice topics create`",)),
        ({}, {("ledger", 3): 7}, ("ledger/3: the ledger's head was deleted",)),
        (
            {"emissions": TopicNow(5), "ledger": TopicNow(0)},
            {("ledger", 1): 1},
            ("emissions has 5", "no topic ledger any more", "ledger/1: "),
        ),
    ],
)
def test_what_is_wrong_is_told_once_and_that_it_is_over(topics: Any, starts: Any, said: tuple[str, ...]):
    """As long as it lasts it stands in `problems`; the log has when it began, and when it ended."""
    watch = Watch(4)
    with capture_logs() as logs:
        for _ in range(3):
            watch.saw({**AS_THEY_ARE, **topics}, starts)
        problems = watch.problems
        watch.saw(AS_THEY_ARE, {})

    assert len(problems) == len(said)
    assert all(part in problem for part, problem in zip(said, problems, strict=True))
    told = [(one["log_level"], one.get("problem", one.get("was"))) for one in logs]
    assert sorted(told) == sorted((level, problem) for level in ("error", "info") for problem in problems)
    assert watch.problems == ()


def test_a_topic_is_gone_once_two_answers_in_a_row_say_so():
    """One broker may not have heard of it yet; an answer that says nothing of a topic changes nothing."""
    watch = Watch(4)
    watch.saw(AS_THEY_ARE, {})
    for answer in ({"admitted": TopicNow(0)}, {"admitted": TopicNow(4)}, {"admitted": TopicNow(0)}, {}):
        watch.saw(answer, {})
        assert (watch.gone, watch.problems) == (frozenset(), ())
    watch.saw({"admitted": TopicNow(0)}, {})

    assert watch.gone == {"admitted"}


def test_all_topics_of_the_lane_group_are_watched():
    """Whatever a lane reads or writes; the policies have a partition count of their own, and checkpoints may be off."""
    with_all, without = (group_topics(folds(), Settings(checkpoint_interval=every)) for every in (60.0, 0.0))

    assert {"emissions", "attestations", "verdicts", "grounded", "ledger", "bind-ledger", "checkpoints"} < {*with_all}
    assert "policies" not in with_all
    assert {*with_all} - {*without} == {"checkpoints", "bind-checkpoints", "frame-checkpoints"}


def test_only_what_can_be_drained_is_said_to_be():
    """Nobody re-keys an output."""
    assert "topics drain" in sentence_of("reviews", 5, 4)
    assert "topics drain" not in sentence_of("verdicts", 5, 4)
