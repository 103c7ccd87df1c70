"""The answer of a look, and the bounds of looks."""

from __future__ import annotations

import time
from contextlib import closing

import msgspec
import pytest
from looking import EMITTED, TS, Repository, ask, parsed_emission, reason

from sluice.codecs.decode import decode_observation, normalise_emission
from sluice.codecs.errors import Fault
from sluice.codecs.identifiers import Span
from sluice.codecs.records import Annotation, Assertion, Emission, LookedAt, Observation
from sluice.codecs.times import parse_time
from sluice.streams.judging.checks import Held
from sluice.streams.judging.claim_forms import checks_of
from sluice.streams.judging.terms import Presence, Terms
from sluice.streams.judging.verify import checks_of_assertion
from sluice.topology.observers import ask as ask_module
from sluice.topology.observers import deciding as deciding_module
from sluice.topology.observers import look as look_module
from sluice.topology.observers.ask import (
    DECIDES,
    Ask,
    Budget,
    Finding,
    ObservationUnavailable,
    answer,
    dated,
    where_from,
)
from sluice.topology.observers.look import Shares, look
from sluice.topology.observers.observation_record import observation, shown_path
from sluice.topology.observers.observer_registry import ObserverRegistry
from sluice.topology.settings.settings import Settings

TEXT = "`a` contains `b`."


def asked(text: str = TEXT, *checks: str, ts: str | None = TS) -> Ask:
    question = checks_of_assertion("assertion", checks_of(text, "assertion", checks))
    moment = None if ts is None else parse_time(ts)
    return Ask("substrate.code.read", "assertion", text, Terms(()), {}, None, moment, Budget(5, 100),
               parse_time(EMITTED), question, text)  # fmt: skip


@pytest.mark.parametrize(
    ("ts", "changed", "exact", "reason"),
    [
        (TS, TS, False, "differs"),
        (TS, EMITTED, False, "changed-since"),
        (None, EMITTED, False, "differs"),
        (None, "2026-11-21T09:00:00.001Z", False, "changed-since"),
        (TS, None, False, "changed-since"),
        (TS, None, True, "differs"),
        (TS, EMITTED, True, "differs"),
    ],
)
def test_what_is_false_is_held_against_time(ts: str | None, changed: str | None, exact: bool, reason: str):
    """Up to the instant that the annotation names, and only where it is known when the file changed."""
    when = None if changed is None else parse_time(changed)
    held = dated(asked(ts=ts), Held(False, "differs"), when, exact=exact)
    assert held == Held(False, reason)  # type: ignore[arg-type]


def test_what_holds_or_is_undecided_has_no_date():
    """Only what is false needs one."""
    for held in (Held(True), Held(None, "not-found")):
        assert dated(asked(), held, None) == held


def test_a_parser_that_is_not_there_makes_the_look_unavailable():
    """Whatever the other checks come to: another observer may have it."""
    with pytest.raises(ObservationUnavailable, match="parser of this language is not installed"):
        answer(asked(TEXT, "contains(b)", "imports(c)"), [Held(True), Held(None, "no-grammar")], "x")


def test_a_grammar_that_is_missing_is_reported(repository: Repository, monkeypatch: pytest.MonkeyPatch):
    """In the observation."""
    repository.write("a.py", "import os\n")
    repository.commit("x")
    verify = deciding_module.verify_content
    monkeypatch.setattr(deciding_module, "verify_content", lambda check, *rest: Held(None, "no-grammar"))
    assert reason(repository, "code.read", "x", checks=["imports(os)"], path="a.py") == (
        "the parser of this language is not installed"
    )
    assert verify is not deciding_module.verify_content


def test_content_is_reported_of_the_one_file_that_decided():
    """With several there is no one content; who reads it takes such observations for the same bytes."""
    digests = {"a": "sha256:a", "b": "sha256:b"}

    def place(*helds: Held) -> LookedAt:
        question = asked(TEXT, *[f"contains({number})" for number, _ in enumerate(helds)])
        found = answer(question, helds, "x").judged
        assert found is not None
        return where_from(found, digests, "default", None, "a")

    assert place(Held(True, path="b")) == LookedAt("default", "b", "sha256:b")
    assert place(Held(True, path="b"), Held(None, "not-found", path="a")) == LookedAt("default", "b", "sha256:b")
    assert place(Held(True, path="a"), Held(True, path="b")) == LookedAt("default")
    assert place(Held(True, path="a"), Held(True)) == LookedAt("default")
    assert place(Held(False, "differs", path="b")) == LookedAt("default", "b", "sha256:b")
    assert place(Held(None, "not-found", path="b")) == LookedAt("default", "a", "sha256:a")


def test_each_class_of_the_vocabulary_decides_something():
    """The table has a row for each."""
    from sluice.codecs.vocabulary import CLASSES_1_0

    assert set(DECIDES) == set(CLASSES_1_0)
    assert all(DECIDES.values())


# ---------------------------------------------------------------- records


def test_names_of_files_that_are_no_text_are_shown_as_text(repository: Repository):
    """Whoever names files chooses their bytes; an observation can be written all the same."""
    repository.write(b"caf\xe9\x80.txt", "THING\n")
    repository.commit("x")
    found = ask(repository, "grep", "`THING`", checks=["contains(THING)"])
    assert not isinstance(decode_observation(msgspec.json.encode(found)), Fault)
    assert (found.detail or {})["checks"][0]["path"] == "caf\ufffd.txt"
    assert found.looked_at is not None
    assert found.looked_at.path == "caf\ufffd.txt"
    assert shown_path("x" * 5000) is None


def test_of_too_many_spans_one_is_left():
    """From the first to the last: nothing of what is unchecked is lost."""
    one = parsed_emission(TEXT, {"substrate_class": "substrate.code.read"}, checks=["contains(b)"])
    (assertion,) = one.assertions or []
    found = answer(asked(TEXT, "contains(b)"), [Held(True)], "x")
    assert found.judged is not None
    many = found.judged.coverage._replace(unchecked=tuple((n, n + 1) for n in range(0, 4000, 2)))
    wide = Finding("corroborates", "x", judged=found.judged._replace(coverage=many))
    made = observation(one, assertion, assertion.annotations[0], "substrate.code.read", wide, "o", 0, None,
                       asked(TEXT, "contains(b)").question.checks)  # fmt: skip
    assert made.unchecked == [(0, 3999)]


def test_words_are_reported_only_where_they_were_looked_for():
    """And only where no check bears it out."""
    words = Presence(("a",), ("b",))
    found = answer(asked(TEXT, "contains(b)"), [Held(True)], "x", words=words)
    assert found.presence is None
    plain = answer(asked("The tortoise is slower than hares."), [], "x", words=words)
    assert (plain.outcome, plain.presence) == ("absent", words)


CHECKS = ("contains(first, path=a.txt)", "contains(second)", "contains(third, path=c.txt)")
"""The second one has to search all files."""


def searching_emission(checks: tuple[str, ...]) -> Emission:
    made = [
        Assertion(
            span=Span(chars=(5 * place, 5 * place + 4)), checks=[check], provenance=[Annotation("substrate.grep")]
        )
        for place, check in enumerate(checks)
    ]
    found = normalise_emission(Emission("em-1", EMITTED, text="It. " + "x y. " * len(checks), assertions=made))
    assert not isinstance(found, Fault), found.detail
    return found


def whys(found: list[Observation]) -> list[str]:
    return [str((one.detail or {})["reason"]) if one.outcome == "unavailable" else "" for one in found]


@pytest.fixture
def files(folder: Repository) -> Repository:
    folder.write("a.txt", "first\n")
    folder.write("b.txt", "second\n" + "x" * 50_000)
    folder.write("c.txt", "third\n")
    return folder


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
@pytest.mark.parametrize(("size", "is_cut"), [(200_000, False), (60_000, True)])
def test_what_one_statement_costs_silences_no_other(files: Repository, order: tuple[int, ...], size: int, is_cut: bool):
    """Each has an equal part of what is left; what was not looked at says which bound it was."""
    found = look(searching_emission(tuple(CHECKS[one] for one in order)), Settings(emission_bytes=size), files.path)
    for place, why in zip(order, whys(found), strict=True):
        assert ("the bound" in why) == (place == 1 and is_cut), (place, why)


def test_no_clock_ends_a_look_below_a_root(files: Repository, monkeypatch: pytest.MonkeyPatch):
    """Every look at the clock is an hour later than the one before, as on a machine that is very busy."""
    hours = iter(range(0, 10**9, 3600))
    monkeypatch.setattr(ask_module.time, "monotonic", lambda: float(next(hours)))
    assert whys(look(searching_emission(CHECKS), Settings(), files.path)) == ["", "", ""]


def test_what_is_kept_counts_as_if_it_were_read(files: Repository):
    """Else it would depend on earlier questions which of these are looked at."""
    settings = Settings(emission_bytes=60_000)
    asked = searching_emission(("contains(third, path=b.txt)", "contains(first)", "contains(second)"))
    with closing(ObserverRegistry(settings)) as instruments:
        for kind in ("contains", "absent"):
            look(searching_emission((f"{kind}(x{kind})",)), Settings(), files.path, instruments=instruments)
        warm = [whys(look(asked, settings, files.path, instruments=instruments)) for _ in range(2)]
    cold = whys(look(asked, settings, files.path))
    assert warm == [cold, cold]
    assert any(cold)


def test_a_time_that_a_user_sets_is_shared():
    """What is late is late alone: a statement takes no more than its part of the time that is left."""
    shares = Shares(2, 1_000, time.monotonic() + 1_000)
    shares.begin("first")
    assert 400 < shares.budget(Settings(), None).remaining() <= 500
    assert shares.budget(Settings(), 3).remaining() <= 3
    shares.spend(900)
    with pytest.raises(ObservationUnavailable, match="the bound `emission_bytes`"):
        shares.budget(Settings(), None)
    shares.begin("second")
    assert shares.budget(Settings(), None).bytes == 100
    over = Shares(1, 1_000, time.monotonic() - 1)
    over.begin("first")
    with pytest.raises(ObservationUnavailable, match="the bound of time"):
        over.budget(Settings(), None)


def test_statements_that_lie_over_one_another_are_looked_at_up_to_a_bound(
    files: Repository, monkeypatch: pytest.MonkeyPatch
):
    """Forty kilobytes of text are otherwise four megabytes of statements; each annotation asks about its own anew."""
    monkeypatch.setattr(look_module, "MAX_SAID", 100)
    annotations = [Annotation("substrate.grep"), Annotation("substrate.code.read")]
    made = [Assertion(span=Span(chars=(place, place + 20)), provenance=annotations) for place in range(4)]
    emission = normalise_emission(Emission("em-1", EMITTED, text="`first` stands in a.txt.", assertions=made))
    assert not isinstance(emission, Fault), emission.detail
    found = whys(look(emission, Settings(), files.path))
    assert ["the bound of text" in why for why in found] == [False] * 5 + [True] * 3
