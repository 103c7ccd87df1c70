"""The policy: everything that an operator may choose about deciding (architecture.md, «Policy»).

A policy is read from TOML by `policy_file.py`, or from the canonical document that the ledger carries. Its hash stands
in every block header and output, so that an audit knows under which rules a decision was made. Values are normalised:
times in milliseconds, a disposition for every status and effect, defaults filled in; two files that mean the same have
the same hash. A policy never changes once made.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Literal

import msgspec
import rfc8785
from msgspec import field

from ..codecs.records import Disposition, Effect
from ..codecs.vocabulary import CLASSES_1_0

Trust = Literal["observed", "declared", "both"]
Confusables = Literal["reject", "replace", "flag"]
Privacy = Literal["clear", "hashed", "omitted"]

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
INADMISSIBLE = (
    "unverified-inference",
    "unannotated",
    "below-floor",
    "decayed-to-uncertainty",
    "contradicted",
    "rejected",
)
"""The statuses that have a disposition."""
REFERENCE_FLOOR: dict[Effect, int] = {"internal": 2, "external": 3}
"""The memo's reference values of k [S §7]."""
CAPS = {"rationale": 2000, "qualifications": 2000, "quote": 1000, "quotes": 5, "assertion": 2000, "title": 300}
"""The contract's caps in octets (quotes: a count); a policy may only lower them [V §4.1]."""


LONGEST = 3650 * DAY
"""No duration of a policy is longer: ten years, so that no sum of times leaves what RFC 8785 can write."""


class Part(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, kw_only=True):
    """Base of the policy's tables. What `__post_init__` finds wrong is an error of the document (msgspec raises it):
    a ledger keeps its policies for ever, so one that the fold could not work with must never come into force."""


class PerEffect(Part, frozen=True, gc=False):
    """A disposition for each effect."""

    internal: Disposition
    external: Disposition


class Floor(Part, frozen=True, gc=False):
    """k, the distinct fresh classes that an assertion needs [S §7]."""

    internal: int = 2
    external: int = 3

    def __post_init__(self) -> None:
        if not 1 <= self.internal <= self.external <= len(CLASSES_1_0):
            raise ValueError("k is from 1 to the number of classes, and external not below internal")


REFERENCE_WINDOWS = {
    **dict.fromkeys(sorted(CLASSES_1_0), HOUR),
    "substrate.fs.mtime": 10 * MINUTE,
    "substrate.do.sse-count": MINUTE,
}
"""W of every class in the reference policy."""


class Admissibility(Part, frozen=True, gc=False):
    """How evidence is counted, and how long everything may take (milliseconds)."""

    trust: Trust = "observed"
    k: Floor = Floor()
    horizon: int = 10 * MINUTE
    max_validity: int = DAY
    max_skew: int = 30_000
    max_stall: int = HOUR
    min_confidence: float = 0.0
    max_attempts: int = 3
    review_window: int = DAY
    window: dict[str, int] = field(default_factory=lambda: dict(REFERENCE_WINDOWS))

    def __post_init__(self) -> None:
        times = (self.horizon, self.max_validity, self.max_stall, self.review_window, *self.window.values())
        if not all(1 <= time <= LONGEST for time in times) or not 0 <= self.max_skew <= LONGEST:
            raise ValueError(f"durations are from 1 to {LONGEST} milliseconds, of max_skew from 0")
        if not 0 <= self.min_confidence <= 1 or self.max_attempts < 1:
            raise ValueError("min_confidence is from 0 to 1, and max_attempts at least 1")
        if self.window.keys() != CLASSES_1_0:
            raise ValueError("every class of the vocabulary has a window")


class ConfusablesByEffect(Part, frozen=True, gc=False):
    """What confusable characters in an assertion's text lead to [V §4.3]."""

    internal: Confusables = "replace"
    external: Confusables = "reject"


class Sanitation(Part, frozen=True, gc=False):
    """Confusables and caps [V §4.1, §4.3]."""

    confusables: ConfusablesByEffect = ConfusablesByEffect()
    caps: dict[str, int] = field(default_factory=lambda: dict(CAPS))

    def __post_init__(self) -> None:
        if self.caps.keys() != CAPS.keys() or not all(1 <= cap <= 2000 for cap in self.caps.values()):
            raise ValueError("caps are from 1 to 2000, one for each of " + ", ".join(CAPS))


class Domain(Part, frozen=True, gc=False):
    """A consensus domain's own table."""

    confusables: Confusables = "replace"


class Attestations(Part, frozen=True, gc=False):
    """The registry of consensus domains [V §3]."""

    consensus_domains: list[str] = field(default_factory=lambda: ["scientific-default"])
    domains: dict[str, Domain] = {}


class PrivacyRules(Part, frozen=True, gc=False):
    """What of an observation's identifiers leaves sluice [S §12]."""

    observation_ids: Privacy = "clear"
    chain_sources: Privacy = "clear"


class Observer(Part, frozen=True, gc=False):
    """What one observer may do: its key, the classes it may speak for (all where none is named), and who can write to
    the substrate that it looks at."""

    public_key: str | None = None
    classes: list[str] = []
    writable_by: list[str] = []


_REFERENCE_DISPOSITIONS = {
    "unverified-inference": PerEffect(internal="discard", external="discard"),
    "unannotated": PerEffect(internal="discard", external="discard"),
    "below-floor": PerEffect(internal="review", external="review"),
    "decayed-to-uncertainty": PerEffect(internal="re-emit", external="re-emit"),
    "contradicted": PerEffect(internal="review", external="refuse"),
    "rejected": PerEffect(internal="review", external="review"),
}


class Policy(Part, frozen=True, gc=False):
    """One policy, normalised; the defaults are the reference file of architecture.md."""

    admissibility: Admissibility = Admissibility()
    effect_default: Effect = "internal"
    effect: dict[str, Effect] = {}
    disposition: dict[str, PerEffect] = field(default_factory=lambda: dict(_REFERENCE_DISPOSITIONS))
    sanitation: Sanitation = Sanitation()
    attestations: Attestations = Attestations()
    privacy: PrivacyRules = PrivacyRules()
    observers: dict[str, Observer] = {}

    def __post_init__(self) -> None:
        if self.disposition.keys() != set(INADMISSIBLE):
            raise ValueError("there is a disposition for each of " + ", ".join(INADMISSIBLE))

    @property
    def document(self) -> bytes:
        """The canonical form (RFC 8785), as the ledger carries it."""
        value: Any = msgspec.to_builtins(self)
        return rfc8785.dumps(value)

    @property
    def hash(self) -> str:
        """`sha256:` and 64 hex digits over the canonical form."""
        return "sha256:" + sha256(self.document).hexdigest()

    def problems(self) -> list[tuple[str, str]]:
        """What makes this policy unusable, as (path, sentence)."""
        rules = self.admissibility
        long = [name for name, window in sorted(rules.window.items()) if window + rules.horizon > rules.max_validity]
        if not long:
            return []
        why = "is less than horizon and window together, so evidence could come too late to admit anything"
        return [("admissibility.max_validity", f"{why}: {', '.join(long)}")]

    def warnings(self) -> list[tuple[str, str]]:
        """What is allowed but unwise, as (path, sentence)."""
        rules = self.admissibility
        found: list[tuple[str, str]] = []
        for effect in ("internal", "external"):
            if getattr(rules.k, effect) < REFERENCE_FLOOR[effect]:
                found.append(
                    (f"admissibility.k.{effect}", f"is below the memo's floor of {REFERENCE_FLOOR[effect]} [S §7]")
                )
        if rules.trust == "declared":
            found.append(
                ("admissibility.trust", "takes the emitter's own word as evidence, which the memo forbids [S §11.1]")
            )
        if self.privacy.observation_ids == "hashed" or self.privacy.chain_sources == "hashed":
            found.append(("privacy", "identifiers are left out until the worker is given the secret to hash them with"))
        return found


DEFAULT_POLICY = Policy()


# Made here, by one thread: msgspec fills what it knows of a type on first use, and a second thread that decodes it
# meanwhile (lanes load snapshots side by side) would find it half filled, and crash the process.
_policy = msgspec.json.Decoder(Policy)


def policy_of_document(document: bytes) -> Policy:
    """The policy of a canonical document, as a ledger carries it.

    Raises:
        msgspec.MsgspecError: the document is no policy that this version knows.
    """
    try:
        return _policy.decode(document)
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(f"the document is not UTF-8: {error}") from None
