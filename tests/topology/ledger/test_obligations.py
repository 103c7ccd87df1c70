"""What is declared grounded on the topology comes from a source, or the app is not built [C §2]."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from sluice.streams.grounded import UngroundedReturn
from sluice.topology.engine.app import create_app
from sluice.topology.engine.folds import Adjudicate, Categories, demand_grounded, folds
from sluice.topology.settings.settings import Settings

YES, NO = {"grounded"}, set[str]()


class Agent(NamedTuple):
    """One that only declares."""

    name: str
    consumes: Categories
    produces: Categories


def test_our_own_folds_fulfil_it():
    """Admitted assertions are grounded by observations, framed attestations by attestations."""
    running = folds()

    demand_grounded(running)

    claimed = {topic for fold in running for topic, categories in fold.produces.items() if "grounded" in categories}
    assert claimed == {"admitted", "grounded", "observations"}
    for fold in running:
        assert set(fold.consumes) == set(fold.inputs)
        assert set(fold.produces) == set(fold.outputs)


def test_what_only_emitters_write_grounds_nothing():
    """A claim is no source."""
    with pytest.raises(UngroundedReturn, match="echo: admitted") as caught:
        demand_grounded([Agent("echo", {"emissions": YES}, {"admitted": YES})])

    assert "no source leads there" in str(caught.value)


def test_a_source_that_is_not_read_as_one_grounds_nothing():
    """Whoever only counts observations cannot say what was seen."""
    with pytest.raises(UngroundedReturn, match="nothing that is grounded"):
        demand_grounded([Agent("count", {"observations": NO}, {"totals": YES})])


def test_grounds_are_handed_on_in_any_order():
    """Through any number of agents, whatever order they are declared in."""
    chain = [
        Agent("third", {"b": YES}, {"c": YES}),
        Agent("second", {"a": YES, "x": NO}, {"b": YES}),
        Agent("first", {"observations": YES}, {"a": YES}),
    ]

    demand_grounded(chain)
    demand_grounded(reversed(chain))


def test_a_circle_grounds_nothing():
    """Two agents that cite each other have no source."""
    with pytest.raises(UngroundedReturn):
        demand_grounded([Agent("one", {"b": YES}, {"a": YES}), Agent("two", {"a": YES}, {"b": YES})])


def test_a_link_that_is_not_declared_breaks_the_chain():
    """Whoever does not say that what he writes is grounded hands nothing on."""
    with pytest.raises(UngroundedReturn, match="second: b"):
        demand_grounded([Agent("first", {"observations": YES}, {"a": NO}), Agent("second", {"a": YES}, {"b": YES})])


def test_the_app_is_not_built_on_ungrounded_declarations():
    """Before anything connects."""

    class Deaf(Adjudicate):
        """It does not read what observers saw as something looked up."""

        name = "deaf"
        consumes = dict.fromkeys(Adjudicate.inputs, frozenset[str]())

    with pytest.raises(UngroundedReturn, match="deaf: admitted"):
        create_app(Settings(), groups=[Deaf()])
