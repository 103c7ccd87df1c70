"""`sluice sanitise` and `sluice canonical-hash` as filters (docs/reference/commands.md)."""

import json

import pytest
from click.testing import CliRunner

from sluice.topology.cli import main

GOOD = {
    "claim_hash": "0x" + "01" * 32,
    "validator_did": "did:web:a.example",
    "verdict": "FALSE",
    "consensus_domain": "scientific-default",
}


def run(*arguments, lines=()):
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    result = CliRunner().invoke(main, list(arguments), input=text)
    return [json.loads(line) for line in result.stdout.splitlines()], result.exit_code


def test_every_line_is_answered_in_order():
    """A bad line gets its number and the reason, the run goes on, and the exit status tells at the end."""
    answers, status = run(
        "sanitise", lines=[GOOD, "{", {**GOOD, "rationale": "<b>"}, {**GOOD, "verdict": "VERIFIED"}, "[]"]
    )
    assert status == 1
    assert [answer.get("line") for answer in answers] == [None, 2, 3, None, 5]
    assert [answer["error"]["reason"] for answer in answers if "error" in answer] == [
        "not-json",
        "mistyped",
        "mistyped",
    ]
    assert answers[3]["verdict_summary"]["primary_verdict"] == "VERIFIED"


def test_good_lines_exit_with_0():
    """As does no line at all."""
    assert run("sanitise", lines=[GOOD, GOOD])[1] == 0
    assert run("sanitise") == ([], 0)
    assert run("canonical-hash", lines=[{}])[1] == 0


def test_the_defaults_are_strict_and_replace():
    """[V §3] and [V §4.3]."""
    assert run("sanitise", lines=[{**GOOD, "rationale": "<b>"}])[1] == 1
    (answer,), _ = run("sanitise", lines=[{**GOOD, "rationale": "p\u0430y"}])
    assert answer["attestations"][0]["_untrusted_text"]["rationale"] == "pay"


@pytest.mark.parametrize("arguments", [("--typing", "loose"), ("--confusables", "drop"), ("--unknown",)])
def test_wrong_usage_exits_with_2(arguments):
    """Before anything is read."""
    assert run("sanitise", *arguments, lines=[GOOD]) == ([], 2)


def test_files_are_read_as_one_stream(tmp_path):
    """Line numbers count over all of them."""
    for name, text in {"one": json.dumps(GOOD) + "\n", "two": "nope\n"}.items():
        tmp_path.joinpath(name).write_text(text)
    answers, status = run("canonical-hash", str(tmp_path / "one"), str(tmp_path / "two"))
    assert answers[0].keys() == {"canonical_hash", "canonicalisation_version"}
    assert answers[1]["line"] == 2
    assert status == 1


@pytest.mark.parametrize(
    ("line", "reason"),
    [("nope", "not-json"), ("[1]", "schema"), ('"x"', "schema"), ("5", "schema"), ('{"a":1,"a":2}', "schema")],
)
def test_what_has_no_canonical_hash_is_reported(line, reason):
    """What is no JSON object, or has no canonical form."""
    (answer,), status = run("canonical-hash", lines=[line])
    assert answer["error"]["reason"] == reason
    assert status == 1


@pytest.mark.parametrize("command", ["sanitise", "canonical-hash"])
def test_help_has_an_example(command):
    """Every subcommand shows how it is called."""
    result = CliRunner().invoke(main, [command, "--help"])
    assert result.exit_code == 0
    assert "Example:" in result.stdout
