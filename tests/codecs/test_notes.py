"""Signed notes are those of C2SP and of Go's `sumdb/note`: the published example, byte for byte, and nothing near."""

from __future__ import annotations

import base64
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs import merkle, notes
from sluice.codecs.errors import DoesNotHoldError, UsageError
from sluice.codecs.notes import (
    NO_CHECKPOINT,
    Checkpoint,
    Head,
    Note,
    Signer,
    Verifier,
    digest,
    leaf_of,
    origin,
    parse_checkpoint,
    parse_note,
    signers_of,
    unbase64,
)
from sluice.codecs.times import LATEST

# The example key and note of Go's implementation, and the second signer of its tests.
VERIFIER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PRIVATE = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
PETERS = "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
ENOCH = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
ENOCHS = "— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n"
NOTE = f"{TEXT}\n{PETERS}"

peter, enoch = Verifier.parse(VERIFIER), Verifier.parse(ENOCH)
NAMES = st.text("abcXYZ019./-_:ä", min_size=1, max_size=20)
SEEDS = st.binary(min_size=32, max_size=32)
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.just("\n"), max_size=60).map(
    lambda text: f"{text}\n"
)


# ---------------------------------------------------------------- the published example


def test_the_example_note_is_signed_by_its_key() -> None:
    """Text, name, id and signature are taken as the other implementation wrote them."""
    note = parse_note(NOTE.encode())

    assert signers_of(note, [peter])[0] is peter
    assert note.text == TEXT
    assert (note.signatures[0].name, note.signatures[0].key_id.hex()) == ("PeterNeumann", "c74f20a3")


def test_the_example_key_signs_the_same_note() -> None:
    """Ed25519 has no randomness: what we write is what the other implementation writes."""
    signer = Signer.parse(PRIVATE)

    assert signer.sign(TEXT) == NOTE
    assert (signer.encoded(), str(signer.verifier)) == (PRIVATE, VERIFIER)


def test_the_specification_s_example_note_parses() -> None:
    """Its text holds an empty line: the last one parts text and signatures."""
    poem = "Ognuno sta solo sul cuor della terra\ntrafitto da un raggio di sole:\n\ned è subito sera.\n"
    line = (
        "— quasimodo.example/salvatore "
        "NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=\n"
    )

    note = parse_note(f"{poem}\n{line}")

    assert note.text == poem
    assert [(one.name, one.key_id.hex(), len(one.raw)) for one in note.signatures] == [
        ("quasimodo.example/salvatore", "367ba04b", 64)
    ]


# ---------------------------------------------------------------- laws


@given(NAMES, SEEDS, TEXTS)
def test_what_is_signed_is_read_back(name: str, seed: bytes, text: str) -> None:
    """Text, name and key survive; keys survive their texts, with white space around."""
    signer = Signer(name, seed)
    note = parse_note(signer.sign(text))

    assert note.text == text
    assert str(signers_of(note, [Verifier.parse(f" {signer.verifier}\n")])[0]) == str(signer.verifier)
    assert Signer.parse(f"{signer.encoded()}\n").sign(text) == signer.sign(text)


@given(st.data())
def test_no_octet_of_a_note_can_change(data: st.DataObject) -> None:
    """Any one byte changed, dropped or added, and the note is none, or nobody's whose key is known."""
    whole = NOTE.encode()
    at = data.draw(st.integers(0, len(whole) - 1))
    put = data.draw(st.binary(max_size=2).filter(lambda raw: raw != whole[at : at + 1]))
    changed = whole[:at] + put + whole[at + 1 :]

    if changed == whole:
        return
    with pytest.raises(DoesNotHoldError):
        signers_of(parse_note(changed), [peter])


@given(st.data())
def test_no_octet_of_a_key_can_change(data: st.DataObject) -> None:
    """Neither a verifier's nor a private key's: the id is over name and key."""
    kind, text = data.draw(st.sampled_from([(Verifier, VERIFIER), (Signer, PRIVATE)]))
    at = data.draw(st.integers(0, len(text) - 1))
    put = data.draw(st.text(st.characters(max_codepoint=0x7F), max_size=2))

    if (changed := text[:at] + put + text[at + 1 :]).strip() == text:
        return
    with pytest.raises(UsageError):
        kind.parse(changed)


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_whatever_is_no_note_is_refused_in_one_sentence(data: bytes | str) -> None:
    """Nothing but our error comes out, for bytes as for text."""
    with pytest.raises(DoesNotHoldError) as caught:
        signers_of(parse_note(data), [peter])

    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------- several signatures


def test_a_witness_s_signature_says_nothing_where_its_key_is_unknown() -> None:
    """It may come before or behind the one that counts."""
    for lines in (PETERS + ENOCHS, ENOCHS + PETERS):
        assert signers_of(parse_note(f"{TEXT}\n{lines}"), [peter])[0] is peter


def test_all_whose_key_is_known_are_reported_in_the_order_of_their_signatures() -> None:
    """Each once, however often it signed."""
    note = parse_note(f"{TEXT}\n{ENOCHS}{PETERS}{ENOCHS}")

    assert signers_of(note, [peter, enoch]) == [enoch, peter]


def test_one_wrong_signature_of_a_known_key_refuses_the_whole_note() -> None:
    """Though another known key's holds."""
    wrong = Signer.parse(PRIVATE).sign("Another text.\n").rpartition("\n\n")[2]

    with pytest.raises(DoesNotHoldError, match="PeterNeumann: a signature does not hold"):
        signers_of(parse_note(f"{TEXT}\n{ENOCHS}{wrong}"), [peter, enoch])


def test_who_shares_a_name_or_an_id_only_is_somebody_else() -> None:
    """Name and id together name a key."""
    namesake = Signer("PeterNeumann", bytes(32)).verifier

    with pytest.raises(DoesNotHoldError, match=r"nobody whose key is known.*PeterNeumann\+c74f20a3"):
        signers_of(parse_note(NOTE), [namesake])
    with pytest.raises(DoesNotHoldError, match="nobody whose key is known"):
        signers_of(parse_note(NOTE), [])
    with pytest.raises(DoesNotHoldError, match="nobody whose key is known"):
        signers_of(parse_note(NOTE.replace("— PeterNeumann", "— EnochRoot")), [peter, enoch])


def test_sixteen_signatures_are_few_and_a_hundred_and_one_too_many() -> None:
    """The specification's least and our most; nothing is verified of a note that has too many."""
    assert len(parse_note(f"{TEXT}\n{ENOCHS * 15}{PETERS}").signatures) == 16
    assert len(parse_note(f"{TEXT}\n{ENOCHS * 100}").signatures) == notes.MAX_SIGNATURES

    with pytest.raises(DoesNotHoldError, match="too many signatures"):
        parse_note(f"{TEXT}\n{PETERS * 101}")


def test_an_eligible_key_that_is_no_point_signs_nothing() -> None:
    """A public key of any 32 bytes can be named; no signature holds under it."""
    raw = bytes([2] + 31 * [0])
    text = f"x+{notes._key_id('x', raw).hex()}+{base64.b64encode(notes.ED25519 + raw).decode()}"
    other = Verifier.parse(text)
    forged = Note(TEXT, [notes.Signature("x", other.id, bytes(64))])

    with pytest.raises(DoesNotHoldError, match="does not hold"):
        signers_of(forged, [other])


# ---------------------------------------------------------------- what is no note


@pytest.mark.parametrize(
    ("note", "said"),
    [
        (TEXT, "has no signatures"),
        (f"{TEXT}\n", "has no signatures"),
        (f"{TEXT}\n{PETERS[:-1]}", "has no signatures"),
        (f"{TEXT}{PETERS}", "has no signatures"),
        (f"\x01{TEXT}\n{PETERS}", "control character"),
        (f"{TEXT}\n{PETERS}".replace("\n", "\r\n"), "control character"),
        (f"{TEXT}\x00\n{PETERS}", "control character"),
        (b"\xff" + NOTE.encode(), "not UTF-8"),
        ("\ud800" + NOTE, "not UTF-8"),
        (f"{TEXT}\n{PETERS}Unexpected line.\n", "no signature"),
        (f"{TEXT}\n{PETERS.replace('PeterNeumann', 'Bad Name')}", "no signature"),
        (f"{TEXT}\n{PETERS.replace('PeterNeumann', 'a+b')}", "no signature"),
        (f"{TEXT}\n{PETERS.replace('—', '-')}", "no signature"),
        (f"{TEXT}\n{PETERS.replace('wJnAM=', 'wJnAM')}", "no signature"),
        (f"{TEXT}\n{PETERS.replace('BwJnAM=', 'BwJnAN=')}", "no signature"),  # unused bits that are not zero
        (f"{TEXT}\n{PETERS.replace('x08go', 'x0 8go')}", "no signature"),
        (f"{TEXT}\n{PETERS.replace('x08go/', 'x08go_')}", "no signature"),
        (f"{TEXT}\n— PeterNeumann x08gow==\n", "no signature"),  # an id, and no byte behind it
        (f"{'x' * 1_000_000}\n\n{PETERS}", "too long"),
    ],
)
def test_what_is_no_note_is_refused(note: str | bytes, said: str) -> None:
    """Each in a sentence that says why."""
    with pytest.raises(DoesNotHoldError, match=said):
        signers_of(parse_note(note), [peter])


def test_a_sentence_about_a_note_stays_short() -> None:
    """Whatever a line or the names of a hundred signers hold."""
    many = "".join(ENOCHS.replace("EnochRoot", f"{'n' * 900}{number}") for number in range(100))

    for note in (f"{TEXT}\n— {'x' * 9000}\n", f"{TEXT}\n{many}"):
        with pytest.raises(DoesNotHoldError) as caught:
            signers_of(parse_note(note), [peter])
        assert len(str(caught.value)) < 400


@pytest.mark.parametrize("text", ["", "no line feed", "a tab\there\n", "cr\r\n", "nul\0\n", "x" * 500_001 + "\n"])
def test_what_would_be_no_note_is_not_signed(text: str) -> None:
    """Whoever signs never writes what nobody can read."""
    with pytest.raises(ValueError, match="note's text"):
        Signer.parse(PRIVATE).sign(text)


# ---------------------------------------------------------------- keys


@pytest.mark.parametrize(
    "text",
    [
        "",
        "PeterNeumann",
        "PeterNeumann+c74f20a3",
        "PeterNeumann+c74f20a4+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+C74F20A3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "Peter Neumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==",
        "PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "x" * 100_000,
    ],
)
def test_what_is_no_verifier_is_refused(text: str) -> None:
    """Go's own list of keys that are none, among others."""
    with pytest.raises(UsageError) as caught:
        Verifier.parse(text)

    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "text", [PRIVATE, PRIVATE[:-2], PRIVATE.replace("c74f", "c74e"), "PRIVATE+KEY+x", f" {PRIVATE}"]
)
def test_an_error_never_quotes_a_private_key(text: str) -> None:
    """Neither where one is given for a verifier, nor where it is damaged."""
    secret = "AYEKFALVFGyN"

    with pytest.raises(UsageError) as caught:
        Verifier.parse(text)
    assert secret not in str(caught.value)
    if text.strip() != PRIVATE:
        with pytest.raises(UsageError) as caught:
            Signer.parse(text)
        assert secret not in str(caught.value)


def test_a_signer_does_not_tell_its_secret() -> None:
    """Objects end up in logs."""
    signer = Signer.parse(PRIVATE)

    assert str(signer) == repr(signer) == "signer PeterNeumann+c74f20a3"


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\u00a0b", "a\nb", "\x7f", "\ud800", "n" * 257])
def test_a_name_with_which_no_note_could_be_signed_is_refused(name: str) -> None:
    """At once, not when the first note is written."""
    with pytest.raises(UsageError, match="not a key's name"):
        Signer(name, bytes(32))


@pytest.mark.parametrize("seed", [b"", bytes(31), bytes(33)])
def test_a_seed_has_32_bytes(seed: bytes) -> None:
    """Others are refused, with their length, not their bytes."""
    with pytest.raises(UsageError, match=f"got {len(seed)} bytes"):
        Signer("name", seed)


@given(st.binary(max_size=40))
def test_base64_has_one_text_for_the_same_bytes(raw: bytes) -> None:
    """Which is what the standard writes."""
    assert unbase64(base64.b64encode(raw).decode()) == raw


@pytest.mark.parametrize(
    "text", ["QQ=", "QQ", "QR==", "QUFB==", "QUFB====", "QQ==\n", " QQ==", "QQ==QQ==", "-_==", "ä"]
)
def test_other_texts_are_no_base64(text: str) -> None:
    """Though lenient readers take some of them."""
    assert unbase64(text) is None


ROOTS = st.binary(min_size=32, max_size=32)
HASHES = ROOTS.map(lambda raw: "sha256:" + raw.hex())
HEADS = st.builds(Head, st.integers(1, 10**17), ROOTS)
LINES = (
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

    found = parse_checkpoint(LINES)

    assert found == Checkpoint(
        "sluice/ledger/1",
        Head(4712, root),
        "sha256:" + "ab" * 32,
        1_795_251_600_000,
        NO_CHECKPOINT,
        [Head(0, merkle.EMPTY_ROOT), Head(4712, root)],
        [("admitted", 2_592_000_000), ("dead-letters", -1)],
    )
    assert (found.text(), found.lane) == (LINES, 1)


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
    at = data.draw(st.integers(0, len(LINES)))
    put = data.draw(st.text(st.characters(max_codepoint=0x7F), max_size=2))
    changed = LINES[:at] + put + LINES[at + data.draw(st.integers(0, 2)) :]

    try:
        found = parse_checkpoint(changed)
    except DoesNotHoldError:
        return
    assert (found == parse_checkpoint(LINES)) == (changed == LINES)


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
    changed = new.join(LINES.rsplit(old, 1))
    assert changed != LINES

    with pytest.raises(DoesNotHoldError):
        parse_checkpoint(changed)


def test_the_next_checkpoint_names_the_hash_of_the_text() -> None:
    """Not of the note: who else signs it changes nothing."""
    assert parse_checkpoint(LINES).digest == digest(LINES) == "sha256:" + sha256(LINES.encode()).hexdigest()


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
