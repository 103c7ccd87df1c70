"""The policy: everything that an operator may choose about deciding, and who may change it (docs/security.md).

A policy is read from TOML by policy_toml.py, or from the canonical document that the ledger carries. Its hash stands
in every block header and output, so that an audit knows under which rules a decision was made. Values are normalised:
times in milliseconds, a disposition for every status and effect, defaults filled in. Two files that mean the same have
the same hash. A policy never changes once made. Where it lists keys under `[policies.keys]`, the next one counts only
where such a key signed it, in its time, and where its `sequence` is greater.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from hashlib import sha256
from typing import Final, Literal

import msgspec
import rfc8785
from msgspec import field

from ...codecs.blocks import Event
from ...codecs.errors import DoesNotHoldError, Fault
from ...codecs.identifiers import Identifier
from ...codecs.ledger_statements import domain_of, read_adoption
from ...codecs.notes import Signer
from ...codecs.records import MAX_ASSERTIONS, CoverageLevel, Disposition, Effect
from ...codecs.signatures import DEFAULT_ORIGIN, Domain, is_signature, normalised, signed_bytes
from ...codecs.vocabulary import CLASSES_1_0
from ..judging.checks import TABLE as CHECKS
from .keys import Key, Keys, counted, is_signed, problem_of, same_key, standing, what_came

Trust = Literal["observed", "declared", "both"]
Confusables = Literal["reject", "replace", "flag"]
ConfusablesBy = Literal["letter", "word"]
Privacy = Literal["clear", "hashed", "omitted"]
PublishedVerdicts = Literal["all", "settled", "none"]
"""What is told on `verdicts`: every change, only emissions of which nothing is pending any more, or nothing."""

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
"""The contract's caps in bytes (quotes: a count); a policy may only lower them [V §4.1]."""


MAX_QUORUM = 1_000_000
MOST_WAITING: Final = 1_000_000
"""No policy lets more evidence of one observer wait for one emission."""
MOST_WAITING_BYTES: Final = 1 << 40
MOST_UNSEEN: Final = 10_000_000
"""No policy lets more assertions of a lane wait for a first look beyond their horizon."""
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


MOST_REVIEWERS: Final = 16
"""No assertion needs more reviewers: each is kept while it waits for the others."""
MOST_OBSERVERS: Final = 16
"""No assertion needs more observers: each is kept, for each class, while an assertion lives."""


class LeastObservers(Part, frozen=True, gc=False):
    """How many distinct observers the evidence has to come from, so that one that is captured admits nothing by itself
    [S §11.3]. 1 asks nothing."""

    internal: int = 1
    external: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.internal <= self.external <= MOST_OBSERVERS:
            raise ValueError(f"min_observers is from 1 to {MOST_OBSERVERS}, and external not below internal")


class FloorOfCheck(Part, frozen=True, gc=False):
    """k of one check, where it differs from that of the effect; None: the effect's."""

    internal: int | None = None
    external: int | None = None

    def __post_init__(self) -> None:
        given = [one for one in (self.internal, self.external) if one is not None]
        if not given or not all(1 <= one <= len(CLASSES_1_0) for one in given):
            raise ValueError("k of a check is from 1 to the number of classes, for internal, external or both")


class Admissibility(Part, frozen=True, gc=False):
    """How evidence is counted, and how long everything may take (milliseconds).

    Attributes:
        max_waiting: so many observations of one observer may wait for one emission; all that the policy does not list
            count as one.
        max_waiting_bytes: so much evidence may wait in a lane, in bytes; each listed observer has an equal share of
            it, and all others together have one (adjudication/state.py).
        max_annotations: so many assertions an emission may have, and so many annotations of all of them together.
        late_horizon: so much longer an assertion waits at which nobody has looked by its horizon.
        max_unseen: so many assertions of a lane may wait so; what exceeds it ends at its horizon.
        early_settle: an assertion is settled before its horizon ends once every listed observer has answered, for each
            class that it declares (adjudication/corroboration.py).
    """

    trust: Trust = "observed"
    k: Floor = Floor()
    horizon: int = 10 * MINUTE
    late_horizon: int = 10 * MINUTE
    max_unseen: int = 100_000
    max_validity: int = DAY
    max_skew: int = 30_000
    max_stall: int = HOUR
    min_confidence: float = 0.0
    max_attempts: int = 3
    max_waiting: int = 100
    max_waiting_bytes: int = 128 << 20
    max_annotations: int = MAX_ASSERTIONS
    review_window: int = DAY
    window: dict[str, int] = field(default_factory=lambda: dict(REFERENCE_WINDOWS))
    min_observers: LeastObservers = LeastObservers()
    k_by_check: dict[str, FloorOfCheck] = {}
    early_settle: bool = False

    def __post_init__(self) -> None:
        if not CHECKS.keys() >= self.k_by_check.keys():
            raise ValueError("k_by_check names checks")
        times = (
            self.horizon,
            self.late_horizon,
            self.max_validity,
            self.max_stall,
            self.review_window,
            *self.window.values(),
        )
        if not all(1 <= time <= LONGEST for time in times) or not 0 <= self.max_skew <= LONGEST:
            raise ValueError(f"durations are from 1 to {LONGEST} milliseconds, of max_skew from 0")
        if not 0 <= self.min_confidence <= 1 or self.max_attempts < 1:
            raise ValueError("min_confidence is from 0 to 1, and max_attempts at least 1")
        if not 1 <= self.max_waiting <= MOST_WAITING or not 1 <= self.max_waiting_bytes <= MOST_WAITING_BYTES:
            raise ValueError(f"max_waiting is from 1 to {MOST_WAITING}, max_waiting_bytes to {MOST_WAITING_BYTES}")
        if not 1 <= self.max_annotations <= MAX_ASSERTIONS:
            raise ValueError(f"max_annotations is from 1 to {MAX_ASSERTIONS}")
        if not 0 <= self.max_unseen <= MOST_UNSEEN:
            raise ValueError(f"max_unseen is from 0 to {MOST_UNSEEN}")
        if self.window.keys() != CLASSES_1_0:
            raise ValueError("every class of the vocabulary has a window")


BUILT_IN: Final = "checks"
"""The judge that the observers have built in: checks, decided exactly."""


class LeastCoverage(Part, frozen=True, gc=False):
    """How much of a sentence its checks must speak of, so that it is admitted (docs/checks.md)."""

    internal: CoverageLevel = "whole"
    external: CoverageLevel = "whole"


class Proposer(Part, frozen=True, gc=False):
    """A party that proposes checks for what others emit.

    Attributes:
        keys: its keys; one of them has to sign.
        models: the models, or their vendors, by which it proposes. Where it names any, it is the emitter itself for
            what one of these emitted, and for an emission that names no model.
    """

    keys: list[Key]
    models: list[str] = []

    def __post_init__(self) -> None:
        if not self.keys:
            raise ValueError("a proposer has a key")


BY_FORM: Final = "form"
"""What stands in place of a proposer's name where a claim form covers the sentence."""


class Judging(Part, frozen=True, gc=False):
    """What counts as a check that was verified, and when two classes are not independent (docs/checks.md).

    Attributes:
        min_coverage: below it an assertion whose checks stand is `partly-checked`.
        require_checks: observations that verify no check count for nothing.
        accept: whose word counts: `checks` for the built-in ones, else the names of judges.
        same_bytes: grep and code.read that looked at the same bytes count once.
        same_root: one root gives at most so many of k; 0 for no bound.
        groups: classes that count once.
        proposers: by name, who may say that the checks of an assertion say all of it.
    """

    min_coverage: LeastCoverage = LeastCoverage()
    require_checks: bool = False
    accept: list[str] = field(default_factory=lambda: [BUILT_IN])
    same_bytes: bool = False
    same_root: int = 0
    groups: list[list[str]] = []
    proposers: dict[Identifier, Proposer] = {}

    def __post_init__(self) -> None:
        if BY_FORM in self.proposers:
            raise ValueError(f"no proposer is named {BY_FORM}")
        if not 0 <= self.same_root <= len(CLASSES_1_0):
            raise ValueError("same_root is from 0 to the number of classes")
        named = [name for group in self.groups for name in group]
        if not CLASSES_1_0.issuperset(named) or len(set(named)) != len(named):
            raise ValueError("groups name classes of the vocabulary, each in one group")


class ConfusablesByEffect(Part, frozen=True, gc=False):
    """What confusable characters in an assertion's text lead to [V §4.3]."""

    internal: Confusables = "replace"
    external: Confusables = "reject"

    def of(self, effect: Effect) -> Confusables:
        """The rule for assertions of an effect."""
        return self.external if effect == "external" else self.internal


class Sanitation(Part, frozen=True, gc=False):
    """Confusables and caps [V §4.1, §4.3]."""

    confusables: ConfusablesByEffect = ConfusablesByEffect()
    caps: dict[str, int] = field(default_factory=lambda: dict(CAPS))

    def __post_init__(self) -> None:
        if self.caps.keys() != CAPS.keys() or not all(1 <= cap <= 2000 for cap in self.caps.values()):
            raise ValueError("caps are from 1 to 2000, one for each of " + ", ".join(CAPS))


Composition = Literal["most", "majority", "unanimous"]
"""How validators' verdicts on one claim come to one: the most frequent, more than half of them, or all."""


class AttestationDomain(Part, frozen=True, gc=False):
    """A consensus domain's own table.

    Attributes:
        confusables_by: every look-alike [V §4.3], or those in words of mixed scripts (UTS 39).
        composition: how its validators' verdicts come to one (attestations/framing.py).
        quorum: so many validators have to have spoken, or there is none.
    """

    confusables: Confusables = "replace"
    confusables_by: ConfusablesBy = "letter"
    composition: Composition = "most"
    quorum: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.quorum <= MAX_QUORUM:
            raise ValueError(f"a quorum is from 1 to {MAX_QUORUM}")


class Attestations(Part, frozen=True, gc=False):
    """The registry of consensus domains, and who may attest [V §3].

    Attributes:
        consensus_domains: the domains that an attestation may name.
        domains: a domain's own rules.
        validators: keys by DID in its one spelling (`codecs.dids`); one that has keys must sign, and where any is
            listed nobody else is taken if signatures are required.
        require_signatures: only signed words are taken. Where no validator is listed, a `did:key` signs with its own.
        min_canonicalisation: words of an earlier canonical form are mistyped.
    """

    consensus_domains: list[str] = field(default_factory=lambda: ["scientific-default"])
    domains: dict[str, AttestationDomain] = {}
    validators: Keys = {}
    require_signatures: bool = False
    min_canonicalisation: Literal["0.2", "0.3"] = "0.3"

    def __post_init__(self) -> None:
        if any(normalised(did) != did for did in self.validators):
            raise ValueError("validators are named by DIDs in their one spelling")


class PrivacyRules(Part, frozen=True, gc=False):
    """What of an observation's identifiers leaves sluice [S §12]."""

    observation_ids: Privacy = "clear"
    chain_sources: Privacy = "clear"

    @property
    def hashes(self) -> bool:
        """Whether anything is to be hashed, so that a secret is needed."""
        return "hashed" in (self.observation_ids, self.chain_sources)


class Emitters(Part, frozen=True, gc=False):
    """Who may emit, and as whom.

    Attributes:
        refuse: what no field of an emitter may look like [S §12]: `email`, `phone`, `uuid`, or an RE2 pattern between
            slashes (keys.py).
        keys: the keys of each emitter, by `emitter.system`; one that has keys must sign.
        require_signatures: nobody without a key emits, and an emission id belongs to the emitter that signed it first.
        unauthenticated: the effect of an emitter that did not sign, whatever `[effect]` says; None: as if it had.
        vendor: whose inference system an emitter is, by its name: state that its vendor owns is no evidence [S §4].
        require_vendor: what a service says counts only for emitters whose vendor is named here.
    """

    refuse: list[str] = field(default_factory=lambda: ["email"])
    keys: Keys = {}
    require_signatures: bool = False
    unauthenticated: Effect | None = None
    vendor: dict[str, str] = {}
    require_vendor: bool = False

    def is_authenticated(self, emitter: str | None) -> bool:
        """Whether an emission under that name was signed with a key of it; where no emission ever is, every name is
        taken as it stands."""
        return emitter in self.keys or not self.authenticates

    @property
    def asks_for_vendors(self) -> bool:
        """Whether it matters who owns what a service says [S §4]."""
        return bool(self.vendor) or self.require_vendor

    @property
    def authenticates(self) -> bool:
        """Whether anything depends on who signed an emission."""
        return bool(self.keys) or self.require_signatures or self.unauthenticated is not None

    def __post_init__(self) -> None:
        if not all(self.vendor.values()):
            raise ValueError("expected a vendor's name")
        for entry in self.refuse:
            if (problem := problem_of(entry)) is not None:
                raise ValueError(f"expected {problem}")


class Observer(Part, frozen=True, gc=False):
    """What one observer may do: its key (base64 of 32 bytes; with what is none nothing can be signed), the classes it
    may speak for (all where none is named), and who can write to the substrate that it looks at."""

    public_key: str | None = None
    classes: list[str] = []
    writable_by: list[str] = []
    keys: list[Key] = []

    @property
    def all_keys(self) -> list[Key]:
        """Its keys, `public_key` among them."""
        return self.keys if self.public_key is None else [Key(public_key=self.public_key), *self.keys]


class LeastReviewers(Part, frozen=True, gc=False):
    """How many distinct reviewers have to admit an assertion."""

    internal: int = 1
    external: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.internal <= self.external <= MOST_REVIEWERS:
            raise ValueError(f"min_reviewers is from 1 to {MOST_REVIEWERS}, and external not below internal")


class Reviewers(Part, frozen=True, gc=False):
    """Who may review.

    Attributes:
        keys: the keys of each reviewer; one that has keys must sign.
        roles: the keys of services that sign on behalf of the reviewers that their records name (`role`).
        require_signatures: nobody else is heard.
        min_reviewers: how many distinct reviewers have to admit, by effect. One refusal is enough.
    """

    keys: Keys = {}
    roles: Keys = {}
    require_signatures: bool = False
    min_reviewers: LeastReviewers = LeastReviewers()

    @property
    def authenticates(self) -> bool:
        """Whether anything depends on who signed a review."""
        return bool(self.keys) or bool(self.roles) or self.require_signatures

    def needed(self, effect: str) -> int:
        """How many distinct reviewers have to admit an assertion of this effect."""
        return self.min_reviewers.external if effect == "external" else self.min_reviewers.internal


class CheckpointKeys(Part, frozen=True, gc=False):
    """Whose checkpoints count for workers: the keys by the names that stand in the notes. A worker's own key always
    counts for itself."""

    keys: Keys = {}


class PolicyKeys(Part, frozen=True, gc=False):
    """Who may sign the policy that follows upon this one (policy.py); where nobody is listed, none is signed.

    Attributes:
        sequence: greater than that of the policy before it, where that one lists keys.
        keys: by name.
    """

    sequence: int = 0
    keys: Keys = {}


class Sightings(Part, frozen=True, gc=False):
    """The classes whose annotations are cited, so that sightings can be bound to them; none by default, since a
    citation costs a lane more than its observation does."""

    classes: list[str] = []

    def __post_init__(self) -> None:
        if not CLASSES_1_0.issuperset(self.classes):
            raise ValueError("sightings are of classes of the vocabulary")


WRITERS: Final = ("operator", "owner", "kernel", "emitters", "anyone")
"""Who can write to what a class looks at: the relying party, who owns the service, the kernel of the host, the systems
whose output is adjudicated, or whoever asks."""
REFERENCE_WRITERS: Final[dict[str, list[str]]] = {
    "substrate.code.read": ["operator"],
    "substrate.do.sse-count": ["owner"],
    "substrate.fs.mtime": ["operator"],
    "substrate.git.log": ["operator"],
    "substrate.grep": ["operator"],
    "substrate.mcp.brief": ["owner"],
    "substrate.unix.peercred": ["kernel", "operator"],
}
"""As the memo defines a substrate: the inference system cannot write to it. Operators say where it can."""
_OPEN: Final = frozenset(("emitters", "anyone"))

_REFERENCE_DISPOSITIONS = {
    "unverified-inference": PerEffect(internal="discard", external="discard"),
    "unannotated": PerEffect(internal="discard", external="discard"),
    "below-floor": PerEffect(internal="review", external="review"),
    "decayed-to-uncertainty": PerEffect(internal="re-emit", external="re-emit"),
    "contradicted": PerEffect(internal="review", external="refuse"),
    "rejected": PerEffect(internal="review", external="review"),
}


class Policy(Part, frozen=True, gc=False):
    """One policy, normalised; the defaults are those of policies/reference.toml.

    `writers` says of every class who can write to what it looks at [S §3]. It decides nothing: the operator has to
    see to it, and `warnings` says where an emitter could. `verdicts` says which changes stand on the topic of that
    name (docs/verdicts.md).
    """

    admissibility: Admissibility = Admissibility()
    effect_default: Effect = "internal"
    effect: dict[str, Effect] = {}
    disposition: dict[str, PerEffect] = field(default_factory=lambda: dict(_REFERENCE_DISPOSITIONS))
    sanitation: Sanitation = Sanitation()
    attestations: Attestations = Attestations()
    privacy: PrivacyRules = PrivacyRules()
    observers: dict[str, Observer] = {}
    sightings: Sightings = Sightings()
    require_signatures: bool = False
    emitters: Emitters = Emitters()
    judging: Judging = Judging()
    reviewers: Reviewers = Reviewers()
    checkpoints: CheckpointKeys = CheckpointKeys()
    policies: PolicyKeys = PolicyKeys()
    origin: str = DEFAULT_ORIGIN
    writers: dict[str, list[str]] = field(default_factory=lambda: dict(REFERENCE_WRITERS))
    verdicts: PublishedVerdicts = "settled"

    def __post_init__(self) -> None:
        if self.writers.keys() != CLASSES_1_0 or not all(
            one and set(WRITERS).issuperset(one) for one in self.writers.values()
        ):
            raise ValueError("writers names for every class of the vocabulary some of " + ", ".join(WRITERS))
        if self.disposition.keys() != set(INADMISSIBLE):
            raise ValueError("there is a disposition for each of " + ", ".join(INADMISSIBLE))

    @property
    def document(self) -> bytes:
        """The canonical form (RFC 8785), as the ledger carries it."""
        return rfc8785.dumps(msgspec.to_builtins(self))

    @property
    def hash(self) -> str:
        """`sha256:` and 64 hex digits over the canonical form."""
        return "sha256:" + sha256(self.document).hexdigest()

    def problems(self) -> list[tuple[str, str]]:
        """What makes this policy unusable, as (path, sentence)."""
        rules = self.admissibility
        waits = rules.horizon + rules.late_horizon
        long = [name for name, window in sorted(rules.window.items()) if window + waits > rules.max_validity]
        found = self.false_successors()
        if long:
            why = "is less than horizon, late_horizon and window together, so evidence could come too late to admit"
            found.append(("admissibility.max_validity", f"{why}: {', '.join(long)}"))
        return found

    def _key_tables(self) -> list[tuple[str, Keys]]:
        """Every table of keys, by its path."""
        return [
            ("observers", {name: one.all_keys for name, one in self.observers.items()}),
            ("reviewers.keys", self.reviewers.keys),
            ("reviewers.roles", self.reviewers.roles),
            ("emitters.keys", self.emitters.keys),
            ("judging.proposers", {name: one.keys for name, one in self.judging.proposers.items()}),
            ("checkpoints.keys", self.checkpoints.keys),
            ("policies.keys", self.policies.keys),
            ("attestations.validators", self.attestations.validators),
        ]

    def false_successors(self) -> list[tuple[str, str]]:
        """Keys that count for nothing: no key that stands has signed them as they say; as (path, sentence)."""
        why = "lists a key as signed by one that did not sign it, is not listed beside it, or was revoked before"
        return [
            (f"{at}.{name}", why)
            for at, table in self._key_tables()
            for name, keys in table.items()
            if len(standing(name, keys, self.origin)) < len(keys)
        ]

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
        for effect in ("internal", "external"):
            if getattr(self.judging.min_coverage, effect) == "none":
                why = "admits sentences of which no word was checked"
                found.append((f"judging.min_coverage.{effect}", why))
        writable = [name for name, parties in sorted(self.writers.items()) if not _OPEN.isdisjoint(parties)]
        if writable:
            why = "can be written to by an emitter, so that they are no substrates for what it says [S §3]"
            found.append(("writers", f"{', '.join(writable)} {why}"))
        found += self._warnings_about_proposers()
        if BUILT_IN not in self.judging.accept:
            found.append(("judging.accept", "counts no check that our own observers verify"))
        if self.privacy.hashes:
            why = "identifiers are left out where the worker is not given the secret to hash them with (privacy_secret)"
            found.append(("privacy", why))
        return found + self._warnings_about_observers() + self._warnings_about_keys()

    def _warnings_about_proposers(self) -> list[tuple[str, str]]:
        """Proposers that are emitters as well, or that may be."""
        found: list[tuple[str, str]] = []
        emitters = {key.public_key: name for name, keys in self.emitters.keys.items() for key in keys}
        for name, proposer in sorted(self.judging.proposers.items()):
            at = f"judging.proposers.{name}"
            own = sorted({emitters[key.public_key] for key in proposer.keys if key.public_key in emitters})
            if own:
                found.append((at, f"has the key of the emitter {own[0]!r}: for what that emits it counts as part"))
            if not proposer.models:
                found.append((f"{at}.models", "names no model, so that it may be the one that emitted"))
        return found

    def exposures(self) -> list[tuple[str, str]]:
        """Where one party alone could have something admitted, as (path, sentence): what `strict.toml` closes."""
        found: list[tuple[str, str]] = []
        reviewers = self.reviewers
        if not self.require_signatures:
            found.append(("observers.require_signatures", "is false: anybody who can write to the topic observes"))
        if self.admissibility.min_observers.external < 2:
            why = "asks for one observer: one that is captured admits by itself [S §11.3]"
            found.append(("admissibility.min_observers", why))
        if self.judging.same_root == 0:
            why = "is 0: one checkout gives all kinds of evidence, so who can write there admits by itself"
            found.append(("judging.same_root", why))
        reviewed = any("review" in (one.internal, one.external) for one in self.disposition.values())
        if reviewed and not reviewers.require_signatures:
            why = "is false: anybody who can write to the topic admits what is up for review"
            found.append(("reviewers.require_signatures", why))
        if not self.emitters.require_vendor:
            why = "is false: what a service of an emitter's own vendor says counts unless emitters.vendor names it"
            found.append(("emitters.require_vendor", f"{why} [S §4]"))
        return found

    def notes(self) -> list[tuple[str, str]]:
        """What a policy without exposures still leaves to one party, as (path, sentence): for an operator to know."""
        found: list[tuple[str, str]] = []
        rules, least = self.admissibility, self.admissibility.min_observers
        if least.internal < 2 <= least.external:
            why = "asks for one observer where the effect is internal: one that is captured admits that by itself"
            found.append(("admissibility.min_observers", f"{why} [S §11.3]"))
        if self.judging.same_root >= rules.k.internal:
            why = "is not below k for internal effects: who can write to one checkout admits those"
            found.append(("judging.same_root", why))
        if self.emitters.require_vendor and not self.emitters.vendor:
            found.append(("emitters.require_vendor", "lets no service count: emitters.vendor names no vendor"))
        alone = [name for name, k in sorted(rules.k_by_check.items()) if k.internal == 1]
        if alone:
            found.append(("admissibility.k_by_check", f"lets one class admit internal effects by {', '.join(alone)}"))
        if not self.policies.keys:
            why = "lists nobody: whoever can write to the topic `policies` brings any policy into force"
            found.append(("policies.keys", why))
        if self.reviewers.roles and self.reviewers.min_reviewers.external > 1:
            names = ", ".join(sorted(self.reviewers.roles))
            why = f"names reviewers as it likes: whoever holds the key of {names} is as many of them as are asked for"
            found.append(("reviewers.roles", why))
        return found

    def _warnings_about_keys(self) -> list[tuple[str, str]]:
        """Keys that are missing where they are demanded, and keys that stand under two names."""
        found: list[tuple[str, str]] = []
        reviewers, emitters = self.reviewers, self.emitters
        if reviewers.require_signatures and not reviewers.keys and not reviewers.roles:
            found.append(("reviewers.require_signatures", "refuses every review: no reviewer and no role has a key"))
        if emitters.require_signatures and not emitters.keys:
            found.append(("emitters.require_signatures", "refuses every emission: no emitter has a key"))
        if self.attestations.require_signatures and not self.attestations.validators:
            why = "takes any did:key, and keys cost nothing: one party can be any number of validators"
            found.append(("attestations.require_signatures", why))
        claimed = [name for name, one in sorted(self.observers.items()) if one.writable_by]
        if (claimed or emitters.vendor) and not emitters.authenticates:
            at = f"observers.{claimed[0]}.writable_by" if claimed else "emitters.vendor"
            found.append((at, "follows the name that an emission gives, which is anybody's to give: no emitter signs"))
        for at, keys in self._key_tables():
            found += [
                (f"{at}.{name}", f"has the key of {other!r}: whoever holds it speaks under both names")
                for other, name in same_key(keys)
            ]
        return found

    def _warnings_about_observers(self) -> list[tuple[str, str]]:
        """Who may observe: rules that say less than they seem to, or more than was meant."""
        found: list[tuple[str, str]] = []
        keyed = [name for name, observer in self.observers.items() if observer.all_keys]
        if self.admissibility.early_settle and (not keyed or len(keyed) < len(self.observers)):
            silent = ", ".join(sorted(self.observers.keys() - set(keyed)))
            why = f"waits for the signature of every observer, and {silent} has no key" if silent else "lists nobody"
            found.append(("admissibility.early_settle", why))
        if self.admissibility.min_observers.external > 1:
            at = "admissibility.min_observers"
            if self.admissibility.trust == "declared":
                found.append((at, "says nothing while trust is declared: no observer is heard [S §11.3]"))
            elif not self.require_signatures:
                why = "one writer under several names passes for several, unless observers.require_signatures"
                found.append((at, f"{why} is true [S §11.3]"))
        if self.require_signatures:
            if not keyed:
                found.append(
                    ("observers.require_signatures", "refuses every observation: no observer has a public_key")
                )
            found += [
                (f"observers.{name}", "has no public_key, so that require_signatures refuses all that it says")
                for name in self.observers
                if keyed and name not in keyed
            ]
        elif keyed:
            why = "an observer without an entry is heard unsigned, under any other name, unless require_signatures"
            found.append(("observers", f"{why} is true"))
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


HEADER: Final = "sluice-signature"
"""The header of a record on `policies` that holds the base64 of the signature."""
_REASON: Final = "unauthorised-policy"
Headers = Iterable[tuple[str, bytes | None]]


def signature_of(headers: Headers) -> bytes | None:
    """The signature that a record carries: the first header of the name; None where there is none."""
    return next((value or b"" for name, value in headers if name == HEADER), None)


def sign(document: bytes, signer: Signer, origin: str) -> bytes:
    """Returns the signature under a policy's `document`, as its header has it; the policy in force lists the `signer`
    and has the `origin`."""
    return base64.b64encode(signer.sign_bytes(_signed(document, origin)))


def follow(before: Policy | None, document: bytes, headers: Headers, time: int) -> Policy | Fault:
    """Returns the policy of a `document`, where it may follow upon the one `before` it (None where there is none yet);
    else what is wrong. The key of the signature in `headers` has to count at the block's `time` (Unix ms)."""
    try:
        policy = policy_of_document(document)
    except msgspec.MsgspecError as error:
        return Fault("schema", f"$: expected a policy document, got {error}")
    if policy.document != document:
        return Fault("schema", "$: expected a policy document in canonical form, as `sluice policy apply` writes it")
    if before is None or not before.policies.keys:
        return policy
    signature = signature_of(headers)
    if not _is_signed(before, document, signature, time):
        names = ", ".join(sorted(before.policies.keys))
        got = what_came(None if signature is None else "")
        return Fault(_REASON, f"{HEADER}: expected a signature of {names}, got {got}")
    least, given = before.policies.sequence + 1, policy.policies.sequence
    if given < least:
        return Fault(_REASON, f"$.policies.sequence: expected {least} or more, got {given}")
    return policy


def signer_of(before: Policy, document: bytes, headers: Headers, time: int) -> str | None:
    """Returns the name under which the policy `before` lists the key that signed the `document` that follows it, with
    the signature in its `headers`, at `time` (Unix ms); None where none did."""
    signature = signature_of(headers)
    for name in sorted(before.policies.keys):
        if _is_signed_by(_counting(before, name, time), document, signature, before.origin):
            return name
    return None


def _is_signed(before: Policy, document: bytes, signature: bytes | None, time: int) -> bool:
    keys = [key for name in before.policies.keys for key in _counting(before, name, time)]
    return _is_signed_by(keys, document, signature, before.origin)


def _counting(policy: Policy, name: str, time: int) -> list[Key]:
    return [key for key in counted(name, policy.policies.keys[name], policy.origin) if key.counts_at(time)]


def _is_signed_by(keys: Iterable[Key], document: bytes, signature: bytes | None, origin: str) -> bool:
    if signature is None:
        return False
    data, text = _signed(document, origin), signature.decode("latin-1")
    return any(is_signature(key.public_key, text, data) for key in keys)


def _signed(document: bytes, origin: str) -> bytes:
    return signed_bytes(Domain("policies", "policy", origin), document)


def adoption_refusal(event: Event, policy: Policy, time: int) -> str:
    """Why an adoption does not count; empty where it does.

    Args:
        event: with the record's key and value.
        policy: in force.
        time: of the block that takes it in, Unix ms.
    """
    try:
        adoption = read_adoption(event.key, event.value)
    except DoesNotHoldError as error:
        return str(error)
    table, listed = "policies.keys", policy.policies.keys
    if not listed:
        table, listed = "checkpoints.keys", policy.checkpoints.keys
    if not listed:
        return ""
    keys = [key for name, own in listed.items() for key in counted(name, own, policy.origin)]
    if is_signed(keys, time, adoption.signature, event.value, domain_of(policy.origin)):
        return ""
    return f"expected a signature of a key of [{table}], got {what_came(adoption.signature)}"


def demand_adoption(event: Event, policy: Policy, time: int) -> None:
    """Demands of an adoption in a block that it counts; the arguments are those of `adoption_refusal`.

    Raises:
        DoesNotHoldError: it does not: no lane has written that block.
    """
    if why := adoption_refusal(event, policy, time):
        raise DoesNotHoldError(f"the block adopts a topic, and must not: {why}")
