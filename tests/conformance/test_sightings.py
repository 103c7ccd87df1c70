"""Sightings: what an observer saw that knows of no emission (docs/reference/records.md; [S §3, §4, §11.1]).

The adjudicating side is driven through `sluice fold`, the binding side through its fold, as a lane runs it.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from builders import sighting_value
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from fold_lines import adjudicate, annotation, at, emission, observation
from foreign_signing import sign

from sluice.codecs import blocks
from sluice.codecs.blocks import GENESIS, Event, EventKind, Header, Source
from sluice.codecs.identifiers import digest_of
from sluice.codecs.times import parse_time
from sluice.streams.policy.policy_toml import load_policy
from sluice.topology.engine.folds import Bind

READ, LOG = "substrate.code.read", "substrate.git.log"
POLICY = f'[sightings]\nclasses = ["{READ}"]\n'
ADMITS = POLICY + '[judging]\nmin_coverage = { internal = "part" }\n'
CITED = "sha256:e3b0c442"
Record = tuple[str, dict[str, Any]]


def bind(*steps: tuple[float, list[Record]], policy: str = POLICY) -> list[dict[str, Any]]:
    """`bind((seconds, records), …, policy=…)`: what a binding lane writes; a record is (topic, value)."""
    fold = Bind()
    state, written = fold.new(0, 1), list[dict[str, Any]]()
    begun = Event(EventKind.POLICY, 0, 0, 0, [], None, load_policy(policy).document)
    for height, (seconds, records) in enumerate([(0.0, None), *steps]):
        time = parse_time(at(seconds)) or 0
        events = [begun]
        if records is not None:
            events = [
                fold.event_for(
                    list(fold.inputs).index(topic), place, time, [], value["observation_id"].encode(), _json(value)
                )
                for place, (topic, value) in enumerate(records)
            ]
        header = Header(
            lane=0,
            lanes=1,
            height=height,
            prev=GENESIS,
            time=time,
            watermark=time,
            policy="",
            fold=fold.version,
            sources=[Source(topic, 0, 0) for topic in fold.inputs],
            outputs="",
        )
        written += [
            {
                "topic": one.topic,
                "key": (one.key or b"").decode(),
                "value": json.loads(one.value),
                "headers": {name: content.decode() for name, content in one.headers},
            }
            for one in fold.fold(state, blocks.seal(header, events)[0])
        ]
    return written


def cited_sighting(seen: float = 0, content: Any = "## 2026-05-25", **fields: Any) -> Record:
    """`cited_sighting(seen, content=…, **fields)`: one of the cited observation."""
    return "sightings", sighting_value(CITED, at=at(seen), content=content, **fields)


def cited(policy: str = POLICY, **claim: Any) -> list[Record]:
    """`cited(**assertion)`: the citations of an emission of one assertion, as records for `bind`."""
    claim.setdefault("provenance", [annotation(READ, observation_id=CITED)])
    claim.setdefault("checks", ["contains(2026-05-25)"])
    lines = adjudicate([emission(0, **claim)], policy).lines_on("citations")
    return [("citations", line["value"]) for line in lines]


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode()


# ---------------------------------------------------------------- citations


def test_what_is_cited_goes_to_citations_under_the_id_that_it_cites():
    """docs/reference/records.md: under `observation_id`, with class, emission, attempt, span, kind, sentence, time."""
    provenance = [annotation(READ, observation_id=CITED), annotation(LOG, observation_id="5b1c2d3")]
    emitted = emission(0, provenance=provenance)

    (line,) = adjudicate([emitted], POLICY).lines_on("citations")

    assert line["key"] == CITED
    assert line["value"] == {
        "observation_id": CITED,
        "substrate_class": READ,
        "emission_id": "em-1",
        "attempt": 0,
        "span": {"chars": [0, 43]},
        "kind": "assertion",
        "cited_at": at(0),
        "digest": digest_of(json.dumps(emitted["value"]).encode()),
        "text": "CHANGELOG.md has an entry dated 2026-05-25.",
    }


def test_nothing_is_cited_unless_the_policy_names_the_class():
    """Who does not use sightings gets the outputs that he always got."""
    assert adjudicate([emission(0)]).lines_on("citations") == []
    assert adjudicate([emission(0)], '[sightings]\nclasses = ["substrate.grep"]\n').lines_on("citations") == []


@pytest.mark.parametrize("name", ["unverified-inference", "decayed-to-uncertainty", "substrate.nowhere"])
def test_a_terminal_or_an_unknown_class_is_never_cited(name: str):
    """[S §5, §11.2]: the assertion is decided already."""
    assert cited(provenance=[annotation(READ, observation_id=CITED), annotation(name, observation_id=CITED)]) == []


def test_a_refusal_is_never_cited():
    """[S §5]: it makes no claim."""
    assert cited(kind="refusal") == []


def test_what_is_decided_on_arrival_is_not_cited():
    """An ungrounded claim [C §3] waits for no evidence."""
    assert cited(grounded=True, chain=[{"step": "severed", "reason": "cut"}]) == []


def test_an_attempt_that_comes_late_is_not_cited():
    """It is superseded on arrival."""
    lines = [emission(0, fields={"attempt": 1}), emission(1, fields={"attempt": 0})]

    assert [line["value"]["attempt"] for line in adjudicate(lines, ADMITS).lines_on("citations")] == [1]


def test_a_repeated_emission_is_not_cited_again():
    """A duplicate changes nothing."""
    assert len(adjudicate([emission(0), emission(5, emitted=0)], POLICY).lines_on("citations")) == 1


def test_a_trace_context_goes_along():
    """From the emission to its citation."""
    (line,) = adjudicate([emission(0, headers={"traceparent": "00-aa-bb-01"})], POLICY).lines_on("citations")

    assert line["headers"]["traceparent"] == "00-aa-bb-01"


# ---------------------------------------------------------------- binding


def test_a_sighting_comes_back_as_an_observation_of_each_assertion_that_cites_it():
    """docs/reference/records.md: the same record with `subject` and `outcome`, under the emission's id."""
    citations = [*cited(), *cited(emission_id="em-2")]

    found = bind((0, citations), (1, [cited_sighting(locator={"path": "CHANGELOG.md"}, tier="identity-bound")]))

    assert [one["topic"] for one in found] == ["observations"] * 2
    assert [one["key"] for one in found] == ["em-1", "em-2"]
    value = found[0]["value"]
    subject = {"emission_id": "em-1", "span": {"chars": [0, 43]}, "attempt": 0}
    assert value["subject"] == subject | {"digest": citations[0][1]["digest"]}
    assert (value["outcome"], value["observer"], value["tier"]) == ("corroborates", "observer-2", "identity-bound")
    assert value["locator"] == {"path": "CHANGELOG.md"}
    assert "content" not in value


def test_it_is_the_same_whichever_comes_first():
    """Either side waits for the other."""
    assert bind((0, cited()), (1, [cited_sighting()])) == bind((0, [cited_sighting()]), (1, cited()))


def test_citing_a_real_observation_does_not_make_it_support_just_any_text():
    """[S §4]: the assertion's content has to appear within what was observed."""
    (found,) = bind((0, [*cited(), cited_sighting(content="## 2026-05-26")]))

    assert found["value"]["outcome"] == "absent"
    assert found["value"]["verified"] == []
    assert found["value"]["detail"]["reason"] == "check-fails"


def test_a_denial_is_not_borne_out_by_what_is_there_or_by_what_is_not():
    """docs/checks.md: a denial takes `absent`, `missing` or `not …`; not finding words never bears one out."""
    for content in ("## 2026-05-25", "## 2026-05-26"):
        (found,) = bind((0, [*cited(kind="denial"), cited_sighting(content=content)]))
        assert found["value"]["outcome"] == "absent"


def test_words_alone_decide_nothing():
    """A sentence that gives no check."""
    citations = cited(text="It came 2026-05-25.", checks=None)

    (found,) = bind((0, [*citations, cited_sighting()]))

    assert (found["value"]["outcome"], found["value"]["detail"]["reason"]) == ("absent", "check-undecided")
    assert "verified" not in found["value"]


def test_a_citation_carries_the_checks_and_the_sentence():
    """The binding lane says how much of it the checks speak of."""
    ((_, citation),) = cited()

    assert citation["checks"] == ["contains(2026-05-25)"]
    assert citation["text"] == "CHANGELOG.md has an entry dated 2026-05-25."


def test_a_bound_observation_tells_each_check():
    """docs/reference/records.md: indices, coverage, and the canonical form of each check with what it came to."""
    citations = cited(checks=["contains(2026-05-25)", "contains(2026-05-26)", "levitates(x)"])

    (found,) = bind((0, [*citations, cited_sighting()]))

    value = found["value"]
    assert (value["outcome"], value["verified"], value["refuted"]) == ("corroborates", [0], [])
    assert value["coverage"] == "part"
    assert [one["holds"] for one in value["detail"]["checks"]] == [True, None, None]
    assert value["detail"]["checks"][2]["reason"] == "unknown-check"


@pytest.mark.parametrize("content", ["2026-05-25T10:00:00Z", 1_779_703_200_000])
def test_of_a_modification_time_the_time_is_compared(content: Any):
    """docs/reference/records.md: `content` is text, a number or a time."""
    name = "substrate.fs.mtime"
    policy = f'[sightings]\nclasses = ["{name}"]\n'
    text, checks = "CHANGELOG.md was modified on 2026-05-25.", ["modified(CHANGELOG.md, =, 2026-05-25)"]
    citations = cited(policy, text=text, checks=checks, provenance=[annotation(name, observation_id=CITED)])
    seen = {"substrate_class": name, "locator": {"path": "CHANGELOG.md"}}

    (found,) = bind((0, [*citations, cited_sighting(content=content, **seen)]), policy=policy)
    (other,) = bind((0, [*citations, cited_sighting(content="2026-05-26T10:00:00Z", **seen)]), policy=policy)

    assert (found["value"]["outcome"], other["value"]["outcome"]) == ("corroborates", "contradicts")


def test_of_a_count_the_number_is_compared():
    """Another one contradicts."""
    name = "substrate.do.sse-count"
    policy = f'[sightings]\nclasses = ["{name}"]\n'
    given = {"checks": ["count(subscribers, =, 5)"], "provenance": [annotation(name, observation_id=CITED)]}
    citations = cited(policy, text="There are 5 subscribers.", **given)

    for count, outcome in ((5, "corroborates"), (6, "contradicts")):
        (found,) = bind((0, [*citations, cited_sighting(content=count, substrate_class=name)]), policy=policy)
        assert found["value"]["outcome"] == outcome


def test_either_side_waits_for_window_and_horizon_and_no_longer():
    """W(code.read) is 1 h and the horizon 10 min, that instant included."""
    assert len(bind((0, cited()), (4200, [cited_sighting()]))) == 1
    assert bind((0, cited()), (4200.001, [cited_sighting()])) == []
    assert len(bind((0, [cited_sighting()]), (4200, cited()))) == 1
    assert bind((0, [cited_sighting()]), (4200.001, cited())) == []


def test_a_repetition_binds_nothing_again():
    """Of either side."""
    assert len(bind((0, cited()), (1, [cited_sighting()]), (2, [cited_sighting(), *cited()]))) == 1


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"content": "x" * 64_001}, "schema"),
        ({"observed_at": "soon"}, "schema"),
        ({"detail": {"much": "x" * 900_000}}, "oversize"),
        ({"detail": {"much": "x" * 1_000_000}}, "oversize"),
    ],
)
def test_a_bad_sighting_is_a_dead_letter_and_stops_nothing(fields: dict[str, Any], reason: str):
    """With its source and reason, as every input."""
    bad = cited_sighting()[1] | fields

    found = bind((0, [("sightings", bad), *cited(), cited_sighting()]))

    assert [one["topic"] for one in found] == ["dead-letters", "observations"]
    assert found[0]["headers"]["sluice-reason"] == reason
    assert found[0]["headers"]["sluice-source"] == "sightings/0/0"


def test_a_sighting_from_the_future_is_refused():
    """It would never grow old."""
    (found,) = bind((0, [cited_sighting(seen=30.001)]))

    assert found["headers"]["sluice-reason"] == "clock-skew"


# ---------------------------------------------------------------- from the one to the other


def test_a_sighting_and_another_class_admit_what_cites_it():
    """k = 2: two distinct classes, one of them seen by somebody who knew of no emission."""
    provenance = [annotation(READ, observation_id=CITED), annotation(LOG)]
    lines = [emission(0, provenance=provenance, checks=["contains(2026-05-25)"]), observation(1, LOG)]
    citations = [("citations", line["value"]) for line in adjudicate(lines, ADMITS).lines_on("citations")]
    (bound,) = bind((0, citations), (2, [cited_sighting(seen=2)]))

    outputs = adjudicate(
        [*lines, {"at": bound["value"]["observed_at"], "topic": "observations", **_line(bound)}], ADMITS
    )

    (word,) = outputs.on("admitted")
    assert (word["status"], word["classes"]) == ("admitted", [READ, LOG])
    assert outputs.dead == []


def _line(bound: dict[str, Any]) -> dict[str, Any]:
    return {"key": bound["key"], "value": bound["value"]}


# ---------------------------------------------------------------- signed ones

KEY = Ed25519PrivateKey.from_private_bytes(b"\x07" * 32)


def _keyed(more: str = "", require: bool = True) -> str:
    public = base64.b64encode(KEY.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()
    observers = f"[observers]\nrequire_signatures = {str(require).lower()}\n[observers.observer-2]\n"
    return f'{POLICY}{observers}public_key = "{public}"\n{more}'


def _signed(value: dict[str, Any], key: Ed25519PrivateKey = KEY) -> dict[str, Any]:
    return sign(key, "sightings" if "content" in value else "observations", value)


def bound(policy: str, **fields: Any) -> dict[str, Any]:
    """`bound(policy, **fields)`: the observation that a signed sighting becomes, as a line for `sluice fold`; of the
    emission of `_claims`."""
    value = _signed(cited_sighting(seen=2, **fields)[1])
    citations = cited(provenance=_cited_and_logged())
    (found,) = bind((0, citations), (2, [("sightings", value)]), policy=policy)
    return {"at": value["observed_at"], "topic": "observations", **_line(found)}


def _cited_and_logged() -> list[dict[str, Any]]:
    return [annotation(READ, observation_id=CITED), annotation(LOG)]


def _claims() -> list[dict[str, Any]]:
    claim = {"provenance": _cited_and_logged(), "checks": ["contains(2026-05-25)"]}
    other = observation(1, LOG, observer="observer-2")
    return [emission(0, **claim), other | {"value": _signed(other["value"])}]


def test_a_signed_sighting_is_heard_where_signatures_are_required():
    """What it is bound to carries it whole, members that this version does not know included."""
    line = bound(_keyed(), of_a_later_version={"x": [1.5, "ü"]})

    policy = _keyed('[judging]\nmin_coverage = { internal = "part" }\n')
    outputs = adjudicate([*_claims(), line], policy)

    assert line["value"]["sighting"]["of_a_later_version"] == {"x": [1.5, "ü"]}
    assert (outputs.words, outputs.dead) == ([("admitted", "admitted", None)], [])


def test_an_unsigned_sighting_of_an_observer_with_a_key_is_refused_where_it_comes():
    """It is bound to nothing."""
    (found,) = bind((0, cited()), (2, [cited_sighting(seen=2)]), policy=_keyed())

    assert (found["topic"], found["headers"]["sluice-reason"]) == ("dead-letters", "unauthorised-observer")


@pytest.mark.parametrize(
    ("changed", "where"),
    [
        ({"observed_at": "2026-11-21T09:00:03Z"}, "$.sighting:"),
        ({"observation_id": "sha256:0000"}, "$.sighting:"),
        ({"tier": "identity-bound"}, "$.sighting:"),
        ({"confidence": 0.5}, "$.sighting:"),
        ({"substrate_class": LOG}, "$.substrate_class:"),
        ({"outcome": "unknown-observation"}, "$.outcome:"),
        ({"sighting": None}, "$.sighting:"),
        ({"sighting": {}}, "$.sighting:"),
        ({"signature": "AAAA"}, "$.signature:"),
    ],
)
def test_a_bound_observation_says_no_more_of_the_substrate_than_was_signed(changed: dict[str, Any], where: str):
    """Observer, id, class, time, tier and confidence are those of the sighting; it never tells of an invented id."""
    line = bound(_keyed())

    outputs = adjudicate([line | {"value": line["value"] | changed}], _keyed())

    assert outputs.dead == ["unauthorised-observer"]
    assert outputs.lines_on("dead-letters")[0]["headers"]["sluice-detail"].startswith(where)


def test_a_bound_observation_is_of_the_class_that_was_signed():
    """With or without the version's anchor; not of another one whose sightings are bound as well."""
    policy = _keyed().replace(f'["{READ}"]', f'["{READ}", "{LOG}"]')
    line = bound(policy, substrate_class=f"1.0.{READ}")

    outputs = adjudicate([line, line | {"value": line["value"] | {"substrate_class": LOG}}], policy)

    (dead,) = outputs.lines_on("dead-letters")
    assert dead["headers"]["sluice-detail"].startswith("$.sighting:")


def test_a_sighting_in_a_bound_observation_must_be_signed_by_its_observer():
    """Changed, unsigned, or signed with another key: refused."""
    line = bound(_keyed())
    signed = line["value"]["sighting"]
    wrong = [
        signed | {"content": "something else"},
        {name: one for name, one in signed.items() if name != "signature"},
        _signed(signed, Ed25519PrivateKey.from_private_bytes(b"\x08" * 32)),
    ]

    outputs = adjudicate([line | {"value": line["value"] | {"sighting": one}} for one in wrong], _keyed())

    details = [one["headers"]["sluice-detail"] for one in outputs.lines_on("dead-letters")]
    assert outputs.dead == ["unauthorised-observer"] * 3
    assert all(detail.startswith("$.sighting.signature: expected the signature of 'observer-2'") for detail in details)


def test_another_observer_s_sighting_speaks_for_nobody():
    """Not for one with a key, under whose name it is put."""
    line = bound(POLICY, observer="observer-3")

    outputs = adjudicate([line | {"value": line["value"] | {"observer": "observer-2"}}], _keyed(require=False))

    assert outputs.dead == ["unauthorised-observer"]


@pytest.mark.parametrize("more", ['classes = ["substrate.grep"]\n', None])
def test_a_signed_sighting_of_a_class_that_nobody_asked_for_is_refused(more: str | None):
    """Of one that its observer may not speak for, or of one whose sightings the policy does not bind."""
    policy = _keyed().removeprefix(POLICY) if more is None else _keyed(more)

    assert adjudicate([bound(_keyed())], policy).dead == ["unauthorised-observer"]
