"""A checkpoint's text is C2SP's (origin, size, root) with our lines behind it, and one meaning has one text."""

from __future__ import annotations

import base64
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs import merkle
from sluice.codecs.errors import DoesNotHoldError
from sluice.codecs.notes import (
    NO_CHECKPOINT,
    Checkpoint,
    Head,
    Signer,
    digest,
    leaf_of,
    origin,
    parse_checkpoint,
    parse_note,
    signers_of,
)
from sluice.codecs.times import LATEST

ROOTS = st.binary(min_size=32, max_size=32)
HASHES = ROOTS.map(lambda raw: "sha256:" + raw.hex())
HEADS = st.builds(Head, st.integers(1, 10**17), ROOTS)
TEXT = (
    "sluice/ledger/1\n"
    "4712\n"
    "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
    f"block sha256:{'ab' * 32}\n"
    "time 2026-11-21T09:00:00Z\n"
    f"previous {NO_CHECKPOINT}\n"
    "tip 0 0 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"
    "tip 1 4712 CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
    "retention admitted 2592000000\n"
    "retention dead-letters -1\n"
)
RETENTIONS = st.sampled_from(["admitted", "re-emission-requests"]), st.integers(-1, 10**17)


@st.composite
def checkpoints(draw: st.DrawFn) -> Checkpoint:
    """A checkpoint of any lane of up to five."""
    lanes = draw(st.integers(1, 5))
    lane = draw(st.integers(0, lanes - 1))
    tips = [draw(HEADS | st.just(Head())) for _ in range(lanes)]
    tips[lane] = head = draw(HEADS)
    name = origin(draw(st.text(min_size=1, max_size=10)), "ledger", lane)
    about = (draw(HASHES), draw(st.integers(0, LATEST)), draw(HASHES), tips)
    return Checkpoint(name, head, *about, draw(st.lists(st.tuples(*RETENTIONS), max_size=3)))


def test_the_text_is_the_one_of_the_design() -> None:
    """Each line means what it says; the first three are C2SP's."""
    root = base64.b64decode("CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=")

    found = parse_checkpoint(TEXT)

    assert found == Checkpoint(
        "sluice/ledger/1",
        Head(4712, root),
        "sha256:" + "ab" * 32,
        1_795_251_600_000,
        NO_CHECKPOINT,
        [Head(0, merkle.EMPTY_ROOT), Head(4712, root)],
        [("admitted", 2_592_000_000), ("dead-letters", -1)],
    )
    assert (found.text(), found.lane) == (TEXT, 1)


@given(checkpoints())
def test_a_checkpoint_survives_its_text_and_its_note(checkpoint: Checkpoint) -> None:
    """What was signed is what is read, whatever the application is called."""
    signer = Signer("sluice/test", bytes(32))
    note = parse_note(signer.sign(checkpoint.text()))

    assert parse_checkpoint(note.text) == checkpoint
    assert signers_of(note, [signer.verifier])[0] is signer.verifier


@given(st.data())
def test_a_changed_text_is_refused_or_says_something_else(data: st.DataObject) -> None:
    """No two texts mean the same: a line cannot be written in another way."""
    at = data.draw(st.integers(0, len(TEXT)))
    put = data.draw(st.text(st.characters(max_codepoint=0x7F), max_size=2))
    changed = TEXT[:at] + put + TEXT[at + data.draw(st.integers(0, 2)) :]

    try:
        found = parse_checkpoint(changed)
    except DoesNotHoldError:
        return
    assert (found == parse_checkpoint(TEXT)) == (changed == TEXT)


@given(st.text(max_size=300))
def test_whatever_is_no_checkpoint_is_refused_in_one_sentence(text: str) -> None:
    """Nothing but our error comes out."""
    with pytest.raises(DoesNotHoldError) as caught:
        parse_checkpoint(text)

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("sluice/ledger/1\n", "\n"),
        ("sluice/ledger/1\n", "sluice/ledger\n"),
        ("sluice/ledger/1\n", "sluice/ledger/01\n"),
        ("sluice/ledger/1\n", "sluice/ledger/2\n"),  # a lane that has no tip
        ("sluice/ledger/1\n", "sluice/ledger/0\n"),  # a lane whose tip is another
        ("\n4712\n", "\n04712\n"),
        ("\n4712\n", "\n-1\n"),
        ("\n4712\n", "\n0\n"),
        ("\n4712\n", "\n4713\n"),
        ("q2I=\nblock", "q2J=\nblock"),
        ("q2I=\nblock", "q2I\nblock"),
        ("block sha256:ab", "block sha256:AB"),
        ("block ", "blocks "),
        ("time 2026-11-21T09:00:00Z", "time 2026-11-21T09:00:00.000Z"),
        ("time 2026-11-21T09:00:00Z", "time 1795251600000"),
        ("time 2026-11-21T09:00:00Z", "time soon"),
        ("previous sha256:", "previous "),
        ("tip 0 0", "tip 1 0"),
        ("tip 0 0", "tip 0  0"),
        ("uFU=\ntip", "uFU=\n\ntip"),
        ("q2I=\n", "q2I="),
    ],
)
def test_a_line_in_another_form_is_refused(old: str, new: str) -> None:
    """Also where a lenient reader would know what is meant."""
    changed = new.join(TEXT.rsplit(old, 1))
    assert changed != TEXT

    with pytest.raises(DoesNotHoldError):
        parse_checkpoint(changed)


def test_the_next_checkpoint_names_the_hash_of_the_text() -> None:
    """Not of the note: who else signs it changes nothing."""
    assert parse_checkpoint(TEXT).digest == digest(TEXT) == "sha256:" + sha256(TEXT.encode()).hexdigest()


def test_the_leaf_of_a_block_is_over_the_bytes_of_its_hash() -> None:
    """32 bytes, hashed as a leaf (RFC 6962, section 2.1)."""
    assert leaf_of("sha256:" + "0a" * 32) == sha256(b"\x00" + b"\x0a" * 32).digest()


@given(
    st.lists(st.tuples(st.text(max_size=8), st.sampled_from(["ledger", "a.ledger"]), st.integers(0, 12)), max_size=9)
)
def test_no_two_logs_have_one_name(logs: list[tuple[str, str, int]]) -> None:
    """Whatever the applications are called, slashes and percent signs included."""
    names = {origin(*log) for log in logs}

    assert len(names) == len(set(logs))


def test_an_origin_has_no_character_that_it_should_not_have() -> None:
    """C2SP: neither white space nor `+`; usual names stay as they are."""
    assert origin("sluice", "prod.ledger", 3) == "sluice/prod.ledger/3"
    assert origin("my app+\n", "ledger", 0) == "my%20app%2B%0A/ledger/0"
