# ruff: noqa: E501 - lines of tables
"""What a session shows of a statement about a result: the last command of its kind, its counts, what came after."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from sluice.codecs.records import Session as Shown
from sluice.record import MemorySink, Recorder
from sluice.record.command_kinds import CommandKinds
from sluice.record.events import Event, Gap, Message, ToolCall, TurnBegan, TurnEnded
from sluice.record.session import MOST_COMMANDS, Session, SessionView
from sluice.record.tools import ToolMap
from sluice.record.transcripts import claude_code, codex
from sluice.streams.adjudication.grounding import session_reason

FAILED = "F...\nFAILED tests/test_limits.py::test_retry - assert 5 == 4\n1 failed, 3 passed in 0.12s"
PASSED = "....\n4 passed in 0.10s"
Call = tuple[str, dict[str, Any], str | None, int | None]


def bash(line: str, result: str | None = "", code: int | None = 0, **more: Any) -> Call:
    return "Bash", {"command": line, **more}, result, code


def edit(path: str = "/r/src/a.py") -> Call:
    return "Edit", {"file_path": path}, "done", None


def view(*calls: Call, cwd: str = "/r", is_cut: bool = False) -> SessionView:
    session = Session(ToolMap.default(), CommandKinds({}.get))
    session.is_told = True
    if is_cut:
        session.cut()
    for name, arguments, result, code in calls:
        event = ToolCall(
            call_id="", name=name, arguments=arguments, result=result, ok=code in (0, None), at=None, cwd=cwd, exit=code
        )
        session.take(event, 1_790_000_000_000, "/r")
    return session.view()


def shown(sentence: str, *calls: Call, **more: Any) -> Shown:
    found = view(*calls, **more).about(sentence)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("sentence", "calls", "reason"),
    [
        ("All tests pass.", [bash("pytest -q", FAILED, 1)], "session-failed"),
        ("All tests pass.", [bash("pytest -q", PASSED)], "session-only"),
        ("All tests pass.", [], "no-run"),
        ("All tests pass.", [bash("ruff check", "All checks passed!")], "no-run"),
        ("All tests pass.", [bash("pytest tests/a", FAILED, 1)], "narrower-run"),
        ("All tests pass.", [bash("pytest -k name", PASSED)], "narrower-run"),
        ("All tests pass.", [bash("pytest", PASSED), edit()], "stale-run"),
        ("All tests pass.", [bash("pytest", FAILED, 1), edit()], "stale-run"),
        ("All tests pass.", [bash("pytest", FAILED, 1), bash("pytest", PASSED)], "session-only"),
        ("All tests pass.", [bash("pytest", FAILED, 1), bash("pytest tests/a", PASSED)], "session-only"),
        ("All tests pass.", [bash("pytest", FAILED, 1), bash("git status"), bash("ls")], "session-failed"),
        ("All tests pass.", [bash("pytest", FAILED, 1), ("Read", {"file_path": "/r/a"}, "x", None)], "session-failed"),
        ("All tests pass.", [bash("pytest", FAILED, 1), edit("/tmp/x")], "session-failed"),
        ("All tests pass.", [bash("pytest", FAILED, 1), bash("git commit -m \"$(cat <<'EOF'\nx\nEOF\n)\"")], "session-failed"),
        # commands of unknown kind may have run them
        ("All tests pass.", [bash("pytest", FAILED, 1), bash("./check.sh")], "session-only"),
        ("All tests pass.", [bash("pytest", FAILED, 1), bash("for i in 1; do pytest; done")], "session-only"),
        ("All tests pass.", [bash("pytest", FAILED, 1), ("Task", {"prompt": "test"}, "done", None)], "session-only"),
        ("All tests pass.", [bash("pytest", FAILED, 1), ("mcp__a__b", {}, "done", None)], "session-only"),
        # changes of files by command lines
        ("All tests pass.", [bash("pytest", FAILED, 1), bash("sed -i s/a/b/ src/a.py")], "stale-run"),
        ("All tests pass.", [bash("pytest", FAILED, 1), bash("cat > src/a.py <<'EOF'\nx\nEOF")], "stale-run"),
        ("All tests pass.", [bash("pytest", FAILED, 1), bash("grep a b > /dev/null")], "session-failed"),
        ("All tests pass.", [bash("pytest", FAILED, 1), bash("git checkout -- src/a.py")], "stale-run"),
        # exit status and summary
        ("All tests pass.", [bash("pytest || true", FAILED)], "session-failed"),
        ("All tests pass.", [bash("pytest 2>&1 | tail -5", FAILED)], "session-failed"),
        ("All tests pass.", [bash("pytest; true", FAILED)], "session-failed"),
        ("All tests pass.", [bash("pytest", FAILED, 0)], "session-only"),
        ("All tests pass.", [bash("pytest", "1 fai", 1)], "session-only"),
        ("All tests pass.", [bash("pytest", None, None)], "session-only"),
        ("All tests pass.", [bash("pytest > out.txt", FAILED, 1)], "session-only"),
        ("All tests pass.", [bash("pytest; cat old.txt", FAILED, 1)], "session-only"),
        ("All tests pass.", [bash("pytest | sed s/a/b/", FAILED, 1)], "session-only"),
        ("All tests pass.", [bash("echo '1 failed, 3 passed in 0.12s'", FAILED)], "no-run"),
        ("All tests pass.", [bash("pytest; echo '0 failed, 4 passed in 1s'", "0 failed, 4 passed in 1s")], "session-only"),
        ("All tests pass.", [bash("go test ./...", FAILED, 1)], "session-only"),
        ("All tests pass.", [bash("pytest", FAILED, 1, run_in_background=True)], "session-only"),
        ("All tests pass.", [bash("ruff check && pytest", f"All checks passed!\n{FAILED}", 1)], "session-failed"),
        ("All tests pass.", [bash("source .venv/bin/activate && cd /r && pytest", FAILED, 1)], "session-failed"),
        ("All tests pass.", [bash("pytest", "\x1b[31m=== \x1b[1m1 failed\x1b[0m, 3 passed in 0.12s ===", 1)], "session-failed"),
        # other projects and folders
        ("All tests pass.", [bash("cd /elsewhere && pytest", FAILED, 1)], "no-run"),
        ("All tests pass.", [bash("pytest", PASSED), bash("cd /elsewhere && pytest", FAILED, 1)], "session-only"),
        ("All tests pass.", [bash("cd a && pytest", FAILED, 1)], "narrower-run"),
        # what is stated
        ("All 4 tests in `tests/test_limits.py` pass.", [bash("pytest -q tests/", FAILED, 1)], "session-failed"),
        ("All tests in `tests/test_other.py` pass.", [bash("pytest -q tests/", FAILED, 1)], "session-only"),
        ("`test_retry` passes.", [bash("pytest", FAILED, 1)], "session-failed"),
        ("`test_other` passes.", [bash("pytest", FAILED, 1)], "session-only"),
        ("`test_retry` passes.", [bash("pytest tests/test_limits.py", FAILED, 1)], "session-failed"),
        ("The new tests pass.", [bash("pytest", FAILED, 1)], "session-only"),
        ("3 passed", [bash("pytest", FAILED, 1)], "session-only"),
        ("4 passed", [bash("pytest", FAILED, 1)], "session-only"),
        ("I ran `pytest -q tests/` and it exited with 0.", [bash("pytest -q tests/", FAILED, 1)], "session-failed"),
        ("`pytest tests/a` passes.", [bash("pytest tests/a", FAILED, 1)], "session-failed"),
        ("All tests and lint pass.", [bash("pytest", PASSED), bash("ruff check", "Found 3 errors.", 1)], "session-failed"),
        ("Lint is clean.", [bash("ruff check .", "Found 3 errors.", 1)], "session-failed"),
        ("The build succeeds.", [bash("cargo build", "error: could not compile `a` due to 2 previous errors", 101)], "session-failed"),
        ("No type errors.", [bash("npx tsc --noEmit", "src/a.ts(3,5): error TS2322: x", 2)], "session-failed"),
    ],
)  # fmt: skip
def test_reasons(sentence: str, calls: list[Call], reason: str) -> None:
    """Why a statement is contradicted, or not verified."""
    assert session_reason(shown(sentence, *calls)) == reason


def test_members() -> None:
    """What is written of the last command."""
    found = shown("All tests pass.", bash("pytest -q", FAILED, 1), bash("git diff"))
    assert (found.kind, found.scope, found.exit, found.command) == ("test", "all", 1, "pytest -q")
    assert found.counts is not None
    assert (found.counts.passed, found.counts.failed, found.counts.errors) == (3, 1, 0)
    assert found.at == "2026-09-21T14:13:20Z"
    assert view(bash("pytest")).about("It works.") is None


def test_secrets_are_left_out() -> None:
    """A command line that holds one is not told."""
    assert shown("All tests pass.", bash("pytest --token=sk-abcdefghijklmnopqrstu", FAILED, 1)).command == ""


def test_an_answer_alone() -> None:
    """Of what is no transcript nothing says that a command was not run."""
    assert Session(ToolMap.default(), CommandKinds()).view().about("All tests pass.") is None


def test_calls_that_are_not_told() -> None:
    """Where earlier calls are not known nothing says that no command was run; a run that is there counts."""
    assert view(is_cut=True).about("All tests pass.") is None
    assert session_reason(shown("All tests pass.", bash("pytest", FAILED, 1), is_cut=True)) == "session-failed"


SUMMARIES = [
    ("pytest", "= 2 failed, 36 passed, 2 errors in 3.10s =", (36, 2, 2)),
    ("python -m unittest", "Ran 5 tests in 0.1s\n\nFAILED (failures=1, errors=1)", (3, 1, 1)),
    ("npx jest", "Test Suites: 1 failed, 2 passed\nTests:       1 failed, 3 passed, 4 total", (3, 1, 0)),
    ("npx jest", "Test Suites: 1 failed, 2 passed\nTests:       3 passed, 3 total", (3, 1, 0)),
    ("npx vitest run", "  Tests  1 failed | 3 passed (4)", (3, 1, 0)),
    ("npx mocha", "  3 passing (10ms)\n  1 failing", (3, 1, 0)),
    ("node --test", "# pass 3\n# fail 1", (3, 1, 0)),
    ("cargo test", "test a ... FAILED\ntest result: FAILED. 3 passed; 1 failed; 0 ignored\ntest result: ok. 2 passed; 0 failed;", (5, 1, 0)),
    ("go test ./...", "--- FAIL: TestA (0.00s)\nFAIL\nFAIL\tx/b [build failed]", (0, 1, 1)),
    ("mvn test", "[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 0", (3, 1, 1)),
    ("./gradlew test", "5 tests completed, 1 failed", (4, 1, 0)),
    ("bundle exec rspec", "10 examples, 2 failures", (8, 2, 0)),
    ("phpunit", "Tests: 5, Assertions: 6, Failures: 1.", (4, 1, 0)),
    ("dotnet test", "Failed!  - Failed:     1, Passed:     3, Skipped:     0", (3, 1, 0)),
    ("ctest", "90% tests passed, 1 tests failed out of 10", (9, 1, 0)),
    ("mix test", "5 tests, 1 failure", (4, 1, 0)),
    ("npx eslint .", "✖ 3 problems (2 errors, 1 warning)", (0, 2, 0)),
    ("mypy src", "Found 3 errors in 2 files (checked 5 source files)", (0, 3, 0)),
    ("pyright", "3 errors, 0 warnings, 0 informations", (0, 3, 0)),
    ("black --check .", "2 files would be reformatted, 1 file would be left unchanged.", (0, 2, 0)),
    ("golangci-lint run", "3 issues:\n* errcheck: 3", (0, 3, 0)),
    ("rubocop", "10 files inspected, 3 offenses detected", (0, 3, 0)),
]  # fmt: skip


@pytest.mark.parametrize(("line", "output", "wanted"), SUMMARIES)
def test_summaries(line: str, output: str, wanted: tuple[int, int, int]) -> None:
    """What runners count: passed, failed, errors."""
    (command,) = view(bash(line, output, 1)).commands
    assert command.counts is not None
    assert (command.counts.passed, command.counts.failed, command.counts.errors) == wanted


def test_many_commands() -> None:
    """Of many commands the newest are kept, in bounded memory and time."""
    begun = time.process_time()
    session = Session(ToolMap.default(), CommandKinds({}.get))
    for number in range(20_000):
        event = ToolCall(
            call_id="", name="Bash", arguments={"command": f"pytest tests/{number % 7}"}, result=PASSED, ok=True, at=None,
            cwd="/r", exit=0,
        )  # fmt: skip
        session.take(event, None, "/r")
    found = session.view()
    assert len(found.commands) == MOST_COMMANDS
    assert not found.is_told
    assert time.process_time() - begun < 60


@pytest.mark.parametrize(
    "result", ["1 failed, " * 40_000, "=" * 400_000, "\n" * 400_000, "1 passed" * 50_000 + " in 1s"]
)
def test_hostile_outputs(result: str) -> None:
    """Outputs made to be slow take a bounded time and count nothing."""
    (command,) = view(bash("pytest", result, 1)).commands
    assert command.counts is None


def recorded(*events: Event) -> list[dict[str, Any]]:
    """The assertions that a recorder emits, turn by turn."""
    recorder = Recorder("coding-agent", sink := MemorySink())
    recorder.record("c-1", events, cwd="/r")
    return [one for record in sink.records for one in json.loads(record.value)["assertions"]]


def call(line: str, result: str, code: int) -> ToolCall:
    return ToolCall(
        call_id="", name="Bash", arguments={"command": line}, result=result, ok=not code, at=None, cwd="/r", exit=code
    )


SAID = Message(text="All 4 tests in `tests/test_limits.py` pass.", at=None)


def test_a_recorder_writes_it() -> None:
    """What was run in an earlier turn counts, and what is run in a later one does not."""
    first, second = recorded(
        TurnBegan(turn_id="1", at=None), call("pytest", FAILED, 1), SAID, TurnEnded(at=None),
        TurnBegan(turn_id="2", at=None), SAID, call("pytest", PASSED, 0), TurnEnded(at=None),
    )  # fmt: skip
    assert first["session"]["counts"] == {"failed": 1}
    assert (first["session"]["exit"], first["session"]["stated"]) == (1, ["tests/test_limits.py"])
    assert (second["session"]["exit"], second["session"]["counts"]) == (0, {"passed": 4})


def test_a_gap_hides_what_was_not_run() -> None:
    """A compacted session shows a run, and never that there was none."""
    (without,) = recorded(Gap(), SAID)
    (with_run,) = recorded(Gap(), call("pytest", FAILED, 1), SAID)
    (whole,) = recorded(call("ls", "", 0), SAID)
    assert "session" not in without
    assert with_run["session"]["counts"] == {"failed": 1}
    assert whole["session"] == {"kind": "test", "stated": ["tests/test_limits.py"]}


def test_compacted_transcripts() -> None:
    """Claude Code and Codex tell where a session was compacted."""
    common = {"type": "user", "uuid": "u", "sessionId": "s", "timestamp": "2026-09-21T14:13:20Z", "isSidechain": False}
    summary = {**common, "isCompactSummary": True, "message": {"role": "user", "content": "So far: tests ran."}}
    assert list(claude_code.read([json.dumps(summary).encode()])) == [Gap()]
    compacted = {"timestamp": "2026-09-21T14:13:20Z", "type": "compacted", "payload": {"message": "x"}}
    assert list(codex.read([json.dumps(compacted).encode()])) == [Gap()]


def test_the_tools_of_agents() -> None:
    """Patches and editors change files; subagents are of unknown kind; what only looks is nothing."""
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n*** Add File: b.py\n*** End Patch"
    found = view(
        ("apply_patch", {"input": patch}, "ok", None),
        bash(f"apply_patch <<'EOF'\n{patch}\nEOF"),
        ("str_replace_editor", {"command": "view", "path": "/r/a.py"}, "x", None),
        ("str_replace_editor", {"command": "create", "path": "/r/a.py"}, "x", None),
        ("Edit", {"file_path": "/r/a.py"}, "It was not found.", 1),
        ("TodoWrite", {}, "ok", None),
        ("Task", {"prompt": "x"}, "ok", None),
    )
    assert (found.edits, found.unknown) == (5, 1)
