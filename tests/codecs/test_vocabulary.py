"""A class is recognised if and only if it stands in a loaded version of the vocabulary."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.vocabulary import (
    CLASSES_1_0,
    DECAYED,
    NEWEST,
    TERMINALS,
    UNVERIFIED,
    VERSIONS,
    Recognised,
    recognise,
)


@pytest.mark.parametrize("name", sorted(CLASSES_1_0))
def test_classes_are_recognised_bare_and_anchored(name: str) -> None:
    """Either way they have the bare name."""
    assert recognise(name) == recognise(f"1.0.{name}") == Recognised(name, False, False)


@pytest.mark.parametrize("name", [UNVERIFIED, DECAYED])
def test_terminals_are_of_a_loaded_version_like_any_class(name: str) -> None:
    """[S §4]: bare or anchored; under a version that is not loaded they are unknown, and nobody guesses."""
    assert recognise(name) == recognise(f"1.0.{name}") == Recognised(name, True, False)
    assert recognise(f"1.0.{name}", "7.0") == Recognised(name, True, False)
    assert recognise(name, "0.9") == Recognised(None, False, False)
    assert recognise(name, "7.0") == recognise(f"7.0.{name}") == Recognised(None, False, True)


@pytest.mark.parametrize("name", [UNVERIFIED, DECAYED])
def test_terminals_may_be_written_in_upper_case(name: str) -> None:
    """The memo writes them so itself [S §2, §4]."""
    for written in (name.upper(), name.title(), f"1.0.{name.upper()}"):
        assert recognise(written) == Recognised(name, True, False)


@given(st.text(max_size=30) | st.sampled_from(sorted(CLASSES_1_0)).map(str.upper))
def test_nothing_else_is_recognised(identifier: str) -> None:
    """Not a class in another letter case, nor white space around one."""
    for written in (identifier, f" {identifier}", f"1.0.{identifier} "):
        bare = written.removeprefix("1.0.")
        assert (recognise(written).name is not None) == (bare in CLASSES_1_0 or bare.lower() in TERMINALS)


@pytest.mark.parametrize(
    ("identifier", "vocabulary", "newer"),
    [
        ("substrate.grep", "1.1", True),
        ("substrate.grep", "2.0", True),
        ("substrate.grep", "0.9", False),
        ("substrate.grep", "latest", False),
        ("substrate.grep", "", False),
        ("1.1.substrate.grep", "1.0", True),
        ("0.9.substrate.grep", "1.0", False),
        ("1.0.substrate.new", "1.0", False),
        ("1.0.1.0.substrate.grep", "1.0", False),
        ("1.0.", "1.0", False),
    ],
)
def test_versions_that_are_not_loaded_are_unknown(identifier: str, vocabulary: str, newer: bool) -> None:
    """A version later than ours is told apart: it is a reason to upgrade."""
    assert recognise(identifier, vocabulary) == Recognised(None, False, newer)


def test_an_anchor_outweighs_the_emissions_vocabulary() -> None:
    """The identifier says itself which version it is of."""
    assert recognise("1.0.substrate.grep", "9.9") == Recognised("substrate.grep", False, False)


def test_the_newest_version_is_loaded() -> None:
    """It is the default."""
    assert NEWEST in VERSIONS
    assert recognise("substrate.grep") == recognise("substrate.grep", NEWEST)


def test_strangers_cannot_fill_the_memory() -> None:
    """Whatever they name, the answers that are kept stay few, and right."""
    for number in range(6000):
        assert recognise(f"substrate.made-up-{number}").name is None
    assert recognise("substrate.grep").name == "substrate.grep"
