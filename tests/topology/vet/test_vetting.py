"""A verdict about each assertion of an answer, without a broker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from vetted_session import ANSWER, FALSE, SOURCE, TRUE, UNSUPPORTED, claude_session

from sluice.record import Problem
from sluice.record.transcripts import open_transcript
from sluice.streams.policy.policy import DEFAULT_POLICY, Floor
from sluice.topology.observers.nameable_files import tracked
from sluice.topology.observers.observer_registry import ObserverRegistry
from sluice.topology.observers.roots import Roots
from sluice.topology.settings.settings import Settings
from sluice.topology.vet import vetted_assertions
from sluice.topology.vet.at_hand import AtHand
from sluice.topology.vet.sources import Source, of_answer, of_events
from sluice.topology.vet.vetted_assertions import UNSETTLED, Verdict
from sluice.topology.vet.vetting import VETTING_POLICY, Vetter

ONE = msgspec.structs.replace(
    DEFAULT_POLICY, admissibility=msgspec.structs.replace(DEFAULT_POLICY.admissibility, k=Floor(internal=1, external=1))
)


@pytest.fixture
def instruments(repo: Path) -> Iterator[ObserverRegistry]:
    with closing(ObserverRegistry(Settings(root=str(repo)))) as made:
        yield made


def session(tmp_path: Path, repo: Path, *answers: str, at: str = "") -> Source:
    path = tmp_path / "session.jsonl"
    path.write_text(claude_session(repo, *answers, at=at))
    return of_events(open_transcript(path), str(repo), conversation="s")


def at_hand(repo: Path, instruments: ObserverRegistry, policy=VETTING_POLICY) -> AtHand:
    return AtHand(str(repo), Settings(root=str(repo)), instruments, policy)


def answered(text: str, repo: Path, instruments: ObserverRegistry) -> Source:
    return of_answer(text, at_hand(repo, instruments))


def vetted(source: Source, repo: Path, instruments: ObserverRegistry, policy=VETTING_POLICY) -> list[Verdict]:
    vetter = Vetter(Settings(root=str(repo)), Roots.of(str(repo)), instruments, policy)
    return [verdict for one in source.emissions for verdict in vetter.vet(one)]


def test_a_session_gets_a_verdict_for_each_statement(tmp_path: Path, repo: Path, instruments: ObserverRegistry):
    """What is so is admitted, what is not is contradicted, what nobody looked at is unannotated."""
    true, false, unsupported = vetted(session(tmp_path, repo, ANSWER), repo, instruments, ONE)
    assert (true.text, true.status, list(true.rendered)) == (
        TRUE, "admitted", ["`MAX_RETRIES` in `limits.py` equals 5 (line 1)."],
    )  # fmt: skip
    assert [(place.path, place.lines, place.outcome) for place in true.seen] == [("limits.py", (1, 1), "corroborates")]
    assert (false.text, false.status) == (FALSE, "contradicted")
    (missing,) = false.missing
    assert (missing.check, missing.path, missing.lines) == (
        "equals(MAX_RETRIES, 7, path=limits.py)",
        "limits.py",
        (1, 1),
    )
    assert (unsupported.text, unsupported.status, unsupported.unsupported) == (UNSUPPORTED, "unannotated", True)
    assert "backoff" in unsupported.missing[0].terms


def test_one_kind_of_evidence_is_below_the_floor(tmp_path: Path, repo: Path, instruments: ObserverRegistry):
    """With what the agent's one call gives alone a statement is below the floor, and the verdict says so."""
    true, false, _ = vetted(session(tmp_path, repo, ANSWER), repo, instruments)
    assert (true.status, false.status) == ("below-floor", "contradicted")
    assert true.missing[-1].reason == "1 of 2 kinds of evidence bear it out"
    assert not true.unsupported
    told = vetted_assertions.summary([true, false])
    assert "fewer than the 2 kinds of evidence that the policy wants" in told[0]
    assert "--policy" in told[0]
    assert told[-1] == "2 statements: 1 below-floor, 1 contradicted"


@pytest.mark.parametrize(
    "false",
    [
        "It is false that `limits.py` defines `retry`.",
        "`limits.py` defines `retry` only on Windows.",
        "`MAX_RETRIES` in `limits.py` is 5 hours.",
        "`limits.py` used to define `retry`.",
    ],
)
def test_a_false_sentence_that_is_no_claim_form_is_never_admitted(
    repo: Path, instruments: ObserverRegistry, false: str
):
    """No check is attached to it because it holds: nothing of it is shown as admitted."""
    (verdict,) = vetted(answered(false, repo, instruments), repo, instruments, ONE)
    assert verdict.status == "unverified-inference"
    assert "1 admitted" not in "\n".join(vetted_assertions.lines([verdict]))
    assert verdict.form()["status"] == "unverified-inference"


def test_an_old_session_is_vetted_for_what_is_so_now(tmp_path: Path, repo: Path, instruments: ObserverRegistry):
    """Its emissions are older than any window, and settle all the same."""
    verdicts = vetted(session(tmp_path, repo, ANSWER, at="2020-01-01T00:00:00Z"), repo, instruments, ONE)
    assert verdicts[0].status == "admitted"
    assert "unsettled" not in {one.status for one in verdicts}


def test_what_changed_since_the_agent_looked_is_not_held_against_it(
    tmp_path: Path, repo: Path, instruments: ObserverRegistry
):
    """The statement was true then: it is not contradicted, and not admitted."""
    source = session(tmp_path, repo, TRUE, at="2020-01-01T00:00:00Z")
    (repo / "limits.py").write_text(SOURCE.replace("5", "6"))
    (verdict,) = vetted(source, repo, instruments, ONE)
    assert verdict.status == "unverified-inference"


def test_a_session_from_a_clock_that_runs_ahead_settles(tmp_path: Path, repo: Path, instruments: ObserverRegistry):
    """Times that are still to come are taken away, not held against the emission."""
    verdicts = vetted(session(tmp_path, repo, ANSWER, at="2099-01-01T00:00:00Z"), repo, instruments, ONE)
    assert [one.status for one in verdicts] == ["admitted", "contradicted", "unannotated"]


def test_the_last_turn_is_vetted(tmp_path: Path, repo: Path, instruments: ObserverRegistry):
    """Calls of earlier turns count."""
    last = vetted(session(tmp_path, repo, FALSE, TRUE), repo, instruments, ONE)
    assert [one.status for one in last] == ["admitted"]


def test_a_plain_answer_is_looked_for_where_it_points(repo: Path, instruments: ObserverRegistry):
    """Annotations are proposed from what it names; a name that is not defined there is contradicted."""
    listing = tracked(str(repo), Settings(), instruments)
    verdicts = vetted(answered(ANSWER, repo, instruments), repo, instruments)
    assert listing == {"limits.py"}
    assert [one.status for one in verdicts] == ["admitted", "contradicted", "unverified-inference"]


def test_a_file_that_is_not_there_is_looked_for_too(repo: Path, instruments: ObserverRegistry):
    """judging.md «What an observer returns», path-missing: `missing` holds, `exists` is refuted, all else is undecided;
    that something untracked is there is told, by one kind of evidence."""
    (repo / "draft.py").write_text("LIMIT = 1\n")
    answer = (
        "`src/none.py` exists. `src/none.py` does not exist. `src/none.py` defines `LIMIT`. "
        "`draft.py` exists. `draft.py` does not exist."
    )
    verdicts = vetted(answered(answer, repo, instruments), repo, instruments)
    unverified = "unverified-inference"
    *four, draft = [one.status for one in verdicts]
    assert four == ["contradicted", "admitted", unverified, "below-floor"]
    assert draft in ("contradicted", unverified)  # the latter where it was written at this very moment


def test_words_that_are_not_there_are_named(repo: Path, instruments: ObserverRegistry):
    """An observer that looked in vain says what it missed."""
    answer = "The retry waits 30 seconds with `jitter`, as `limits.py` says."
    (verdict,) = vetted(answered(answer, repo, instruments), repo, instruments)
    assert (verdict.status, verdict.unsupported) == ("unverified-inference", True)
    assert verdict.missing[0].terms == ("30 seconds", "jitter")


def test_a_verdict_is_its_last_record_and_what_vetting_adds(tmp_path: Path, repo: Path, instruments: ObserverRegistry):
    """Every member of the record stands in the object itself, and what vetting adds beside it."""
    true, false, unsupported = vetted(session(tmp_path, repo, ANSWER), repo, instruments, ONE)
    for verdict in (true, false, unsupported):
        form = msgspec.json.decode(msgspec.json.encode(verdict.form()))
        assert verdict.record is not None
        assert {name: form[name] for name in verdict.record if name != "status"} == {
            name: value for name, value in verdict.record.items() if name != "status"
        }
        assert form["status"] == verdict.status
        assert form["statement"] == verdict.text
        assert {"seen", "missing", "rendered"} <= form.keys()
    assert (true.status, false.status, unsupported.status) == ("admitted", "contradicted", "unannotated")


def test_a_verdict_without_a_record_has_a_status_too():
    """An emission that was refused as a whole gives no record."""
    form = Verdict("e", None, "said", UNSETTLED, "schema: why", [], [], [], None, "a.md").form()
    assert (form["status"], form["reason"], form["statement"], form["file"]) == (
        "unsettled", "schema: why", "said", "a.md",
    )  # fmt: skip


def test_lines_that_cannot_be_read_are_reported(tmp_path: Path, repo: Path):
    """The rest of the session is vetted."""
    path = tmp_path / "session.jsonl"
    path.write_text(claude_session(repo, TRUE) + "{broken\n")
    source = of_events(open_transcript(path), str(repo), conversation="s")
    assert len(source.emissions) == 1
    assert [type(one) for one in source.problems] == [Problem]


def test_a_folder_without_git_has_paths_too(tmp_path: Path):
    """Everything in it but what is never looked at."""
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / ".env").write_text("SECRET=1\n")
    with closing(ObserverRegistry(Settings())) as made:
        assert tracked(str(tmp_path), Settings(), made) == {"a.py"}
