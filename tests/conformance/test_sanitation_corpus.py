"""The adversarial conformance corpus [V §9]: every case through the one door, `sluice sanitise`.

The cases are data, in `corpus/`: what goes in, what comes out, and how many entries each list of `_meta` has; a list
that a case does not name must be empty. `tools/conformance_report.py` counts by category.
"""

import json
import runpy
from pathlib import Path

import pytest
from click.testing import CliRunner

from sluice.codecs import unicode_text
from sluice.topology.cli import main

CORPUS = Path(__file__).parent / "corpus"
CATEGORIES = [json.loads(path.read_text()) for path in sorted(CORPUS.glob("*.json")) if path.stem != "deviations"]
CASES = [
    pytest.param(case, id=f"{category['category']}/{case['name']}")
    for category in CATEGORIES
    for case in category["cases"]
]
PUBLIC = [
    pytest.param(text, id=f"public-{path.stem}/{place}")
    for path in sorted((CORPUS / "public").glob("*.json"))
    for place, text in enumerate(json.loads(path.read_text())["texts"])
]
LISTS = ("truncated", "confusables_replaced", "stripped_positions", "markup_stripped", "uris_rejected", "normalised")
ORACLES = runpy.run_path(str(Path(__file__).parents[1] / "streams" / "sanitise" / "oracles.py"))


def attestation(**fields):
    return {
        "claim_hash": "0x" + "00" * 32,
        "validator_did": "did:web:university.example",
        "verdict": "VERIFIED",
        "consensus_domain": "scientific-default",
        **fields,
    }


def sanitise(body, case=None):
    case = case or {}
    arguments = [
        "sanitise",
        "--typing",
        case.get("typing", "strict"),
        "--confusables",
        case.get("confusables", "replace"),
    ]
    result = CliRunner().invoke(main, arguments, input=json.dumps(body) + "\n")
    (answer,) = map(json.loads, result.stdout.splitlines())
    assert result.exit_code == (1 if "error" in answer else 0)
    return answer


def envelope_text(envelope, field):
    frame = envelope["attestations"][0]["_untrusted_text"]
    if field == "quote":
        return frame["evidence"][0]["_untrusted_quote"]["quote"]
    return frame["cited_works"][0]["title"] if field == "title" else frame[field]


def with_text(field, text):
    if field == "quote":
        return attestation(evidence=[{"quote": text}])
    if field == "title":
        return attestation(cited_works=[{"uri": "urn:doi:10.1000/182", "title": text}])
    return attestation(**{field: text})


def check_recorded(envelope, case):
    recorded = {name: len(envelope["_meta"][name]) for name in LISTS}
    assert recorded == {**dict.fromkeys(LISTS, 0), **case.get("recorded", {})}
    assert envelope["_meta"]["confusables_present"] is case.get("flagged", False)


def check_text(case):
    field = case.get("field", "rationale")
    text = case["text"] * case["times"] if "times" in case else case["text"]
    answer = sanitise(with_text(field, text), case)
    if "refused" in case:
        assert answer["error"]["reason"] == case["refused"]
        assert field in answer["error"]["detail"]
        return
    expected = (
        case["becomes"] * case["becomes_times"] + case.get("becomes_end", "") if "times" in case else case["becomes"]
    )
    assert envelope_text(answer, field) == expected
    check_recorded(answer, case)


def check_uri(case):
    where = case.get("where", "evidence")
    body = attestation(**{where: [{"quote": "q", "uri": case["uri"]} if where == "evidence" else {"uri": case["uri"]}]})
    answer = sanitise(body, case)
    frame = answer["attestations"][0]["_untrusted_text"]
    shown = (frame["evidence"][0]["_untrusted_quote"] if where == "evidence" else frame["cited_works"][0])["source_uri"]
    assert shown == case.get("shown")
    rejected = [{"field": f"{where}[0].uri", "reason": case["rejected"]}] if "rejected" in case else []
    assert answer["_meta"]["uris_rejected"] == rejected


def check_quotes(case):
    answer = sanitise(attestation(evidence=[{"quote": f"quote {n}"} for n in range(case["quotes"])]), case)
    kept = answer["attestations"][0]["_untrusted_text"]["evidence"]
    assert [one["_untrusted_quote"]["quote"] for one in kept] == [f"quote {n}" for n in range(case["kept"])]
    check_recorded(answer, case)


@pytest.mark.parametrize("case", CASES)
def test_corpus(case):
    """The case comes out as the corpus says: text, refusal or URI, and what `_meta` records."""
    check = check_uri if "uri" in case else check_quotes if "quotes" in case else check_text
    check(case)


@pytest.mark.parametrize("text", PUBLIC)
def test_public_data(text):
    """A string from public test data comes out clean for every parser that we ask, and stays so."""
    answer = sanitise(with_text("rationale", text), {"typing": "lenient"})
    result = envelope_text(answer, "rationale")
    body = result.removesuffix("…") if answer["_meta"]["truncated"] else result
    assert len(body.encode()) <= 2000
    assert unicode_text.settle(body) == body
    assert not ORACLES["has_html"](result)
    assert not ORACLES["has_link"](result)
    again = sanitise(with_text("rationale", body), {"typing": "lenient"})
    assert envelope_text(again, "rationale") == body
    if result != text:
        assert any(answer["_meta"][name] for name in LISTS)


def test_the_corpus_has_the_categories_of_the_contract():
    """All eight, with thirty cases each at least [V §9]."""
    assert sorted(category["category"] for category in CATEGORIES) == [
        "bidi-override",
        "direct-injection",
        "homoglyph",
        "length-attack",
        "negative",
        "sanitation-bypass",
        "url-encoded",
        "zero-width",
    ]
    assert all(len(category["cases"]) >= 30 for category in CATEGORIES)


def test_every_deviation_is_named_with_its_reason():
    """What departs from the letter is told with the section, what we do instead, and why [V §9]."""
    deviations = json.loads((CORPUS / "deviations.json").read_text())["deviations"]
    assert deviations
    for deviation in deviations:
        assert set(deviation) == {"name", "section", "contract", "ours", "why"}
        assert all(deviation.values())
