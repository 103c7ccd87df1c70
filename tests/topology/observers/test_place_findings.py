"""From what checks came to at one place to what an observation says."""

from __future__ import annotations

import msgspec
import pytest
from looking import EMITTED, TS, Repository, ask, parsed_emission, reason

from sluice.codecs.decode import decode_observation
from sluice.codecs.errors import Fault
from sluice.codecs.records import LookedAt
from sluice.codecs.times import parse_time
from sluice.streams.judging.checks import Held
from sluice.streams.judging.claim_forms import checks_of
from sluice.streams.judging.terms import Presence, Terms
from sluice.streams.judging.verify import checks_of_assertion
from sluice.topology.observers import deciding as deciding_module
from sluice.topology.observers.ask import DECIDES, Ask, Budget, CannotLook, Finding, answer, dated, where_from
from sluice.topology.observers.observation_record import observation, shown_path

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
    with pytest.raises(CannotLook, match="parser of this language is not installed"):
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
