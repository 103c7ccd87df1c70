"""Which annotations a statement gets that is vetted: what its calls give, and further kinds of evidence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic

import msgspec
import pytest
from vetted_session import FALSE, SOURCE, TRUE, claude_session, git

from sluice.codecs.decode import decode_emission
from sluice.codecs.records import Annotation, Emission
from sluice.record.transcripts import open_transcript
from sluice.streams.judging.checks import Check
from sluice.streams.policy.policy import DEFAULT_POLICY, Policy
from sluice.topology.observers.nameable_files import homes
from sluice.topology.observers.observer_registry import ObserverRegistry
from sluice.topology.observers.roots import Roots
from sluice.topology.settings.settings import Settings
from sluice.topology.vet.at_hand import AtHand, kinds_wanted
from sluice.topology.vet.sources import Source, of_answer, of_events
from sluice.topology.vet.vetted_assertions import Verdict
from sluice.topology.vet.vetting import VETTING_POLICY, Vetter

SAME_BYTES = msgspec.structs.replace(
    DEFAULT_POLICY, judging=msgspec.structs.replace(DEFAULT_POLICY.judging, same_bytes=True)
)
CALLS = "`retry` in `limits.py` calls `wait`."
AFTER = SOURCE + "\n\ndef wait():\n    pass\n"


@pytest.fixture
def instruments(repo: Path) -> Iterator[ObserverRegistry]:
    with closing(ObserverRegistry(Settings(root=str(repo)))) as made:
        yield made


def at_hand(repo: Path, instruments: ObserverRegistry, policy: Policy = VETTING_POLICY) -> AtHand:
    return AtHand(str(repo), Settings(root=str(repo)), instruments, policy)


def session(tmp_path: Path, repo: Path, answer: str, hand: AtHand) -> Source:
    path = tmp_path / "session.jsonl"
    path.write_text(claude_session(repo, answer))
    return of_events(open_transcript(path), str(repo), conversation="s", at_hand=hand)


def annotations(source: Source) -> list[Annotation]:
    (recorded,) = source.emissions
    emission = decode_emission(recorded.value)
    assert isinstance(emission, Emission)
    return [one for assertion in emission.assertions or () for one in assertion.annotations]


def kinds(source: Source) -> list[str]:
    return [one.substrate_class.removeprefix("substrate.") for one in annotations(source)]


def vetted(source: Source, repo: Path, instruments: ObserverRegistry) -> list[Verdict]:
    vetter = Vetter(Settings(root=str(repo)), Roots.of(str(repo)), instruments)
    return [verdict for one in source.emissions for verdict in vetter.vet(one)]


def test_a_second_kind_that_can_decide_it_looks_too(tmp_path: Path, repo: Path, instruments: ObserverRegistry):
    """The agent only read lines of the file: all of it is looked at, and by a second kind as well."""
    true = session(tmp_path, repo, TRUE, at_hand(repo, instruments))
    assert kinds(true) == ["code.read", "code.read", "grep"]
    assert [one.status for one in vetted(true, repo, instruments)] == ["admitted"]
    false = session(tmp_path, repo, FALSE, at_hand(repo, instruments))
    assert [one.status for one in vetted(false, repo, instruments)] == ["contradicted"]


def test_it_speaks_of_the_time_at_which_the_agent_looked(tmp_path: Path, repo: Path, instruments: ObserverRegistry):
    """A later time would hold a change between look and answer against the agent; an id is never made up."""
    own, *more = annotations(session(tmp_path, repo, TRUE, at_hand(repo, instruments)))
    assert own.ts is not None
    assert [(one.ts, one.observation_id, one.locator) for one in more] == [(own.ts, None, {"path": "limits.py"})] * 2


def test_only_a_kind_that_can_decide_it_is_asked(tmp_path: Path, repo: Path, instruments: ObserverRegistry):
    """A search decides no call; history does."""
    (repo / "limits.py").write_text(AFTER.replace("return", "wait()\n    return"))
    git(repo, "commit", "-qam", "wait")
    path = tmp_path / "session.jsonl"
    path.write_text(claude_session(repo, CALLS).replace("return MAX", "wait()\\\\n     6\\\\t    return MAX"))
    source = of_events(open_transcript(path), str(repo), conversation="s", at_hand=at_hand(repo, instruments))
    assert kinds(source) == ["code.read", "code.read", "git.log"]
    assert [one.status for one in vetted(source, repo, instruments)] == ["admitted"]


def test_a_policy_that_counts_the_same_bytes_once_has_another_kind(
    tmp_path: Path, repo: Path, instruments: ObserverRegistry
):
    """A search and a read of one file are one kind then."""
    assert (kinds_wanted(DEFAULT_POLICY), kinds_wanted(SAME_BYTES)) == (2, 3)
    source = session(tmp_path, repo, TRUE, at_hand(repo, instruments, SAME_BYTES))
    assert kinds(source) == ["code.read", "code.read", "grep", "git.log"]


@pytest.mark.parametrize("said", ["`limits.py` defines `backoff`.", "`MAX_RETRIES` is 5 in `other.py`."])
def test_what_no_call_bears_on_gets_nothing(tmp_path: Path, repo: Path, instruments: ObserverRegistry, said: str):
    """A name that an agent dropped is no look of its, whatever stands in the checkout; a file that it names is one."""
    (repo / "other.py").write_text("x = 1\n")
    (repo / "hidden.py").write_text("def backoff(): pass\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "more")
    source = session(tmp_path, repo, said, at_hand(repo, instruments))
    assert {(one.locator or {}).get("path") for one in annotations(source)} <= {"limits.py", "other.py"}
    assert next(one.status for one in vetted(source, repo, instruments)) != "admitted"


@pytest.mark.parametrize("is_session", [True, False])
def test_a_change_that_is_not_committed_is_not_held_against_what_is_said_of_it(
    tmp_path: Path, repo: Path, instruments: ObserverRegistry, is_session: bool
):
    """History knows the file as it was: it must not contradict what the agent has just written. All that reads the
    agent's own change counts as one kind of evidence; a policy that wants no more admits it."""
    (repo / "limits.py").write_text(SOURCE.replace("5", "6"))
    said = "`MAX_RETRIES` is 6 in `limits.py`. `MAX_RETRIES` is 5 in `limits.py`."
    hand = at_hand(repo, instruments, SAME_BYTES)
    if is_session:
        path = tmp_path / "session.jsonl"
        path.write_text(claude_session(repo, said).replace("MAX_RETRIES = 5", "MAX_RETRIES = 6"))
        source = of_events(open_transcript(path), str(repo), conversation="s", at_hand=hand)
    else:
        source = of_answer(said, hand)
    assert set(kinds(source)) == {"code.read", "grep"}
    new, old = vetted(source, repo, instruments)
    assert (new.status, len((new.record or {})["classes"])) == ("below-floor", 1)
    assert old.status in ("contradicted", "unverified-inference")  # the latter where the change is of this very moment
    assert {place.path for place in (*new.seen, *old.seen)} == {"limits.py"}


def test_what_is_said_of_history_is_asked_of_history(repo: Path, instruments: ObserverRegistry):
    """Also where the file was changed since."""
    (repo / "limits.py").write_text(SOURCE.replace("5", "6"))
    source = of_answer("`limits.py` was last changed before 2099-01-01.", at_hand(repo, instruments))
    assert "git.log" in kinds(source)


def test_a_link_out_of_the_checkout_was_never_committed(tmp_path: Path, repo: Path, instruments: ObserverRegistry):
    """Nothing beyond the root is read, not even to compare it."""
    outside = tmp_path / "outside.py"
    outside.write_text(SOURCE)
    (repo / "limits.py").unlink()
    (repo / "limits.py").symlink_to(outside)
    hand = at_hand(repo, instruments)
    assert not any(hand.committed(path) for path in ("limits.py", "../outside.py", str(outside), ".git/config", "a\0b"))


def test_a_folder_without_git_has_no_history(tmp_path: Path):
    """Nothing was committed there."""
    (tmp_path / "limits.py").write_text(SOURCE)
    with closing(ObserverRegistry(Settings(root=str(tmp_path)))) as made:
        hand = at_hand(tmp_path, made)
        assert not hand.committed("limits.py")
        assert kinds(of_answer(TRUE, hand)) == ["code.read", "grep"]


def test_a_symbol_is_at_home_neither_in_its_copies_nor_in_tests():
    """A statement about a symbol means the file that is its source."""
    assert homes(["dist/a.js", "src/a.ts", "src/a.test.ts", "types/a.d.ts"]) == ["src/a.ts"]
    assert homes(["tests/test_a.py", "a.pyi"]) == ["tests/test_a.py"]
    assert homes(["src/a.py", "src/b.py"]) == ["src/a.py", "src/b.py"]


@pytest.mark.parametrize(
    ("symbol", "home"),
    [
        ("retry", "limits.py"),
        ("retry()", "limits.py"),
        ("absent", None),
        ("--help", None),
        ("hidden", None),  # in a file that is never looked at
        ("untracked", None),
        ("beyond", None),  # behind a link that leads out of the root
    ],
)
def test_the_home_of_a_symbol_is_found_without_reading_the_other_files(
    tmp_path: Path, repo: Path, instruments: ObserverRegistry, symbol: str, home: str | None
):
    """A repository may hold far more than a look may read; the files with the name do not."""
    (tmp_path / "beyond.py").write_text("def beyond():\n    pass\n")
    (repo / "link.py").symlink_to(tmp_path / "beyond.py")
    (repo / "data.py").write_text("LARGE = 1\n" * 200)
    (repo / ".env").write_text("def hidden():\n    pass\n")
    git(repo, "add", "--all")
    (repo / "new.py").write_text("def untracked():\n    pass\n")
    settings = Settings(root=str(repo), look_bytes=1_500)
    hand = AtHand(str(repo), settings, instruments, VETTING_POLICY)
    assert hand.home_of(Check("defines", (symbol,))) == home


def test_the_search_for_homes_ends_with_the_time_of_its_user(repo: Path, instruments: ObserverRegistry):
    """A statement whose file is not found in time is late alone: the others are looked at."""
    hand = AtHand(str(repo), Settings(root=str(repo)), instruments, VETTING_POLICY, until=monotonic() - 1)
    assert hand.home_of(Check("defines", ("retry",))) is None
    kind_of_looks = kinds(of_answer(f"{TRUE} `retry` is a function.", hand))
    assert "code.read" in kind_of_looks
