"""The resources of the adapter: the policy in force, the vocabulary, and how far we conform [V §9].

All are ours or the operator's own words; no text of a validator's or an emitter's stands in any of them.
"""

from __future__ import annotations

from importlib import resources
from typing import Any, Final, NamedTuple

import msgspec

from ...codecs.vocabulary import NEWEST, TERMINALS, VERSIONS
from ...streams.policy.policy import Policy
from ...streams.sanitise import CONFUSABLES_VERSION, SANITATION_REVISION, SANITATION_VERSION, UNICODE_VERSION


class About(NamedTuple):
    """A resource as it is listed."""

    uri: str
    name: str
    title: str
    description: str


POLICY: Final = "sluice://policy"
VOCABULARY: Final = "sluice://vocabulary"
CONFORMANCE: Final = "sluice://conformance"
LISTED: Final = (
    About(POLICY, "policy", "Policy", "By what the lanes decide, with its hash and the registry of consensus domains."),
    About(VOCABULARY, "vocabulary", "Vocabulary", "The substrate classes of every loaded version, and the terminals."),
    About(CONFORMANCE, "conformance", "Conformance", "The pass rate of the adversarial corpus, and each deviation."),
)
_corpus: Final = msgspec.json.decode(
    resources.files(__package__ or "").joinpath("data", "conformance.json").read_bytes()
)


def policy(in_force: Policy | None, fallback: Policy) -> dict[str, Any]:
    """The policy that the lanes decide by; the reference policy, named as such, where no lane has one yet."""
    chosen = in_force or fallback
    document: dict[str, Any] = msgspec.json.decode(chosen.document)
    # Who may write to what, and with which key it is signed, is between the operator and its observers.
    document.pop("observers", None)
    return {
        "@type": "sluice:Policy",
        "hash": chosen.hash,
        "in_force": in_force is not None,
        "consensus_domains": chosen.attestations.consensus_domains,
        "policy": document,
        "left_out": ["observers"],
    }


def vocabulary() -> dict[str, Any]:
    """The closed vocabulary [S §4]."""
    return {
        "@type": "sluice:Vocabulary",
        "newest": NEWEST,
        "versions": {version: sorted(classes) for version, classes in sorted(VERSIONS.items())},
        "terminals": sorted(TERMINALS),
    }


def conformance() -> dict[str, Any]:
    """The rate at which the corpus of [V §9] passes through this adapter, by category."""
    return {
        "@type": "sluice:Conformance",
        "sanitation_version": SANITATION_VERSION,
        "sanitation_revision": SANITATION_REVISION,
        "unicode_version": UNICODE_VERSION,
        "confusables_version": CONFUSABLES_VERSION,
        **_corpus,
    }
