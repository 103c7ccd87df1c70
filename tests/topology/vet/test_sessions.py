# ruff: noqa: E501 - lines of tables
"""What a session shows of statements about results, and of changes that were never made, as vet and the hook tell it."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from vetted_session import git

from sluice.codecs.records import Session
from sluice.record.transcripts import open_transcript
from sluice.topology.observers.observer_registry import ObserverRegistry
from sluice.topology.observers.roots import Roots
from sluice.topology.settings.settings import Settings
from sluice.topology.vet import vetted_assertions
from sluice.topology.vet.at_hand import AtHand
from sluice.topology.vet.hook import answer_to, reason_of
from sluice.topology.vet.sources import of_events
from sluice.topology.vet.vetted_assertions import Verdict, session_line
from sluice.topology.vet.vetting import VETTING_POLICY, Vetter

RUN = {
    "kind": "test",
    "scope": ["tests/a"],
    "exit": 1,
    "counts": {"passed": 38, "failed": 2},
    "command": "pytest tests/a",
}
FAILED = "F...\nFAILED tests/test_limits.py::test_retry - assert 5 == 4\n1 failed, 3 passed in 0.12s"


@pytest.mark.parametrize(
    ("changes", "reason", "wanted"),
    [
        ({}, "session-failed", "the last test run, `pytest tests/a`, failed: 2 of 40"),
        ({"counts": {"errors": 2}}, "session-failed", "the last test run, `pytest tests/a`, failed: 2"),
        (
            {},
            "narrower-run",
            "the last test run, `pytest tests/a`, failed: 2 of 40, and was of less than this says",
        ),
        (
            {"counts": {"passed": 40}, "exit": 0},
            "session-only",
            "the last test run, `pytest tests/a`, passed: 40; only the session shows it",
        ),
        (
            {"runs_after": 1},
            "session-only",
            "the last test run, `pytest tests/a`, failed: 2 of 40, and something else was run after it",
        ),
        (
            {"counts": None, "exit": None, "command": ""},
            "session-only",
            "the last test run has no result; only the session shows it",
        ),
        (
            {"counts": None, "edits_after": 1},
            "stale-run",
            "1 file was changed after the last test run, `pytest tests/a`, which ended with 1",
        ),
        ({"kind": "type-check"}, "no-run", "the session shows no type check run"),
        ({"command": "pytest `a` «b»"}, "session-failed", "the last test run, `pytest 'a' ‹b›`, failed: 2 of 40"),
    ],
)
def test_one_sentence(changes: dict[str, Any], reason: str, wanted: str) -> None:
    """What the session shows."""
    assert session_line(msgspec.convert({**RUN, **changes}, Session), reason) == wanted


def transcript(path: Path, root: Path, answer: str, *calls: tuple[str, dict[str, Any], str, bool]) -> Path:
    """A session of Claude Code that makes these calls, with their results, and whether they failed; then it answers."""
    at = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    common = {"sessionId": "s-1", "cwd": str(root), "timestamp": at, "isSidechain": False}
    records: list[dict[str, Any]] = [{"type": "user", "uuid": "u", "message": {"role": "user", "content": "Do it."}}]
    for number, (name, given, result, failed) in enumerate(calls):
        call = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
        back = {"type": "tool_result", "tool_use_id": f"t{number}", "content": result, "is_error": failed}
        message = {"id": f"m{number}", "role": "assistant", "content": [call]}
        records.append({"type": "assistant", "uuid": f"a{number}", "message": message})
        records.append({"type": "user", "uuid": f"r{number}", "message": {"role": "user", "content": [back]}})
    said = {"id": "n", "role": "assistant", "content": [{"type": "text", "text": answer}], "stop_reason": "end_turn"}
    records.append({"type": "assistant", "uuid": "b", "message": said})
    path.write_text("".join(json.dumps(common | one) + "\n" for one in records))
    return path


def vetted(path: Path, root: Path) -> list[Verdict]:
    settings = Settings(root=str(root))
    with closing(ObserverRegistry(settings)) as instruments:
        at_hand = AtHand(str(root), settings, instruments, VETTING_POLICY)
        source = of_events(open_transcript(path), str(root), conversation="s", at_hand=at_hand)
        vetter = Vetter(settings, Roots.of(str(root)), instruments, VETTING_POLICY)
        return [verdict for one in source.emissions for verdict in vetter.vet(one)]


TESTS = """All 4 tests in `tests/test_limits.py` pass.

- `test_retry` passes.
- I ran `pytest -q tests/` and it exited with 0."""


def test_claims_after_a_run_that_failed(tmp_path: Path, repo: Path) -> None:
    """Each is contradicted by the run that the transcript has, and told so in one sentence."""
    call = ("Bash", {"command": "python -m pytest -q tests/"}, FAILED, True)
    found = vetted(transcript(tmp_path / "s.jsonl", repo, TESTS, call), repo)
    assert [(one.status, one.reason) for one in found] == [("contradicted", "session-failed")] * 3
    lines = list(vetted_assertions.lines(found))
    assert "    session: the last test run, `python -m pytest -q tests/`, failed: 1 of 4" in lines
    reason = reason_of(found)
    assert reason is not None
    assert reason.startswith("Your own session contradicts these statements")
    assert "  - session: the last test run, `python -m pytest -q tests/`, failed: 1" in reason


def test_the_hook_tells_it(tmp_path: Path, repo: Path) -> None:
    """The hook holds the agent up with the run that failed."""
    call = ("Bash", {"command": "python -m pytest -q"}, FAILED, True)
    path = transcript(tmp_path / "s.jsonl", repo, TESTS, call)
    asked = {"session_id": "s", "transcript_path": str(path), "cwd": str(repo), "stop_hook_active": False}
    answer = answer_to(json.dumps({**asked, "last_assistant_message": TESTS}).encode())
    assert answer.document is not None
    assert "failed: 1 of 4" in answer.document["reason"]


def test_honest_claims_are_not_held_up(tmp_path: Path, repo: Path) -> None:
    """A run that passed, after one that failed, contradicts nothing and admits nothing."""
    calls = [
        ("Bash", {"command": "pytest -q tests/"}, FAILED, True),
        ("Edit", {"file_path": f"{repo}/limits.py"}, "done", False),
        ("Bash", {"command": "pytest -q tests/"}, "4 passed in 0.10s", False),
    ]
    found = vetted(transcript(tmp_path / "s.jsonl", repo, TESTS, *calls), repo)
    assert [(one.status, one.reason) for one in found] == [("unverified-inference", "session-only")] * 3
    assert reason_of(found) is None


EDITS = """I updated `limits.py`: `MAX_RETRIES` is now 60.

- Added `tests/test_timeout.py` with 3 tests.
- Removed `retry` from `limits.py`.
- `retry` in `limits.py` now waits with exponential backoff.
- `limits.py` line 1 sets `MAX_RETRIES = 60`."""


def test_changes_that_were_never_made(tmp_path: Path, repo: Path) -> None:
    """What stands there refutes them; what cannot be decided is not admitted."""
    call = (
        "Read",
        {"file_path": f"{repo}/limits.py"},
        f"     1\t{(repo / 'limits.py').read_text().splitlines()[0]}",
        False,
    )
    found = vetted(transcript(tmp_path / "s.jsonl", repo, EDITS, call), repo)
    assert [one.status == "contradicted" for one in found] == [True, True, True, False, True]
    assert found[3].status not in ("admitted", "contradicted")


def test_changes_that_were_made(tmp_path: Path, repo: Path) -> None:
    """None is contradicted, committed or not."""
    (repo / "limits.py").write_text("MAX_RETRIES = 60\n")
    (repo / "tests").mkdir()
    (repo / "tests" / "test_timeout.py").write_text("def test_a(): ...\n")
    made = EDITS.replace("- `retry` in `limits.py` now waits with exponential backoff.\n", "")
    call = ("Read", {"file_path": f"{repo}/limits.py"}, "     1\tMAX_RETRIES = 60", False)
    found = vetted(transcript(tmp_path / "s.jsonl", repo, made, call), repo)
    assert [one.text for one in found if one.status == "contradicted"] == []


def hooked(path: Path, root: Path, said: str, **more: Any) -> str:
    """What the hook answers to a last message: its reason, or nothing."""
    asked = {"session_id": "s-1", "transcript_path": str(path), "cwd": str(root), "stop_hook_active": False, **more}
    answer = answer_to(json.dumps({**asked, "last_assistant_message": said}).encode())
    assert answer.sentence == ""
    return "" if answer.document is None else answer.document["reason"]


def test_changes_since_the_session_began(tmp_path: Path, repo: Path) -> None:
    """What was changed is held against the tree that was kept when the session began, once, committed or not."""
    (repo / "notes.txt").write_text("mine\n")
    began = {"session_id": "s-1", "cwd": str(repo), "hook_event_name": "SessionStart"}
    assert answer_to(json.dumps(began).encode()) == (None, "")
    (repo / "limits.py").write_text("MAX_RETRIES = 5\n")
    (repo / "b.py").write_text("B = 1\n")
    git(repo, "add", "limits.py", "b.py")
    git(repo, "commit", "-q", "-m", "second")
    assert answer_to(json.dumps({**began, "hook_event_name": "PreToolUse"}).encode()) == (None, "")
    call = ("Read", {"file_path": f"{repo}/limits.py"}, "     1\tMAX_RETRIES = 5", False)
    path = transcript(tmp_path / "s.jsonl", repo, "Done.", call)

    assert hooked(path, repo, "Removed `retry` from `limits.py`.") == ""
    assert hooked(path, repo, "I only changed `limits.py` and `b.py`.") == ""
    assert "I only changed `limits.py`." in hooked(path, repo, "I only changed `limits.py`.")
    assert "Removed `MAX_RETRIES`" in hooked(path, repo, "Removed `MAX_RETRIES` from `limits.py`.")


def test_a_folder_without_a_checkout_keeps_nothing(tmp_path: Path) -> None:
    """One sentence, and the agent goes on."""
    began = {"session_id": "s-1", "cwd": str(tmp_path), "hook_event_name": "SessionStart"}
    answer = answer_to(json.dumps(began).encode())
    assert answer.document is None
    assert "could not be kept" in answer.sentence
