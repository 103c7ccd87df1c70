"""A decision's record as JSON: what `records.py` says of it, whatever strangers wrote."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from builders import attestation_value, dispositions, emission, observation, span_of
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sluice.codecs.records import OUTPUTS
from sluice.streams.policy.policy import (
    Admissibility,
    ConfusablesByEffect,
    Floor,
    LeastObservers,
    Policy,
    PrivacyRules,
    Sanitation,
)

T, MINUTE = 1_800_000_000_000, 60_000
CODE, GREP = "substrate.code.read", "substrate.grep"
STRUCTS = {
    "admitted": OUTPUTS["admitted"],
    "inadmissible": OUTPUTS["inadmissible"],
    "review-requests": OUTPUTS["review-request"],
    "re-emission-requests": OUTPUTS["re-emission-request"],
}
CHAIN = [
    {
        "step": "retrieval",
        "source": 'a "b" \\ <i>c</i>',
        "timestamp": T,
        "metadata": {"р": "раура"},
        "data": ["x", "pii"],
    },
    {
        "step": "derived",
        "operator": "+",
        "left": [{"step": "retrieval", "source": "q"}],
        "right": [],
        "confidence": 0.5,
    },
]
ATTESTATION = attestation_value(verdict="SUPPORTED", rationale='it "is" <b>so</b>')


def rules(disposition: Any = "review", **fields: Any) -> Policy:
    return Policy(
        admissibility=Admissibility(k=Floor(internal=2, external=3)),
        disposition=dispositions(disposition),
        sanitation=Sanitation(confusables=ConfusablesByEffect(internal="replace", external="reject")),
        **fields,
    )


def bot_says(text: str, **claim: Any) -> tuple[str, dict[str, Any]]:
    return emission(text=text, at=T, claim=claim, emitter={"system": "bot"}, contexts={"ctx": "nothing"})


def borne_out(cls: str, text: str, span: Any = None, **fields: Any) -> tuple[str, dict[str, Any]]:
    return observation(cls, span=span or span_of(text), at=T + 1, **fields)


def written(new_lane: Any, policy: Policy, *records: tuple[str, Any]) -> list[tuple[str, bytes]]:
    """Topics and values of all decisions of a life: admitted or not, and to its end."""
    lane = new_lane(policy, T)
    lane.block(T, records)
    lane.block(T + 100 * MINUTE)
    return [(output.topic, output.value) for output in lane.outputs if output.topic != "verdicts"]


def assert_faithful(records: list[tuple[str, bytes]]) -> None:
    for topic, value in records:
        assert topic in STRUCTS, value
        assert msgspec.json.encode(msgspec.json.decode(value, type=STRUCTS[topic])) == value


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=40), st.booleans())
def test_any_text_is_escaped(new_lane: Any, text: str, enough: bool) -> None:
    """Quotes, backslashes, controls and whatever the sanitiser leaves: the record is its struct's JSON."""
    evidence = [borne_out(cls, text) for cls in (CODE, GREP)[: 2 if enough else 1]]

    records = written(new_lane, rules(), bot_says(text), *evidence)

    assert [topic for topic, _ in records] == (["admitted"] * 2 if enough else ["inadmissible", "review-requests"])
    assert_faithful(records)


@pytest.mark.parametrize("disposition", ["review", "re-emit", "refuse"])
@pytest.mark.parametrize(
    "claim",
    [
        {"confidence": 0.93, "grounded": True, "chain": CHAIN},
        {"confidence": 1, "kind": "denial"},
        {"kind": "refusal"},
        {"span": {"path": "/a<b"}, "assertion": "раураl", "effect": "external"},
        {"span": {"tokens": [1, 4], "tokenizer": "t/1"}},
        {"cites": {"context": "ctx", "strictly": True}},
        {"provenance": None},
        {"provenance": {"substrate_class": "unverified-inference"}},
    ],
)
@pytest.mark.parametrize("omitted", [False, True])
def test_every_member_that_may_be_absent(new_lane: Any, claim: dict[str, Any], disposition: Any, omitted: bool) -> None:
    """Is there where the struct has it, and nowhere else."""
    text = '{"a<b": "it is \u201cso\u201d"} <b>\u200b'
    policy = rules(disposition, privacy=PrivacyRules("omitted", "omitted") if omitted else PrivacyRules())
    seen = [
        borne_out(CODE, text, claim.get("span"), attestation=ATTESTATION, tier="identity-bound"),
        borne_out(GREP, text, claim.get("span")),
    ]

    for evidence in ([], seen[:1], seen):
        records = written(new_lane, policy, bot_says(text, **claim), *evidence)

        assert records
        assert_faithful(records)


@pytest.mark.parametrize("observers", [1, 2])
def test_records_of_assertions_that_need_several_observers(new_lane: Any, observers: int) -> None:
    """Have members of their own, where their structs have them [S §11.3]."""
    policy = rules()
    least = LeastObservers(internal=2, external=2)
    policy = replace(policy, admissibility=replace(policy.admissibility, min_observers=least, k=Floor(internal=1)))
    seen = [borne_out(CODE, "text", observer=f"observer-{number}") for number in range(observers)]

    records = written(new_lane, policy, bot_says("text"), *seen)

    assert [topic for topic, _ in records] == (
        ["admitted"] * 2 if observers == 2 else ["inadmissible", "review-requests"]
    )
    assert all(b'"min_observers":2' in value for _, value in records)
    assert_faithful(records)
