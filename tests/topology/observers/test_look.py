"""The door: an emission in, its observations out."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from looking import EMITTED, TS, Repository, ask, outcome, parsed_emission, reason
from msgspec.structs import replace

from sluice.codecs.decode import decode_emission, decode_observation
from sluice.codecs.errors import Fault, UsageError
from sluice.codecs.records import Annotation, Emission
from sluice.codecs.signatures import Signing, domain_of, holds
from sluice.topology.engine.signing import new_signer, save_signer
from sluice.topology.observers import look as look_module
from sluice.topology.observers.look import cannot_look, look, written
from sluice.topology.observers.observation_record import signing_of
from sluice.topology.observers.observer_registry import ObserverRegistry
from sluice.topology.settings.settings import Settings

DOMAIN = domain_of("observations", "sluice")

TEXT = "Perhaps CHANGELOG.md has an entry dated 2026-05-25."
CLASSES = ["git.log", "grep", "code.read", "fs.mtime", "mcp.brief", "do.sse-count", "unix.peercred"]


def annotations(*names: str) -> list[Annotation]:
    return [Annotation(f"substrate.{name}") for name in names]


def test_each_annotation_has_its_observation_in_order(changelog: Repository):
    """One for each that is neither terminal nor unknown, two of one class included."""
    asked = parsed_emission(
        TEXT,
        *annotations("fs.mtime", "grep", "grep"),
        Annotation("unverified-inference"),
        Annotation("substrate.web.search"),
        Annotation("2.0.substrate.grep"),
        Annotation("substrate.grep", unknown=True),
        Annotation("1.0.substrate.code.read"),
    )
    found = look(asked, Settings(), changelog.path)
    names = ["fs.mtime", "grep", "grep", "code.read"]
    assert [one.substrate_class for one in found] == [f"substrate.{name}" for name in names]


def test_assertions_are_looked_at_in_order(changelog: Repository):
    """Subject names emission, span and attempt; the attempt is always written."""
    raw = msgspec.json.encode(
        {
            "emission_id": "em-7",
            "emitted_at": EMITTED,
            "attempt": 2,
            "text": f"{TEXT} [substrate.grep] MAX_RETRIES was perhaps set to 5. "
            "[substrate.code.read; path=src/times.py; lines=1-1]",
        }
    )
    decoded = decode_emission(raw)
    assert isinstance(decoded, Emission)
    found = look(decoded, Settings(observer="watcher"), changelog.path)
    assert [(one.subject.emission_id, one.subject.attempt, one.observer) for one in found] == [
        ("em-7", 2, "watcher")
    ] * 2
    assert [one.subject.span.chars for one in found] == [(0, 51), (52, 85)]
    assert [one.outcome for one in found] == ["terms-present", "terms-present"]
    assert all(b'"attempt":2' in msgspec.json.encode(one) for one in found)


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("kind", ["assertion", "denial", "refusal"])
def test_whatever_is_seen_is_a_record_that_lanes_read(changelog: Repository, name: str, kind: str):
    """Every observation decodes again as it was written."""
    found = ask(changelog, name, TEXT, kind=kind)
    assert decode_observation(msgspec.json.encode(found)) == found


@pytest.mark.parametrize("name", CLASSES[4:])
def test_classes_without_an_observer_say_so(changelog: Repository, name: str):
    """No such observer is configured: unavailable, with that reason, and the declared id or none."""
    found = ask(changelog, name, TEXT, declared="sse:14", url="https://example.org")
    assert (found.outcome, found.observation_id) == ("unavailable", "sse:14")
    assert found.detail == {"reason": f"no observer for substrate.{name} is configured"}
    assert found.locator is None
    assert ask(changelog, name, TEXT).observation_id == f"none:substrate.{name}"


def test_a_refusal_states_nothing(changelog: Repository):
    """Its annotations are answered, but nothing is looked for."""
    assert reason(changelog, "code.read", TEXT, kind="refusal") == "a refusal states nothing that could be looked for"


def test_an_assertion_that_says_nothing_is_not_borne_out(changelog: Repository):
    """Stop words alone are found in any text."""
    for kind in ("assertion", "denial"):
        for name in ("code.read", "grep", "git.log", "fs.mtime"):
            assert outcome(changelog, name, "It is what it is.", kind=kind, path="CHANGELOG.md") == "unavailable"


def test_observed_at_is_when_the_look_began(changelog: Repository):
    """The clock is read once for each look, before it."""
    times = iter([1_000_000, 2_000_500])
    found = look(
        parsed_emission(TEXT, *annotations("code.read", "grep")), Settings(), changelog.path, lambda: next(times)
    )
    assert [one.observed_at for one in found] == ["1970-01-01T00:16:40Z", "1970-01-01T00:33:20.500Z"]


def test_only_the_known_members_of_a_locator_are_repeated(changelog: Repository):
    """What a stranger adds, credentials say, goes into no observation; nor does what has another type."""
    found = ask(changelog, "code.read", TEXT, path="CHANGELOG.md", token="secret", lines={"a": 1}, ref="main")
    assert found.locator == {"path": "CHANGELOG.md", "ref": "main"}
    assert ask(changelog, "code.read", TEXT, password="secret").locator is None
    assert ask(changelog, "grep", TEXT, pattern="x" * 20_000).locator is None


def test_an_observation_stays_small(changelog: Repository):
    """However long the assertion's terms, an observation is no megabyte."""
    changelog.write("big.txt", "x" * 19_000)
    changelog.git("add", "big.txt")
    found = ask(changelog, "code.read", "It is “" + "x" * 19_000 + "”.", path="big.txt")
    assert found.outcome == "terms-present"
    assert len(msgspec.json.encode(found)) < 1000


def test_what_is_too_much_to_look_for_is_unavailable(changelog: Repository):
    """Texts and numbers of terms are bounded."""
    assert "longer than" in reason(changelog, "code.read", "word " * 5000, path="CHANGELOG.md")
    assert "terms" in reason(changelog, "code.read", " ".join(f"a_{n}" for n in range(101)), path="CHANGELOG.md")


def test_another_question_is_another_look(changelog: Repository):
    """The same words with other checks, at another place, or of another kind."""
    settings = Settings()
    with closing(ObserverRegistry(settings)) as instruments:

        def outcome_of(**options: Any) -> str:
            return ask(changelog, "code.read", TEXT, instruments=instruments, path="CHANGELOG.md", **options).outcome

        assert outcome_of() == "terms-present"
        assert outcome_of(checks=['contains("2026-05-25")']) == "corroborates"
        assert outcome_of(checks=['line(CHANGELOG.md, 9, "x")']) == "contradicts"
        assert outcome_of(checks=['line(CHANGELOG.md, 9, "x")'], kind="denial") == "contradicts"
        assert outcome_of() == "terms-present"


def test_two_looks_at_one_state_say_the_same(changelog: Repository):
    """The test is deterministic: same emission, same state, same observations but for the time."""
    asked = parsed_emission(TEXT, *annotations(*CLASSES))
    first, second = (look(asked, Settings(), changelog.path, lambda: 0) for _ in range(2))
    assert first == second


def test_what_cannot_be_looked_at_is_answered_all_the_same():
    """Where the root is away, every annotation gets its `unavailable`."""
    found = cannot_look(parsed_emission(TEXT, *annotations("grep", "mcp.brief")), Settings(), "away", lambda: 0)
    assert [(one.outcome, one.detail) for one in found] == [("unavailable", {"reason": "away"})] * 2


@pytest.mark.parametrize(
    "locator",
    [
        {"path": "CHANGELOG.md", "lines": [1, 2, 3]},
        {"path": None, "pattern": None, "lines": None, "ref": None, "commit": None, "regex": None},
        {"path": "\ud7ff\uffff", "pattern": "\uffff"},
        {"path": "x" * 100_000},
        {"ref": "\u202e", "commit": "\u0660" * 7},
        {"lines": [10**400, 10**400], "path": "CHANGELOG.md"},
        {"regex": "maybe", "pattern": "(", "path": "CHANGELOG.md"},
        {"path": {"path": {}}, "lines": "１-２"},
    ],
)
@pytest.mark.parametrize("name", CLASSES)
def test_no_locator_breaks_a_look(changelog: Repository, name: str, locator: dict[str, object]):
    """Whatever a stranger writes into a locator, there is an answer, and it can be written."""
    found = ask(changelog, name, TEXT, declared="%25:/.", ts=TS, **locator)
    assert isinstance(decode_observation(msgspec.json.encode(found)), Fault) is False


def test_what_was_looked_at_once_is_not_looked_at_again(changelog: Repository, monkeypatch: pytest.MonkeyPatch):
    """Annotations that say the same get the same observation; strangers choose how many come."""
    looks: list[str] = []
    grep = look_module.grep
    monkeypatch.setattr(look_module, "grep", lambda ask, *rest: looks.append(ask.text) or grep(ask, *rest))
    found = look(parsed_emission(TEXT, *annotations(*["grep"] * 50)), Settings(), changelog.path)
    assert len(found) == 50
    assert len(looks) == 1
    assert {one.outcome for one in found} == {"terms-present"}


def test_the_places_of_one_emission_are_bounded(changelog: Repository, monkeypatch: pytest.MonkeyPatch):
    """Past the bound the answer is `unavailable`, with the reason; none is left out."""
    monkeypatch.setattr(look_module, "MAX_LOOKS", 3)
    asked = [Annotation("substrate.grep", locator={"path": "CHANGELOG.md", "lines": [1, last]}) for last in range(1, 6)]
    found = look(parsed_emission(TEXT, *asked), Settings(), changelog.path)
    assert [one.outcome for one in found[3:]] == ["unavailable"] * 2
    assert all("more than 3 places" in (one.detail or {})["reason"] for one in found[3:])


def test_an_observer_that_is_told_to_stop_looks_no_further(changelog: Repository):
    """What was seen so far is not returned: half an emission must not pass for all of it."""
    with pytest.raises(look_module.StoppedError):
        look(parsed_emission(TEXT, *annotations("grep")), Settings(), changelog.path, stopped=lambda: True)


def test_what_is_written_is_signed_where_there_is_a_key(changelog: Repository, tmp_path: Path):
    """By the key of the settings, over every member, and it verifies with what `sluice key` prints."""
    signer = new_signer("observer/1")
    save_signer(signer, tmp_path / "observer.key")
    settings = Settings(observer_key=str(tmp_path / "observer.key"))
    for found in look(parsed_emission(TEXT, *annotations(*CLASSES)), settings, changelog.path):
        form = written(found, signing_of(settings))
        value = msgspec.json.encode(form)

        assert holds(str(signer.verifier), form["signature"], value, DOMAIN)
        assert not holds(str(signer.verifier), form["signature"], value.replace(b"em-", b"EM-"), DOMAIN)
        assert not isinstance(decode_observation(value), Fault)
        assert "signature" not in written(found)
    assert signing_of(Settings()) is None


@pytest.mark.parametrize("lines", [[1, 2**60], [1e300 * 1e10]], ids=["big", "not-finite"])
def test_what_cannot_be_signed_does_not_keep_an_observation_from_being_written(lines: list[float]):
    """A stranger's locator goes, what was seen stays."""
    signer = new_signer("observer/1")
    one = cannot_look(parsed_emission(TEXT, *annotations("grep")), Settings(), "away")[0]
    form = written(replace(one, locator={"lines": lines}), Signing(signer, "sluice"))

    assert "locator" not in form
    assert holds(str(signer.verifier), form["signature"], msgspec.json.encode(form), DOMAIN)


def test_a_key_that_is_none_is_wrong_usage(tmp_path: Path):
    """In one sentence, before anything is looked at."""
    with pytest.raises(UsageError, match="private key cannot be read"):
        signing_of(Settings(observer_key=str(tmp_path / "nothing.key")))
