"""What look-alikes cost languages of other scripts [V §4.3]: by letter, as the contract has it, and by word (UTS 39).

Each row of the table in docs/security.md is measured here.
"""

import json
from pathlib import Path

import pytest
from builders import attestation_value
from click.testing import CliRunner

from sluice.codecs import unicode_text
from sluice.streams.sanitise import Trace, clean, unexpected_confusables
from sluice.topology.cli import main

SAMPLES = Path(__file__).parent / "languages.json"
LANGUAGES = json.loads(SAMPLES.read_text("utf-8"))["languages"]
PAGE = Path(__file__).parents[2] / "docs" / "security.md"
EACH = pytest.mark.parametrize("name", LANGUAGES, ids=[f"languages/{name.lower()}" for name in LANGUAGES])


def replaced(text, treatment):
    trace = Trace()
    result = clean(text, "assertion", 2000, treatment, trace)
    return result, len(trace.confusables_replaced)


def row(name):
    """The table's row for a language."""
    text = LANGUAGES[name]
    result, letters = replaced(text, "replace")
    words = replaced(text, "replace-in-words")[1]
    refused = "refused" if unexpected_confusables(text) else "passes"
    refused_by_word = "refused" if unexpected_confusables(text, by="word") else "passes"
    cells = (name, text, result, str(letters), refused, str(words), refused_by_word)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


@EACH
def test_a_language_stays_by_word(name):
    """Nothing but NFKC changes it, and `reject` lets it pass."""
    text = LANGUAGES[name]
    assert replaced(text, "replace-in-words") == (unicode_text.nfkc(text), 0)
    assert not unexpected_confusables(text, by="word")


@EACH
def test_the_effect_is_published(name):
    """The table has what happens."""
    assert row(name) in PAGE.read_text("utf-8").splitlines()


@EACH
def test_a_disguised_word_in_a_language_does_not_stay(name):
    """A Latin word with letters of another script gives way in the middle of any text."""
    text = f"{LANGUAGES[name]} p\u0430yp\u0430l"
    assert replaced(text, "replace-in-words") == (unicode_text.nfkc(LANGUAGES[name]) + " paypal", 2)
    assert unexpected_confusables(text, by="word")


@pytest.mark.parametrize("by", ["letter", "word"])
def test_attestations_choose(by):
    """By letter is the contract's rule and the default."""
    line = json.dumps(attestation_value(rationale="ρ = 0.9"))
    chosen = ["--confusables-by", by] if by == "word" else []
    envelope = json.loads(CliRunner().invoke(main, ["sanitise", *chosen], input=line).stdout)
    wanted = "ρ = 0.9" if by == "word" else "p = 0.9"
    assert envelope["attestations"][0]["_untrusted_text"]["rationale"] == wanted
    rejected = CliRunner().invoke(main, ["sanitise", "--confusables", "reject", *chosen], input=line)
    assert rejected.exit_code == (0 if by == "word" else 1)


def test_the_hash_is_by_letter():
    """Both spellings have one canonical hash [V §7], whatever becomes of them."""
    lines = [json.dumps(attestation_value(rationale=text)) for text in ("ρ = 0.9", "p = 0.9")]
    for by in ("letter", "word"):
        printed = CliRunner().invoke(main, ["sanitise", "--confusables-by", by], input="\n".join(lines)).stdout
        assert len({json.loads(line)["canonical_hash"] for line in printed.splitlines()}) == 1
