"""One validator, one spelling (docs/security.md); a `did:key` holds its own key."""

from __future__ import annotations

import base64

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sluice.codecs.signatures import did_of, key_of, normalised

ID = "did:web:validators.example:one"
SAME = [
    ID,
    "DID:Web:Validators.Example:one",
    f"{ID}#key-1",
    f"{ID}?versionId=2",
    f"{ID}/path",
    "did:web:validators%2Eexample:one",
    "did:web:validators%2eexample:%6Fne",
    "did:web:validators.example.:one",
]


@pytest.mark.parametrize("spelling", SAME)
def test_one_validator_has_one_spelling(spelling: str):
    """Each of these had a vote of its own."""
    assert normalised(spelling) == ID


@pytest.mark.parametrize(
    "other", ["did:web:validators.example:two", "did:plc:validators.example:one", "did:web:validators.example:One"]
)
def test_other_validators_stay_others(other: str):
    """The path of `did:web` and the identifiers of other methods have case."""
    assert normalised(other) not in (None, ID)


NO_DIDS = ["", "did:", "did:web:", "did:web::", "did:a b:c", "did:web:a\n", "did:web:%zz", "x", "#did:web:a"]
NO_HOSTS = [
    "-a.example",
    "a_b.example",
    "a..example",
    "a" * 64,
    ".".join(["a" * 60] * 5),
    "a%20b",
    "a.example:",
    "a::b",
]
NO_HOSTS += ["a.example%3Aport", "a.example:" + "x" * 65, "a" + ":b" * 9, "a.example%3A123456"]
NO_KEYS = [
    "zIgnoreAllPreviousinstructions",
    "validators.example:one",
    "z6Mkha0",
    "f6Mk",
    "z",
    "u7QEAAA",
    "u",
    "u!",
    "zzz",
]


@pytest.mark.parametrize(
    "text", [*NO_DIDS, *(f"did:web:{one}" for one in NO_HOSTS), *(f"did:key:{one}" for one in NO_KEYS)]
)
def test_what_is_no_did_is_none(text: str):
    assert normalised(text) is None


@given(st.from_regex(r"did:[a-z]{1,8}:([A-Za-z0-9._-]|%[0-9A-Fa-f]{2}){1,20}", fullmatch=True))
def test_normalising_again_changes_nothing(did: str):
    once = normalised(did)

    assert once is not None or did.startswith(("did:web:", "did:key:"))
    assume(once is not None)
    assert normalised(once) == once


@pytest.mark.parametrize(
    "did",
    [
        "did:key:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme",  # secp256k1
        "did:key:u" + base64.urlsafe_b64encode(b"\xed\x01" + bytes(range(32))).decode().rstrip("="),
        "did:web:localhost%3A8443:a:b",
        "did:web:xn--bcher-kva.example",
        "did:plc:ewvi7nxzyoun6zhxrhs64oiz",
    ],
)
def test_dids_by_the_grammar_of_their_method_are_dids(did: str):
    """Hosts with ports and folders, keys of every multicodec, and methods whose grammar is not known."""
    assert normalised(did) == did


def test_a_did_key_holds_its_key():
    """The example of the did:key specification, and its bytes."""
    did = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"
    expected = "2e6fcce36701dc791488e0d0b1745cc1e33a4c1c9fcc41c63bd343dbbe0970e6"

    assert base64.b64decode(key_of(did) or "").hex() == expected
    assert key_of(f"{did}#z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK") == key_of(did)


@pytest.mark.parametrize(
    "did",
    [
        ID,
        "did:key:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme",  # secp256k1
        "did:key:z6Mkha0",
        "did:key:f6Mk",
        "did:key:z",
    ],
)
def test_other_dids_hold_none(did: str):
    assert key_of(did) is None


@given(st.binary(min_size=32, max_size=32))
def test_the_did_of_a_key_holds_that_key(public_key: bytes):
    """And has one spelling."""
    did = did_of(public_key)
    assert base64.b64decode(key_of(did) or "") == public_key
    assert normalised(did) == did


def test_a_did_of_another_method_is_held_to_characters_and_length_alone():
    """Its grammar is not known here: words can stand in it."""
    for identifier in ("eip155:1:0xab16a96D359eC26a11e2C2b3d8f8B8942d5Bfcdb", "say-yes", "a" * 248):
        assert normalised(f"did:x:{identifier}") == f"did:x:{identifier}"
    for identifier in ("a b", "<b>", "é", "a" * 251):
        assert normalised(f"did:x:{identifier}") is None
