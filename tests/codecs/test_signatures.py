"""A signature covers exactly what was sent: it outlives every way to write the same JSON, and nothing else."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import assume, given
from hypothesis import strategies as st

from sluice.codecs.canonical import CanonicalError
from sluice.codecs.decode import decode_observation, read_observation
from sluice.codecs.notes import Signer
from sluice.codecs.records import Observation
from sluice.codecs.signatures import (
    EMISSION,
    OBSERVATION,
    Domain,
    did_of,
    domain_of,
    emission_digest,
    holds,
    is_signed_proposal,
    key_of,
    normalised,
    public_key_of,
    sign_proposal,
    signed,
    signed_bytes,
)

SEED = bytes(range(32))
SIGNER, OTHER = Signer("observer-2", SEED), Signer("observer-2", bytes(32))
DOMAIN = OBSERVATION._replace(origin="sluice")
KEY = base64.b64encode(SIGNER.verifier.public_key).decode()
RECORD: dict[str, Any] = {
    "observation_id": "sha256:1",
    "substrate_class": "substrate.grep",
    "observed_at": "2026-11-21T09:00:02Z",
    "observer": "observer-2",
    "subject": {"emission_id": "em-1", "span": {"chars": [0, 9]}},
    "outcome": "corroborates",
    "confidence": 0.25,
    "detail": {"found": ["ü", "\u20ac"], "missing": []},
    "of_a_later_version": [1, None, True],
}

SCALARS = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    SCALARS.filter(lambda one: one not in (float("inf"), float("-inf"))),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
RECORDS = st.dictionaries(st.text(max_size=8), VALUES, max_size=5).filter(
    lambda one: "signature" not in one and all(_encodable(text) for text in _texts(one))
)


def _encodable(text: str) -> bool:
    return not any("\ud800" <= one <= "\udfff" for one in text)


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for one in inner for text in _texts(one)]


def written(record: Any, **how: Any) -> bytes:
    return json.dumps(record, **how).encode()


@given(RECORDS)
def test_what_is_signed_holds_however_it_is_written(record: dict[str, Any]) -> None:
    """Order, white space and escapes of JSON are not what is signed [RFC 8785]."""
    form = signed(record, SIGNER, DOMAIN)
    backwards = dict(reversed(form.items()))

    assert holds(KEY, form["signature"], written(form), DOMAIN)
    assert holds(KEY, form["signature"], written(backwards, indent=3, ensure_ascii=False), DOMAIN)


def test_it_is_an_ed25519_signature_over_the_canonical_form_without_it() -> None:
    """Anybody can make one, with no code of ours: each field behind its length in 8 bytes."""
    fields = [b"sluice/1", b"sluice", b"observations", b"observation", rfc8785.dumps(RECORD)]
    message = b"".join(struct.pack(">Q", len(field)) + field for field in fields)
    raw = Ed25519PrivateKey.from_private_bytes(SEED).sign(message)

    assert signed(RECORD, SIGNER, DOMAIN)["signature"] == base64.b64encode(raw).decode()
    assert "signature" not in RECORD


@pytest.mark.parametrize(
    "other",
    [
        OBSERVATION._replace(origin="sluice-2"),
        OBSERVATION,
        domain_of("sightings", "sluice"),
        domain_of("reviews", "sluice"),
        Domain("observations", "review", "sluice"),
    ],
    ids=repr,
)
def test_what_is_signed_for_one_use_holds_for_no_other(other: Domain) -> None:
    """Another deployment, topic or type of record (docs/security.md)."""
    form = signed(RECORD, SIGNER, DOMAIN)

    assert not holds(KEY, form["signature"], written(form), other)


@given(st.lists(st.text(max_size=4), min_size=4, max_size=4), st.lists(st.text(max_size=4), min_size=4, max_size=4))
def test_no_two_uses_sign_the_same_bytes(ours: list[str], others: list[str]) -> None:
    """Lengths stand before the fields, so nothing moves from one into the next."""
    one, two = (
        signed_bytes(Domain(topic, record, origin), form.encode())
        for topic, record, origin, form in (map(_plain, ours), map(_plain, others))
    )

    assert (one == two) == (list(map(_plain, ours)) == list(map(_plain, others)))


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def test_a_validator_need_not_know_the_deployment() -> None:
    """Its word is the same wherever it is read."""
    assert domain_of("attestations", "one") == domain_of("attestations", "two") == Domain("attestations", "attestation")


CHANGES: list[dict[str, Any]] = [
    {"outcome": "contradicts"},
    {"of_a_later_version": [1, None, False]},
    {"added": 1},
    {"observed_at": "2026-11-21T09:00:03Z"},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_nothing_can_be_changed_or_added(change: dict[str, Any]) -> None:
    """Members that this version does not know are covered as well."""
    form = signed(RECORD, SIGNER, DOMAIN)

    assert not holds(KEY, form["signature"], written({**form, **change}), DOMAIN)


@pytest.mark.parametrize("name", list(RECORD))
def test_nothing_can_be_left_out(name: str) -> None:
    """No member, whichever."""
    form = signed(RECORD, SIGNER, DOMAIN)

    assert not holds(
        KEY, form["signature"], written({key: value for key, value in form.items() if key != name}), DOMAIN
    )


def test_another_key_s_signature_does_not_hold() -> None:
    """The name of a key says nothing."""
    form = signed(RECORD, OTHER, DOMAIN)

    assert not holds(KEY, form["signature"], written(form), DOMAIN)


@pytest.mark.parametrize("signature", ["", "AA==", "no base64", "A" * 88, base64.b64encode(bytes(65)).decode(), "ü"])
def test_what_is_no_signature_does_not_hold(signature: str) -> None:
    """And is no error: it comes from strangers."""
    assert not holds(KEY, signature, written({**RECORD, "signature": signature}), DOMAIN)


def test_a_signature_has_one_spelling() -> None:
    """The same bytes in the alphabet of URLs, or with other padding bits, are not that text."""
    form = signed(RECORD, SIGNER, DOMAIN)
    text = form["signature"]
    changed = text[:-3] + chr(ord(text[-3]) + 1) + "=="

    assert not holds(KEY, changed, written(form), DOMAIN)
    assert not holds(KEY, text.rstrip("="), written(form), DOMAIN)


@pytest.mark.parametrize(
    "member", [b'"signature":"x",', b'"outcome":"contradicts",', b'"big":9007199254740993,', b'"huge":1e999,']
)
def test_what_has_no_canonical_form_is_signed_by_nobody(member: bytes) -> None:
    """A member named twice would be one thing to who verifies, and another to who decides."""
    form = signed(RECORD, SIGNER, DOMAIN)
    value = b"{" + member + written(form)[1:]

    assert not holds(KEY, form["signature"], value, DOMAIN)
    with pytest.raises(CanonicalError):
        signed({"big": 2**53 + 1}, SIGNER, DOMAIN)


@given(st.binary(min_size=32, max_size=32))
def test_each_way_to_write_a_public_key_is_the_same_key(seed: bytes) -> None:
    """Base64, hex in either case, and the line that `sluice key` prints."""
    verifier = Signer("a/b", seed).verifier
    key = base64.b64encode(verifier.public_key).decode()

    forms = [key, verifier.public_key.hex(), verifier.public_key.hex().upper(), str(verifier), f" {verifier}\n"]
    assert {public_key_of(form) for form in forms} == {key}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "key",
        KEY[:-1],
        KEY + "=",
        SIGNER.encoded(),
        "a+00000000+" + str(SIGNER.verifier).rpartition("+")[2],
        "0" * 62,
    ],
)
def test_what_is_no_public_key_is_none(text: str) -> None:
    """A private key neither, nor a verifier whose id is another's; with none of them anything is signed."""
    form = signed(RECORD, SIGNER, DOMAIN)

    assert public_key_of(text) is None
    assert not holds(text, form["signature"], written(form), DOMAIN)


@pytest.mark.parametrize(
    "raw",
    [
        bytes(32),
        bytes([*bytes(31), 0x80]),
        (1).to_bytes(32, "little"),
        (2**255 - 20).to_bytes(32, "little"),
        (2**255 - 19).to_bytes(32, "little"),
        (2**255 - 18).to_bytes(32, "little"),
        bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
        bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85"),
        bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
    ],
    ids=lambda raw: raw.hex()[:6] + raw.hex()[-2:],
)
def test_a_key_under_which_anybody_can_sign_is_none(raw: bytes):
    """A point of small order, all zeros among them: one signature would hold for about every eighth record at least."""
    identity = base64.b64encode((1).to_bytes(32, "little") + bytes(32)).decode()
    key = base64.b64encode(raw).decode()

    assert (public_key_of(key), public_key_of(raw.hex())) == (None, None)
    assert not any(holds(key, identity, written({**RECORD, "confidence": n / 64}), DOMAIN) for n in range(64))


def test_both_readers_of_observations_keep_the_signature() -> None:
    """The fast one of the fold, and the strict one."""
    form = signed(RECORD, SIGNER, DOMAIN)

    for read in (read_observation, decode_observation):
        observation = read(written(form))
        assert isinstance(observation, Observation)
        assert observation.signature == form["signature"]


EMITTED: dict[str, Any] = {
    "emission_id": "em-1",
    "emitted_at": "2026-11-21T09:00:00Z",
    "text": "It holds.",
    "assertions": [{"span": {"chars": [0, 9]}}],
}
PROPOSED: dict[str, Any] = {
    "by": "critic",
    "at": "2026-11-21T09:00:01Z",
    "digest": emission_digest(EMITTED),
    "checks": ['contains("it")'],
    "whole": True,
}
PROPOSAL = sign_proposal(PROPOSED, "c:0-9", SIGNER, "sluice")


def test_an_emitters_signature_leaves_proposals_out() -> None:
    """Whoever proposes checks later breaks no signature; anything else that is added does."""
    domain = EMISSION._replace(origin="sluice")
    record = signed(EMITTED, SIGNER, domain)
    proposed = {**record, "assertions": [{**record["assertions"][0], "proposal": PROPOSAL}]}
    other = {**record, "assertions": [{**record["assertions"][0], "checks": PROPOSED["checks"]}]}

    assert holds(KEY, record["signature"], written(proposed), domain)
    assert emission_digest(proposed) == PROPOSED["digest"]
    assert not holds(KEY, record["signature"], written(other), domain)


@pytest.mark.parametrize(
    ("changed", "holds_for"),
    [
        ({}, {}),
        *(({name: value}, None) for name, value in (
            ("by", "other"), ("checks", []), ("whole", False), ("digest", "sha256:" + "0" * 64), ("left", "much"),
            ("at", "2026-11-21T09:00:02Z"), ("signature", "AA=="), ("signature", None), ("of_a_later_version", 1),
        )),
        ({}, {"digest": emission_digest({**EMITTED, "attempt": 1})}),
        ({}, {"digest": emission_digest({**EMITTED, "emission_id": "em-2"})}),
        ({}, {"digest": emission_digest({**EMITTED, "text": "It hold5."})}),
        ({}, {"span_key": "c:0-8"}),
        ({}, {"origin": "sluice-2"}),
        ({}, {"public_keys": [base64.b64encode(OTHER.verifier.public_key).decode()]}),
        ({}, {"public_keys": []}),
    ],
)  # fmt: skip
def test_a_proposal_holds_for_one_assertion_of_one_emission(
    changed: dict[str, Any], holds_for: dict[str, Any] | None
) -> None:
    """Not for another attempt, emission, text, span or deployment, and not where a member of it was changed."""
    use: dict[str, Any] = {"public_keys": [KEY], "digest": PROPOSED["digest"], "span_key": "c:0-9", "origin": "sluice"}

    found = is_signed_proposal(proposal={**PROPOSAL, **changed}, **(use | (holds_for or {})))

    assert found == (not changed and not holds_for)


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
