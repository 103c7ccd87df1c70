"""Looks are bounded by work: input and tree come to the same under any load, and no statement starves others."""

from __future__ import annotations

import time
from contextlib import closing

import pytest
from looking import EMITTED, Repository

from sluice.codecs.decode import normalise_emission
from sluice.codecs.errors import Fault
from sluice.codecs.identifiers import Span
from sluice.codecs.records import Annotation, Assertion, Emission, Observation
from sluice.topology.observers import ask as ask_module
from sluice.topology.observers import look as look_module
from sluice.topology.observers.ask import CannotLook
from sluice.topology.observers.look import Shares, look
from sluice.topology.observers.observer_registry import ObserverRegistry
from sluice.topology.settings.settings import Settings

CHECKS = ("contains(first, path=a.txt)", "contains(second)", "contains(third, path=c.txt)")
"""The second one has to search all files."""


def searching_emission(checks: tuple[str, ...]) -> Emission:
    made = [
        Assertion(
            span=Span(chars=(5 * place, 5 * place + 4)), checks=[check], provenance=[Annotation("substrate.grep")]
        )
        for place, check in enumerate(checks)
    ]
    found = normalise_emission(Emission("em-1", EMITTED, text="It. " + "x y. " * len(checks), assertions=made))
    assert not isinstance(found, Fault), found.detail
    return found


def whys(found: list[Observation]) -> list[str]:
    return [str((one.detail or {})["reason"]) if one.outcome == "unavailable" else "" for one in found]


@pytest.fixture
def files(folder: Repository) -> Repository:
    folder.write("a.txt", "first\n")
    folder.write("b.txt", "second\n" + "x" * 50_000)
    folder.write("c.txt", "third\n")
    return folder


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
@pytest.mark.parametrize(("size", "is_cut"), [(200_000, False), (60_000, True)])
def test_what_one_statement_costs_silences_no_other(files: Repository, order: tuple[int, ...], size: int, is_cut: bool):
    """Each has an equal part of what is left; what was not looked at says which bound it was."""
    found = look(searching_emission(tuple(CHECKS[one] for one in order)), Settings(emission_bytes=size), files.path)
    for place, why in zip(order, whys(found), strict=True):
        assert ("the bound" in why) == (place == 1 and is_cut), (place, why)


def test_no_clock_ends_a_look_below_a_root(files: Repository, monkeypatch: pytest.MonkeyPatch):
    """Every look at the clock is an hour later than the one before, as on a machine that is very busy."""
    hours = iter(range(0, 10**9, 3600))
    monkeypatch.setattr(ask_module.time, "monotonic", lambda: float(next(hours)))
    assert whys(look(searching_emission(CHECKS), Settings(), files.path)) == ["", "", ""]


def test_what_is_kept_counts_as_if_it_were_read(files: Repository):
    """Else it would depend on earlier questions which of these are looked at."""
    settings = Settings(emission_bytes=60_000)
    asked = searching_emission(("contains(third, path=b.txt)", "contains(first)", "contains(second)"))
    with closing(ObserverRegistry(settings)) as instruments:
        for kind in ("contains", "absent"):
            look(searching_emission((f"{kind}(x{kind})",)), Settings(), files.path, instruments=instruments)
        warm = [whys(look(asked, settings, files.path, instruments=instruments)) for _ in range(2)]
    cold = whys(look(asked, settings, files.path))
    assert warm == [cold, cold]
    assert any(cold)


def test_a_time_that_a_user_sets_is_shared():
    """What is late is late alone: a statement takes no more than its part of the time that is left."""
    shares = Shares(2, 1_000, time.monotonic() + 1_000)
    shares.begin("first")
    assert 400 < shares.budget(Settings(), None).remaining() <= 500
    assert shares.budget(Settings(), 3).remaining() <= 3
    shares.spend(900)
    with pytest.raises(CannotLook, match="the bound `emission_bytes`"):
        shares.budget(Settings(), None)
    shares.begin("second")
    assert shares.budget(Settings(), None).bytes == 100
    over = Shares(1, 1_000, time.monotonic() - 1)
    over.begin("first")
    with pytest.raises(CannotLook, match="the bound of time"):
        over.budget(Settings(), None)


def test_statements_that_lie_over_one_another_are_looked_at_up_to_a_bound(
    files: Repository, monkeypatch: pytest.MonkeyPatch
):
    """Forty kilobytes of text are otherwise four megabytes of statements; each annotation asks about its own anew."""
    monkeypatch.setattr(look_module, "MAX_SAID", 100)
    annotations = [Annotation("substrate.grep"), Annotation("substrate.code.read")]
    made = [Assertion(span=Span(chars=(place, place + 20)), provenance=annotations) for place in range(4)]
    emission = normalise_emission(Emission("em-1", EMITTED, text="`first` stands in a.txt.", assertions=made))
    assert not isinstance(emission, Fault), emission.detail
    found = whys(look(emission, Settings(), files.path))
    assert ["the bound of text" in why for why in found] == [False] * 5 + [True] * 3
