"""Whose word makes a sentence wholly checked: proposals, and how each could be turned against the reader."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from builders import GREP, READ, assertion_value, emission_value, observation
from fold_histories import pure

from sluice.codecs.notes import Signer
from sluice.codecs.signatures import EMISSION, emission_digest, sign_proposal, signed
from sluice.streams.policy.keys import Key
from sluice.streams.policy.policy import Emitters, Judging, LeastCoverage, Policy, Proposer

T = 1_790_000_000_000
TEXT, KEY = "It grew a lot of `MAX`.", "c:0-23"
SPAN = {"chars": [0, len(TEXT)]}
CHECK = "defines(MAX)"
NAMES = ("critic", "bot", "who")
CRITIC, EMITTER, STRANGER = (Signer(name, bytes([place]) * 32) for place, name in enumerate(NAMES, 1))


def key_of(signer: Signer, **fields: Any) -> Key:
    return Key(public_key=base64.b64encode(signer.verifier.public_key).decode(), **fields)


def policy_of(proposer: Proposer | None = None, coverage: Any = "whole", **emitters: Any) -> Policy:
    proposers = {"critic": proposer or Proposer(keys=[key_of(CRITIC)], models=["model-b"])}
    judging = Judging(proposers=proposers, min_coverage=LeastCoverage(internal=coverage))
    return Policy(judging=judging, emitters=Emitters([], **emitters))


def emitted(checks: list[str] | None = None, **fields: Any) -> dict[str, Any]:
    said = assertion_value(TEXT, {"substrate_class": READ}, **({"checks": checks} if checks else {}))
    emitter = {"system": "bot", "model": "model-a"}
    return emission_value("em-1", TEXT, at=T, assertions=[said], **{"emitter": emitter, **fields})


def proposed(
    emission: dict[str, Any],
    signer: Signer = CRITIC,
    key: str = KEY,
    origin: str = "sluice",
    of: dict[str, Any] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """The emission with a proposal for its assertion; `of`: made for another emission."""
    said = {"by": "critic", "at": T, "digest": emission_digest(of or emission), "checks": [CHECK], "whole": True}
    proposal = sign_proposal({**said, **fields}, key, signer, origin)
    (assertion,) = emission["assertions"]
    return {**emission, "assertions": [{**assertion, "proposal": proposal}]}


def seen(cls: str, by: str | None = "critic", **fields: Any) -> tuple[str, Any]:
    told = {} if by is None else {"coverage_by": by}
    return observation(cls, at=T, span=SPAN, **{"verified": [0], "coverage": "whole", **told, **fields})


def fate(new_lane: Any, emission: dict[str, Any], policy: Policy, *observations: Any) -> dict[str, Any]:
    """The first word about the assertion: at its admission, or at its end."""
    lane = new_lane(policy, T)
    evidence = observations or (seen(READ), seen(GREP))
    outputs = [*lane.block(T + 1, [("emissions", emission), *evidence]), *lane.block(T + 25 * 60_000)]
    return next(one.value for one in outputs if one.topic in ("admitted", "inadmissible", "review-requests"))


def test_a_listed_proposer_covers_the_sentence(new_lane: Any) -> None:
    """Its checks are the assertion's, and the record says on whose word they are all of it."""
    word = fate(new_lane, proposed(emitted()), policy_of())

    assert (word["status"], word["coverage"], word["coverage_by"]) == ("admitted", "whole", "critic")
    assert word["checks"] == [{"name": "defines", "classes": 2}]


A_B = {"system": "bot", "model": "model-b"}
LATE_KEY, DEAD_KEY = key_of(CRITIC, since=T + 60_000), key_of(CRITIC, revoked=T - 60_000)
KEYED = {"bot": [key_of(EMITTER)], "critic's own": [key_of(CRITIC)]}


@pytest.mark.parametrize(
    ("emission", "policy"),
    [
        (proposed(emitted(), STRANGER), policy_of()),
        (proposed(emitted(), by="other"), policy_of()),
        (proposed(emitted(), key="c:0-9"), policy_of()),
        (proposed(emitted(), origin="another"), policy_of()),
        (proposed(emitted(), of=emitted(attempt=1)), policy_of()),
        (proposed(emitted(), of=emission_value("em-2", TEXT, at=T)), policy_of()),
        (proposed(emitted(), whole=False), policy_of()),
        (proposed(emitted()), policy_of(Proposer(keys=[LATE_KEY]))),
        (proposed(emitted()), policy_of(Proposer(keys=[DEAD_KEY]))),
        (proposed(emitted(emitter=A_B)), policy_of()),
        (proposed(emitted(emitter={"system": "bot", "model": "MODEL-B"})), policy_of()),
        (proposed(emitted(emitter={"system": "bot"})), policy_of()),
        (proposed(emitted()), policy_of(Proposer(keys=[key_of(CRITIC)], models=["acme"]), vendor={"bot": "Acme"})),
        (proposed(emitted()), policy_of(keys={"other": [key_of(CRITIC)]})),
        (signed(proposed(emitted()), EMITTER, EMISSION._replace(origin="sluice")),
         policy_of(Proposer(keys=[key_of(EMITTER), key_of(CRITIC)]), keys=KEYED)),
        (proposed(emitted(["exists(a.py)"])), policy_of()),
    ],
    ids=["forged", "by another", "span", "origin", "attempt", "emission", "less than whole", "key too early",
         "key revoked", "model", "model, spelt otherwise", "no model", "vendor", "key of some emitter", "emitter's key",
         "beside other checks"],
)  # fmt: skip
@pytest.mark.parametrize("python_alone", [False, True])
def test_any_other_proposal_covers_a_part(
    new_lane: Any, emission: dict[str, Any], policy: Policy, *, python_alone: bool
) -> None:
    """Whatever observers make of it: it is `partly-checked` where the policy wants the whole."""
    with pytest.MonkeyPatch.context() as patch:
        if python_alone:
            patch.setattr("sluice.streams.adjudication.fold_layout.core", None)
        word = fate(new_lane, emission, policy)

    assert (word["status"], word["reason"], word["coverage"]) == ("below-floor", "partly-checked", "part")
    assert "coverage_by" not in word


@pytest.mark.parametrize(
    ("by", "coverage", "covered_by"),
    [("form", "whole", "form"), ("critic", "whole", "critic"), (None, "part", None), ("other", "part", None)],
)
def test_observers_may_lower_coverage_and_never_raise_it(
    new_lane: Any, by: str | None, coverage: str, covered_by: str | None
) -> None:
    """A claim form needs no proposal; what does not say by what it is whole may have it from the proposal."""
    word = fate(new_lane, proposed(emitted()), policy_of(coverage="part"), seen(READ, by), seen(GREP, by))

    assert (word["status"], word["coverage"], word.get("coverage_by")) == ("admitted", coverage, covered_by)


def test_coverage_is_the_least_of_all(new_lane: Any) -> None:
    """One observer whose guard found something left is enough."""
    part = seen(GREP, None, coverage="part", unchecked=[[0, 7]])
    word = fate(new_lane, proposed(emitted()), policy_of(), seen(READ), part)

    assert (word["status"], word["reason"], word["unchecked"]) == ("below-floor", "partly-checked", [[0, 7]])


def test_an_emitters_own_checks_stay(new_lane: Any) -> None:
    """A proposal beside them takes none away: one that is not verified keeps the assertion out."""
    policy = policy_of()
    assert fate(new_lane, proposed(emitted([CHECK])), policy)["coverage_by"] == "critic"
    assert fate(new_lane, proposed(emitted([CHECK, "exists(a.py)"])), policy)["reason"] == "below-floor"


@pytest.mark.parametrize("checks", [["levitates(a)"], [CHECK, "no check"]])
def test_unknown_checks_admit_nothing(new_lane: Any, checks: list[str]) -> None:
    """Whoever signed that they say all of it."""
    both = [seen(cls, verified=[0, 1][: len(checks)]) for cls in (READ, GREP)]
    assert fate(new_lane, proposed(emitted(), checks=checks), policy_of(), *both)["status"] == "below-floor"


def test_a_thousand_checks_are_a_dead_letter(new_lane: Any) -> None:
    """And so is what is no proposal."""
    lane = new_lane(policy_of(), T)
    for fields in ({"checks": [CHECK] * 1000}, {"by": "a critic"}, {"at": "yesterday"}, {"digest": "no"}):
        (letter,) = lane.block(T + 1, [("emissions", proposed(emitted(), **fields))])
        assert letter.headers["sluice-reason"] == "schema"


def test_no_check_cannot_be_all_of_it(new_lane: Any) -> None:
    """Then it has those that observers tell, as without a proposal."""
    told = {"detail": {"checks": [{"check": CHECK, "holds": True, "by": "form"}]}}
    form, critic = ([seen(cls, by, **told) for cls in (READ, GREP)] for by in ("form", "critic"))

    assert fate(new_lane, proposed(emitted(), checks=[]), policy_of(), *form)["coverage_by"] == "form"
    assert fate(new_lane, proposed(emitted(), checks=[]), policy_of(), *critic)["reason"] == "partly-checked"


def test_a_signed_emission_keeps_its_signature(new_lane: Any) -> None:
    """The proposal came later, from somebody else."""
    emission = signed(emitted(), EMITTER, EMISSION._replace(origin="sluice"))
    word = fate(new_lane, proposed(emission), policy_of(keys={"bot": [key_of(EMITTER)]}))

    assert word["coverage_by"] == "critic"


def test_a_snapshot_keeps_whose_word_it_was(new_lane: Any) -> None:
    """Pending and admitted."""
    from sluice.streams.adjudication import snapshot

    with pure():
        lane = new_lane(policy_of(), T)
        lane.block(T + 1, [("emissions", proposed(emitted())), seen(READ)])
        lane.state = snapshot.load(list(snapshot.dump(lane.state)))
        (admitted,) = [one for one in lane.block(T + 2, [seen(GREP)]) if one.topic == "admitted"]
        lane.state = snapshot.load(list(snapshot.dump(lane.state)))
        (ended,) = [one for one in lane.block(T + 10**8) if one.topic == "admitted"]

    assert [one.value["coverage_by"] for one in (admitted, ended)] == ["critic", "critic"]
