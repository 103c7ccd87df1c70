"""Public test data of other projects [V §9]: naughty strings, and the corpora of HTML sanitisers and parsers.

Nobody wrote down what our pipeline makes of these, so each string is held to its laws: clean for every parser that we
ask, nothing dropped that `_meta` does not account for, and the same again when it is sanitised again. The strings of
one file go through one run of `sluice sanitise`, one line each; provenance and licences stand in corpus/public.
"""

import json
import runpy
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from sluice.codecs import unicode_text
from sluice.topology.cli import main

PUBLIC = Path(__file__).parent / "corpus" / "public"
FILES = {path.stem: json.loads(path.read_text()) for path in sorted(PUBLIC.glob("*.json"))}
CASES = [
    pytest.param(name, place, id=f"public-{name}/{place}")
    for name, file in FILES.items()
    for place in range(len(file["texts"]))
]
ORACLES = runpy.run_path(str(Path(__file__).parents[1] / "support" / "oracles.py"))
CAP = 2000


def sanitise(texts, typing):
    """What one run of the command answers for a rationale of each text."""
    body = {
        "claim_hash": "0x" + "00" * 32,
        "validator_did": "did:web:university.example",
        "verdict": "VERIFIED",
        "consensus_domain": "scientific-default",
    }
    lines = "".join(json.dumps({**body, "rationale": text}) + "\n" for text in texts)
    result = CliRunner().invoke(main, ["sanitise", "--typing", typing], input=lines)
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(answers) == len(texts)
    assert result.exit_code == (1 if any("error" in answer for answer in answers) else 0), result.stderr
    return answers


def cleaned(texts):
    """The rationale and `_meta` of each text, under lenient typing, which leaves everything to the pipeline."""
    return [
        (answer["attestations"][0]["_untrusted_text"]["rationale"], answer["_meta"])
        for answer in sanitise(texts, "lenient")
    ]


def without_mark(text, meta):
    """The text without the mark of truncation, where it has one."""
    return text.removesuffix("…") if meta["truncated"] else text


@cache
def once(name):
    return cleaned(FILES[name]["texts"])


@cache
def twice(name):
    return cleaned([without_mark(*answer) for answer in once(name)])


@cache
def refused(name):
    """For each text whether strict typing refuses it."""
    answers = sanitise(FILES[name]["texts"], "strict")
    return ["error" in answer and answer["error"]["reason"] == "mistyped" for answer in answers]


def is_subsequence(text, of):
    letters = iter(of)
    return all(letter in letters for letter in text)


def check_accounted(text, body, meta):
    """Every character that is not there any more is accounted for in `_meta` [V §6]."""
    links = [entry for entry in meta["markup_stripped"] if entry["kind"] in ("link", "image")]
    if not any(meta[name] for name in ("truncated", "normalised", "confusables_replaced")) and not links:
        assert is_subsequence(body, text)
    if not meta["truncated"] and not meta["normalised"] and not links:
        gone = sum(entry["characters"] for entry in meta["markup_stripped"])
        gone += sum(entry["count"] for entry in meta["stripped_positions"])
        assert len(body) == len(text) - gone
    for cut in meta["truncated"]:
        assert cut["octets_after"] < cut["octets_before"]


@pytest.mark.parametrize(("name", "place"), CASES)
def test_public_data(name, place):
    """Lenient: no element, comment, doctype or link is left for any parser that we ask, all is recorded, and a second
    time changes nothing. Strict: what holds one of these is refused [V §3]."""
    text = FILES[name]["texts"][place]
    result, meta = once(name)[place]
    body = without_mark(result, meta)
    assert len(body.encode()) <= CAP
    assert unicode_text.settle(body) == body
    assert not ORACLES["has_html"](result)
    assert not ORACLES["has_link"](result)
    check_accounted(text, body, meta)
    assert refused(name)[place] or not (ORACLES["has_html"](text) or ORACLES["has_link"](text))
    again, second = twice(name)[place]
    assert again == body
    assert not any(second[name] for name in ("truncated", "confusables_replaced", "stripped_positions"))
    assert not second["markup_stripped"]
    assert not second["normalised"]


def test_every_file_says_whose_it_is():
    """Source and licence stand in each file, and the licence's text or name in LICENCES.txt beside it."""
    licences = (PUBLIC / "LICENCES.txt").read_text()
    for name, file in FILES.items():
        assert set(file) == {"source", "licence", "texts"}, name
        assert f"{name}.json: " in licences, name
        assert len(set(file["texts"])) > 50, name


def test_the_data_put_every_step_to_work():
    """Among them are texts with tags, comments, doctypes and links, and such as each of the Unicode steps changes."""
    metas = [meta for name in FILES for _, meta in once(name)]
    assert {entry["kind"] for meta in metas for entry in meta["markup_stripped"]} >= {
        *("tag", "comment", "doctype", "link", "image")
    }
    for name in ("normalised", "confusables_replaced", "stripped_positions", "markup_stripped", "uris_rejected"):
        assert sum(bool(meta[name]) for meta in metas) > 5, name
