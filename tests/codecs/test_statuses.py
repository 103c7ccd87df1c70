"""What decisions tell of themselves is found by the core as by Python, whatever stands in a record."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs import compiled_core
from sluice.codecs.blocks import LOOKED_AT, Output, Told, count_told, told_in

PIECES = st.sampled_from(
    [
        b'"status":"admitted"',
        b'"status":"below-floor","reason":"partly-checked"',
        b'"status":"admitted","basis":"review","reason":"review"',
        b'"status":"',
        b'"status":""',
        b'"status":"Admitted"',
        b'"status":"a',
        b',"basis":"x"',
        b',"reason":"y"',
        b',"reason":"',
        b'"',
        b"",
        b"\x00\xff",
    ]
)
RECORDS = st.builds(b"".join, st.lists(PIECES, max_size=5))


def counted(values: list[bytes], *, core: bool) -> list[tuple[Told, int]]:
    """What is counted of records, in its order."""
    with pytest.MonkeyPatch.context() as patch:
        if not core:
            patch.setattr(compiled_core, "codecs", None)
        return list(count_told([Output("admitted", None, value, []) for value in values]).items())


@given(st.lists(RECORDS, max_size=8))
def test_the_core_counts_what_python_counts(values: list[bytes]) -> None:
    assert counted(values, core=True) == counted(values, core=False)


def test_the_first_status_is_the_records_own() -> None:
    """A stranger's text comes behind it; the reason stands right behind the status, or behind the basis."""
    assert told_in(b'{"status":"admitted","x":{"status":"refused","reason":"z"}}') == (b"admitted", b"")
    assert told_in(b'{"status":"below-floor","reason":"below-floor"}') == (b"below-floor", b"below-floor")
    assert told_in(b'{"status":"admitted","basis":"review","reason":"review"}') == (b"admitted", b"review")
    assert told_in(b"{}") == (b"", b"")


@pytest.mark.parametrize("core", [True, False])
@pytest.mark.parametrize("inside", [True, False])
def test_no_more_is_looked_at_than_the_beginning_of_a_record(core: bool, inside: bool) -> None:
    word = b'"status":"admitted"'
    value = b"x" * (LOOKED_AT - len(word) + (0 if inside else 1)) + word
    assert counted([value], core=core) == [(Told(b"admitted") if inside else Told(), 1)]


@pytest.mark.parametrize("core", [True, False])
def test_as_many_kinds_are_counted_as_there_are(core: bool) -> None:
    """The core keeps a few of them, and leaves more to Python."""
    values = [b'"status":"' + b"a" * length + b'"' for length in range(1, 41)]
    assert counted(values, core=core) == [(Told(b"a" * length), 1) for length in range(1, 41)]
