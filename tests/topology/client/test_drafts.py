"""Drafts count spans as the lanes do, and build what the lanes take."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.codecs.decode import assertion_text, decode_emission
from sluice.codecs.records import Emission, Retrieval
from sluice.topology.client import Draft, annotation

SENTENCES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)


def decoded(draft: Draft) -> Emission:
    emission = decode_emission(msgspec.json.encode({"emitted_at": 0, **draft.build()}))
    assert isinstance(emission, Emission), emission
    return emission


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), SENTENCES), max_size=6))
def test_each_span_is_the_text_that_was_said(pieces: list[tuple[bool, str]]):
    """Whatever characters stand before it, astral ones and combining ones included."""
    draft = Draft("em-1")
    for asserts, text in pieces:
        draft = draft.say(text) if asserts else draft.text(text)
    emission = decoded(draft)
    assert [assertion_text(emission, one) for one in emission.assertions or ()] == [
        text for asserts, text in pieces if asserts
    ]


def test_everything_that_is_said_of_an_assertion_is_kept():
    """Provenance, effect, chain, citation and contexts come out as they went in."""
    draft = Draft("em-1", system="bot", model="m", prompt="p", effect="external", attempt=2, emitted_at=5)
    draft.context("ctx-1", "It is so.").say(
        "It is so.",
        annotation("substrate.grep", "sha256:1", 7, path="README.md"),
        kind="denial",
        effect="external",
        grounded=True,
        confidence=0.5,
        chain=[Retrieval(source="README.md")],
        cites="ctx-1",
        strictly=True,
    )
    emission = decoded(draft)
    (assertion,) = emission.assertions or ()
    (note,) = assertion.annotations
    assert emission.emitter is not None
    assert (emission.emitter.system, emission.effect, emission.attempt) == ("bot", "external", 2)
    assert emission.contexts == {"ctx-1": "It is so."}
    assert (assertion.kind, assertion.grounded, assertion.confidence) == ("denial", True, 0.5)
    assert (note.observation_id, note.ts, note.locator) == ("sha256:1", 7, {"path": "README.md"})
    assert assertion.chain == [Retrieval(source="README.md")]
    assert assertion.cites is not None
    assert assertion.cites.strictly


def test_an_assertion_without_provenance_is_unannotated():
    """It has no provenance at all, which is another thing than an empty list would look like."""
    (assertion,) = decoded(Draft("em-1").say("It is so.")).assertions or ()
    assert assertion.provenance is None


def test_checks_go_with_their_assertion():
    """As they were given; none where none were."""
    checks = ["equals(MAX, 5, path=limits.py)", "not calls(f, g)"]
    built = Draft("em-1").say("It is so.", checks=checks).say("And so.").build()

    assert [one.get("checks") for one in built["assertions"]] == [checks, None]
