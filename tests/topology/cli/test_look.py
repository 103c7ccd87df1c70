"""`sluice look` and `sluice observe` from the outside."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from sluice.topology.cli import main

TEXT = "notes.md has an entry dated 2026-05-25."


def emission(**fields: Any) -> str:
    given = {"emission_id": "em-1", "emitted_at": "2026-11-21T09:00:00Z", "text": f"{TEXT} [substrate.code.read]"}
    return json.dumps(given | fields)


def run(*arguments: str, lines: str = "") -> Result:
    return CliRunner().invoke(main, ["look", *arguments], input=lines)


def test_an_emission_goes_in_and_its_observations_come_out(tmp_path: Path):
    """One line in, one line out, keyed by the emission's id."""
    (tmp_path / "notes.md").write_text("## 2026-05-25\n")
    result = run("--root", str(tmp_path), "--observer", "watcher", lines=emission() + "\n")
    (line,) = result.stdout.splitlines()
    answer = json.loads(line)
    assert result.exit_code == 0
    assert answer["emission_id"] == "em-1"
    (observation,) = answer["observations"]
    assert (observation["outcome"], observation["observer"]) == ("corroborates", "watcher")
    assert observation["subject"] == {"emission_id": "em-1", "span": {"chars": [0, 39]}, "attempt": 0}
    assert observation["detail"] == {"found": ["2026-05-25"], "missing": []}


def test_an_emission_without_annotations_has_no_observations(tmp_path: Path):
    """It is answered with an empty list."""
    result = run("--root", str(tmp_path), lines=emission(text="It is so."))
    assert json.loads(result.stdout) == {"emission_id": "em-1", "observations": []}


def test_an_emission_without_its_time_is_looked_at_now(tmp_path: Path):
    """A missing `emitted_at` is the present time, as in `sluice produce`: the examples are written so."""
    result = run("--root", str(tmp_path), lines=json.dumps({"emission_id": "em-2", "text": "It is so."}))
    assert json.loads(result.stdout) == {"emission_id": "em-2", "observations": []}
    assert result.exit_code == 0


def test_a_bad_line_is_answered_and_the_run_goes_on(tmp_path: Path):
    """Its number and the reason come out, and the exit status is 1."""
    result = run("--root", str(tmp_path), lines=f"{{nonsense\n{emission()}\n")
    first, second = map(json.loads, result.stdout.splitlines())
    assert (first["line"], first["error"]["reason"]) == (1, "not-json")
    assert second["observations"][0]["outcome"] == "contradicts"
    assert result.exit_code == 1


def test_emissions_may_come_from_files(tmp_path: Path):
    """Files are named after the options."""
    (tmp_path / "emissions.jsonl").write_text(emission() + "\n")
    result = run("--root", str(tmp_path), str(tmp_path / "emissions.jsonl"))
    assert json.loads(result.stdout)["emission_id"] == "em-1"


def test_a_root_that_is_not_there_is_not_to_be_reached(tmp_path: Path):
    """Exit status 3 and one sentence; no observation is made up."""
    result = run("--root", str(tmp_path / "nowhere"), lines=emission())
    assert result.exit_code == 3
    assert result.stdout == ""
    assert "nowhere" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_observers_need_a_root_and_a_broker(tmp_path: Path):
    """Either missing is exit status 3 with one sentence."""
    for root in (tmp_path, tmp_path / "nowhere"):
        result = CliRunner().invoke(main, ["observe", "--root", str(root), "--broker", "kafka://127.0.0.1:1"])
        assert result.exit_code == 3
        assert result.stderr.splitlines()[-1].startswith("sluice: ")


def test_help_shows_an_example():
    """Each command says how it is called."""
    for command in ("look", "observe"):
        result = CliRunner().invoke(main, [command, "--help"])
        assert result.exit_code == 0
        assert f"sluice {command} --root" in result.stdout


def test_observe_takes_what_the_other_services_take():
    """The prefix of the topics and the severity of the log, which are settings."""
    for wrong in (["--topic-prefix", "a b"], ["--log-level", "loud"]):
        result = CliRunner().invoke(main, ["observe", *wrong])
        assert result.exit_code == 2
        assert wrong[1] in result.stderr


def test_substrates_beyond_the_root_are_looked_at_where_they_are_listed(tmp_path: Path):
    """The flag names the operator's list; what listens on a listed socket is observed."""
    path = str(tmp_path / "app.sock")
    (tmp_path / "list.toml").write_text(f"[peercred]\nsockets = [{json.dumps(path)}]\n")
    text = f"It runs as uid {os.geteuid()}. [substrate.unix.peercred; socket={path}]"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        result = run("--root", str(tmp_path), "--substrates", str(tmp_path / "list.toml"), lines=emission(text=text))
    (observation,) = json.loads(result.stdout)["observations"]
    assert (observation["outcome"], observation["tier"]) == ("corroborates", "identity-bound")
    assert observation["observation_id"].startswith("peercred:")


def test_a_wrong_list_is_wrong_usage(tmp_path: Path):
    """Exit status 2 and every error with its line, for both commands."""
    (tmp_path / "list.toml").write_text("[peercred]\nsockets = 3\n[mpc.x]\n")
    for command in ("look", "observe"):
        result = CliRunner().invoke(
            main, [command, "--root", str(tmp_path), "--substrates", str(tmp_path / "list.toml")], input=""
        )
        assert result.exit_code == 2
        assert "list.toml:2: peercred.sockets" in result.stderr
        assert "list.toml:3: mpc" in result.stderr
