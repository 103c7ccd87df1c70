"""A policy is a value: its document and hash say what it means, and nothing about how it was written."""

from __future__ import annotations

import base64
import subprocess
import sys
import tomllib
from hashlib import sha256
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sluice.codecs.records import Disposition, Effect
from sluice.codecs.vocabulary import CLASSES_1_0
from sluice.streams.policy.policy import (
    CAPS,
    DEFAULT_POLICY,
    INADMISSIBLE,
    MAX_QUORUM,
    MOST_OBSERVERS,
    REFERENCE_WINDOWS,
    REFERENCE_WRITERS,
    WRITERS,
    Admissibility,
    AttestationDomain,
    Attestations,
    Composition,
    Confusables,
    ConfusablesByEffect,
    Emitters,
    Floor,
    LeastObservers,
    Observer,
    PerEffect,
    Policy,
    Privacy,
    PrivacyRules,
    Sanitation,
    Sightings,
    Trust,
    policy_of_document,
)
from sluice.streams.policy.policy_toml import load_policy

MINUTE, HOUR = 60_000, 3_600_000
TIMES = st.integers(1, 10 * 86_400_000)
NAMES = st.text(min_size=1, max_size=12)
CLASSES = st.sampled_from(sorted(CLASSES_1_0))
EFFECTS = st.sampled_from(get_args(Effect))
CONFUSABLES = st.sampled_from(get_args(Confusables))
DOMAINS = st.builds(
    AttestationDomain,
    confusables=CONFUSABLES,
    composition=st.sampled_from(get_args(Composition)),
    quorum=st.integers(1, MAX_QUORUM),
)
DISPOSITIONS = st.sampled_from(get_args(Disposition))
KS = st.integers(1, 7)
LEAST = st.lists(st.integers(1, MOST_OBSERVERS), min_size=2, max_size=2).map(sorted)
KEYS = st.binary(min_size=32, max_size=32).map(lambda raw: base64.b64encode(raw).decode())
POLICIES = st.builds(
    Policy,
    admissibility=st.builds(
        Admissibility,
        trust=st.sampled_from(get_args(Trust)),
        k=st.builds(lambda one, other: Floor(internal=min(one, other), external=max(one, other)), KS, KS),
        horizon=TIMES,
        max_validity=TIMES,
        min_confidence=st.floats(0, 1),
        window=st.fixed_dictionaries(dict.fromkeys(sorted(CLASSES_1_0), TIMES)),
        min_observers=LEAST.map(lambda two: LeastObservers(internal=two[0], external=two[1])),
    ),
    effect_default=EFFECTS,
    effect=st.dictionaries(NAMES, EFFECTS, max_size=3),
    disposition=st.fixed_dictionaries(
        dict.fromkeys(INADMISSIBLE, st.builds(PerEffect, internal=DISPOSITIONS, external=DISPOSITIONS))
    ),
    sanitation=st.builds(
        Sanitation,
        confusables=st.builds(ConfusablesByEffect, internal=CONFUSABLES, external=CONFUSABLES),
        caps=st.fixed_dictionaries({name: st.integers(1, most) for name, most in CAPS.items()}),
    ),
    attestations=st.builds(
        Attestations,
        consensus_domains=st.lists(NAMES, max_size=2),
        domains=st.dictionaries(NAMES, DOMAINS, max_size=2),
    ),
    privacy=st.builds(PrivacyRules, observation_ids=st.sampled_from(get_args(Privacy))),
    observers=st.dictionaries(
        NAMES,
        st.builds(
            Observer,
            public_key=st.none() | KEYS,
            classes=st.lists(CLASSES, max_size=2),
            writable_by=st.lists(NAMES, max_size=2),
        ),
        max_size=2,
    ),
    require_signatures=st.booleans(),
    sightings=st.builds(Sightings, classes=st.lists(CLASSES, max_size=2)),
    emitters=st.builds(Emitters, refuse=st.lists(st.sampled_from(["email", "phone", "uuid", "/^u-/"]), max_size=3)),
)


@given(POLICIES)
def test_a_policy_comes_back_from_its_document(policy: Policy) -> None:
    """Equal, with the same document and hash: what the ledger carries is the whole of it."""
    again = policy_of_document(policy.document)

    assert again == policy
    assert (again.document, again.hash) == (policy.document, policy.hash)


@given(POLICIES)
def test_the_document_is_canonical_and_the_hash_is_over_it(policy: Policy) -> None:
    """RFC 8785: parsed and canonicalised again it is the same bytes, and anybody can check the hash."""
    assert rfc8785.dumps(msgspec.json.decode(policy.document)) == policy.document
    assert policy.hash == "sha256:" + sha256(policy.document).hexdigest()


@given(POLICIES, POLICIES)
def test_policies_that_differ_have_different_hashes(one: Policy, other: Policy) -> None:
    """And equal ones the same."""
    assert (one.hash == other.hash) == (one == other)


@given(POLICIES)
def test_the_order_in_which_tables_were_filled_does_not_matter(policy: Policy) -> None:
    """Dictionaries are sorted in the document."""
    rules = policy.admissibility
    turned = replace(
        policy,
        admissibility=replace(rules, window=dict(reversed(rules.window.items()))),
        effect=dict(reversed(policy.effect.items())),
        disposition=dict(reversed(policy.disposition.items())),
        observers=dict(reversed(policy.observers.items())),
    )

    assert turned.hash == policy.hash


def test_the_defaults_are_the_design_s() -> None:
    """The values of policies/reference.toml, in milliseconds."""
    rules = DEFAULT_POLICY.admissibility

    assert (rules.k.internal, rules.k.external) == (2, 3)
    assert (rules.horizon, rules.max_validity, rules.max_skew) == (10 * MINUTE, 24 * HOUR, 30_000)
    assert (rules.max_stall, rules.review_window) == (HOUR, rules.max_validity)
    assert (rules.trust, rules.min_confidence, rules.max_attempts) == ("observed", 0.0, 3)
    assert DEFAULT_POLICY.problems() == DEFAULT_POLICY.warnings() == []


def test_every_class_of_the_vocabulary_has_a_window() -> None:
    """Its own, or the default one."""
    windows = DEFAULT_POLICY.admissibility.window

    assert set(windows) == CLASSES_1_0
    assert windows["substrate.fs.mtime"] == 10 * MINUTE
    assert windows["substrate.do.sse-count"] == MINUTE
    assert set(windows.values()) == {MINUTE, 10 * MINUTE, HOUR}


@pytest.mark.parametrize(
    ("fields", "paths"),
    [
        ({"max_validity": 80 * MINUTE, "horizon": 10 * MINUTE}, []),
        ({"max_validity": 80 * MINUTE - 1, "horizon": 10 * MINUTE}, ["admissibility.max_validity"]),
        ({"max_validity": 2 * HOUR, "late_horizon": 51 * MINUTE}, ["admissibility.max_validity"]),
        (
            {"max_validity": HOUR, "horizon": 55 * MINUTE},
            ["admissibility.max_validity"],
        ),
        (
            {"max_validity": 2 * HOUR, "window": REFERENCE_WINDOWS | {"substrate.grep": 2 * HOUR}},
            ["admissibility.max_validity"],
        ),
    ],
)
def test_window_and_horizon_together_must_not_exceed_max_validity(fields: dict[str, Any], paths: list[str]) -> None:
    """For every class; otherwise `too-old` would refuse what could still be admitted. The bound itself is allowed."""
    policy = Policy(admissibility=Admissibility(**fields))

    assert sorted(path for path, _ in policy.problems()) == paths


KEY = base64.b64encode(bytes(range(32))).decode()
TWO = LeastObservers(internal=1, external=2)


@pytest.mark.parametrize(
    ("policy", "paths"),
    [
        (Policy(admissibility=Admissibility(k=Floor(internal=1, external=3))), ["admissibility.k.internal"]),
        (Policy(admissibility=Admissibility(k=Floor(internal=2, external=2))), ["admissibility.k.external"]),
        (Policy(admissibility=Admissibility(trust="declared")), ["admissibility.trust"]),
        (Policy(admissibility=Admissibility(trust="both")), []),
        (Policy(admissibility=Admissibility(k=Floor(internal=3, external=4))), []),
        (Policy(privacy=PrivacyRules(observation_ids="hashed")), ["privacy"]),
        (Policy(privacy=PrivacyRules(chain_sources="hashed")), ["privacy"]),
        (Policy(observers={"o": Observer(public_key=KEY)}), ["observers"]),
        (Policy(observers={"o": Observer(public_key=KEY)}, require_signatures=True), []),
        (Policy(observers={"o": Observer(public_key=KEY), "p": Observer()}, require_signatures=True), ["observers.p"]),
        (Policy(require_signatures=True), ["observers.require_signatures"]),
        (Policy(writers={**REFERENCE_WRITERS, "substrate.grep": ["emitters", "operator"]}), ["writers"]),
        (Policy(writers={**REFERENCE_WRITERS, "substrate.do.sse-count": ["anyone"]}), ["writers"]),
        (Policy(writers={**REFERENCE_WRITERS, "substrate.do.sse-count": ["kernel", "operator", "owner"]}), []),
        (Policy(admissibility=Admissibility(min_observers=TWO)), ["admissibility.min_observers"]),
        (
            Policy(
                admissibility=Admissibility(min_observers=TWO),
                observers={"o": Observer(public_key=KEY)},
                require_signatures=True,
            ),
            [],
        ),
        (
            Policy(admissibility=Admissibility(min_observers=TWO, trust="declared")),
            ["admissibility.trust", "admissibility.min_observers"],
        ),
    ],
)
def test_what_is_allowed_but_unwise_is_warned_of(policy: Policy, paths: list[str]) -> None:
    """A floor below the memo's [S §7], the emitter's own word as evidence [S §11.1], a secret that is not there, and
    rules about observers that are got round or refuse everybody [S §11.3]; substrates that an emitter can write to
    [S §3]."""
    assert [path for path, _ in policy.warnings()] == paths


@pytest.mark.parametrize("document", [b"", b"nothing", b"[]", b'{"unknown": 1}', b'{"effect_default": "huge"}'])
def test_what_is_no_policy_document_is_an_error_that_a_lane_can_catch(document: bytes) -> None:
    """Unknown fields too: a later version's policy must not be half understood."""
    with pytest.raises(msgspec.MsgspecError):
        policy_of_document(document)


@pytest.mark.parametrize(
    "document",
    [
        b'{"disposition": {}}',
        b'{"sanitation": {"caps": {}}}',
        b'{"admissibility": {"k": {"internal": 0, "external": 0}}}',
        b'{"admissibility": {"horizon": -1}}',
        b'{"admissibility": {"window": {"substrate.grep": -1}}}',
        b'{"admissibility": {"min_observers": {"internal": 2, "external": 1}}}',
        b'{"emitters": {"refuse": ["everybody"]}}',
    ],
)
def test_a_document_that_no_file_could_give_is_an_error_as_well(document: bytes) -> None:
    """A lane that took it in would stop at the first record it cannot decide, and the ledger would keep it."""
    with pytest.raises(msgspec.MsgspecError):
        policy_of_document(document)


def test_a_policy_never_changes() -> None:
    """It is what a hash names."""
    with pytest.raises(AttributeError):
        DEFAULT_POLICY.privacy = PrivacyRules(observation_ids="omitted")  # type: ignore[misc]


def test_a_document_that_is_no_utf_8_is_no_policy() -> None:
    """As a ledger might hold one: it is refused like any other document that is none."""
    with pytest.raises(msgspec.MsgspecError, match="not UTF-8"):
        policy_of_document(b'{"effect_default":"\xff"}')


def test_threads_may_decode_policies_side_by_side() -> None:
    """In a new process, where nothing has been decoded before: lanes load their snapshots in threads."""
    code = """
import sys, threading
sys.setswitchinterval(1e-6)
from sluice.streams.policy.policy import DEFAULT_POLICY, policy_of_document
document, bar = DEFAULT_POLICY.document, threading.Barrier(4)
def decode():
    bar.wait()
    policy_of_document(document)
threads = [threading.Thread(target=decode) for _ in range(4)]
[one.start() for one in threads], [one.join() for one in threads]
"""
    for _ in range(6):
        assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_sightings_are_of_classes_of_the_vocabulary():
    """A fold could cite no other one."""
    with pytest.raises(msgspec.ValidationError, match="classes of the vocabulary"):
        policy_of_document(b'{"sightings":{"classes":["substrate.nowhere"]}}')


@pytest.mark.parametrize("profile", ["reference", "strict"])
def test_a_shipped_profile_says_of_every_class_who_can_write_to_it(profile: str) -> None:
    """[S §3]: each in words of the closed list; that an emitter can, none says."""
    text = (Path(__file__).parents[3] / "policies" / f"{profile}.toml").read_text("utf-8")
    given = tomllib.loads(text)["writers"]

    assert given.keys() == CLASSES_1_0
    assert all(parties and set(parties) <= set(WRITERS) - {"emitters", "anyone"} for parties in given.values())
    assert load_policy(text).writers == given


@pytest.mark.parametrize("writers", [{}, {"substrate.grep": ["operator"]}, {**REFERENCE_WRITERS, "substrate.grep": []},
                                     {**REFERENCE_WRITERS, "substrate.grep": ["nobody"]}])  # fmt: skip
def test_of_no_class_it_stays_open_who_can_write(writers: dict[str, list[str]]) -> None:
    """In a document as in a file."""
    with pytest.raises(ValueError, match="writers names for every class"):
        Policy(writers=writers)
