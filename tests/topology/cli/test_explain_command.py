"""`sluice explain`: a story as lines, as JSON, or a sentence why there is none."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from exported import BASE, KEY, H, M, S, emission_after, explanation_of, lane_after, observation_after, reviewed_claim
from rich.console import Console

from sluice.topology.audit.explanation_view import show
from sluice.topology.cli import main

EVIL = "It is \u202eso\x1b[31m, [bold]they[/bold] say."
WHOLE = {"chars": [0, len(EVIL)]}
SEEN = [("code.read", "corroborates"), ("git.log", "absent")]
STORY = [
    (
        0,
        [
            emission_after(),
            emission_after(0, text=EVIL, attempt=1, effect="external"),
            ("emissions", (b"em-1", b"\x1b[")),
        ],
    ),
    (S, [observation_after(S, name, said, attempt=1, span=WHOLE) for name, said in SEEN]),
    (11 * M, [reviewed_claim("admit", attempt=1, span=WHOLE, reason="It is.")]),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An export with a story in it."""
    return lane_after(*STORY).export(tmp_path / "export")


def run(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["explain", *arguments, "--offline", str(folder)])


def test_a_story_is_reported_in_lines(folder: Path):
    """One line a moment: when, in which block, what, and why; then how it stands."""
    result = run(folder, "em-1")

    assert result.exit_code == 0
    assert result.stdout.startswith("em-1: lane 0 of 1, told up to block 3, 2026-11-21T09:11:00Z\n")
    lines = [line.split(None, 2) for line in result.stdout.splitlines()]
    assert ["2026-11-21T09:00:00Z", "#1", "claimed"] in lines
    assert "superseded, 0 of 2, disposition review, on inadmissible, revision 1" in result.stdout
    assert "not counted            observer-1: absent, substrate.git.log seen:git.log" in result.stdout
    assert "the observer looked, and found nothing that bears it out" in result.stdout
    assert "inputs that changed no assertion" in result.stdout
    assert "dead-letter            emissions/0/2 not-json" in result.stdout


def test_nothing_that_a_terminal_would_obey_is_shown(folder: Path):
    """Neither of the text, nor of what is quoted in a dead letter's detail."""
    for arguments in ([], ["--json"]):
        text = run(folder, "em-1", *arguments).stdout
        assert not {"\x1b", "\u202e"} & set(text)


def test_the_story_as_json_is_one_object_of_a_named_shape(folder: Path):
    """With its type and version, and all parts that are always there."""
    explanation = json.loads(run(folder, "em-1", "--json").stdout)

    assert (explanation["@type"], explanation["@version"], explanation["emission_id"], explanation["lane"]) == (
        *("sluice:Explanation", "1.0"),
        *("em-1", 0),
    )
    assert [one["attempt"] for one in explanation["attempts"]] == [0, 1]
    first = explanation["assertions"][0]
    assert {"span", "span_key", "attempt", "text", "claims", "events", "verdicts", "now"} <= first.keys()
    assert {"at", "height", "what"} <= first["events"][0].keys()
    assert first["verdicts"][0]["ledger"].keys() == {"partition", "height", "index", "block"}
    assert [one["fate"] for one in explanation["inputs"]].count("taken-in") == 2


@pytest.mark.parametrize("arguments", [["em-1", KEY], [f"em-1#{KEY}"]])
def test_a_span_may_be_named_as_an_argument_or_as_in_a_key(folder: Path, arguments: list[str]):
    """The key of an output topic can be pasted as it stands."""
    explanation = json.loads(run(folder, *arguments, "--json").stdout)

    assert [one["span_key"] for one in explanation["assertions"]] == [KEY]


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["em-9"], 1, "nothing about the emission 'em-9' stands in the ledger of lane 0"),
        (["em-1", "c:0-1"], 1, "has no assertion with the span c:0-1"),
        (["em-1", "somewhere"], 2, "SPAN: not a span key"),
    ],
)
def test_what_is_not_there_is_said_in_one_sentence(folder: Path, arguments: list[str], status: int, sentence: str):
    """Exit 1 for what is not known, 2 for what is no span."""
    result = run(folder, *arguments)

    assert (result.exit_code, result.stdout) == (status, "")
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_folder_that_is_no_export_is_wrong_usage(tmp_path: Path):
    """Exit 2, and how to make one."""
    result = run(tmp_path, "em-1")

    assert (result.exit_code, "sluice audit --export" in result.stderr) == (2, True)


def test_a_dead_letter_is_reported_in_its_own_words(tmp_path: Path):
    """An emission that is too old has no class and no window, as an observation has."""
    folder = lane_after((0, [emission_after(), emission_after(-25 * H, attempt=2)])).export(tmp_path / "export")

    text = run(folder, "em-1").stdout

    assert "emissions/0/1 too-old ($.emitted_at: expected a time from " in text
    assert "window of its class" not in text


def test_a_contradiction_is_reported_once_and_is_nothing_that_bears_out(tmp_path: Path):
    """As the status alone, which is its own reason; the observer was seen all the same."""
    folder = lane_after(
        (0, [emission_after()]), (S, [observation_after(S, "code.read", "contradicts")]), (11 * M, [])
    ).export(tmp_path / "export")

    text = run(folder, "em-1").stdout

    assert "now: contradicted; " in text
    assert "review-requests: 2 missing, nothing that bears it out" in text


@pytest.mark.parametrize(("width", "is_narrow"), [(80, True), (99, True), (100, False)])
async def test_a_narrow_terminal_gets_the_time_of_day(tmp_path: Path, width: int, is_narrow: bool):
    """Under the day, once for each day; and no long word loses its end."""
    long = "where-" * 30 + "end"
    explanation = await explanation_of(
        lane_after((0, [emission_after()]), (20 * H, [reviewed_claim("admit", reason=long)])), tmp_path, now=BASE
    )
    console = Console(file=io.StringIO(), width=width)

    show(explanation, console)

    text = console.file.getvalue()
    starts = [line[:22].rstrip() for line in text.splitlines()]
    assert (starts.count("  2026-11-21"), starts.count("  2026-11-22")) == (is_narrow, is_narrow)
    assert any(one.startswith("  09:00:00 ") for one in starts) == is_narrow
    assert any(one.startswith("  2026-11-21T09:00:00Z") for one in starts) != is_narrow
    assert long in "".join(text.split())
    assert "…" not in text.partition("\n")[2].partition("claimed")[2]


async def test_a_terminal_gets_a_timeline(tmp_path: Path):
    """Square brackets in a text stay what they are, and its words are all there."""
    explanation = await explanation_of(lane_after(*STORY), tmp_path, now=BASE)
    console = Console(file=io.StringIO(), width=200, force_terminal=True)

    show(explanation, console)

    text = console.file.getvalue()
    assert "[bold]" in text
    assert "holds until 2026-11-22T09:11:00Z (it is 2026-11-21T09:00:00Z by this machine's clock)" in text
