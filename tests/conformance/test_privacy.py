"""Privacy considerations [S §12], through `sluice fold`: what leaves, in which form, and what is not taken in."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

import pytest
from fold_lines import adjudicate, annotation, emission, observation

GREP, GIT, PEER = "substrate.grep", "substrate.git.log", "substrate.unix.peercred"
SECRET = "correct horse battery staple"
KEY = hashlib.sha256(SECRET.encode()).hexdigest()[:8]
HASHED = '[privacy]\nobservation_ids = "hashed"\nchain_sources = "hashed"\n'
OMITTED = '[privacy]\nobservation_ids = "omitted"\nchain_sources = "omitted"\n'


def hashed(text: str) -> str:
    """What anybody with the secret computes."""
    return f"hmac:{KEY}:{hmac.new(SECRET.encode(), text.encode(), hashlib.sha256).hexdigest()}"


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """The setting, from the environment."""
    monkeypatch.setenv("SLUICE_PRIVACY_SECRET", SECRET)


@pytest.fixture
def lines() -> list[Any]:
    """An assertion with a source in its chain, borne out by a pseudonymous and an identity-bound observation."""
    source = {"step": "retrieval", "source": "/home/alice/notes.md", "metadata": {"path": "/home/alice"}}
    return [
        emission(0, chain=[source, {"step": "derived", "left": [source]}]),
        observation(1, GREP, observation_id="path:/home/alice"),
        observation(2, PEER, observation_id="peercred:1000", tier="identity-bound"),
    ]


def observation_ids(word: dict[str, Any]) -> dict[str, str | None]:
    return {one["substrate_class"]: one.get("observation_id") for one in word["evidence"]}


def test_pseudonymous_ids_are_clear_and_identity_bound_ones_left_out_by_default(lines):
    """«Identity-bound tier observations carry the identity-binding strength of the underlying substrate.»"""
    (word,) = adjudicate(lines).on("admitted")

    assert observation_ids(word) == {GREP: "path:/home/alice", PEER: None}
    assert "/home/alice/notes.md" in json.dumps(word["_untrusted_text"]["chain"])


@pytest.mark.parametrize("observers", ["", "[admissibility]\nmin_observers = 2\n"], ids=["one", "two"])
@pytest.mark.parametrize("claimed", ["uid1000", "1000:1000:77", "peercred:" + "0f" * 32])
def test_a_peer_s_credentials_are_identity_bound_whichever_tier_is_claimed(claimed: str, observers: str):
    """In whichever form an observer of its own writes their id."""
    seen = observation(2, PEER, observation_id=claimed, tier="pseudonymous", observer="another")

    (word,) = adjudicate([emission(0), observation(1, GREP, observation_id="a:1"), seen], observers).on("admitted")

    assert observation_ids(word) == {GREP: "a:1", PEER: None}
    assert claimed not in json.dumps(word)


@pytest.mark.usefixtures("secret")
def test_hashed_ids_and_sources_are_hmacs_with_the_secret(lines):
    """`hmac:`, the key's id, `:`, and the HMAC-SHA256 in hexadecimal; in the evidence and in the chain."""
    (word,) = adjudicate(lines, HASHED).on("admitted")

    assert observation_ids(word) == {GREP: hashed("path:/home/alice"), PEER: hashed("peercred:1000")}
    own, derived, *retrievals, _ = word["_untrusted_text"]["chain"]
    assert own == {"step": "retrieval", "source": hashed("/home/alice/notes.md")}
    assert derived["left"] == [own]
    assert [one["metadata"]["observation_id"] for one in retrievals] == [
        observation_ids(word)[GREP],
        observation_ids(word)[PEER],
    ]


@pytest.mark.usefixtures("secret")
@pytest.mark.parametrize("policy", [HASHED, OMITTED], ids=["hashed", "omitted"])
def test_nothing_in_clear_stands_in_any_output(lines, policy: str):
    """On no topic, in no member and no header; nor does the secret."""
    outputs = adjudicate(lines, policy, until=90_000)

    written = json.dumps(outputs)
    assert outputs.words
    for clear in ("alice", "peercred", "1000", SECRET):
        assert clear not in written.replace(PEER, "")


def test_without_the_secret_what_is_to_be_hashed_is_left_out(lines):
    """And that is said on standard error: never in clear."""
    result = adjudicate.run(lines, HASHED)
    (word,) = adjudicate(lines, HASHED).on("admitted")

    assert observation_ids(word) == {GREP: None, PEER: None}
    assert "warning: privacy: identifiers are left out" in result.stderr


@pytest.mark.usefixtures("secret")
def test_who_has_the_secret_is_not_warned(lines):
    """Nothing is left out then."""
    assert "privacy" not in adjudicate.run(lines, HASHED).stderr


@pytest.mark.usefixtures("secret")
def test_a_secret_changes_nothing_where_nothing_is_hashed(lines, monkeypatch: pytest.MonkeyPatch):
    """Byte for byte, block hashes included: the header names a key only where it is used."""
    with_secret = adjudicate.run(lines).stdout
    monkeypatch.delenv("SLUICE_PRIVACY_SECRET")

    assert adjudicate.run(lines).stdout == with_secret


@pytest.mark.usefixtures("secret")
def test_the_key_is_part_of_what_an_output_commits_to(monkeypatch: pytest.MonkeyPatch):
    """The block's header names it, so another secret's block has another hash, though nothing of it is hashed."""
    found = []
    for secret in (SECRET, SECRET + "!"):
        monkeypatch.setenv("SLUICE_PRIVACY_SECRET", secret)
        (word,) = adjudicate([emission(0, kind="refusal")], HASHED).on("admitted")
        found.append(word["ledger"].pop("block"))
        assert SECRET not in json.dumps(word)

    assert found[0] != found[1]


def test_a_declared_credential_does_not_leave_as_evidence():
    """Under trust `declared`, where the emitter's own annotations are what counts."""
    notes = [annotation(PEER, 0, "peercred:uid=1000"), annotation(GREP, 0, "a:1")]

    (word,) = adjudicate([emission(0, provenance=notes)], '[admissibility]\ntrust = "declared"\n').on("admitted")

    assert observation_ids(word) == {GREP: "a:1", PEER: None}
    assert "1000" not in json.dumps(word["evidence"])


# ---------------------------------------------------------------- no identifiers of end-users


@pytest.mark.parametrize("field", ["system", "model", "prompt"])
def test_an_emitter_that_looks_like_an_e_mail_address_is_refused_by_default(field: str):
    """«Does not recommend attachment of identifiers tying the output to a particular human end-user.» The dead letter
    says where and what was expected, and does not repeat the address."""
    outputs = adjudicate([emission(0, fields={"emitter": {field: "alice@example.com"}})])

    assert outputs.dead == ["schema"]
    (letter,) = outputs.lines_on("dead-letters")
    detail = letter["headers"]["sluice-detail"]
    assert detail.startswith(f"$.emitter.{field}: expected a name of a {field}")
    assert detail.endswith("got what looks like an e-mail address")
    assert "alice" not in json.dumps(letter["headers"])


@pytest.mark.parametrize("name", ["release-notes-bot", "tool@1.2.0", "git@github.com:o/p", "+14155550123"])
def test_plausible_names_are_taken_in_by_default(name: str):
    """Only e-mail addresses are refused unless the policy says more."""
    assert adjudicate([emission(0, fields={"emitter": {"system": name}})]).dead == []


@pytest.mark.parametrize(
    ("refuse", "name"),
    [
        ('["phone"]', "tel:+14155550123"),
        ('["uuid"]', "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"),
        (r"""['/^user-\d+$/']""", "user-12"),
    ],
)
def test_the_policy_says_what_else_is_refused(refuse: str, name: str):
    """Kinds by name, or RE2 patterns; the list takes the default's place."""
    policy = f"[emitters]\nrefuse = {refuse}\n"
    lines = [emission(0, "em-1", fields={"emitter": {"system": name}})]
    lines += [emission(0, "em-2", fields={"emitter": {"system": "alice@example.com"}})]

    assert [line["key"] for line in adjudicate(lines, policy).lines_on("dead-letters")] == ["em-1"]


def test_an_empty_list_refuses_nobody():
    """The rule is the operator's to switch off."""
    lines = [emission(0, fields={"emitter": {"system": "alice@example.com"}})]

    assert adjudicate(lines, "[emitters]\nrefuse = []\n").dead == []
