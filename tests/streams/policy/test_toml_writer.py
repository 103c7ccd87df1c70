"""A policy written as a file reads back as that policy."""

from __future__ import annotations

import base64
from typing import get_args

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.records import Disposition, Effect
from sluice.codecs.vocabulary import CLASSES_1_0
from sluice.streams.policy import policy as p
from sluice.streams.policy.policy_toml import load_policy, to_toml

EFFECTS, DISPOSITIONS = st.sampled_from(get_args(Effect)), st.sampled_from(get_args(Disposition))
DOMAINS = st.builds(
    p.AttestationDomain,
    confusables=st.sampled_from(get_args(p.Confusables)),
    composition=st.sampled_from(get_args(p.Composition)),
    quorum=st.integers(1, p.MAX_QUORUM),
)
CONFUSABLES, PRIVACY = st.sampled_from(get_args(p.Confusables)), st.sampled_from(get_args(p.Privacy))
SECONDS = st.integers(1, 86_400 * 30).map(lambda seconds: seconds * 1000)
ODD = st.integers(1, 999_999_999)
DURATIONS = SECONDS | ODD
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(lambda one: one != "default")
CLASSES = st.lists(st.sampled_from(sorted(CLASSES_1_0)), unique=True).map(sorted)


def key_of(secret: bytes) -> str:
    """The public key of a secret, as a policy names it."""
    public = Ed25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()
    return base64.b64encode(public).decode()


KEYS = st.binary(min_size=32, max_size=32).map(key_of)
LEAST = st.lists(st.integers(1, p.MOST_OBSERVERS), min_size=2, max_size=2).map(
    lambda two: p.LeastObservers(internal=min(two), external=max(two))
)
SETS = st.lists(NAMES, unique=True).map(sorted)


@st.composite
def policies(draw: st.DrawFn) -> p.Policy:
    k = draw(st.integers(1, 7))
    domains = draw(SETS.map(lambda names: [name for name in names if name != "consensus_domains"]))
    default = draw(EFFECTS)
    return p.Policy(
        admissibility=p.Admissibility(
            trust=draw(st.sampled_from(get_args(p.Trust))),
            k=p.Floor(internal=k, external=draw(st.integers(k, 7))),
            **{name: draw(DURATIONS) for name in ("horizon", "max_validity", "max_skew", "max_stall", "review_window")},
            min_confidence=draw(st.floats(0, 1)),
            max_attempts=draw(st.integers(1, 1000)),
            window={name: draw(DURATIONS) for name in CLASSES_1_0},
            min_observers=draw(LEAST),
            early_settle=draw(st.booleans()),
        ),
        effect_default=default,
        effect={name: effect for name in draw(SETS) if (effect := draw(EFFECTS)) != default},
        disposition={
            status: p.PerEffect(internal=draw(DISPOSITIONS), external=draw(DISPOSITIONS)) for status in p.INADMISSIBLE
        },
        sanitation=p.Sanitation(
            confusables=p.ConfusablesByEffect(internal=draw(CONFUSABLES), external=draw(CONFUSABLES)),
            caps={name: draw(st.integers(1, most)) for name, most in p.CAPS.items()},
        ),
        attestations=p.Attestations(consensus_domains=domains, domains={name: draw(DOMAINS) for name in domains[::2]}),
        sightings=p.Sightings(classes=draw(CLASSES)),
        privacy=p.PrivacyRules(observation_ids=draw(PRIVACY), chain_sources=draw(PRIVACY)),
        observers={
            name: p.Observer(public_key=draw(st.none() | KEYS), classes=draw(CLASSES), writable_by=draw(SETS))
            for name in draw(SETS)
            if name != "require_signatures"
        },
        require_signatures=draw(st.booleans()),
        emitters=p.Emitters(
            draw(st.sampled_from([[], ["email"], [r"/^u-\d+$/", "email", "uuid"]])),
            vendor=draw(st.sampled_from([{}, {"bot": "Acme"}, {"a b": 'x"'}])),
            require_vendor=draw(st.booleans()),
        ),
        writers={**p.REFERENCE_WRITERS, "substrate.grep": draw(st.sampled_from([["operator"], ["anyone", "owner"]]))},
    )


@given(policies())
def test_what_is_written_reads_back(policy: p.Policy) -> None:
    """Every key, whatever its value: equal policies, and so equal hashes."""
    read = load_policy(to_toml(policy))

    assert read == policy
    assert read.hash == policy.hash


def test_the_reference_policy_shows_every_key() -> None:
    """Also those that a file may leave out, so that an operator sees what is in force."""
    text = to_toml(p.DEFAULT_POLICY)

    assert 'horizon = "10m"' in text
    assert '"substrate.do.sse-count" = "1m"' in text
    assert 'below-floor = { internal = "review", external = "review" }' in text
    assert load_policy(text) == p.DEFAULT_POLICY
