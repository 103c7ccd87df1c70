"""`sluice what-if`: what another policy would have decided otherwise, as lines, JSON and CSV."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from exported import KEY, M, S, emission_after, lane_after, observation_after
from rich.console import Console

from sluice.streams.policy.policy import DEFAULT_POLICY
from sluice.topology.audit.what_if import Comparison, Decided, Row
from sluice.topology.audit.what_if_view import show
from sluice.topology.cli import main

STRICTER = "[admissibility]\nk = { internal = 3, external = 3 }\n"


@pytest.fixture
def what_if(tmp_path: Path):
    """`what_if(text, *flags)`: runs `sluice what-if` with that policy on an export."""
    evidence = [observation_after(S, name) for name in ("code.read", "git.log")]
    folder = lane_after((0, [emission_after()]), (2 * S, evidence), (11 * M, []), lanes=2).export(tmp_path / "export")

    def run(text: str, *flags: str) -> Result:
        file = tmp_path / "new.toml"
        file.write_text(text)
        return CliRunner().invoke(main, ["what-if", "--policy", str(file), "--offline", str(folder), *flags])

    return run


def test_changes_are_reported_in_lines(what_if):
    """How many of how many, by pairs of statuses, and each with both decisions; exit 0."""
    result = what_if(STRICTER)

    assert result.exit_code == 0
    assert "1 assertion, of which 1 would have been decided otherwise" in result.stdout
    assert f"em-1#{KEY}  admitted (2 of 2: code.read, git.log) -> below-floor (2 of 3: code.read, git.log)" in (
        result.stdout
    )


def test_the_same_policy_changes_nothing(what_if):
    """The reference policy is the ledger's."""
    found = json.loads(what_if("", "--json").stdout)

    assert (found["changed"], found["changes"], found["policies"]) == (0, [], [DEFAULT_POLICY.hash])
    assert found["policy"] == DEFAULT_POLICY.hash


def test_the_changes_can_be_had_as_csv(what_if, tmp_path: Path):
    """One line each, with a head."""
    file = tmp_path / "changes.csv"
    what_if(STRICTER, "--csv", str(file))

    head, line = file.read_text().splitlines()
    assert head.startswith("emission_id,attempt,span_key,arrived_at,old_status")
    assert line.startswith(f"em-1,0,{KEY},2026-11-21T09:00:00Z,admitted,,2,")


@pytest.mark.parametrize(("flags", "total"), [((), 1), (("--lane", "0"), 1), (("--since", "1m"), 0)])
def test_lanes_and_times_can_be_chosen(what_if, flags: tuple[str, ...], total: int):
    """All lanes and all times by default; a duration counts back from now."""
    lane = lane_after(lanes=2).lane
    flags = tuple(str(lane) if flag == "0" else flag for flag in flags)
    if flags == ("--since", "1m"):
        flags = ("--since", "2100-01-01T00:00:00Z")

    assert json.loads(what_if(STRICTER, "--json", *flags).stdout)["assertions"] == total


def test_a_bad_policy_is_reported_as_policy_check_tells_it(what_if):
    """Everything at once, by line; exit 2. What makes a policy unusable is an error as well."""
    wrong = what_if("[admissibility]\nhorizon = 5\n[privacy]\nids = 1\n")
    unusable = what_if('[admissibility]\nmax_validity = "1m"\n')

    assert (wrong.exit_code, unusable.exit_code) == (2, 2)
    assert "new.toml:2: admissibility.horizon: expected a duration" in wrong.stderr
    assert "new.toml:4: privacy.ids: unknown key" in wrong.stderr
    assert (
        "new.toml:2: admissibility.max_validity: is less than horizon, late_horizon and window together"
        in unusable.stderr
    )


def test_what_is_unwise_is_a_warning(what_if):
    """On standard error; the comparison goes on."""
    result = what_if("[admissibility]\nk = { internal = 1, external = 3 }\n")

    assert (result.exit_code, "warning: admissibility.k.internal" in result.stderr) == (0, True)


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--lane", "2"), "--lane: there is no such lane (expected 0 to 1, got 2)"),
        (("--since", "soon"), "--since: not a time"),
        (("--since", "2026-01-02T00:00:00Z", "--until", "2026-01-01T00:00:00Z"), "--until: is before --since"),
    ],
)
def test_wrong_usage_is_said_in_one_sentence(what_if, flags: tuple[str, ...], sentence: str):
    """Exit 2."""
    result = what_if(STRICTER, *flags)

    assert (result.exit_code, sentence in result.stderr) == (2, True)


@pytest.mark.parametrize("name", ["none/changes.csv", "."])
def test_a_csv_file_that_cannot_be_written_is_found_before_the_fold(
    what_if, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    """Exit 2, and which file; the ledger was not opened."""
    monkeypatch.setattr(
        "sluice.topology.engine.stored_topics.open_logs", lambda *_: pytest.fail("the ledger was opened")
    )

    result = what_if(STRICTER, "--csv", str(tmp_path / name))

    assert result.exit_code == 2
    assert f"{tmp_path / name}: cannot write the CSV file: " in result.stderr


def test_a_csv_file_that_may_not_be_written_is_found_as_well(what_if, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """By the rights of the file, or of the folder where there is none yet."""
    asked: list[str] = []
    monkeypatch.setattr("os.access", lambda path, _: asked.append(path))
    there = tmp_path / "there.csv"
    there.touch()

    for name in (there, tmp_path / "new.csv"):
        result = what_if(STRICTER, "--csv", str(name))
        assert (result.exit_code, "cannot write the CSV file: Permission denied" in result.stderr) == (2, True)
    assert asked == [str(there), str(tmp_path)]


def test_a_csv_file_that_is_there_stays_whole_until_there_is_another(what_if, tmp_path: Path):
    """A comparison that fails takes nothing away."""
    file = tmp_path / "changes.csv"
    file.write_text("before")

    assert what_if(STRICTER, "--csv", str(file), "--lane", "2").exit_code == 2
    assert file.read_text() == "before"


def test_a_narrow_terminal_gets_lines():
    """What would not fit is told as in a pipe: every span key whole, and the statuses too."""
    spans = [f"p:/{'a-long-name/' * 9}{place}" for place in (1, 2)]
    comparison = Comparison()
    for span in spans:
        comparison.changes.append(Row("em-1", 0, span, "2026-11-21T09:00:00Z", Decided("admitted"), Decided("pending")))
    for old in ("admitted", "below-floor", "unverified-inference"):
        for new in ("decayed-to-uncertainty", "unverified-inference", "contradicted"):
            comparison.counts[old, new] = 1
    console = Console(file=io.StringIO(), width=80)

    show(comparison, console)

    text = console.file.getvalue()
    assert all(f"em-1#{span}  admitted -> pending\n" in text for span in spans)
    assert "        1  below-floor -> decayed-to-uncertainty\n" in text
    assert "…" not in text


def test_a_terminal_gets_tables():
    """Old statuses down, new ones across, and what changed."""
    comparison = Comparison()
    comparison.changes.append(
        Row("em-[b]1", 0, KEY, "2026-11-21T09:00:00Z", Decided("admitted", None, 2), Decided("pending"))
    )
    comparison.counts["admitted", "pending"] = 1200
    console = Console(file=io.StringIO(), width=160)

    show(comparison, console)

    text = console.file.getvalue()
    assert "1,200" in text
    assert "em-[b]1" in text
    assert "re-emissions and reviews come as they came" in text
