"""Evidence counts only for what was looked at, through `sluice fold` [S §3, §11.1], docs/security.md.

Observers look at every record on `emissions`, also at those that the lane refuses. So whoever may write there can have
an honest observer sign what it saw of words that nobody else ever said. Each test is what such a writer would try.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from fold_lines import adjudicate, annotation, at, emission, observation
from foreign_signing import key_of, public, sign

from sluice.codecs.identifiers import digest_of
from sluice.codecs.records import Citation

CODE, GIT, GREP = "substrate.code.read", "substrate.git.log", "substrate.grep"
TRUE, FALSE = "equals(A, 1)", "equals(A, 2)"
ADMITTED = ("admitted", "admitted", None)
SEEN = "sha256:" + "5e" * 32


def look(line: dict[str, Any], when: float, cls: str, outcome: str = "corroborates", **fields: Any):
    """`look(line, when=…, class, outcome=…)`: what an honest observer writes who looked at the record of this line."""
    value = line["value"]
    check = value["assertions"][0]["checks"][0]
    holds = outcome == "corroborates"
    seen = observation(when, cls, outcome, verified=[0] if holds else [], coverage="whole", unchecked=[], **fields)
    seen["value"] |= {
        "refuted": [] if holds else [0],
        "detail": {"checks": [{"check": check, "holds": holds, "path": "a.py", "lines": [1, 1]}]},
    }
    seen["value"]["subject"] |= {
        "attempt": value.get("attempt", 0),
        "digest": digest_of(json.dumps(value).encode()),
    }
    return seen


def says(check: str, when: float = 0, **fields: Any) -> dict[str, Any]:
    """An emission of one assertion with this check."""
    return emission(when, checks=[check], **fields)


# ---------------------------------------------------------------- the record that was looked at


def test_looks_at_another_record_with_the_same_id_admit_nothing():
    """The lane keeps the first record; a second one that is true lends it nothing."""
    false, true = says(FALSE), says(TRUE, 1, emitted=0)
    looks = [look(true, 2, CODE), look(true, 3, GIT)]

    outputs = adjudicate([false, true, *looks], until=601)

    assert outputs.dead == ["conflicting-emission"]
    assert outputs.words == [("inadmissible", "unverified-inference", "no-corroboration")] or outputs.words == []
    assert outputs.on("admitted") == []


def test_looks_at_another_record_contradict_nothing():
    """A true statement stays, whatever somebody wrote under its id."""
    true, false = says(TRUE), says(FALSE, 1, emitted=0)
    looks = [look(false, 2, CODE, "contradicts"), look(true, 3, CODE), look(true, 4, GIT)]

    assert adjudicate([true, false, *looks]).words == [ADMITTED]


def test_looks_that_came_before_their_record_are_told_apart():
    """Both records' looks wait; only those at the record that is taken in count."""
    true, false = says(TRUE, 5), says(FALSE, 5)
    of_false = [look(false, 1, CODE, "contradicts"), look(false, 2, GIT, "contradicts")]
    of_true = [look(true, 3, CODE), look(true, 4, GIT)]

    assert adjudicate([*of_false, *of_true, true]).words == [ADMITTED]
    assert adjudicate([*of_false, *of_true, false]).words == [("inadmissible", "contradicted", "contradicted")]
    assert adjudicate([*of_true, false]).words == []


def test_looks_of_a_second_attempt_are_bound_to_it():
    """The same words in another attempt are another record."""
    first, second = says(TRUE), says(FALSE, 1, fields={"attempt": 1})
    stolen = look(first, 2, CODE), look(first, 3, GIT)
    for line in stolen:
        line["value"]["subject"]["attempt"] = 1

    assert ADMITTED not in adjudicate([first, second, *stolen]).words


def test_an_observation_without_a_digest_speaks_of_whatever_stands_under_the_id():
    """No member is required; what such an observer leaves open stands in docs/security.md."""
    line = says(TRUE)
    looks = [look(line, 1, CODE), look(line, 2, GIT)]
    for one in looks:
        del one["value"]["subject"]["digest"]

    assert adjudicate([line, *looks]).words == [ADMITTED]


@pytest.mark.parametrize("digest", ["", "5e" * 32, "sha256:" + "5E" * 32, "sha256:5e", SEEN + "0", 5, SEEN + "\n"])
def test_a_digest_has_one_form(digest: Any):
    """Anything else is a dead letter; nothing is compared in part."""
    line = says(TRUE)
    bad = look(line, 1, CODE)
    bad["value"]["subject"]["digest"] = digest

    assert adjudicate([line, bad]).dead == ["schema"]


def test_an_answer_about_another_record_settles_nothing_early():
    """`early_settle` waits for the observers' answers about the record that was taken in."""
    keys = {"one": key_of(1), "two": key_of(2)}
    policy = "[admissibility]\nearly_settle = true\n[observers]\nrequire_signatures = true\n" + "".join(
        f'[observers.{name}]\npublic_key = "{public(key)}"\nclasses = ["{cls}"]\n'
        for (name, key), cls in zip(keys.items(), (CODE, GIT), strict=True)
    )
    kept, other = says(TRUE), says(FALSE)

    def answers(line: dict[str, Any]) -> list[dict[str, Any]]:
        found = [look(line, 1, CODE, "absent", observer="one"), look(line, 2, GIT, "absent", observer="two")]
        return [one | {"value": sign(keys[one["value"]["observer"]], "observations", one["value"])} for one in found]

    def settled(looked_at: dict[str, Any]) -> list[bool]:
        return [one["settled"] for one in adjudicate([kept, *answers(looked_at)], policy).on("verdicts")]

    assert True not in settled(other)
    assert settled(kept)[-1]


# ---------------------------------------------------------------- the checks that were decided


def test_a_look_at_other_checks_verifies_nothing():
    """Though it names no record: an index means the check that the observer names."""
    line, other = says(FALSE), says(TRUE)
    looks = [look(other, 1, CODE), look(other, 2, GIT)]
    for one in looks:
        del one["value"]["subject"]["digest"]

    assert adjudicate([line, *looks]).words == []


def test_a_look_at_other_checks_refutes_nothing():
    """Nor does it stand in the way of what is verified."""
    line, other = says(TRUE), says(FALSE)
    wrong = look(other, 1, CODE, "contradicts")
    del wrong["value"]["subject"]["digest"]

    assert adjudicate([line, wrong, look(line, 2, CODE), look(line, 3, GIT)]).words == [ADMITTED]


def test_only_the_indices_of_the_assertion_s_own_checks_count():
    """One of two is another check: the other one stands alone, and does not carry the assertion."""
    line = emission(0, checks=[TRUE, "exists(a.py)"])
    detail = {"checks": [{"check": TRUE, "holds": True}, {"check": "exists(b.py)", "holds": True}]}
    looks = [
        observation(when, cls, verified=[0, 1], coverage="whole", detail=detail)
        for when, cls in enumerate((CODE, GIT, GREP), 1)
    ]

    outputs = adjudicate([line, *looks], until=601)

    assert outputs.words == [("inadmissible", "below-floor", "below-floor")]
    assert [one["classes"] for one in outputs.on("inadmissible")[0]["checks"]] == [3, 0]


def test_a_check_may_be_written_in_another_way():
    """Observers write the canonical form, emitters what they like."""
    line = says("equals(A,   0x1)")
    looks = [look(line, 1, CODE), look(line, 2, GIT)]
    for one in looks:
        one["value"]["detail"]["checks"][0]["check"] = TRUE

    assert adjudicate([line, *looks]).words == [ADMITTED]
    looks[0]["value"]["detail"]["checks"][0]["check"] = "equals(A, true)"
    assert adjudicate([line, *looks]).words == []


# ---------------------------------------------------------------- bound observations

CLAIM = "`a.py` contains `A = 1`."
CLAIMED = {"chars": [0, len(CLAIM)]}
CITED = [{"substrate_class": CODE, "observation_id": SEEN}, {"substrate_class": GIT}]
OWNER = key_of(7)
BOUND = f'[sightings]\nclasses = ["{CODE}"]\n[observers]\nrequire_signatures = true\n' + "".join(
    f'[observers.{name}]\npublic_key = "{public(OWNER)}"\n' for name in ("observer-1", "observer-2")
)


def forged(content: str = "A = 1", when: float = 2, path: str = "a.py", **fields: Any) -> dict[str, Any]:
    """`forged(content, …)`: a real, signed sighting, bound to an assertion by whoever may write to `observations`."""
    sighting = sign(
        OWNER,
        "sightings",
        {
            "observation_id": SEEN,
            "substrate_class": CODE,
            "observed_at": at(when),
            "observer": "observer-2",
            "content": content,
            "locator": {"path": path},
        },
    )
    said: dict[str, Any] = {"verified": [0], "refuted": [], "coverage": "whole", "unchecked": []}
    said |= {"observer": "observer-2", "span": CLAIMED}
    line = observation(when, CODE, observation_id=SEEN, **{**said, **fields})
    line["value"]["sighting"] = sighting
    return line


def other_class(when: float = 1, **fields: Any) -> dict[str, Any]:
    """The second class that an assertion needs, signed."""
    said = {"verified": [0], "coverage": "whole", "unchecked": [], "span": CLAIMED}
    line = observation(when, GIT, **{**said, **fields})
    return line | {"value": sign(OWNER, "observations", line["value"])}


def test_a_sighting_bears_out_what_its_content_says():
    """The honest case: the check holds of the signed content."""
    line, late = (emission(when, text=CLAIM, checks=['contains("A = 1")'], provenance=CITED) for when in (0, 3))

    assert adjudicate([line, other_class(), forged()], BOUND).words == [ADMITTED]
    assert adjudicate([other_class(), forged(), late], BOUND).words == [ADMITTED]


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("check", ['contains("A = 2")', "equals(A, 1)", 'contains("A = 1", path=b.py)'])
def test_a_sighting_paired_with_any_assertion_bears_nothing_out(check: str, early: bool):
    """Another quote, a check that a text cannot decide, another file: whatever the pairing says of it."""
    line, seen = emission(3 if early else 0, text=CLAIM, checks=[check], provenance=CITED), [other_class(), forged()]

    outputs = adjudicate([*seen, line] if early else [line, *seen], BOUND)

    assert (outputs.words, outputs.dead) == ([], [])


def test_a_bound_contradiction_needs_a_content_that_refutes():
    """A text shows that something stands there, never that it does not."""
    line = emission(0, text=CLAIM, checks=['contains("A = 1")'], provenance=CITED)

    outputs = adjudicate([line, forged(outcome="contradicts", verified=[], refuted=[0])], BOUND)

    assert (outputs.words, outputs.dead) == ([], [])


def test_what_a_bound_observation_covers_is_the_binding_lanes_word():
    """The fold reads no prose; the audit of the bind ledger recomputes it, and the topic's rights keep others out."""
    text = "`a.py` contains `A = 1` and nobody ever reviewed it."
    span = {"chars": [0, len(text)]}
    line = emission(0, text=text, checks=['contains("A = 1")'], fields={"effect": "external"}, provenance=CITED)
    policy = BOUND + "[admissibility]\nk = { internal = 2, external = 2 }\n"

    part = {"coverage": "part", "unchecked": [[23, 53]]}
    for told, word in ((part, "inadmissible"), ({}, "admitted")):
        outputs = adjudicate([line, other_class(span=span), forged(span=span, **told)], policy, until=601)
        assert [one["status"] for one in outputs.on(word)] != []


def test_a_sighting_that_is_not_cited_bears_nothing_out():
    """Its content may say so: only what an annotation of the assertion names is bound to it."""
    others = [annotation(CODE, observation_id="sha256:" + "00" * 32), annotation(GIT, observation_id=SEEN)]
    line = emission(0, text=CLAIM, checks=['contains("A = 1")'], provenance=others)

    assert adjudicate([line, other_class(), forged()], BOUND).words == []


def test_a_listed_observer_s_share_is_for_what_it_signed():
    """Neither real sightings bound to what never comes nor one record in many spellings fill it."""
    policy = BOUND + "[admissibility]\nmax_waiting = 2\n"
    bound = [forged(when=2 + number / 100, observer="observer-2") for number in range(5)]
    early = observation(3, GREP, observer="observer-2", verified=[0], coverage="whole", span=CLAIMED)
    early = early | {"value": sign(OWNER, "observations", early["value"])}
    respelled = [early | {"value": dict(reversed(early["value"].items()))} for _ in range(3)]
    spelled = [
        early | {"value": dict(sorted(early["value"].items(), key=lambda one: (len(one[0]) + n) % 7))} for n in range(3)
    ]
    second = observation(4, GIT, observer="observer-2", verified=[0], coverage="whole", span=CLAIMED)
    second = second | {"value": sign(OWNER, "observations", second["value"])}
    line = emission(5, text=CLAIM, checks=['contains("A = 1")'], emitted=0)

    outputs = adjudicate([*bound, early, *respelled, *spelled, second, line], policy)

    assert set(outputs.dead) <= {"too-many-waiting"}
    assert len(outputs.dead) == 3  # of the bound ones, whose share is that of all others
    assert outputs.words == [ADMITTED]


def test_a_citation_carries_the_record_s_digest():
    """So does what is bound to it (test_sightings.py): a look at another record is told apart there as well."""
    line = emission(0, provenance=[annotation(CODE, observation_id=SEEN)])

    (citation,) = adjudicate([line], f'[sightings]\nclasses = ["{CODE}"]\n').on("citations")

    assert citation["digest"] == digest_of(json.dumps(line["value"]).encode())
    assert "digest" in Citation.__struct_fields__
