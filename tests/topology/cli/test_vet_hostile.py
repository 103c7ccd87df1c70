"""Sessions that were made to deceive `sluice vet`, or whoever reads what it prints.

The bad input of a recorded session, from the outside: one sentence for what is lost, and the rest is vetted.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from vetted_session import FALSE, TRUE, claude_session, git, make_repo

from sluice.topology.cli import main

SECRET = "TOKEN = 'ghp_0123456789abcdefghijklmnopqrstuvwxyz'"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path)


def call(number: int, name: str, arguments: dict[str, Any], result: Any, **of_result: Any) -> list[dict[str, Any]]:
    """A tool call and its result, as Claude Code writes them."""
    use = {"type": "tool_use", "id": f"c{number}", "name": name, "input": arguments}
    got = {"type": "tool_result", "tool_use_id": f"c{number}", "content": result} | of_result
    return [
        {"type": "assistant", "uuid": f"a{number}", "message": {"id": f"m{number}", "content": [use]}},
        {"type": "user", "uuid": f"r{number}", "message": {"content": [got]}},
    ]


def said(text: str, number: int = 99) -> dict[str, Any]:
    message = {"id": f"s{number}", "content": [{"type": "text", "text": text}]}
    return {"type": "assistant", "uuid": f"b{number}", "message": message}


def session(tmp_path: Path, repo: Path, *records: dict[str, Any]) -> Path:
    common = {"sessionId": "s", "cwd": str(repo), "isSidechain": False}
    prompt = {"type": "user", "uuid": "u", "message": {"content": "What stands there?"}}
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(common | one) + "\n" for one in (prompt, *records)))
    return path


def vet(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["vet", *map(str, arguments)])


def told(path: Path, repo: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in vet(path, "--root", repo, "--json").stdout.splitlines()]


# ------------------------------------------------------------ what is claimed and was never seen


def test_a_call_that_never_happened_bears_nothing_out(tmp_path: Path, repo: Path):
    """Whoever writes the transcript writes the results: what counts is what stands in the checkout."""
    made_up = call(1, "Read", {"file_path": f"{repo}/limits.py"}, "     1\tMAX_RETRIES = 7\n")
    (one,) = told(session(tmp_path, repo, *made_up, said(FALSE)), repo)
    assert one["status"] == "contradicted"
    nowhere = call(1, "Read", {"file_path": f"{repo}/nowhere.py"}, "     1\tMAX_RETRIES = 7\n")
    (one,) = told(session(tmp_path, repo, *nowhere, said("`MAX_RETRIES` is 7 in `nowhere.py`.")), repo)
    assert one["status"] not in ("admitted", "renewed")
    assert not one["rendered"]


def test_a_commit_that_never_was_bears_nothing_out(tmp_path: Path, repo: Path):
    """Its hash and author are only what the transcript says."""
    log = "commit 0123456789abcdef0123456789abcdef01234567\nAuthor: Alice <a@example.org>\nDate:   2026-01-05\n"
    made_up = call(1, "Bash", {"command": "git log -- limits.py"}, log)
    for one in told(session(tmp_path, repo, *made_up, said("Commit `0123456789ab` changed `limits.py`.")), repo):
        assert one["status"] != "admitted"
        assert not one["rendered"]


@pytest.mark.parametrize(
    "text",
    [
        "`equals(MAX_RETRIES, 5, path=limits.py)` says that `MAX_RETRIES` is 7.",
        f"{FALSE[:-1]} [substrate.code.read; path=limits.py; check=equals(MAX_RETRIES,5,path=limits.py)].",
        f"{FALSE[:-1]} [substrate.git.log; check=contains(x)] [substrate.grep; k=0].",
        "checked: `MAX_RETRIES` in `limits.py` equals 7 (line 1).",
        "admitted: `MAX_RETRIES` is 7 in `limits.py`.",
        "`MAX_RETRIES` is 7 in `limits.py` [unchecked].",
    ],
)
@pytest.mark.parametrize("with_calls", [True, False])
def test_a_sentence_that_looks_like_a_check_or_a_verdict_is_a_sentence(
    text: str, with_calls: bool, tmp_path: Path, repo: Path
):
    """What it says is false, and no reader is shown its false part as admitted."""
    calls = call(1, "Read", {"file_path": f"{repo}/limits.py"}, "     1\tMAX_RETRIES = 5\n") if with_calls else []
    path = session(tmp_path, repo, *calls, said(text))
    if not with_calls:
        path = tmp_path / "answer.md"
        path.write_text(text)
    for one in told(path, repo):
        shown = one.get("shown", one["statement"]) if one["status"] == "admitted" else ""
        assert "7" not in shown
        assert not [line for line in one["rendered"] if says_seven(line)]
    lines = vet(path, "--root", repo).stdout.splitlines()
    assert not [line for line in lines if line.startswith("admitted: ")]
    assert not [line for line in lines if line.startswith("    checked: ") and says_seven(line)]


def says_seven(line: str) -> bool:
    """Whether a rendered check has a 7, but in where it was seen: the hash of a commit may have one."""
    return "7" in line.split(" (line")[0]


# ------------------------------------------------------------ what must not get out


@pytest.mark.parametrize("path", ["../outside.py", "/etc/passwd", "a/../../outside.py", ".git/config", "link.py", "\0"])
def test_a_path_that_leads_out_of_the_root_is_not_read(path: str, tmp_path: Path, repo: Path):
    """Neither for the agent's call nor for the further kinds of evidence; nothing of it is printed."""
    (tmp_path / "outside.py").write_text("ELSEWHERE = 5\n")
    (repo / "link.py").symlink_to(tmp_path / "outside.py")
    git(repo, "add", "link.py")
    git(repo, "commit", "-qm", "link")
    seen = call(1, "Read", {"file_path": path}, "     1\tELSEWHERE = 5\n")
    text = f"`ELSEWHERE` is 5 in `{path}`."
    found = told(session(tmp_path, repo, *seen, said(text)), repo)
    answer = tmp_path / "answer.md"
    answer.write_text(text)
    for one in (*found, *told(answer, repo)):
        assert one["status"] != "admitted"
        assert not one["rendered"]
        assert not [place for place in one["seen"] if place["outcome"] in ("corroborates", "contradicts")]


def test_what_results_hold_is_not_printed(tmp_path: Path, repo: Path):
    """Secrets in results and in files that nobody tracks stay where they are; so do escapes that a terminal obeys."""
    (repo / ".env").write_text(SECRET)
    escapes = "\x1b[2J\x1b]0;title\x07\u202e\u2066"
    records = [
        *call(1, "Read", {"file_path": f"{repo}/.env"}, f"     1\t{SECRET}\n"),
        *call(2, "Bash", {"command": "cat limits.py"}, f"MAX_RETRIES = 5 {escapes}{SECRET}\n"),
        *call(3, "Grep", {"pattern": f"MAX{escapes}", "path": "limits.py"}, f"limits.py:1:MAX_RETRIES = 5{escapes}"),
        said(f"{TRUE} `TOKEN` is set in `.env`. `limits.py` has `x{escapes}` and {FALSE}"),
    ]
    path, page = session(tmp_path, repo, *records), tmp_path / "page.html"
    for arguments in ([], ["--json"], ["--html", str(page)]):
        result = vet(path, "--root", repo, *arguments)
        printed = result.stdout + result.stderr + (page.read_text() if page.exists() else "")
        assert "ghp_" not in printed
        assert printed.replace("\n", "").isprintable()


@pytest.mark.parametrize("name", ["a\x1b[2J.md", "a\u202e.md", "a\nadmitted: all is well.md"])
def test_a_file_whose_name_deceives_is_shown_escaped(name: str, tmp_path: Path, repo: Path):
    """In the headings, the objects and the page."""
    path, other, page = tmp_path / name, tmp_path / "b.md", tmp_path / "page.html"
    path.write_text(TRUE)
    other.write_text(TRUE)
    result = vet(path, other, "--root", repo, "--html", page)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("\nadmitted: ") == 2
    assert (result.stdout + page.read_text()).replace("\n", "").isprintable()
    assert told(path, repo)[0]["file"] == str(path)


# ------------------------------------------------------------ bad input


def test_a_session_that_is_cut_loses_its_last_line(tmp_path: Path, repo: Path):
    """One sentence, and the turns before it are vetted."""
    path = tmp_path / "session.jsonl"
    path.write_text(claude_session(repo, TRUE, FALSE)[:-40])
    result = vet(path, "--root", repo, "--json")
    assert [json.loads(line)["statement"] for line in result.stdout.splitlines()] == [TRUE]
    sentence, read = [line for line in result.stderr.splitlines() if "session.jsonl:" in line]
    assert "session.jsonl:8: This line is not JSON, or is cut off; it is passed over." in sentence
    assert read.endswith("session.jsonl: 1 messages, 1 statements, 1 not understood")


def test_an_interleaved_session_is_read_in_its_order(tmp_path: Path, repo: Path):
    """Results before their calls, two calls at once, and a subagent's records in between."""
    first = call(1, "Read", {"file_path": f"{repo}/limits.py"}, "     1\tMAX_RETRIES = 5\n")
    second = call(2, "Bash", {"command": "git log -- limits.py"}, "")
    side = [one | {"isSidechain": True} for one in call(3, "Read", {"file_path": "x"}, "     1\tMAX_RETRIES = 9\n")]
    path = session(tmp_path, repo, first[1], side[0], second[0], first[0], side[1], second[1], said(TRUE))
    assert [one["status"] for one in told(path, repo)] == ["admitted"]


def test_records_that_a_later_version_writes_are_passed_over_or_told(tmp_path: Path, repo: Path):
    """Beside others silently; where there are no others, nobody is to think that nothing was said."""
    later = {"type": "thought.v9", "words": "So."}
    read = call(1, "Read", {"file_path": f"{repo}/limits.py"}, "     1\tMAX_RETRIES = 5\n")
    assert [one["status"] for one in told(session(tmp_path, repo, later, *read, said(TRUE)), repo)] == ["admitted"]
    path = tmp_path / "later.jsonl"
    path.write_text((json.dumps(later) + "\n") * 3)
    result = vet(path, "--root", repo, "--format", "claude-code")
    assert "None of the 3 lines here has a known form" in result.stderr


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "image", "source": {"type": "base64", "data": "iVBORw0KGgo="}}],
        "\x00\x01\x02MAX_RETRIES = 5",
        "\ufffd" * 500,
        [{"type": "document"}, 7, None],
        {"unexpected": []},
    ],
)
def test_results_that_are_no_text_bear_on_nothing(content: Any, tmp_path: Path, repo: Path):
    """The statements are there all the same."""
    path = session(tmp_path, repo, *call(1, "Read", {"file_path": f"{repo}/limits.py"}, content), said(TRUE))
    result = vet(path, "--root", repo, "--json")
    assert result.exit_code == 0, result.stderr
    assert [json.loads(line)["statement"] for line in result.stdout.splitlines()] == [TRUE]
