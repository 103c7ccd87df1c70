"""`sluice audit` on an export: exit status, text, JSON, the page."""

from __future__ import annotations

import base64
import json
import os
import re
import socket
from collections import Counter
from contextlib import chdir
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from audited_lanes import KEY, SIGNER, World
from click.testing import CliRunner, Result
from commands import Done, run_each

from sluice.codecs.errors import UsageError
from sluice.topology.audit.divergences import Divergence
from sluice.topology.audit.report import AuditVerdict, Report
from sluice.topology.audit.report_page import page
from sluice.topology.cli import main

ORIGINAL = World()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An export of a world that holds."""
    return ORIGINAL.save(tmp_path / "export")


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """An export of which one output is another."""
    world = ORIGINAL.copy()
    record = world.topics["admitted", 1][3]
    world.replace("admitted", 1, 3, value=(record.value or b"") + b" ", key=b"<script>\x1b[2J\xe2\x80\xae</script>")
    return world.save(tmp_path / "broken")


def run(*arguments: str) -> Result:
    """The command's result."""
    return CliRunner().invoke(main, ["audit", *arguments])


def test_what_holds_exits_with_0(folder: Path):
    """Both verdicts stand first, then a line for each lane."""
    result = run("--offline", str(folder), "--key", KEY)

    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[1:3] == ["integrity: holds", next(line for line in lines if line.startswith("completeness: shown"))]
    assert [line.split(":")[0] for line in lines[3:6]] == ["lane 0", "lane 1", "lane 2"]


@pytest.fixture
def policy_file(tmp_path: Path) -> Path:
    """A policy that lists the world's signer, whose key was revoked long after all of it."""
    file, public = tmp_path / "policy.toml", base64.b64encode(SIGNER.verifier.public_key).decode()
    key = f'{{ public_key = "{public}", revoked = "2099-01-01T00:00:00Z" }}'
    file.write_text(f'[checkpoints.keys]\n"{SIGNER.name}" = [{key}]\n', "utf-8")
    return file


def test_the_keys_of_a_policys_file_are_believed(folder: Path, policy_file: Path):
    """The report names them, and which of them were revoked."""
    result = run("--offline", str(folder), "--policy", str(policy_file), "--json")

    report = json.loads(result.stdout)
    assert (result.exit_code, report["verdict"]["completeness"]) == (0, "shown")
    assert report["keys"] == [f"{KEY} (revoked at 2099-01-01T00:00:00Z)"]


def test_a_policy_without_keys_for_checkpoints_is_refused(folder: Path, tmp_path: Path):
    """An audit that believed nobody, although keys were asked for, would look like one that was not asked."""
    empty = tmp_path / "empty.toml"
    empty.write_text("", "utf-8")
    result = run("--offline", str(folder), "--policy", str(empty))

    assert result.exit_code == 2
    assert "the policy lists no key for checkpoints" in f"{result.exception} {result.output}"


@pytest.mark.parametrize("name", ["manifest.json", "ledger-1.records", "admitted-0.records", "checkpoints-2.records"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "socket", "link to a pipe"])
def test_what_is_no_regular_file_of_an_export_is_refused(folder: Path, tmp_path: Path, name: str, kind: str):
    """In one sentence that names it, before anything is read: a named pipe would keep an audit waiting for ever."""
    place = folder / name
    place.unlink()
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    elif kind == "device":
        place.symlink_to("/dev/zero")
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as made, chdir(folder):
            made.bind(name)
    else:
        os.mkfifo(tmp_path / "pipe")
        place.symlink_to(tmp_path / "pipe")
    result = run("--offline", str(folder), "--key", KEY)

    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit | UsageError)
    said = result.output + str(result.exception)
    assert f"{name} is no regular file" in said
    assert result.stdout == ""


def test_a_divergence_exits_with_1(broken: Path):
    """It is named, and nothing that it quotes acts on a terminal."""
    result = run("--offline", str(broken), "--key", KEY)

    assert result.exit_code == 1
    assert "changed-output: lane 1" in result.stdout
    assert "\x1b" not in result.stdout
    assert "\u202e" not in result.stdout


def test_json_is_one_document(broken: Path):
    """With the verdicts, the lanes and the divergences."""
    result = run("--offline", str(broken), "--json")

    report = json.loads(result.stdout)
    assert result.exit_code == 1
    assert report["verdict"]["integrity"] == "broken"
    assert report["verdict"]["completeness"] == "not-shown"
    assert [one["kind"] for one in report["divergences"]] == ["changed-output"]
    assert [lane["blocks"] for lane in report["lanes"]] == [12, 12, 12]


def test_lanes_and_times_can_be_named(broken: Path):
    """What is wrong elsewhere is not told."""
    assert run("--offline", str(broken), "--lane", "0", "--lane", "2").exit_code == 0
    assert run("--offline", str(broken), "--since", "2026-09-22T00:00:00Z").exit_code == 0


MISUSE: list[tuple[list[str], str]] = [
    (["--offline", "{}", "--lane", "3"], "no such lane"),
    (["--offline", "{}/none"], "no export"),
    (["--offline", "{}", "--since", "yesterday"], "not a time"),
    (["--offline", "{}", "--key", "nonsense"], "not a verifier"),
    (["--offline", "{}", "--export", "{}"], "--offline"),
    (["--offline", "{}", "--html", "{}"], "cannot write"),
    (["--offline", "{}", "--html", "{}/none/report.html"], "cannot write"),
    (["--offline", "{}", "--key", "{}/none.pub"], "--key"),
    (["--offline", "{}", "--lane", "9", "--lane", "1"], "got 9"),
    (["--offline", "{}", "--since", "2026-09-22T00:00:00Z", "--until", "2026-09-21T00:00:00Z"], "--since"),
]


@pytest.fixture(scope="module")
def misused(tmp_path_factory: pytest.TempPathFactory) -> list[Done]:
    """What each misuse ends with, all in one interpreter."""
    here = tmp_path_factory.mktemp("misused")
    folder = ORIGINAL.save(here / "export")
    return run_each((["audit", *(one.format(folder) for one in given)] for given, _ in MISUSE), here)


@pytest.mark.parametrize(("number", "said"), [(number, said) for number, (_, said) in enumerate(MISUSE)])
def test_wrong_usage_exits_with_2(misused: list[Done], number: int, said: str):
    """In one sentence."""
    done = misused[number]

    assert done.status == 2, done.stderr
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("processes", ["1", "2"])
def test_what_was_start_up_is_reported_beside_the_whole_time(folder: Path, processes: str):
    """Until the first ledger is read: of the whole, and something."""
    report = json.loads(run("--offline", str(folder), "--json", "--processes", processes).stdout)
    assert 0 < report["start_seconds"] < report["seconds"]


def test_a_page_that_cannot_be_written_is_reported_before_anything_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    """Hours of folding must not end in that; and a trial leaves no file behind."""
    asked: list[object] = []
    monkeypatch.setattr("sluice.topology.audit.run.audit", lambda *arguments, **_: asked.append(arguments))

    result = run("--offline", str(folder), "--html", str(folder / "none" / "report.html"))
    run("--offline", str(folder), "--html", str(folder / "report.html"))

    assert isinstance(result.exception, UsageError) or result.exit_code == 2
    assert len(asked) == 1  # by the second
    assert not (folder / "report.html").exists()


def test_ctrl_c_is_one_word_and_130(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """As shells know it."""

    async def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sluice.topology.audit.run.audit", interrupted)

    result = run("--offline", str(folder))

    assert (result.exit_code, result.stderr) == (130, "sluice: interrupted\n")


def test_a_key_may_be_a_file(folder: Path, tmp_path: Path):
    """As for `sluice verify`."""
    (tmp_path / "sluice.pub").write_text(KEY + "\n")

    result = run("--offline", str(folder), "--key", str(tmp_path / "sluice.pub"))

    assert "completeness: shown: by signed checkpoints the end is shown up to" in result.stdout


def test_the_report_says_what_was_not_asked_about(broken: Path):
    """Other lanes, and divergences at other times; one divergence is not several."""
    result = run("--offline", str(broken), "--lane", "0", "--lane", "2", "--since", "2026-09-22T00:00:00Z")
    whole = run("--offline", str(broken))

    assert "of 3 lanes only these were audited: 0, 2" in result.stdout
    assert "only divergences in blocks from 2026-09-22T00:00:00Z to the end are told" in result.stdout
    assert "only" not in whole.stdout
    assert "\n1 divergence:\n" in whole.stdout


def test_a_lane_without_anything_says_so(tmp_path: Path):
    """Its line does not end in a colon."""
    world = ORIGINAL.copy()
    for lane in range(3):
        for topic, other in list(world.topics):
            if other == lane and (lane == 1 or topic == "checkpoints"):
                world.topics[topic, lane].clear()

    assert "lane 1: nothing is there" in run("--offline", str(world.save(tmp_path))).stdout.splitlines()


class Elements(HTMLParser):
    """What a page holds: elements that are closed again, attributes, text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_is_whole_and_needs_nothing(broken: Path, tmp_path: Path):
    """No script, nothing from elsewhere; what strangers wrote is text."""
    result = run("--offline", str(broken), "--key", KEY, "--html", str(tmp_path / "report.html"))
    text = (tmp_path / "report.html").read_text("utf-8")
    parser = Elements()
    parser.feed(text)

    assert result.exit_code == 1
    assert parser.open == []
    assert not {"script", "link", "img", "iframe", "object"} & set(parser.names)
    assert not [value for name, value in parser.attributes if name in ("src", "href", "onclick", "onload")]
    assert not re.search(r"url\(|@import|https?://", text)
    assert parser.names.count("svg") == 3
    assert "<script>" in parser.text  # as text
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "changed-output" in parser.text


def test_the_page_follows_light_and_dark(folder: Path, tmp_path: Path):
    """By the reader's setting alone."""
    run("--offline", str(folder), "--html", str(tmp_path / "report.html"))
    text = (tmp_path / "report.html").read_text("utf-8")

    assert "color-scheme: light dark" in text
    assert "prefers-color-scheme: dark" in text
    assert "<p>None.</p>" in text


def test_everything_on_the_page_is_escaped(folder: Path):
    """Wherever it comes from."""
    nasty: Any = "<b onload='x'>&\"\u202e\x1b"
    verdict = AuditVerdict(integrity="broken", completeness="broken", shown_until=None, why=nasty)
    found = Divergence(kind="policy", lane=0, place=nasty, expected=nasty, got=nasty, sentence=nasty)
    report = Report(
        where=nasty,
        app_id=nasty,
        ledger=nasty,
        at=nasty,
        keys=[nasty],
        since=nasty,
        until=nasty,
        verdict=verdict,
        lanes=[],
        divergences=[found],
    )

    text = page(report)

    assert "<b" not in text.replace("<body>", "")
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "onload=&#x27;" in text


def test_the_page_counts_verdicts_by_status(folder: Path, tmp_path: Path):
    """As many as there are records that say so in the blocks that were folded, those that compaction took included."""
    result = run("--offline", str(folder), "--json", "--html", str(tmp_path / "report.html"))
    lanes = json.loads(result.stdout)["lanes"]
    text = (tmp_path / "report.html").read_text("utf-8")
    section = text.partition("<h2>Verdicts</h2>")[2].partition("<h2>")[0]
    shown = {status: int(count) for status, count in re.findall(r'row">([a-z-]+)</th><td class="n">(\d+)', section)}
    counted = Counter[str]()
    for lane in lanes:
        counted.update(lane["verdicts"])
    expected = sum(lane["topics"][topic]["expected"] for lane in lanes for topic in ("admitted", "inadmissible"))

    assert counted["admitted"] > 0
    assert shown == {**counted, "all": expected}
    discarded = sum(lane["counters"].get("discarded", 0) for lane in lanes)
    assert f"{discarded} more were discarded" in section
