"""Registering a look-alike again [V §7]: what looks the same has one canonical hash under 0.3, and many under 0.2.

Through `sluice canonical-hash` and `sluice sanitise`; the law over any text, at the end, through the codec.
"""

import json
import unicodedata
from functools import cache

import pytest
import unicodedata2
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.canonical import canonical_hash
from sluice.codecs.unicode_text import STRIPPED
from sluice.topology.cli import main

ATTESTATION = {
    "claim_hash": "0x" + "5e" * 32,
    "validator_did": "did:web:university.example",
    "verdict": "VERIFIED",
    "consensus_domain": "scientific-default",
    "rationale": "A café opened there on page 3, approved by one person.",
    "qualifications": "One copy of each page.",
    "evidence": [{"quote": "Open space, one cage.", "uri": "https://example.org/page"}],
    "cited_works": [{"uri": "urn:doi:10.1000/182", "title": "On open pages"}],
    "extension": {"page": "one", "pages": [{"open": "yes"}, "peace"]},
}
TEXTS = ("rationale", "qualifications", "evidence", "cited_works")
LOOK_ALIKES = str.maketrans("aeopcyxsAEOPCTH", "аеорсухѕАЕОРСТН")
DISGUISES = {
    "look-alikes": lambda text: text.translate(LOOK_ALIKES),
    "full-width": lambda text: "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in text),
    "mathematical": lambda text: "".join(chr(ord(one) + 0x1D3B9) if "a" <= one <= "z" else one for one in text),
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "zero-width": lambda text: "\u200b".join(text),
    "joined": lambda text: "\u200d".join(unicodedata.normalize("NFD", text)),
    "overridden": lambda text: f"\u202e{text}\u202c",
    "isolated": lambda text: f"\u2067{text}\u2069",
    "tagged": lambda text: text + "".join(chr(0xE0000 + ord(one)) for one in "hidden"),
    "selected": lambda text: "".join(one + "\ufe0f" for one in text),
    "all at once": lambda text: "\u202e" + "\u2060".join(text.translate(LOOK_ALIKES)) + "\ufeff",
}
ASCII_ONLY = {"decomposed"}
"""What leaves a text without an accent as it is."""


def over_values(value, disguise):
    if isinstance(value, str):
        return disguise(value)
    if isinstance(value, list):
        return [over_values(one, disguise) for one in value]
    return {name: over_values(member, disguise) for name, member in value.items()}


def over_names(value, disguise):
    if isinstance(value, list):
        return [over_names(one, disguise) for one in value]
    if isinstance(value, dict):
        return {disguise(name): over_names(member, disguise) for name, member in value.items()}
    return value


def answers(command, bodies):
    lines = "".join(json.dumps(body) + "\n" for body in bodies)
    result = CliRunner().invoke(main, [command], input=lines)
    assert result.exit_code == 0, result.stdout
    return [json.loads(line) for line in result.stdout.splitlines()]


def hashes(*bodies, version=None):
    """The canonical hash of each body, all of which state `version`."""
    stated = {} if version is None else {"canonicalisation_version": version}
    found = answers("canonical-hash", [{**body, **stated} for body in bodies])
    assert all(answer["canonicalisation_version"] == (version or "0.3") for answer in found)
    return [answer["canonical_hash"] for answer in found]


@pytest.mark.parametrize("name", DISGUISES)
@pytest.mark.parametrize("version", [None, "0.3"])
def test_one_hash_for_values_that_look_alike(name, version):
    """Every text of the attestation disguised at once, in nested members and lists as well."""
    disguised = over_values(ATTESTATION, DISGUISES[name])
    assert disguised != ATTESTATION
    one, other = hashes(ATTESTATION, disguised, version=version)
    assert one == other


@pytest.mark.parametrize("name", sorted(set(DISGUISES) - ASCII_ONLY))
def test_one_hash_for_names_that_look_alike(name):
    """Member names are texts, too: at the top, in an object, in an object in a list."""
    disguised = over_names(ATTESTATION, DISGUISES[name])
    assert not set(disguised) & set(ATTESTATION)
    one, other = hashes(ATTESTATION, disguised, version="0.3")
    assert one == other


def test_one_hash_for_names_with_an_accent():
    """Composed and decomposed, the name is the same."""
    one, other = hashes({"caf\u00e9": 1}, {"cafe\u0301": 1})
    assert one == other


def test_under_0_2_each_has_a_hash_of_its_own():
    """The older rules look at the text as it stands."""
    variants = [over_values(ATTESTATION, disguise) for disguise in DISGUISES.values()]
    variants += [over_names(ATTESTATION, disguise) for name, disguise in DISGUISES.items() if name not in ASCII_ONLY]
    found = hashes(ATTESTATION, *variants, version="0.2")
    assert len(set(found)) == len(found)


def test_what_looks_different_has_another_hash():
    """Under either version: other letters, other letter case, another place of the same text."""
    others = [
        {**ATTESTATION, "rationale": ATTESTATION["rationale"].upper()},
        {**ATTESTATION, "rationale": ATTESTATION["rationale"] + "."},
        {**ATTESTATION, "rationale": ATTESTATION["rationale"].replace("é", "e")},
        {**ATTESTATION, "rationale": ATTESTATION["qualifications"], "qualifications": ATTESTATION["rationale"]},
        {**ATTESTATION, "verdict": "DISPUTED"},
    ]
    for version in ("0.2", "0.3"):
        found = hashes(ATTESTATION, *others, version=version)
        assert len(set(found)) == len(found)


def test_the_two_versions_never_give_one_hash():
    """The version is a member of the envelope, so even plain ASCII has two."""
    body = {"rationale": "plain"}
    assert hashes(body, version="0.2") != hashes(body, version="0.3")


@pytest.mark.parametrize("name", DISGUISES)
def test_a_framed_attestation_that_looks_alike_is_found_again(name):
    """`sluice sanitise` gives a disguised attestation the hash of the first one, and the same texts."""
    disguised = {
        **ATTESTATION,
        "rationale": DISGUISES[name](ATTESTATION["rationale"]),
        "qualifications": DISGUISES[name](ATTESTATION["qualifications"]),
    }
    first, again = answers("sanitise", [ATTESTATION, disguised])
    assert again["canonical_hash"] == first["canonical_hash"]
    assert again["attestations"] == first["attestations"]


def test_names_that_become_the_same_are_an_error():
    """Two members whose names look alike cannot both be kept, and none is dropped."""
    result = CliRunner().invoke(main, ["canonical-hash"], input='{"page": 1, "p\\u0430ge": 2}\n')
    assert result.exit_code == 1
    assert "look alike" in json.loads(result.stdout)["error"]["detail"]


# ---------------------------------------------------------------- the law


@cache
def disguises_of(character):
    """What one ASCII character can be written as: itself, its full-width form, its look-alikes."""
    wide = [chr(ord(character) + 0xFEE0)] if "!" <= character <= "~" else []
    return [character, *wide, character.translate(LOOK_ALIKES)]


STRIPPED_POINTS = [point for first, last in STRIPPED for point in range(first, last + 1) if point != 0x202F]
"""Without U+202F, which is a space for NFKC, and that comes first."""
INVISIBLE = st.one_of(st.just(""), st.sampled_from(STRIPPED_POINTS).map(chr))


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=20), st.data())
def test_however_a_text_is_disguised_its_hash_is_the_same(text, data):
    """Each character by itself, with anything invisible before and behind it; as a value and as a name."""
    written = "".join(data.draw(st.sampled_from(disguises_of(one))) + data.draw(INVISIBLE) for one in text)
    assert canonical_hash({"a": [written]}) == canonical_hash({"a": [text]})
    assert canonical_hash({written: 1}) == canonical_hash({text: 1})
    assert (canonical_hash([written], "0.2") == canonical_hash([text], "0.2")) == (written == text)


@given(st.text(st.characters(codec="utf-8"), max_size=20))
def test_canonically_equivalent_texts_have_one_hash(text):
    """Composed or decomposed, by the tables of one version of Unicode."""
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert canonical_hash([unicodedata2.normalize(form, text)]) == canonical_hash([text])
