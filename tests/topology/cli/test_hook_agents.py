"""`sluice hook` for Codex, Gemini CLI and Cursor: what each of them sends, takes, and has in its settings."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from vetted_session import ANSWER, FALSE, SOURCE, TRUE, make_repo

from sluice.topology.cli import main
from sluice.topology.cli import vet_commands as hook_command
from sluice.topology.vet import agents
from sluice.topology.vet.agents import AGENTS


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(agents, "WAITED_SECONDS", 0.0)
    return tmp_path / "cache"


def run(agent: str, given: Any, *arguments: str) -> Result:
    lines = given if isinstance(given, str | bytes) else json.dumps(given)
    result = CliRunner().invoke(main, ["hook", agent, *arguments], input=lines)
    assert result.exit_code == 0, result.stderr
    return result


def lets_stop(result: Result, why: str = "") -> None:
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == (1 if why else 0)
    assert why in result.stderr


def rollout(path: Path, repo: Path) -> str:
    """A session of Codex that reads `limits.py` and has not got to its answer."""
    records = [
        ("session_meta", {"id": "1", "cwd": str(repo)}),
        ("event_msg", {"type": "user_message", "message": "What are the limits?"}),
        (
            "response_item",
            {
                "type": "function_call",
                "name": "shell_command",
                "call_id": "c1",
                "arguments": json.dumps({"command": "cat limits.py"}),
            },
        ),
        (
            "response_item",
            {
                "type": "function_call_output",
                "call_id": "c1",
                "output": f"Exit code: 0\nWall time: 0.1 seconds\nOutput:\n{SOURCE}",
            },
        ),
    ]
    path.write_text("".join(json.dumps({"type": kind, "payload": payload}) + "\n" for kind, payload in records))
    return str(path)


# ---------------------------------------------------------------- Codex


def of_codex(repo: Path, message: str | None, **others: Any) -> dict[str, Any]:
    """As `stop.command.input.schema.json` of Codex demands it."""
    return {
        "session_id": "1",
        "turn_id": "t",
        "transcript_path": None,
        "cwd": str(repo),
        "hook_event_name": "Stop",
        "model": "gpt-model",
        "permission_mode": "default",
        "stop_hook_active": False,
        "last_assistant_message": message,
    } | others


@pytest.mark.parametrize("with_transcript", [True, False])
def test_codex_is_held_up_for_what_is_contradicted(with_transcript: bool, repo: Path, tmp_path: Path):
    """By its session's calls; by what the message names, where Codex keeps no transcript."""
    transcript = rollout(tmp_path / "rollout.jsonl", repo) if with_transcript else None
    answer = json.loads(run("codex", of_codex(repo, ANSWER, transcript_path=transcript)).stdout)
    assert list(answer) == ["decision", "reason"]
    assert answer["decision"] == "block"
    assert f"«{FALSE}»" in answer["reason"]
    assert TRUE not in answer["reason"]


def test_codex_may_stop(repo: Path):
    """With nothing contradicted, and when it was held up in this turn already."""
    lets_stop(run("codex", of_codex(repo, TRUE)))
    lets_stop(run("codex", of_codex(repo, FALSE, stop_hook_active=True)), "held up once")
    lets_stop(run("codex", of_codex(repo, None)), "neither last_assistant_message nor transcript_path")


# ---------------------------------------------------------------- Gemini CLI


def of_gemini(repo: Path, message: str, **others: Any) -> dict[str, Any]:
    """As the hooks reference of Gemini CLI has `AfterAgent`."""
    return {
        "session_id": "1",
        "transcript_path": "/nowhere/session.json",
        "cwd": str(repo),
        "hook_event_name": "AfterAgent",
        "timestamp": "2026-08-21T10:00:00Z",
        "prompt": "What are the limits?",
        "prompt_response": message,
        "stop_hook_active": False,
    } | others


def test_gemini_is_held_up_for_what_is_contradicted(repo: Path):
    """Its transcript, whose format is not documented, is not even opened."""
    answer = json.loads(run("gemini-cli", of_gemini(repo, ANSWER)).stdout)
    assert list(answer) == ["decision", "reason"]
    assert answer["decision"] == "deny"
    assert f"«{FALSE}»" in answer["reason"]


def test_gemini_may_stop(repo: Path):
    """With nothing contradicted, after it was held up once, and where its JSON has no answer."""
    lets_stop(run("gemini-cli", of_gemini(repo, TRUE)))
    lets_stop(run("gemini-cli", of_gemini(repo, FALSE, stop_hook_active=True)), "held up once")
    lets_stop(run("gemini-cli", of_gemini(repo, " ")), "no prompt_response")


@pytest.mark.parametrize("agent", list(AGENTS))
def test_what_nothing_bears_out_holds_each_agent_up_on_demand(agent: str, repo: Path):
    """`--unsupported` means the same for all."""
    message = "The retry waits 30 seconds with `jitter`, as `limits.py` says."
    given = {"gemini-cli": of_gemini(repo, message), "cursor": of_cursor(repo, "stop")}.get(agent)
    for more, words in (((), ""), (("--unsupported",), "«jitter»")):
        run("cursor", of_cursor(repo, "afterAgentResponse", text=message))
        result = run(agent, given or of_codex(repo, message), *more)
        assert (words in result.stdout) if words else result.stdout == ""


# ---------------------------------------------------------------- Cursor


def of_cursor(repo: Path, event: str, **others: Any) -> dict[str, Any]:
    """As Cursor's reference has the members of all hooks, and those of these two."""
    return (
        {
            "conversation_id": "c-1",
            "generation_id": "g-1",
            "model": "model",
            "hook_event_name": event,
            "cursor_version": "3.7.21",
            "workspace_roots": [str(repo)],
            "user_email": None,
        }
        | ({"status": "completed", "loop_count": 0} if event == "stop" else {})
        | others
    )


def test_cursor_is_held_up_for_what_is_contradicted(repo: Path, cache: Path):
    """The first hook keeps the text for this user alone, the second one vets it, and nothing is left."""
    lets_stop(run("cursor", of_cursor(repo, "afterAgentResponse", text="I look.")))
    lets_stop(run("cursor", of_cursor(repo, "afterAgentResponse", text=ANSWER)))
    (kept,) = (cache / "sluice" / "hooks").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    answer = json.loads(run("cursor", of_cursor(repo, "stop")).stdout)
    assert list(answer) == ["followup_message"]
    assert f"«{FALSE}»" in answer["followup_message"]
    assert list((cache / "sluice" / "hooks").iterdir()) == []


def test_a_byte_order_mark_is_no_part_of_the_json(repo: Path):
    """Cursor on Windows writes one."""
    run("cursor", b"\xef\xbb\xbf" + json.dumps(of_cursor(repo, "afterAgentResponse", text=FALSE)).encode())
    assert FALSE in run("cursor", b"\xef\xbb\xbf" + json.dumps(of_cursor(repo, "stop")).encode()).stdout


@pytest.mark.parametrize(
    ("others", "why"),
    [
        ({"loop_count": 1}, "held up once"),
        ({"status": "aborted"}, ""),
        ({"status": "error"}, ""),
        ({"generation_id": "g-2"}, "no message of this turn"),
        ({"conversation_id": "c-2"}, "no message of this turn"),
        ({"conversation_id": ""}, "no conversation_id"),
        ({"hook_event_name": "beforeReadFile"}, "beforeReadFile"),
        ({"hook_event_name": None}, "expected `afterAgentResponse` or `stop`"),
    ],
)
def test_cursor_may_stop(others: dict[str, Any], why: str, repo: Path):
    """When it was held up, when its user ended it, and on what is no message of this turn."""
    run("cursor", of_cursor(repo, "afterAgentResponse", text=FALSE))
    lets_stop(run("cursor", of_cursor(repo, "stop") | others), why)


def test_the_second_hook_waits_for_the_first(repo: Path, monkeypatch: pytest.MonkeyPatch):
    """Cursor starts both, and does not say that one ends before the other begins."""
    monkeypatch.setattr(agents, "WAITED_SECONDS", 60.0)
    late = threading.Timer(0.3, agents.keep, ("c-1", "g-1", FALSE))
    late.start()
    assert FALSE in run("cursor", of_cursor(repo, "stop")).stdout
    late.join()


def test_messages_that_nobody_took_are_forgotten(cache: Path):
    """After a day; a file of somebody else's stays."""
    agents.keep("old", "g", "text")
    (old,) = (cache / "sluice" / "hooks").iterdir()
    then = time.time() - 2 * agents.KEPT_SECONDS
    os.utime(old, (then, then))
    agents.keep("new", "g", "text")
    assert not old.exists()
    assert agents.taken("new", "g") == "text"


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b'{"generation": 1}'])
def test_a_kept_file_of_another_form_is_no_message(content: bytes, cache: Path):
    """Somebody may have written there."""
    agents.keep("c", "g", "text")
    (kept,) = (cache / "sluice" / "hooks").iterdir()
    kept.write_bytes(content)
    assert agents.taken("c", "g") is None


def test_where_nothing_can_be_kept_one_sentence_says_so(repo: Path, cache: Path):
    """The agent may stop."""
    cache.write_text("a file where the folder should be")
    lets_stop(run("cursor", of_cursor(repo, "afterAgentResponse", text=FALSE)), "cannot be kept")


# ---------------------------------------------------------------- installation

ENTRIES: dict[str, tuple[str, dict[str, Any]]] = {
    "codex": (
        ".codex/hooks.json",
        {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "sluice hook codex", "timeout": 18}]}]}},
    ),
    "gemini-cli": (
        ".gemini/settings.json",
        {
            "hooks": {
                "AfterAgent": [
                    {
                        "hooks": [
                            {
                                "type": "command",
                                "name": "sluice",
                                "command": "sluice hook gemini-cli",
                                "timeout": 18000,
                            }
                        ]
                    }
                ]
            }
        },
    ),
    "cursor": (
        ".cursor/hooks.json",
        {
            "version": 1,
            "hooks": {
                "afterAgentResponse": [{"command": "sluice hook cursor"}],
                "stop": [{"command": "sluice hook cursor", "timeout": 18, "loop_limit": 1}],
            },
        },
    ),
}


@pytest.mark.parametrize("agent", list(ENTRIES))
def test_each_agent_has_its_own_settings(agent: str, repo: Path, monkeypatch: pytest.MonkeyPatch):
    """The difference is shown first, the entry is written once, and nothing else."""
    monkeypatch.chdir(repo)
    name, wanted = ENTRIES[agent]
    first = run(agent, "", "--install", "--yes")
    assert f"+++ b/{name}" in first.stdout
    assert json.loads((repo / name).read_text()) == wanted
    second = run(agent, "", "--install", "--yes")
    assert second.stdout == ""
    assert "already" in second.stderr
    assert json.loads((repo / name).read_text()) == wanted


def test_without_an_agent_the_hook_is_that_of_claude_code(repo: Path, monkeypatch: pytest.MonkeyPatch):
    """`sluice hook --install` is the whole command."""
    monkeypatch.chdir(repo)
    result = CliRunner().invoke(main, ["hook", "--install", "--yes"])
    assert result.exit_code == 0, result.stderr
    written = json.loads((repo / ".claude" / "settings.json").read_text())
    assert written["hooks"]["Stop"][0]["hooks"][0]["command"] == "sluice hook claude-code"


def test_a_half_of_cursors_entries_is_completed(repo: Path, monkeypatch: pytest.MonkeyPatch):
    """What is there stays as it is."""
    monkeypatch.chdir(repo)
    path = repo / ".cursor" / "hooks.json"
    path.parent.mkdir()
    mine = {"command": "sluice hook cursor --budget 4", "timeout": 9}
    path.write_text(json.dumps({"version": 1, "hooks": {"stop": [{"command": "other"}, mine]}}))
    run("cursor", "", "--install", "--yes")
    assert json.loads(path.read_text())["hooks"] == {
        "stop": [{"command": "other"}, mine],
        "afterAgentResponse": [{"command": "sluice hook cursor"}],
    }


@pytest.mark.parametrize("text", ['{"version": 2}', '{"version": 1, "hooks": {"stop": {}}}', "// a comment\n{}"])
def test_settings_of_another_form_are_left_alone(text: str, repo: Path, monkeypatch: pytest.MonkeyPatch):
    """Also those of a version that nobody here knows."""
    monkeypatch.chdir(repo)
    path = repo / ".cursor" / "hooks.json"
    path.parent.mkdir()
    path.write_text(text)
    result = CliRunner().invoke(main, ["hook", "cursor", "--install", "--yes"])
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert path.read_text() == text


def test_the_command_names_the_agents_that_there_are():
    """So that `--help` starts without loading them."""
    assert tuple(AGENTS) == hook_command.AGENTS
