"""Files vetted turn by turn, in one process or in several."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from vetted_session import ANSWER, FALSE, TRUE, claude_session, git

from sluice.codecs.errors import UnreachableError, UsageError
from sluice.record import Recorded
from sluice.topology.settings.settings import Settings
from sluice.topology.vet import vetting_runs
from sluice.topology.vet.vetted_assertions import Verdict
from sluice.topology.vet.vetting import VETTING_POLICY, Vetter
from sluice.topology.vet.vetting_runs import Claims, Job, Named, ReadFile, Running, Unread, Vetted, processes_for


def job_of(tmp_path: Path, repo: Path, *, last: bool = False) -> Job:
    """Two transcripts, of which one has a line that cannot be read, and an answer."""
    one, two, answer = tmp_path / "one.jsonl", tmp_path / "two.jsonl", tmp_path / "answer.md"
    one.write_text(claude_session(repo, TRUE, FALSE, "Nothing.", ANSWER, TRUE) + "{broken\n")
    two.write_text(claude_session(repo, FALSE, TRUE))
    answer.write_text(TRUE)
    files = [Named(str(one), "claude-code"), Named(str(answer), is_answer=True), Named(str(two), "claude-code")]
    return Job(files, Settings(root=str(repo)), VETTING_POLICY, last)


def verdicts_of(job: Job) -> list[Verdict]:
    return [verdict for one in vetting_runs.vetted(job) if isinstance(one, Vetted) for verdict in one.verdicts]


def results(job: Job, processes: int) -> list[object]:
    with Running(job, processes) as under_way:
        return [
            (one.name, one.turn, [(verdict.text, verdict.status, verdict.file) for verdict in one.verdicts])
            if isinstance(one, Vetted)
            else one
            for one in under_way.results()
            if not isinstance(one, ReadFile)
        ]


def readings(job: Job, processes: int) -> list[tuple[str, int, int]]:
    """File, messages and what was not understood, as each process reads them."""
    with Running(job, processes) as under_way:
        found = [one for one in under_way.results() if isinstance(one, ReadFile)]
    return [(Path(one.name).name, one.reading.messages, one.reading.not_understood) for one in found]


SELF_MADE = "The server deletes all data of `Customers` at midnight."


@pytest.mark.parametrize("form", ["an answer", "a session"])
@pytest.mark.parametrize("link", [False, True])
def test_what_is_vetted_is_no_evidence_for_itself(tmp_path: Path, repo: Path, form: str, link: bool):
    """Not by its words, nor where it names itself, nor against what it says is nowhere; whichever path leads to it."""
    (repo / "notes").mkdir()
    path = repo / "notes" / ("answer.md" if form == "an answer" else "session.jsonl")
    named = f"notes/{path.name}"
    said = f"{SELF_MADE}\n\n`{named}` contains `Customers`.\n\n`old_retry` stands in no tracked file.\n"
    path.write_text(said if form == "an answer" else claude_session(repo, said))
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "Keep it")
    if link:
        (tmp_path / "link").symlink_to(repo)
        path = tmp_path / "link" / "notes" / path.name
    one = Named(str(path), is_answer=True) if form == "an answer" else Named(str(path), "claude-code")
    verdicts = verdicts_of(Job([one], Settings(root=str(repo)), VETTING_POLICY))
    assert [verdict.text for verdict in verdicts] == said.split("\n\n")[:2] + ["`old_retry` stands in no tracked file."]
    assert not [place for verdict in verdicts for place in verdict.seen if place.path == named]
    assert not {verdict.status for verdict in verdicts} & {"admitted", "below-floor", "contradicted"}


def test_another_answer_may_name_a_file_that_was_vetted_before(tmp_path: Path, repo: Path):
    """It is a tracked file like others then."""
    (repo / "notes.md").write_text(SELF_MADE)
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "Keep it")
    answer = tmp_path / "notes.md"
    answer.write_text("`notes.md` contains `Customers`.")
    (verdict,) = verdicts_of(Job([Named(str(answer), is_answer=True)], Settings(root=str(repo)), VETTING_POLICY))
    assert verdict.status == "admitted"


@pytest.mark.parametrize("processes", [2, 3, 7])
def test_several_processes_say_what_one_says(tmp_path: Path, repo: Path, processes: int):
    """The same verdicts in the same order, and each line that cannot be read once."""
    job = job_of(tmp_path, repo)
    alone, together = results(job, 1), results(job, processes)
    assert [one for one in together if not isinstance(one, Unread)] == [
        one for one in alone if not isinstance(one, Unread)
    ]
    for found in (alone, together):
        assert [one.line for one in found if isinstance(one, Unread)] == [21]
        assert [one[1] for one in found if not isinstance(one, Unread)] == [1, 2, 3, 4, 5, None, 1, 2]
    assert readings(job, processes) == readings(job, 1) == [("one.jsonl", 5, 1), ("two.jsonl", 2, 0)]


def test_each_turn_is_judged_by_the_process_that_comes_to_it_first():
    """By one alone, whatever the others passed over before; a turn of a later file comes behind all of an earlier."""
    claims = Claims(multiprocessing.get_context("fork"))
    assert claims.claim((1, 1))
    assert [claims.claim((1, 1)), claims.claim((1, 2)), claims.claim((1, 3))] == [False, True, True]
    assert [claims.claim((1, turn)) for turn in (2, 3, 4)] == [False, False, True]
    assert [claims.claim((2, 1)), claims.claim((1, 5)), claims.claim((2, 1)), claims.claim((2, 2))] == [
        True, False, False, True,
    ]  # fmt: skip


def test_no_process_waits_for_a_long_turn(tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch):
    """While one judges the first turn, the other one judges all that follow; the first is given first all the same."""
    judged = tmp_path / "judged"

    class Slow(Vetter):
        def vet(self, recorded: Recorded) -> list[Verdict]:
            if b"The first." in recorded.value:
                end = time.monotonic() + 60
                while not judged.exists() and time.monotonic() < end:
                    time.sleep(0.01)
                assert judged.exists(), "the last turn waits for this one"
            found = super().vet(recorded)
            if b"The last." in recorded.value:
                judged.touch()
            return found

    monkeypatch.setattr(vetting_runs, "Vetter", Slow)
    path = tmp_path / "session.jsonl"
    path.write_text(claude_session(repo, f"The first. {TRUE}", TRUE, FALSE, TRUE, f"The last. {TRUE}"))
    job = Job([Named(str(path), "claude-code")], Settings(root=str(repo)), VETTING_POLICY)
    with Running(job, 2) as under_way:
        assert [one.turn for one in under_way.results() if isinstance(one, Vetted)] == [1, 2, 3, 4, 5]


INTERRUPTED = """
import sys
from sluice.topology.settings.settings import Settings
from sluice.topology.vet.vetting import VETTING_POLICY
from sluice.topology.vet.vetting_runs import Job, Named, Running

job = Job([Named(sys.argv[1], "claude-code")], Settings(root=sys.argv[2]), VETTING_POLICY)
with Running(job, 2) as under_way:
    for _ in under_way.results():
        print(*(worker.pid for worker in under_way.workers), flush=True)
        sys.stdin.read()
"""


def test_an_interruption_ends_the_processes(tmp_path: Path, repo: Path):
    """Ctrl-C, told to the first process alone, in the middle of a session."""
    path = tmp_path / "session.jsonl"
    path.write_text(claude_session(repo, *[TRUE] * 500))
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(path), str(repo)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        workers = [int(word) for word in process.stdout.readline().split()]
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in said
    assert len(workers) == 2
    for worker in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(worker, 0)


def test_the_last_turn_alone_is_vetted(tmp_path: Path, repo: Path):
    """Of each transcript, with its number; an answer has no turns."""
    found = results(job_of(tmp_path, repo, last=True), 1)
    assert [one[1] for one in found if not isinstance(one, Unread)] == [5, None, 2]


@pytest.mark.parametrize("processes", [1, 2])
def test_progress_is_told_in_bytes(tmp_path: Path, repo: Path, processes: int, monkeypatch: pytest.MonkeyPatch):
    """Of what was read of the transcripts; of one process, since each reads all of it."""
    monkeypatch.setattr(vetting_runs, "WORTH_IT", 0)
    job, read = job_of(tmp_path, repo), list[int]()
    with Running(job, processes) as under_way:
        for _ in under_way.results(read.append):
            pass
    assert sum(read) == sum(Path(one.name).stat().st_size for one in job.files if not one.is_answer)
    assert min(read) > 0


@pytest.mark.parametrize("processes", [1, 2])
def test_what_cannot_be_opened_is_an_error(tmp_path: Path, repo: Path, processes: int):
    """Of whichever process it was."""
    job = job_of(tmp_path, repo)
    (tmp_path / "two.jsonl").unlink()
    with pytest.raises(UsageError, match=r"two\.jsonl"):
        results(job, processes)


def test_a_process_that_comes_to_its_end_is_an_error(tmp_path: Path, repo: Path):
    """Nobody takes a part of the session for the whole."""
    with Running(job_of(tmp_path, repo), 2) as under_way:
        for worker in under_way.workers:
            assert worker.pid is not None
            os.kill(worker.pid, signal.SIGKILL)
            worker.join()
        with pytest.raises(UnreachableError, match="came to its end"):
            list(under_way.results())


def test_processes_end_with_whoever_began_them(tmp_path: Path, repo: Path):
    """Also where their results are not taken."""
    with Running(job_of(tmp_path, repo), 2) as under_way:
        workers = list(under_way.workers)
        next(under_way.results())
    assert [worker.is_alive() for worker in workers] == [False, False]


def test_only_what_is_worth_it_is_shared(tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch):
    """Not what is small, what can be read once, or the last turn alone; and no more than there are processors."""
    job = job_of(tmp_path, repo)
    assert processes_for(job, 8) == 1
    monkeypatch.setattr(vetting_runs, "WORTH_IT", 1)
    assert [processes_for(job, number) for number in (1, 2, 64)] == [1, 2, vetting_runs.MOST_PROCESSES]
    assert processes_for(job._replace(last=True), 8) == 1
    assert processes_for(job._replace(files=[*job.files, Named("-")]), 8) == 1


def test_turns_are_given_while_the_file_is_read(tmp_path: Path, repo: Path):
    """What is held of a long session is one turn: its verdicts come before what stands behind them is read."""
    path = tmp_path / "long.jsonl"
    path.write_text(claude_session(repo, *[TRUE] * 40))
    read = list[int]()
    with Running(Job([Named(str(path), "claude-code")], Settings(root=str(repo)), VETTING_POLICY)) as under_way:
        found = under_way.results(read.append)
        first = next(found)
        assert isinstance(first, Vetted)
        assert first.turn == 1
        assert sum(read) < path.stat().st_size / 10
        found.close()  # type: ignore[attr-defined]


def test_json_that_is_given_is_the_same_from_several_processes(tmp_path: Path, repo: Path):
    """A verdict passes from one process to another whole."""
    job = job_of(tmp_path, repo)
    forms: list[list[str]] = []
    for processes in (1, 2):
        with Running(job, processes) as under_way:
            told = [one.verdicts for one in under_way.results() if isinstance(one, Vetted)]
        forms.append([json.dumps(sorted(verdict.form()), indent=0) for several in told for verdict in several])
    assert forms[0] == forms[1]
