"""`sluice look` and `sluice observe` from the outside."""

from __future__ import annotations

import io
import json
import os
import socket
from pathlib import Path
from typing import Any

import click
import pytest
from builders import text_value
from click.testing import CliRunner, Result

from sluice.topology.cli import look_command as by_hand_module
from sluice.topology.cli import main
from sluice.topology.kafka import connect
from sluice.topology.settings.settings import Settings

TEXT = "`notes.md` contains `2026-05-25`."


LATER = "2999-01-01T00:00:00Z"


def emission_line(**fields: Any) -> str:
    value = text_value(text=f"{TEXT} [substrate.code.read]", at="2026-11-21T09:00:00Z")
    return json.dumps(value | fields)


def run(*arguments: str, lines: str = "") -> Result:
    return CliRunner().invoke(main, ["look", *arguments], input=lines)


def test_an_emission_goes_in_and_its_observations_come_out(tmp_path: Path):
    """One line in, one line out, keyed by the emission's id."""
    (tmp_path / "notes.md").write_text("## 2026-05-25\n")
    result = run("--root", str(tmp_path), "--observer", "watcher", lines=emission_line() + "\n")
    (line,) = result.stdout.splitlines()
    answer = json.loads(line)
    assert result.exit_code == 0
    assert answer["emission_id"] == "em-1"
    (observation,) = answer["observations"]
    assert (observation["outcome"], observation["observer"]) == ("corroborates", "watcher")
    assert observation["subject"] == {"emission_id": "em-1", "span": {"chars": [0, 33]}, "attempt": 0}
    (check,) = observation["detail"]["checks"]
    assert (check["holds"], check["path"], check["lines"]) == (True, "notes.md", [1, 1])
    assert (observation["verified"], observation["coverage"]) == ([0], "whole")


def test_an_emission_without_annotations_has_no_observations(tmp_path: Path):
    """It is answered with an empty list."""
    result = run("--root", str(tmp_path), lines=emission_line(text="It is so."))
    assert json.loads(result.stdout) == {"emission_id": "em-1", "observations": []}


def test_an_emission_without_its_time_is_looked_at_now(tmp_path: Path):
    """A missing `emitted_at` is the present time, as in `sluice produce`: the examples are written so."""
    result = run("--root", str(tmp_path), lines=json.dumps(text_value("em-2", "It is so.")))
    assert json.loads(result.stdout) == {"emission_id": "em-2", "observations": []}
    assert result.exit_code == 0


def test_a_bad_line_is_answered_and_the_run_goes_on(tmp_path: Path):
    """Its number and the reason come out, and the exit status is 1."""
    (tmp_path / "other.md").write_text("x")
    text = "There is no `other.md`. [substrate.code.read; check=missing(other.md)]"
    result = run("--root", str(tmp_path), lines=f"{{nonsense\n{emission_line(text=text, emitted_at=LATER)}\n")
    first, second = map(json.loads, result.stdout.splitlines())
    assert (first["line"], first["error"]["reason"]) == (1, "not-json")
    assert second["observations"][0]["outcome"] == "contradicts"
    assert result.exit_code == 1


def test_emissions_may_come_from_files(tmp_path: Path):
    """Files are named after the options."""
    (tmp_path / "emissions.jsonl").write_text(emission_line() + "\n")
    result = run("--root", str(tmp_path), str(tmp_path / "emissions.jsonl"))
    assert json.loads(result.stdout)["emission_id"] == "em-1"


def test_a_root_that_is_not_there_is_not_to_be_reached(tmp_path: Path):
    """Exit status 3 and one sentence; no observation is made up."""
    result = run("--root", str(tmp_path / "nowhere"), lines=emission_line())
    assert result.exit_code == 3
    assert result.stdout == ""
    assert "nowhere" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_observers_need_a_root_and_a_broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Either missing is exit status 3 with one sentence."""
    monkeypatch.setattr(connect, "START_SECONDS", 0.6)
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
    uid = os.geteuid()
    text = f"The peer has the uid {uid}. [substrate.unix.peercred; socket={path}; check=peer(uid={uid})]"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        result = run(
            "--root", str(tmp_path), "--substrates", str(tmp_path / "list.toml"), lines=emission_line(text=text)
        )
    (observation,) = json.loads(result.stdout)["observations"]
    assert (observation["outcome"], observation["tier"]) == ("corroborates", "identity-bound")
    assert observation["observation_id"].startswith("peercred:")


def test_several_roots_are_named(tmp_path: Path):
    """In all commands alike; `repo` in a locator picks one."""
    for name in ("app", "lib"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "notes.md").write_text(f"{name}-notes\n")
    roots = ("--root", str(tmp_path / "app"), "--root", f"lib={tmp_path / 'lib'}")
    for repo, expected in (("", "app"), ("; repo=lib", "lib"), ("; repo=default", "app")):
        text = f"`notes.md` contains `{expected}-notes`. [substrate.code.read; path=notes.md{repo}]"
        (observation,) = json.loads(run(*roots, lines=emission_line(text=text)).stdout)["observations"]
        assert (observation["outcome"], observation["verified"]) == ("corroborates", [0])
        assert observation["looked_at"]["root"] == ("lib" if expected == "lib" else "default")
    for command in ("look", "observe", "demo"):
        twice = CliRunner().invoke(main, [command, "--root", str(tmp_path), "--root", str(tmp_path / "app")], input="")
        assert twice.exit_code == 2
        assert "two roots are without a name" in twice.stderr
    result = run("--root", f"x={tmp_path / 'nowhere'}", lines=emission_line())
    assert (result.exit_code, result.stdout) == (3, "")


def test_a_folder_with_an_equals_sign_in_its_name_is_a_folder(tmp_path: Path):
    """As it was before roots had names."""
    odd = tmp_path / "a=b"
    odd.mkdir()
    (odd / "notes.md").write_text("2026-05-25\n")
    (observation,) = json.loads(run("--root", str(odd), lines=emission_line()).stdout)["observations"]
    assert observation["looked_at"]["root"] == "default"


# ---------------------------------------------------------------- checks by hand


@pytest.fixture
def limits(tmp_path: Path) -> Path:
    """A folder with a file of settings."""
    (tmp_path / "a.ini").write_text("[x]\nlimit = 42\n")
    return tmp_path


def by_hand(root: Path, *arguments: str) -> tuple[int, list[dict[str, Any]], str]:
    result = run("--root", str(root), *arguments)
    return result.exit_code, [json.loads(line) for line in result.stdout.splitlines()], result.stderr


def test_a_check_is_tried_by_every_class_that_decides_it(limits: Path):
    """A line each: where it holds, and what it says, or why not; nothing is read from standard input."""
    status, lines, _ = by_hand(limits, "--check", "equals(x.limit, 42)", "--path", "a.ini")
    assert status == 0
    assert [line["class"] for line in lines] == ["substrate.code.read", "substrate.grep", "substrate.git.log"]
    assert lines[0] == {
        "check": "equals(x.limit, 42)",
        "class": "substrate.code.read",
        "place": "default",
        "holds": True,
        "path": "a.ini",
        "lines": [2, 2],
        "rendered": "`x.limit` in `a.ini` equals 42 (line 2).",
    }
    assert (lines[2]["holds"], lines[2]["reason"]) == (None, "the root is no git repository")


def test_a_check_that_does_not_hold_is_reported_by_the_exit_status(limits: Path):
    """One of several is enough; what is false is told with where."""
    arguments = ("--check", "exists(a.ini)", "--check", "equals(x.limit, 41, path=a.ini)", "--class", "code.read")
    status, lines, _ = by_hand(limits, *arguments)
    assert status == 1
    assert [(line["holds"], line.get("reason")) for line in lines] == [(True, None), (False, "differs")]
    assert lines[1]["lines"] == [2, 2]
    assert by_hand(limits, "--check", "equals(x.limit, 42)")[0] == 0  # grep finds the file
    assert by_hand(limits, "--check", "calls(f, g, path=a.ini)")[0] == 1


@pytest.mark.parametrize(
    ("check", "what"),
    [
        ("equals(x", "a bracket is not closed"),
        ("equals(x)", "equals needs value"),
        ("frobnicate(x)", "there is no check of that name"),
        ("not contains(x)", "contains has no `not`"),
        ("", "expected a name"),
        ("contains(" + "x" * 2000 + ")", "more than 2000 characters"),
    ],
)
def test_a_malformed_check_is_wrong_usage(limits: Path, check: str, what: str):
    """One clear sentence that names what is wrong, and no look."""
    status, lines, said = by_hand(limits, "--check", "exists(a.ini)", "--check", check)
    assert (status, lines) == (2, [])
    assert what in said
    assert len(said.splitlines()) == 1


def test_options_that_do_not_go_together_are_wrong_usage(limits: Path, tmp_path: Path):
    """Each is told with what to do."""
    (tmp_path / "e.jsonl").write_text("")
    for arguments in (("--path", "a.ini"), ("--class", "grep"), ("--json",), ("--check", "exists(a)", "--class", "web"),
                      ("--check", "exists(a)", str(tmp_path / "e.jsonl"))):  # fmt: skip
        assert run("--root", str(limits), *arguments).exit_code == 2, arguments


def test_classes_beyond_the_root_are_tried_where_they_are_listed(limits: Path):
    """Sockets and channels are; a tool is called with arguments that nobody gave."""
    path = str(limits / "app.sock")
    (limits / "list.toml").write_text(
        f"[peercred]\nsockets = [{json.dumps(path)}]\n[mcp.t]\ncommand = ['true']\ntools = ['x']\n"
    )
    uid = os.geteuid()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        listed = ("--substrates", str(limits / "list.toml"))
        status, lines, _ = by_hand(limits, *listed, "--check", f"peer(uid={uid})")
        assert (status, lines[0]["place"], lines[0]["holds"]) == (0, path, True)
        _, lines, _ = by_hand(limits, *listed, "--check", "contains(limit)", "--class", "mcp.brief")
        assert "locator names them" in lines[0]["reason"]
    status, lines, _ = by_hand(limits, "--check", "peer(uid=0)")
    assert (status, lines[0]["holds"], lines[0]["reason"]) == (1, None, "no class that may look decides it")


def test_on_a_terminal_it_is_a_list_for_people(limits: Path, monkeypatch: pytest.MonkeyPatch):
    """With what each class says; control characters in names do not act."""
    monkeypatch.setattr(by_hand_module.sys, "stdout", Terminal())
    by_hand_module.try_by_hand(
        Settings(root=str(limits)), None, ["equals(x.limit, 42)"], "a.ini", ["code.read"], as_json=False
    )
    shown = click.unstyle(by_hand_module.sys.stdout.getvalue())
    assert "equals(x.limit, 42)\n" in shown
    assert "code.read: holds. `x.limit` in `a.ini` equals 42 (line 2)." in shown


class Terminal(io.StringIO):
    """A standard output that people look at."""

    def isatty(self) -> bool:
        return True


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
