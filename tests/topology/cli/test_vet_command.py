"""`sluice vet` from the outside."""

from __future__ import annotations

import io
import json
import os
import re
import time
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from vetted_session import ANSWER, FALSE, TRUE, claude_session, git

from sluice.record import MemorySink
from sluice.record.proposing import Context, key_of
from sluice.streams.judging.check_texts import instructions
from sluice.topology.cli import main
from sluice.topology.vet.sources import is_answer

HOSTILE = "`limits.py` defines `retry`\x1b[2J\u202e, <script>alert(1)</script> and [bold]`MAX_RETRIES`[/bold]."


def told(result: Result) -> list[dict[str, Any]]:
    """The objects of `--json`, one a line."""
    return [json.loads(line) for line in result.stdout.splitlines()]


def run(*arguments: str, lines: str = "") -> Result:
    return CliRunner().invoke(main, ["vet", *arguments], input=lines)


def test_a_session_is_vetted(repo: Path, session: str):
    """Each statement of each turn with its verdict, what was checked, where, and what was missing."""
    result = run(session, "--root", str(repo))
    assert result.exit_code == 1, result.stderr
    assert f"contradicted: {FALSE}" in result.stdout
    assert f"admitted: {TRUE}" in result.stdout
    assert "checked: `MAX_RETRIES` in `limits.py` equals 5 (line 1)." in result.stdout
    assert "seen: limits.py, line 1 (code.read)" in result.stdout
    assert "missing: equals(MAX_RETRIES, 7, path=limits.py): something else stands there" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("4 statements: ")


def test_a_true_answer_ends_well(tmp_path: Path, repo: Path):
    """Exit status 0, and a line for each statement with --json: its record, and what vetting adds."""
    answer = tmp_path / "answer.md"
    answer.write_text(TRUE)
    result = run(str(answer), "--root", str(repo), "--json")
    (one,) = told(result)
    assert result.exit_code == 0
    assert one["@type"] == "sluice:AdmittedAssertion"
    assert one["file"] == str(answer)
    assert "turn" not in one
    assert (one["statement"], one["status"]) == (TRUE, "admitted")
    assert {place["path"] for place in one["seen"]} == {"limits.py"}


def test_a_document_holds_nothing_that_a_terminal_obeys(tmp_path: Path, repo: Path):
    """Controls and characters that turn a line round are escapes; what they say is what it was."""
    answer = tmp_path / "answer.md"
    said = "`MAX\u202e_RETRIES` is \x9b7 in `limits.py`, \\u0000 \u2066 as it says."
    answer.write_text(said)
    result = run(str(answer), "--root", str(repo), "--json")
    assert [one["statement"] for one in told(result)] == [said]
    assert result.stdout.replace("\n", "").isprintable()


def test_all_turns_are_vetted_or_the_last_one(repo: Path, session: str):
    """All by default; --all says so, --last wants the last one alone, and both together are wrong usage."""
    for arguments in ([], ["--all"]):
        found = told(run(session, "--root", str(repo), "--json", *arguments))
        assert [(one["turn"], one["statement"]) for one in found][:2] == [(1, TRUE), (2, TRUE)]
    last = told(run(session, "--root", str(repo), "--json", "--last"))
    assert [one["turn"] for one in last] == [2, 2, 2]
    assert run(session, "--last", "--all").exit_code == 2


FORMS = {
    "brackets": "The cap is {0}. [substrate.code.read; path=limits.py; check=equals(MAX_RETRIES,%20{0})]",
    "footnote": "The cap is {0}.[^1]\n\n[^1]: equals(MAX_RETRIES, {0}, path=limits.py)",
    "block": "The cap is {0}.\n\n```checks\n"
    '[{{"say": "The cap is {0}.", "checks": ["equals(MAX_RETRIES, {0}, path=limits.py)"]}}]\n```',
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("number", [5, 7])
def test_what_an_answer_annotates_is_vetted(tmp_path: Path, repo: Path, form: str, number: int):
    """In each form that models are taught: its checks are looked up, whatever the sentence itself names."""
    answer = tmp_path / "answer.md"
    answer.write_text(FORMS[form].format(number))
    result = run(str(answer), "--root", str(repo), "--json")
    (one,) = told(result)
    assert one["statement"] == f"The cap is {number}."
    if number == 7:
        assert (result.exit_code, one["status"]) == (1, "contradicted")
        return
    # the checks hold, and the sentence does not name what they are about
    assert (result.exit_code, one["status"], one["reason"]) == (0, "below-floor", "partly-checked")


def test_what_the_instructions_show_is_admitted(tmp_path: Path, repo: Path):
    """From `sluice prompt` to a verdict."""
    (repo / "src").mkdir()
    git(repo, "mv", "limits.py", "src/limits.py")
    git(repo, "commit", "-q", "-m", "move")
    for form in ("block", "inline"):
        answer = tmp_path / "answer.md"
        answer.write_text(instructions(form).rpartition("Form")[2].partition("\n")[2])
        first = told(run(str(answer), "--root", str(repo), "--json"))[0]
        assert (first["status"], first["coverage"]) == ("admitted", "whole")
        assert first["rendered"] == ["`MAX_RETRIES` in `src/limits.py` equals 5 (line 1)."]


def test_annotations_that_are_not_read_are_told(tmp_path: Path, repo: Path):
    """One sentence each on standard error; the statements are vetted all the same. Another one's annotations count for
    nothing."""
    answer = tmp_path / "answer.md"
    answer.write_text(f"{TRUE}\n\n> The cap is 7.[^1]\n\n[^1]: equals(MAX_RETRIES, 7)\n\n```checks\n[NaN]\n```\n")
    result = run(str(answer), "--root", str(repo), "--json")
    assert [(one["statement"], one["status"]) for one in told(result)] == [(TRUE, "admitted")]
    assert "the footnote 1, which is a check; it is left out" in result.stderr
    assert "A block of checks is no JSON" in result.stderr


def test_several_files_are_vetted_in_their_order(tmp_path: Path, repo: Path, session: str):
    """Transcripts and answers; each statement says which file it stands in, and in which turn."""
    answer = tmp_path / "answer.md"
    answer.write_text(FALSE)
    result = run(str(answer), session, str(answer), "--root", str(repo), "--json")
    places = [(Path(one["file"]).name, one.get("turn")) for one in told(result)]
    assert places == [("answer.md", None), *[("session.jsonl", 1)], *[("session.jsonl", 2)] * 3, ("answer.md", None)]
    lines = run(str(answer), session, "--root", str(repo)).stdout.splitlines()
    headings = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert headings == [f"{answer}:", f"turn 1, {session}:", f"turn 2, {session}:"]


def test_the_summary_of_json_lines_goes_to_standard_error(repo: Path, session: str):
    """Standard output has nothing but objects."""
    result = run(session, "--root", str(repo), "--json")
    assert all("status" in one for one in told(result))
    assert result.stderr.splitlines()[-1].startswith("sluice: 4 statements: ")


def test_one_file_that_cannot_be_read_leaves_the_others_unvetted(tmp_path: Path, repo: Path, session: str):
    """It is told before anything is vetted: nobody takes a part for the whole."""
    result = run(session, str(tmp_path / "missing.jsonl"), "--root", str(repo))
    assert (result.exit_code, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) == 1


def test_a_policy_decides(tmp_path: Path, repo: Path, session: str):
    """Where one kind of evidence is enough, the true statement is admitted."""
    policy = tmp_path / "policy.toml"
    policy.write_text("[admissibility]\nk = { internal = 1, external = 1 }\n")
    statements = told(run(session, "--root", str(repo), "--policy", str(policy), "--json", "--last"))
    assert [one["status"] for one in statements] == ["admitted", "contradicted", "unannotated"]


def test_a_policy_that_hashes_ids_and_wants_signatures_has_the_settings_keys(
    tmp_path: Path, repo: Path, session: str, monkeypatch: pytest.MonkeyPatch
):
    """Nothing of an observation's id is shown in clear."""
    policy = tmp_path / "policy.toml"
    policy.write_text('[admissibility]\nk = { internal = 1, external = 1 }\n[privacy]\nobservation_ids = "hashed"\n')
    monkeypatch.setenv("SLUICE_PRIVACY_SECRET", "0123456789abcdef")
    statements = told(run(session, "--root", str(repo), "--policy", str(policy), "--json", "--last"))
    (evidence,) = statements[0]["evidence"]
    assert statements[0]["status"] == "admitted"
    assert not evidence["observation_id"].startswith("sha256:")


def test_the_newest_session_of_this_directory_is_found(
    tmp_path: Path, repo: Path, session: str, monkeypatch: pytest.MonkeyPatch
):
    """Also from a folder below the checkout."""
    home = tmp_path / "claude"
    folder = home / "projects" / "".join(one if one.isalnum() and one.isascii() else "-" for one in str(repo))
    folder.mkdir(parents=True)
    (folder / "s-1.jsonl").write_text(Path(session).read_text())
    below = repo / "below"
    below.mkdir()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    for where in (repo, below):
        monkeypatch.chdir(where)
        result = run()
        assert result.exit_code == 1
        assert FALSE in result.stdout


def test_where_there_is_no_session_one_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Wrong usage."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.delenv("CODEX_HOME", raising=False)
    result = run()
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert "no session of Claude Code or Codex was found for this directory" in result.stderr


def test_hostile_text_acts_on_nothing(tmp_path: Path, repo: Path):
    """Neither on a terminal nor in a browser."""
    answer, page = tmp_path / "answer.md", tmp_path / "page.html"
    answer.write_text(HOSTILE)
    result = run(str(answer), "--root", str(repo), "--html", str(page))
    assert "\\u001b" in result.stdout
    assert "\x1b" not in result.stdout
    assert "\u202e" not in result.stdout
    shown = page.read_text()
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown
    assert "\u202e" not in shown


def test_a_page_needs_nothing_else(repo: Path, session: str, tmp_path: Path):
    """No script, no address, and every statement."""
    page = tmp_path / "page.html"
    run(session, "--root", str(repo), "--html", str(page))
    shown = page.read_text()
    assert "equals(MAX_RETRIES, 7" in shown
    assert [word for word in ("<script", "http:", "https:", "src=", "href=") if word in shown] == []


def test_emissions_go_to_a_broker_instead(repo: Path, session: str, monkeypatch: pytest.MonkeyPatch):
    """The same ones, and nothing is looked at."""
    sent: list[MemorySink] = []

    class Sink(MemorySink):
        def __init__(self, bootstrap: str) -> None:
            super().__init__()
            self.bootstrap = bootstrap
            sent.append(self)

    monkeypatch.setattr("sluice.record.KafkaSink", Sink)
    result = run(session, "--root", str(repo), "--broker", "kafka://127.0.0.1:9092")
    assert (result.exit_code, result.stdout) == (0, "")
    assert [json.loads(one.value)["text"] for one in sent[0].records] == [TRUE, ANSWER]


@pytest.mark.parametrize("arguments", [["missing.md"], ["missing.jsonl"], ["--root", "nowhere=", "x.md"]])
def test_what_cannot_be_read_is_reported_in_one_sentence(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Exit status 2."""
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1


def test_an_answer_that_states_nothing_is_said_to(tmp_path: Path, repo: Path):
    """Exit status 0."""
    answer = tmp_path / "answer.md"
    answer.write_text("Shall I go on?")
    result = run(str(answer), "--root", str(repo))
    assert (result.exit_code, result.stdout) == (0, f"No statement that can be checked was found.{os.linesep}")


def test_standard_input_is_read(repo: Path):
    """As a transcript, or as Markdown where that is said."""
    assert run("-", "--root", str(repo), lines=claude_session(repo, FALSE)).exit_code == 1
    assert run("-", "--format", "markdown", "--root", str(repo), lines=FALSE).exit_code == 1


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        (TRUE, True),
        (f"\ufeff\n  {TRUE}", True),
        (f"- {TRUE}", True),
        ('{"type": "user"}', False),
        ('\ufeff[{"source": "user"}]', False),
        ("", False),
        ("\0\0", False),
    ],
)
def test_standard_input_is_an_answer_where_no_transcript_begins_so(
    given: str, answer: bool, monkeypatch: pytest.MonkeyPatch
):
    """cli.md: files or standard input. Nothing is taken from it to tell."""
    piped = io.TextIOWrapper(io.BufferedReader(io.BytesIO(given.encode())))  # pyright: ignore[reportArgumentType]
    monkeypatch.setattr("sys.stdin", piped)
    assert is_answer("-") is answer
    assert piped.buffer.read() == given.encode()


def test_a_binary_answer_is_told_in_one_sentence(tmp_path: Path, repo: Path):
    """And one that holds some bytes of another encoding is read."""
    path = tmp_path / "answer.md"
    path.write_bytes(bytes(range(256)))
    result = run(str(path), "--root", str(repo))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "the answer is binary (expected Markdown in UTF-8)" in result.stderr
    path.write_bytes(f"Caf\u00e9. {TRUE}".encode("latin-1"))
    assert [one["status"] for one in told(run(str(path), "--root", str(repo), "--json"))] == ["admitted"]


def test_several_roots_are_looked_at_by_name(tmp_path: Path, repo: Path):
    """The first one is the agent's where none is the default; a statement that means no root by name is not decided."""
    answer, other = tmp_path / "answer.md", tmp_path / "other"
    other.mkdir()
    answer.write_text(TRUE)
    named = told(run(str(answer), "--root", f"a={repo}", "--root", f"b={other}", "--json"))
    default = told(run(str(answer), "--root", str(repo), "--root", f"b={other}", "--json"))
    assert [one["status"] for one in named] == ["unverified-inference"]
    assert named[0]["missing"][0]["reason"] == "which-repository"
    assert [one["status"] for one in default] == ["admitted"]


@pytest.mark.parametrize("name", ["answer.txt", "answer"])
def test_a_file_whose_name_tells_nothing_is_read_by_its_content(name: str, tmp_path: Path, repo: Path):
    """As a transcript where it is one, else as an answer."""
    path = tmp_path / name
    path.write_text(FALSE)
    assert run(str(path), "--root", str(repo)).stdout.count("contradicted: ") == 1
    path.write_text(claude_session(repo, FALSE))
    result = run(str(path), "--root", str(repo), "--json")
    assert told(result)[0]["emission_id"].endswith(":u0")


def test_a_table_escapes_what_a_terminal_would_obey(tmp_path: Path, repo: Path):
    """And takes square brackets for square brackets."""
    from rich.console import Console

    from sluice.topology.vet.vetted_assertions import Verdict, print_table

    out = StringIO()
    verdict = Verdict("em", None, HOSTILE, "contradicted", "", ["[red]x\x1b[0m"], [], [], None)
    print_table([verdict], Console(file=out, width=200))
    shown = out.getvalue()
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "[bold]`MAX_RETRIES`[/bold]" in shown
    assert "[red]x" in shown


class Terminal(StringIO):
    """Standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_bar_counts_bytes_from_the_beginning(monkeypatch: pytest.MonkeyPatch):
    """It is there while the file is read, on a terminal alone, and leaves nothing behind."""
    from sluice.topology.cli import vet_commands

    monkeypatch.setattr(vet_commands, "BAR_AFTER", 0.0)
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with vet_commands._progress(100) as read:
        read(50)
        for _ in range(1_000):
            if "50%" in terminal.getvalue():
                break
            time.sleep(0.02)
    assert "vetting" in terminal.getvalue()
    assert "50%" in terminal.getvalue()


@pytest.mark.parametrize(
    ("total", "told"), [(100, r"sluice: vetting for \d+ s, 50% read\n"), (None, r"sluice: vetting for \d+ s\n")]
)
def test_long_work_without_a_terminal_is_told_in_lines(total: int | None, told: str, monkeypatch: pytest.MonkeyPatch):
    """Every few seconds one; none where it takes less."""
    from sluice.topology.cli import vet_commands

    plain = StringIO()
    monkeypatch.setattr("sys.stderr", plain)
    with vet_commands._progress(total) as read:
        read(50)
    assert plain.getvalue() == ""
    monkeypatch.setattr(vet_commands, "TELL_SECONDS", 0.01)
    with vet_commands._progress(total) as read:
        read(50)
        for _ in range(1_000):
            if plain.getvalue().count("\n") > 1:
                break
            time.sleep(0.02)
    lines = plain.getvalue().splitlines(keepends=True)
    assert len(lines) > 1
    assert all(re.fullmatch(told, line) for line in lines[1:])


def test_a_transcript_of_which_nothing_is_read_is_an_error(tmp_path: Path, repo: Path):
    """Exit status 2, and one sentence: a file that could not be read is no file without a fault."""
    transcript = tmp_path / "session.jsonl"
    transcript.write_text('{"kind": "of tomorrow"}\n{"kind": "of tomorrow"}\n')
    result = run(str(transcript), "--format", "claude-code", "--root", str(repo))
    assert result.exit_code == 2
    assert "None of the 2 lines here has a known form" in result.stderr


IDLE = "`retry` gives `MAX_RETRIES` back to its caller, in `limits.py`."


@pytest.mark.parametrize(
    ("proposal", "status", "reason"),
    [
        # The sentence says nothing of 7, so that this check is false does not count against it.
        (
            {"by": "reader", "checks": ["equals(MAX_RETRIES, 7, path=limits.py)"]},
            "unverified-inference",
            "no-corroboration",
        ),
        ({"by": "reader", "checks": ["uses(retry, MAX_RETRIES, path=limits.py)"]}, "below-floor", "partly-checked"),
        ({"by": "form", "checks": ["equals(MAX_RETRIES, 7)"]}, "unverified-inference", "not-checked"),
        (None, "unverified-inference", "not-checked"),
    ],
)
def test_a_proposer_says_which_checks_a_statement_has(
    tmp_path: Path, repo: Path, proposal: dict[str, Any] | None, status: str, reason: str
):
    """Its checks are looked at; a statement that a form covers does not go to it; and the number is told before."""
    answer, kept = tmp_path / "answer.md", tmp_path / "kept.jsonl"
    answer.write_text(f"{TRUE} {IDLE}\n")
    key = key_of(IDLE, Context((TRUE,)))
    kept.write_text(json.dumps({"key": key, "proposal": proposal}) + "\n{\n")
    result = run(str(answer), "--root", str(repo), "--json", "--proposer", f"file:{kept}")
    first, second = told(result)
    assert [one["status"] for one in (first, second)] == ["admitted", status]
    assert second["reason"] == reason
    lost = 1 if proposal and proposal["by"] == "reader" else 2
    assert result.stderr.splitlines()[:2] == [
        f"sluice: 1 statement goes to the proposer file:{kept}",
        f"sluice: {lost} of the 2 lines of {kept} are no proposals.",
    ]


@pytest.mark.parametrize(
    ("whole", "status", "by"), [(True, "admitted", "reader"), (False, "below-floor", None), (None, "below-floor", None)]
)
def test_whole_counts_by_the_key_of_the_run(
    tmp_path: Path, repo: Path, whole: bool | None, status: str, by: str | None
):
    """A statement that no form covers is admitted where the proposer says that its checks are all of it."""
    said = "And `MAX_RETRIES` is 5 in `limits.py`."
    answer, kept = tmp_path / "answer.md", tmp_path / "kept.jsonl"
    answer.write_text(said)
    proposal = {"by": "reader", "checks": ["equals(MAX_RETRIES, 5, path=limits.py)"], "whole": bool(whole)}
    if whole is None:  # a signature of another run is not read
        proposal |= {"signature": "AAAA", "digest": "sha256:" + 64 * "0"}
    kept.write_text(json.dumps({"key": key_of(said, Context()), "proposal": proposal}))
    (one,) = told(run(str(answer), "--root", str(repo), "--json", "--proposer", f"file:{kept}"))
    assert (one["status"], one.get("coverage_by")) == (status, by)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--proposer", "oracle"], "there is no proposer oracle"),
        (["--proposer", "file:none.jsonl"], "the proposals in none.jsonl cannot be read"),
        (["--proposer", "form", "--broker", "kafka://x:9092"], "--broker judges nothing"),
    ],
)
def test_a_proposer_that_cannot_be_asked_is_wrong_usage(
    tmp_path: Path, repo: Path, arguments: list[str], sentence: str
):
    answer = tmp_path / "answer.md"
    answer.write_text(TRUE)
    result = run(str(answer), "--root", str(repo), *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr


def test_forms_as_proposer_change_nothing(tmp_path: Path, repo: Path):
    """They are what observers read themselves."""
    answer = tmp_path / "answer.md"
    answer.write_text(f"{TRUE} {FALSE} {IDLE}")
    plain, asked = (
        told(run(str(answer), "--root", str(repo), "--json", *more)) for more in ([], ["--proposer", "form"])
    )
    assert [one["status"] for one in asked] == [one["status"] for one in plain]
    assert (
        [one.get("coverage_by") for one in asked] == [one.get("coverage_by") for one in plain] == ["form", None, None]
    )


def test_an_empty_answer_is_not_vetted(tmp_path: Path, repo: Path):
    """Exit status 2, as of a session of which nothing is read."""
    answer = tmp_path / "answer.md"
    answer.write_text(" \n")
    result = run(str(answer), "--root", str(repo))
    assert (result.exit_code, result.stderr) == (2, f"sluice: {answer}:1: The answer is empty.\n")


def test_where_nothing_could_be_looked_at_the_status_says_so(tmp_path: Path, repo: Path):
    """Exit status 2, and one sentence about why: the repository leads elsewhere."""
    (repo / ".git").rename(tmp_path / "moved")
    (repo / ".git").write_text(f"gitdir: {tmp_path}/moved\n")
    answer = tmp_path / "answer.md"
    answer.write_text(FALSE)
    result = run(str(answer), "--root", str(repo))
    assert result.exit_code == 2
    assert "1 of 1 could not be looked at, and is neither true nor false: the repository leads out" in result.stdout


def test_commits_are_advised_only_where_something_is_not_committed(tmp_path: Path, repo: Path):
    """A checkout without changes is told nothing of them."""
    answer = tmp_path / "answer.md"
    answer.write_text("`new.py` exists.")
    (repo / "new.py").write_text("x = 1\n")
    git(repo, "add", "new.py")
    assert "commit them" in run(str(answer), "--root", str(repo)).stdout
    git(repo, "commit", "-q", "-m", "new")
    assert "commit them" not in run(str(answer), "--root", str(repo)).stdout
