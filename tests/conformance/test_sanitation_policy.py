"""What look-alikes lead to is the policy's choice [V §4.3]: by effect for assertions, by domain for attestations.

Through `sluice fold`. Every policy here gives the other effect, or the other domains, another rule than the one under
test, so that a mix-up shows.
"""

import pytest
from fold_lines import adjudicate, emission, observation

GREP, GIT = "substrate.grep", "substrate.git.log"
CYRILLIC = "The jоb ran."  # its `о` is Cyrillic
SPAN = {"chars": [0, len(CYRILLIC)]}
RULES = ("reject", "replace", "flag")
DOMAINS = """
[admissibility]
k = { internal = 2, external = 2 }
[sanitation]
confusables = { internal = "replace", external = "replace" }
[attestations]
consensus_domains = ["careful", "lenient", "plain"]
[attestations.careful]
confusables = "reject"
[attestations.lenient]
confusables = "flag"
"""


def sanitation(effect, rule):
    other = "external" if effect == "internal" else "internal"
    opposite = "replace" if rule == "reject" else "reject"
    return (
        "[admissibility]\nk = { internal = 2, external = 2 }\n"
        f'[sanitation]\nconfusables = {{ {effect} = "{rule}", {other} = "{opposite}" }}\n'
    )


def stated(effect, rule):
    """`stated(effect, rule)`: all that comes of a corroborated assertion with a look-alike in it."""
    seen = [observation(1, one, span=SPAN) for one in (GREP, GIT)]
    lines = [emission(0, text=CYRILLIC, fields={"effect": effect}), *seen]
    return adjudicate(lines, sanitation(effect, rule))


def attested(domain, **texts):
    """`attested(domain, **texts)`: the admitted word about an assertion whose evidence carries an attestation."""
    attestation = {
        "claim_hash": "0x" + "ab" * 32,
        "validator_did": "did:web:university.example",
        "verdict": "VERIFIED",
        "consensus_domain": domain,
        **texts,
    }
    lines = [emission(0), observation(1, GREP, attestation=attestation), observation(2, GIT)]
    (word,) = adjudicate(lines, DOMAINS).on("admitted")
    return word


@pytest.mark.parametrize("effect", ["internal", "external"])
def test_replace_admits_with_ascii(effect):
    """The look-alike gives way, and is recorded."""
    (word,) = stated(effect, "replace").on("admitted")
    assert word["_untrusted_text"]["assertion"] == "The job ran."
    assert word["_meta"]["confusables_replaced"] == [
        {"field": "assertion", "position": 5, "character": "U+043E", "replacement": "o"}
    ]
    assert word["_meta"]["confusables_present"] is False
    assert word["_meta"]["scripts"] == ["Cyrillic"]


@pytest.mark.parametrize("effect", ["internal", "external"])
def test_flag_admits_as_it_stands_and_tells(effect):
    """The look-alike stays, and the record is marked as one of low confidence."""
    (word,) = stated(effect, "flag").on("admitted")
    assert word["_untrusted_text"]["assertion"] == CYRILLIC
    assert word["_meta"]["confusables_replaced"] == []
    assert word["_meta"]["confusables_present"] is True


@pytest.mark.parametrize("effect", ["internal", "external"])
def test_reject_admits_nothing(effect):
    """The assertion is rejected on arrival, whatever evidence comes."""
    assert stated(effect, "reject").words == [("inadmissible", "rejected", "confusable-text")]


@pytest.mark.parametrize("effect", ["internal", "external"])
@pytest.mark.parametrize("rule", RULES)
def test_the_hash_of_an_assertion_does_not_depend_on_the_rule(effect, rule):
    """It is that of the text as it was said, settled [V §7]."""
    hashes = {line["value"]["canonical_hash"] for line in stated(effect, rule).lines_on("admitted", "inadmissible")}
    assert hashes == {line["value"]["canonical_hash"] for line in stated("internal", "replace").lines_on("admitted")}


def test_a_domain_without_a_table_replaces():
    """`replace` is the default, in rationale and quote."""
    word = attested("plain", rationale="p\u0430y", evidence=[{"quote": "p\u0430id"}])
    (framed,) = word["_untrusted_text"]["attestations"]
    assert framed["_untrusted_text"]["rationale"] == "pay"
    assert framed["_untrusted_text"]["evidence"][0]["_untrusted_quote"]["quote"] == "paid"
    assert [entry["field"] for entry in word["_meta"]["confusables_replaced"]] == [
        "attestations[0].rationale",
        "attestations[0].evidence[0].quote",
    ]
    assert word["_meta"]["confusables_present"] is False


def test_a_domain_that_flags_keeps_and_tells():
    """The look-alike stays in the frame, and the record is marked."""
    word = attested("lenient", rationale="p\u0430y")
    (framed,) = word["_untrusted_text"]["attestations"]
    assert framed["_untrusted_text"]["rationale"] == "p\u0430y"
    assert word["_meta"]["confusables_replaced"] == []
    assert word["_meta"]["confusables_present"] is True


@pytest.mark.parametrize("texts", [{"rationale": "p\u0430y"}, {"evidence": [{"quote": "p\u0430y"}]}])
def test_a_domain_that_rejects_returns_nothing(texts):
    """The attestation is left out whole; the observation that carried it counts, and nothing of the text is shown."""
    word = attested("careful", validator_did="did:web:rejected.example", **texts)
    assert word["_untrusted_text"]["attestations"] == []
    assert word["classes"] == [GIT, GREP]
    assert "rejected.example" not in str(word)


def test_a_domain_that_rejects_returns_plain_text():
    """Typographic marks are replaced, and reject nothing."""
    word = attested("careful", rationale="It’s so.")
    (framed,) = word["_untrusted_text"]["attestations"]
    assert framed["_untrusted_text"]["rationale"] == "It's so."


def test_a_domain_outside_the_registry_returns_nothing():
    """It is mistyped [V §3]."""
    assert attested("other", rationale="pay")["_untrusted_text"]["attestations"] == []
