"""Who may observe, through `sluice fold` and `sluice look` [S §11.1, §11.3].

Signatures here are made with `cryptography` and `rfc8785` alone, as any observer in any language would make them.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import foreign_signing as signing
import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from fold_lines import adjudicate, annotation, emission, observation, seconds_of

from sluice.codecs.identifiers import digest_of
from sluice.topology.cli import main

GREP, GIT, CODE = "substrate.grep", "substrate.git.log", "substrate.code.read"
KEYS = {name: Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number, name in enumerate(("a", "b"), 1)}


def raw(name: str) -> bytes:
    """An observer's public key, 32 bytes."""
    return KEYS[name].public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def keyed(*names: str, require: bool = False, more: str = "") -> str:
    """A policy in which these observers have their keys."""
    entries = "".join(
        f'[observers.{name}]\npublic_key = "{base64.b64encode(raw(name)).decode()}"\n{more}' for name in names
    )
    return f"[observers]\nrequire_signatures = {str(require).lower()}\n{entries}"


def sign(line: dict[str, Any], name: str) -> dict[str, Any]:
    """The line with its observation signed by this observer's key."""
    return line | {"value": signing.sign(KEYS[name], "observations", line["value"])}


# ---------------------------------------------------------------- signatures


def test_without_keys_any_observer_is_heard():
    """By default, and where only others have entries; a signature that nobody can check does not matter."""
    lines = [emission(0), observation(1, GREP), observation(2, GIT, signature="whatever")]

    for policy in ("", keyed("a")):
        assert adjudicate(lines, policy).words == [("admitted", "admitted", None)]


def test_an_observer_with_a_key_is_heard_under_its_signature():
    """Over the whole record, members that this version does not know included."""
    lines = [
        emission(0),
        sign(observation(1, GREP, observer="a", of_a_later_version={"x": [1.5, "ü"]}), "a"),
        sign(observation(2, GIT, observer="b"), "b"),
    ]

    outputs = adjudicate(lines, keyed("a", "b", require=True))

    assert (outputs.words, outputs.dead) == ([("admitted", "admitted", None)], [])


def test_an_observer_with_a_key_must_sign_and_rightly():
    """Unsigned, signed by another, changed, or extended: a dead letter each, and no signature is repeated."""
    right = sign(observation(1, GREP, observer="a"), "a")
    wrong = [
        observation(1, GREP, observer="a"),
        sign(observation(1, GREP, observer="a"), "b"),
        right | {"value": right["value"] | {"outcome": "contradicts"}},
        right | {"value": right["value"] | {"tier": "pseudonymous"}},
        right | {"value": right["value"] | {"signature": "AAAA"}},
    ]

    outputs = adjudicate(wrong, keyed("a"))

    assert outputs.dead == ["unauthorised-observer"] * len(wrong)
    details = [line["headers"]["sluice-detail"] for line in outputs.lines_on("dead-letters")]
    assert details[0] == "$.signature: expected the signature of 'a', got none"
    assert set(details[1:]) == {"$.signature: expected the signature of 'a', got one that does not hold"}


def test_require_signatures_refuses_whoever_has_no_key():
    """Without an entry, or with one that has no key; signed with whatever."""
    policy = keyed("a", require=True) + '[observers.c]\nclasses = ["substrate.grep"]\n'
    lines = [observation(1, GREP, observer="c"), sign(observation(1, GREP, observer="b"), "b")]

    outputs = adjudicate(lines, policy)

    assert outputs.dead == ["unauthorised-observer"] * 2
    detail = outputs.lines_on("dead-letters")[1]["headers"]["sluice-detail"]
    assert detail == "$.observer: expected one with a public_key in the policy, got 'b'"


def test_a_class_outside_an_observer_s_own_is_refused():
    """Though it is signed."""
    policy = keyed("a", more='classes = ["substrate.grep"]\n')
    lines = [sign(observation(1, GIT, observer="a"), "a"), sign(observation(1, GREP, observer="a"), "a")]

    assert adjudicate(lines, policy).dead == ["unauthorised-observer"]


def test_evidence_that_waited_is_not_asked_for_its_signature_again():
    """It was authorised when it came."""
    lines = [sign(observation(1, GREP, observer="a"), "a"), sign(observation(2, GIT, observer="b"), "b"), emission(3)]

    assert adjudicate(lines, keyed("a", "b")).words == [("admitted", "admitted", None)]


@pytest.mark.parametrize("form", ["base64", "hex", "verifier"])
def test_a_key_is_taken_as_people_have_it(tmp_path: Path, form: str):
    """Base64 or hex of its bytes, or the line that `sluice key new` prints; `sluice look` signs with that key."""
    file = tmp_path / "observer.key"
    verifier = CliRunner().invoke(main, ["key", "new", "observer/a", "--out", str(file)]).stdout.strip()
    raw = base64.b64decode(verifier.split("+", 2)[2])[1:]
    key = {"base64": base64.b64encode(raw).decode(), "hex": raw.hex(), "verifier": verifier}[form]
    policy = f'[observers.observer-1]\npublic_key = "{key}"\n'
    (tmp_path / "a.md").write_text("It is so.\n")
    text = "`a.md` contains `so`. [substrate.code.read; path=a.md]"
    emitted = {"emission_id": "em-1", "emitted_at": "2026-11-21T09:00:00Z", "text": text}

    looked = CliRunner().invoke(
        main, ["look", "--root", str(tmp_path), "--observer-key", str(file)], input=json.dumps(emitted)
    )
    (seen,) = json.loads(looked.stdout)["observations"]
    assert seen["subject"]["digest"] == digest_of(json.dumps(emitted).encode())
    line = {"at": seen["observed_at"], "topic": "observations", "value": seen}
    forged = line | {"value": seen | {"confidence": 0.5}}

    assert (seen["outcome"], adjudicate([line], policy).dead) == ("corroborates", [])
    assert adjudicate([forged], policy).dead == ["unauthorised-observer"]


def test_produce_sends_what_was_signed_as_it_stands():
    """Its bytes go out as they came."""
    from sluice.topology.kafka.input_records import Prepared, prepare

    line = b'{ "signature":"AA==", "observation_id":"a","substrate_class":"substrate.grep","observed_at":0,'
    line += b'"observer":"o","subject":{"emission_id":"em-1","span":{"chars":[0,1]}},"outcome":"absent", "extra": 1.50}'

    assert prepare(line, None, 0) == Prepared("observations", b"em-1", line)


# ---------------------------------------------------------------- 11.3, substrate capture

TWO = "[admissibility]\nmin_observers = 2\n"


def test_one_observer_alone_admits_nothing_where_two_are_needed():
    """Whatever it says of how many classes: at the end it is below the floor."""
    lines = [emission(0), observation(1, GREP), observation(2, GIT), observation(3, CODE)]

    outputs = adjudicate(lines, TWO, until=601)

    assert outputs.words == [("inadmissible", "below-floor", "below-floor")]
    (request,) = outputs.on("review-requests")
    assert (request["missing_floor"], request["missing_observers"], request["min_observers"]) == (0, 1, 2)
    assert request["classes"] == [CODE, GIT, GREP]


def test_a_second_observer_admits_it_though_it_saw_no_class_of_its_own():
    """Among the evidence there are k classes and n observers; each of them is named."""
    lines = [
        emission(0),
        observation(1, GREP),
        observation(2, GIT),
        observation(3, GREP, observer="observer-2", seen=0.5),
    ]

    (word,) = adjudicate(lines, TWO).on("admitted")

    assert (word["classes"], word["min_observers"]) == ([GIT, GREP], 2)
    assert [(one["substrate_class"], one["observer"]) for one in word["evidence"]] == [
        (GIT, "observer-1"),
        (GREP, "observer-1"),
        (GREP, "observer-2"),
    ]


def test_a_second_observer_s_stale_or_contrary_word_does_not_count():
    """It has to bear the assertion out, and freshly."""
    lines = [
        emission(0),
        observation(1, GREP),
        observation(2, GIT),
        observation(3, GREP, observer="observer-2", seen=-3601),
        observation(4, CODE, "absent", observer="observer-3"),
    ]

    assert adjudicate(lines, TWO, until=601).words == [("inadmissible", "below-floor", "below-floor")]


def test_it_is_valid_as_long_as_both_hold():
    """Until the second observer's evidence is as old as its window, then decayed; newer evidence of it renews."""
    policy = TWO + '[admissibility.window]\ndefault = "30m"\n'
    lines = [
        emission(0),
        observation(1, GREP, seen=0),
        observation(2, GIT, seen=0),
        observation(3, CODE, observer="observer-2", seen=-100),
        observation(100, GREP),
        observation(200, CODE, observer="observer-2"),
    ]

    words = adjudicate(lines, policy, until=7200).on("admitted")

    assert [word["status"] for word in words] == ["admitted", "renewed", "decayed-to-uncertainty"]
    assert [seconds_of(word["valid_until"]) for word in words] == [1700, 1900, 1900]


def test_each_effect_has_its_own_number():
    """What is published can be held to more observers than what stays inside."""
    policy = "[admissibility]\nk = { internal = 2, external = 2 }\nmin_observers = { internal = 1, external = 2 }\n"
    seen = [observation(1, GREP), observation(2, GIT)]

    assert adjudicate([emission(0), *seen], policy).words == [("admitted", "admitted", None)]
    assert adjudicate([emission(0, fields={"effect": "external"}), *seen], policy).words == []


def test_a_policy_that_counts_names_without_proof_is_warned_of(tmp_path: Path):
    """By `sluice policy check`, with the line."""
    file = tmp_path / "policy.toml"
    file.write_text(TWO)

    result = CliRunner().invoke(main, ["policy", "check", str(file)])

    assert result.exit_code == 0
    assert f"{file}:2: warning: admissibility.min_observers: one writer under several names" in result.stdout


# ---------------------------------------------------------------- 11.1, annotation fabrication


def test_an_annotation_is_no_observer():
    """However many classes an emitter declares: one observer is one observer."""
    notes = [annotation(name, 0, f"seen:{name}") for name in (GREP, GIT, CODE)]
    lines = [emission(0, provenance=notes), observation(1, GREP), observation(2, GIT)]

    assert adjudicate(lines, TWO, until=601).words == [("inadmissible", "below-floor", "below-floor")]
