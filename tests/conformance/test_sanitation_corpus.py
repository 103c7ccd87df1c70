"""The adversarial conformance corpus [V §9]: every case through the one door, `sluice sanitise`.

The cases are data, in `corpus/`: what goes in, what comes out, and what each list of `_meta` holds, as a number of
entries or as the entries themselves without the field's name; a list that a case does not name must be empty. Whatever
comes out is held to the pipeline's laws as well. `tools/conformance_report.py` counts by category. The public data
are in test_sanitation_public.py, Unicode's in test_unicode_data.py.
"""

import json
import runpy
from pathlib import Path

import pytest
from builders import attestation_value
from click.testing import CliRunner

from sluice.topology.cli import main

CORPUS = Path(__file__).parent / "corpus"
CATEGORIES = [json.loads(path.read_text()) for path in sorted(CORPUS.glob("*.json")) if path.stem != "deviations"]
CASES = [
    pytest.param(case, id=f"{category['category']}/{case['name']}")
    for category in CATEGORIES
    for case in category["cases"]
]
FIELDS = {"name", "text", "uri", "quotes", "times", "then", "field", "where", "typing", "confusables"} | {
    *("becomes", "becomes_times", "becomes_end", "refused", "shown", "rejected", "kept", "recorded", "flagged"),
    "scripts",
}
"""What a case may have: its input and how it is read, then what is expected of it."""
PATHS = {"quote": "evidence[0].quote", "title": "cited_works[0].title"}
LISTS = ("truncated", "confusables_replaced", "stripped_positions", "markup_stripped", "uris_rejected", "normalised")
ORACLES = runpy.run_path(str(Path(__file__).parents[1] / "support" / "oracles.py"))


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
        return attestation_value(evidence=[{"quote": text}])
    if field == "title":
        return attestation_value(cited_works=[{"uri": "urn:doi:10.1000/182", "title": text}])
    return attestation_value(**{field: text})


def check_recorded(envelope, case, path):
    """Each list has what the case says, and every entry names the field."""
    wanted = case.get("recorded", {})
    for name in LISTS:
        entries = envelope["_meta"][name]
        if isinstance(wanted.get(name, 0), int):
            count = sum(entry.get("count", 1) if isinstance(entry, dict) else 1 for entry in entries)
            assert count == wanted.get(name, 0), (name, entries)
        else:
            assert entries == [{"field": path, **entry} for entry in wanted[name]]
        fields = [entry if isinstance(entry, str) else entry["field"] for entry in entries]
        assert fields == [path] * len(entries)
    assert envelope["_meta"]["confusables_present"] is case.get("flagged", False)
    assert envelope["_meta"]["scripts"] == case.get("scripts", envelope["_meta"]["scripts"])


def check_laws(envelope, case, field):
    """No parser sees markup in what came out, and where nothing was cut, a second time changes nothing."""
    text = envelope_text(envelope, field)
    assert not ORACLES["has_html"](text)
    assert not ORACLES["has_link"](text)
    if not envelope["_meta"]["truncated"]:
        policy = {"typing": "lenient", "confusables": "flag" if case.get("confusables") == "flag" else "replace"}
        again = sanitise(with_text(field, text), policy)
        assert envelope_text(again, field) == text
        assert not any(again["_meta"][name] for name in LISTS)


def check_text(case):
    field = case.get("field", "rationale")
    text = case["text"] * case["times"] + case.get("then", "") if "times" in case else case["text"]
    answer = sanitise(with_text(field, text), case)
    if "refused" in case:
        assert answer["error"]["reason"] == case["refused"]
        assert field in answer["error"]["detail"]
        return
    expected = (
        case["becomes"] * case["becomes_times"] + case.get("becomes_end", "") if "times" in case else case["becomes"]
    )
    assert envelope_text(answer, field) == expected
    check_recorded(answer, case, PATHS.get(field, field))
    check_laws(answer, case, field)


def check_uri(case):
    where = case.get("where", "evidence")
    body = attestation_value(
        **{where: [{"quote": "q", "uri": case["uri"]} if where == "evidence" else {"uri": case["uri"]}]}
    )
    answer = sanitise(body, case)
    frame = answer["attestations"][0]["_untrusted_text"]
    shown = (frame["evidence"][0]["_untrusted_quote"] if where == "evidence" else frame["cited_works"][0])["source_uri"]
    assert shown == case.get("shown")
    rejected = [{"field": f"{where}[0].uri", "reason": case["rejected"]}] if "rejected" in case else []
    assert answer["_meta"]["uris_rejected"] == rejected


def check_quotes(case):
    answer = sanitise(attestation_value(evidence=[{"quote": f"quote {n}"} for n in range(case["quotes"])]), case)
    kept = answer["attestations"][0]["_untrusted_text"]["evidence"]
    assert [one["_untrusted_quote"]["quote"] for one in kept] == [f"quote {n}" for n in range(case["kept"])]
    assert answer["_meta"]["truncated"] == [
        {"field": f"evidence[{n}].quote", "octets_before": len(f"quote {n}"), "octets_after": 0}
        for n in range(case["kept"], case["quotes"])
    ]


@pytest.mark.parametrize("case", CASES)
def test_corpus(case):
    """The case comes out as the corpus says: text, refusal or URI, and what `_meta` records."""
    check = check_uri if "uri" in case else check_quotes if "quotes" in case else check_text
    check(case)


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


def says_what_comes_out(case):
    """Whether a case has an input, and an expectation that a wrong answer would not meet."""
    if "uri" in case:
        return ("shown" in case) != ("rejected" in case)
    if "quotes" in case:
        return "kept" in case
    return "text" in case and ("becomes" in case) != ("refused" in case)


@pytest.mark.parametrize("category", CATEGORIES, ids=[category["category"] for category in CATEGORIES])
def test_every_case_says_what_comes_out(category):
    """A case has a name of its own, one input, one expectation, and no field that nobody reads."""
    names = [case["name"] for case in category["cases"]]
    assert sorted(names) == sorted(set(names))
    for case in category["cases"]:
        assert set(case) <= FIELDS, case["name"]
        assert set(case.get("recorded", {})) <= set(LISTS), case["name"]
        assert says_what_comes_out(case), case["name"]


def test_every_deviation_is_named_with_its_reason():
    """What departs from the letter is told with the section, what we do instead, and why [V §9]."""
    deviations = json.loads((CORPUS / "deviations.json").read_text())["deviations"]
    assert deviations
    for deviation in deviations:
        assert set(deviation) == {"name", "section", "contract", "ours", "why"}
        assert all(deviation.values())
