"""Every record on the wire, as a struct (docs/reference/records.md). JSON Schemas are exported from these, never
written by hand.

A reader ignores fields that it does not know; a writer writes only these. Structs hold what JSON can hold: rules that
go beyond it (spans inside the text, one span a key, times) are in `decode.py`. Nothing here decides anything.

`gc=False` throughout: no record can be part of a reference cycle, and the cyclic collector halves the throughput once
the state is large (docs/internals.md).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from .identifiers import DID_PATTERN, Identifier, Span
from .identifiers import PATTERN as DIGEST_PATTERN

Time = (
    Annotated[str, Meta(extra_json_schema={"format": "date-time"}, description="RFC 3339, with a Z or an offset")]
    | Annotated[int, Meta(ge=0, description="Unix milliseconds")]
)
Confidence = Annotated[float, Meta(ge=0.0, le=1.0)]
Effect = Literal["internal", "external"]
EFFECTS: tuple[Effect, ...] = ("internal", "external")
"""From the least to the greatest [S §7]."""
Kind = Literal["assertion", "denial", "refusal"]
Outcome = Literal["corroborates", "terms-present", "absent", "contradicts", "unavailable", "unknown-observation"]
Tier = Literal["pseudonymous", "identity-bound"]
Attempt = Annotated[int, Meta(ge=0, le=1_000_000)]
Part = Annotated[int, Meta(ge=0, le=1_000_000)]
Locator = dict[str, Any]
Signature = Annotated[
    str, Meta(description="Base64 of an Ed25519 signature over the record without this member (docs/security.md)")
]
Digest = Annotated[
    str, Meta(pattern=DIGEST_PATTERN, description="`sha256:` and the SHA-256 of a record's value, in hex")
]

MAX_ASSERTIONS = 1000
"""An emission holds at most so many assertions, and so many annotations of all of them together."""
MAX_CHECKS = 20
"""Checks of one assertion (docs/checks.md)."""
MAX_CHECK_LENGTH = 2000
"""Characters of one check."""
MAX_UNCHECKED = 1000
"""Spans of one sentence that an observation may call unchecked."""
MAX_SELECTED = 40
"""Parts of a scope in a session."""
MAX_COMMAND = 200
"""Characters of a command of a session."""
MAX_LEFT = 2000
"""Characters of what a proposal leaves open."""

CheckIndex = Annotated[int, Meta(ge=0, lt=MAX_CHECKS)]
Checks = Annotated[list[Annotated[str, Meta(max_length=MAX_CHECK_LENGTH)]], Meta(max_length=MAX_CHECKS)]
SessionKind = Literal["test", "lint", "build", "format", "type-check", "other"]
SessionScope = (
    Annotated[str, Meta(max_length=4096)]
    | Annotated[list[Annotated[str, Meta(max_length=4096)]], Meta(max_length=MAX_SELECTED)]
)
CheckForm = Literal["declared", "claim", "none"]
CoverageLevel = Literal["whole", "part", "none"]
Unchecked = Annotated[
    list[tuple[Annotated[int, Meta(ge=0)], Annotated[int, Meta(ge=0)]]], Meta(max_length=MAX_UNCHECKED)
]
"""Code points of the assertion, half open."""


class Record(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Base of what is read: defaults are not written back."""


# ---------------------------------------------------------------- chain [C §3]


class Step(Record, frozen=True, gc=False, tag_field="step"):
    """One step of a provenance chain. A chain's confidence is the least of its steps' [C §7]."""

    confidence: Confidence | None = None
    data: list[Identifier] | None = None

    @property
    def step(self) -> str:
        """Which kind it is, as it is written: `retrieval`, `prompt-transform` …"""
        return str(type(self).__struct_config__.tag)


class Retrieval(Step, frozen=True, gc=False, tag="retrieval"):
    """A source: what was retrieved, and when."""

    source: str = ""
    timestamp: Time | None = None
    metadata: dict[str, Any] = {}


class PromptTransform(Step, frozen=True, gc=False, tag="prompt-transform"):
    """A model call: it has the sources of its arguments, and adds no source.

    Attributes:
        mixed: of its arguments some had sources, and others had no source [C §3].
    """

    prompt_name: str = ""
    model: str = ""
    tokens: Annotated[int, Meta(ge=0)] | None = None
    mixed: bool = False


class AgentHandoff(Step, frozen=True, gc=False, tag="agent-handoff"):
    """The value passed from one agent to another."""

    agent_name: str = ""


class Derived(Step, frozen=True, gc=False, tag="derived"):
    """An operator over two values; both chains are kept [C §9.1]."""

    operator: str = ""
    left: list[AnyStep] = []
    right: list[AnyStep] = []


class Severed(Step, frozen=True, gc=False, tag="severed"):
    """The chain was cut on purpose: the value cannot claim grounding any more."""

    reason: str = ""


class Discard(Step, frozen=True, gc=False, tag="discard"):
    """The wrapper was taken off, recorded [C §9.2]."""

    rule: str = ""
    where: str = ""


AnyStep = Retrieval | PromptTransform | AgentHandoff | Derived | Severed | Discard


# ---------------------------------------------------------------- inputs


class Annotation(Record, frozen=True, gc=False):
    """A provenance annotation: what the emitter claims to have consulted [S §6]. A claim, never evidence [S §11.1].

    `terminal` and `unknown` are what `sluice parse` writes; on the way in only `unknown` is honoured, since it can
    only make the verdict stricter.

    Attributes:
        substrate_class: what was consulted, by its name in the vocabulary; or a terminal, which says that nothing was.
        observation_id: what the emitter says it saw there: a commit, a hash, the line of a brief.
        computed: whether a recorder computed that id from what a call gave back. Such an id is a hint: the annotation
            counts as if it had none.
        ts: when it says it looked.
        locator: where to look again; which members are read depends on the class.
        terminal: written by `sluice parse`: whether the class is a terminal.
        unknown: whether the class is of no vocabulary that we know.
    """

    substrate_class: Annotated[str, Meta(min_length=1, max_length=256)]
    observation_id: Identifier | None = None
    ts: Time | None = None
    locator: Locator | None = None
    terminal: bool = False
    unknown: bool = False
    computed: bool = False

    @property
    def declared_id(self) -> str | None:
        """The id that the emitter itself declares, which must be true [S §11.1]; None for one that was computed."""
        return None if self.computed else self.observation_id


class Cites(Record, frozen=True, gc=False):
    """Which context the assertion's quotes come from, and whether they must stand there verbatim [C §4]."""

    context: Identifier
    strictly: bool = False


class Proposal(Record, frozen=True, gc=False):
    """Checks that another party than the emitter proposes for an assertion (docs/checks.md).

    The emitter's signature leaves it out. Without the signature of a listed proposer `whole` counts for nothing.

    Attributes:
        by: the proposer's name in the policy (`[judging.proposers]`).
        prompt: the prompt by which it proposes.
        at: when it proposed.
        checks: that it proposes; the assertion's checks where the emitter declares none.
        whole: whether these checks say all that the sentence says.
        left: what of the sentence they do not say, in the proposer's words.
        digest: of the emission as it came to the proposer (`signatures.emission_digest`).
        signature: the proposer's, over origin, digest, span and all members of the proposal.
    """

    by: Identifier
    at: Time
    digest: Digest
    prompt: Identifier | None = None
    checks: Checks = []
    whole: bool = False
    left: Annotated[str, Meta(max_length=MAX_LEFT)] = ""
    signature: Signature | None = None


class SessionCounts(Record, frozen=True, gc=False):
    """How many tests, files or findings a command of a session counted, of those that the statement speaks of."""

    passed: Annotated[int, Meta(ge=0)] = 0
    failed: Annotated[int, Meta(ge=0)] = 0
    errors: Annotated[int, Meta(ge=0)] = 0


class Session(Record, frozen=True, gc=False):
    """What the emitter's own session shows of a statement about a result, such as «All tests pass.»
    (docs/recording.md). It is no evidence: it can refute and explain, and never admits.

    Where neither `scope`, `exit`, `counts` nor `at` is there, no command of that kind was run.

    Attributes:
        kind: of the command that the statement speaks of.
        scope: of the last such command: `all`, or what it was narrowed to.
        exit: its exit status; absent where a pipe or another command hides it.
        counts: what it counted; absent where its output does not tell.
        at: when it ended.
        edits_after: how many files were changed behind it.
        runs_after: how many commands of that kind, or of unknown kind, were run behind it.
        stated: what the statement speaks of: `all`, or tests and paths.
        command: the command, as a person is shown it; untrusted text.
    """

    kind: SessionKind
    scope: SessionScope | None = None
    exit: int | None = None
    counts: SessionCounts | None = None
    at: Time | None = None
    edits_after: Annotated[int, Meta(ge=0)] = 0
    runs_after: Annotated[int, Meta(ge=0)] = 0
    stated: SessionScope = "all"
    command: Annotated[str, Meta(max_length=MAX_COMMAND)] = ""

    @property
    def is_no_run(self) -> bool:
        """Whether no command of that kind was run."""
        return self.scope is None and self.exit is None and self.counts is None and self.at is None


class Assertion(Record, frozen=True, gc=False):
    """One assertion of an emission. Without a span it is the memo's own object [S §6]; see `decode.py`.

    Attributes:
        span: which part of the output it is; no two assertions of an emission have the same one.
        span_key: the span as a key (`c:0-43`); it follows from the span, and is worked out anew when it is read.
        assertion: its words; with a span of characters, exactly those that stand there.
        kind: states something, denies something, or declines to answer.
        provenance: its annotations, one or several.
        effect: where it takes effect, if that is more than the emission says.
        grounded: whether the emitter says that it is grounded [C §2].
        confidence: the emitter's own.
        chain: the steps that the value came by.
        cites: which context its quotes are from.
        checks: what a machine can verify of it (docs/checks.md). Without any, and without a proposal, observers tell
            the check that its words give.
        proposal: checks that another party proposes for it.
        session: what the emitter's own session shows of it.
    """

    span: Span | None = None
    span_key: str | None = None
    assertion: str | None = None
    kind: Kind = "assertion"
    provenance: Annotation | list[Annotation] | None = None
    effect: Effect | None = None
    grounded: bool | None = None
    confidence: Confidence | None = None
    chain: list[AnyStep] | None = None
    cites: Cites | None = None
    checks: Checks | None = None
    proposal: Proposal | None = None
    session: Session | None = None

    @property
    def annotations(self) -> list[Annotation]:
        """`provenance` as a list; empty for an unannotated assertion."""
        if self.provenance is None:
            return []
        return self.provenance if isinstance(self.provenance, list) else [self.provenance]


class Emitter(Record, frozen=True, gc=False):
    """Who emitted; `system` chooses the least effect by policy."""

    system: Identifier | None = None
    model: Identifier | None = None
    prompt: Identifier | None = None


class Emission(Record, frozen=True, gc=False):
    """One output of a language model with its annotated assertions. Topic `emissions`, key `emission_id`.

    Attributes:
        emission_id: the emitter's name for it, and the record's key.
        emitted_at: when the model wrote it; evidence counts from a window before this (its class's) to the horizon
            after it.
        emitter: which system, model and prompt wrote it.
        effect: where it takes effect; policy and assertions can only raise it.
        vocabulary: the version of the substrate-classes that its annotations are of.
        text: the output itself, which spans of characters count in; without `assertions` it is read for annotations in
            brackets.
        assertions: what it states, at most 1,000; with at most 1,000 annotations of all of them together.
        contexts: texts that its assertions may quote from (`cites`), by name.
        attempt: 0, and higher for another try under the same id, which supersedes the earlier ones.
        group: the answer that it is a piece of, where an answer is emitted piece by piece (recording.md).
        part: which piece of its group it is, from 0.
        final: whether it is the last piece of its group.
        signature: the emitter's, where the policy lists its key.
    """

    emission_id: Identifier
    emitted_at: Time
    emitter: Emitter | None = None
    effect: Effect = "internal"
    vocabulary: Annotated[str, Meta(max_length=32)] = "1.0"
    text: str | None = None
    assertions: Annotated[list[Assertion], Meta(max_length=MAX_ASSERTIONS)] | None = None
    contexts: dict[Identifier, str] = {}
    attempt: Attempt = 0
    group: Identifier | None = None
    part: Part | None = None
    final: bool | None = None
    signature: Signature | None = None


class Subject(Record, frozen=True, gc=False):
    """Which assertion of which emission an observation speaks of.

    Attributes:
        emission_id: the emission's.
        span: the assertion's.
        attempt: the emission's.
        digest: of the record that was looked at (`codecs.digests`). Where it is given, the observation counts for no
            other record of that id and attempt.
    """

    emission_id: Identifier
    span: Span
    attempt: Attempt = 0
    digest: Digest | None = None


class Attestation(Record, frozen=True, gc=False):
    """A validator's verdict on a claim [V §3]. Topic `attestations`, key `claim_hash`. Its text is untrusted."""

    claim_hash: Annotated[str, Meta(pattern=r"^0x[0-9a-fA-F]{64}(?![\s\S])")]
    validator_did: Annotated[str, Meta(pattern=DID_PATTERN)]
    verdict: Literal["VERIFIED", "SUPPORTED", "DISPUTED", "FALSE", "UNVERIFIABLE"]
    consensus_domain: Identifier
    rationale: str = ""
    qualifications: str = ""
    evidence: list[AttestedQuote] = []
    cited_works: list[CitedWork] = []
    issued_at: Time | None = None
    canonicalisation_version: Literal["0.2", "0.3"] | None = None


class AttestedQuote(Record, frozen=True, gc=False):
    """A quote that a validator gives as evidence, and where it stands."""

    quote: str = ""
    uri: str | None = None


class CitedWork(Record, frozen=True, gc=False):
    """A work that a validator cites. Where its URI is no text it has none in the output."""

    uri: str | None
    title: str = ""


class LookedAt(Record, frozen=True, gc=False):
    """Where an observer looked.

    Attributes:
        root: the operator's name for the repository or folder; never a path of the host.
        path: of the file, below the root.
        content: `sha256:` of the file's bytes.
        commit: whose tree it was, where git's objects were read; absent for a working tree.
        owner: whose state it is, of a server of the Model Context Protocol, by the operator's list.
    """

    root: Annotated[str, Meta(max_length=256)] | None = None
    path: Annotated[str, Meta(max_length=4096)] | None = None
    content: Annotated[str, Meta(max_length=256)] | None = None
    commit: Annotated[str, Meta(max_length=64)] | None = None
    owner: Annotated[str, Meta(max_length=256)] | None = None


class Observation(Record, frozen=True, gc=False):
    """What an observer with independent access saw. Topic `observations`, key `subject.emission_id`.

    Attributes:
        observation_id: what was seen: a commit, a hash of lines, an id of the substrate's own.
        substrate_class: what was looked at; each class counts once for an assertion.
        observed_at: when; evidence stays fresh for the class's window from here.
        observer: the name under which it looks; the policy can say who that may be, and demand a signature.
        subject: the assertion that was held against it.
        outcome: whether that is so, as far as could be seen.
        tier: whether the id names somebody; an identity-bound one never leaves in clear.
        confidence: the observer's own; below the policy's `min_confidence` the observation does not count.
        locator: where it looked, as far as that may be repeated.
        detail: what each check came to (`checks`), which terms it found and which not, and why it could not look. Of
            each check: `holds`, and where known `check`, `reason`, `path`, `lines`, `commit`, `found` (what stands
            there instead), `under` (the conditions around it) and `by` (`form` where a claim form gave the check).
        attestation: a validator's verdict that came with it; it goes into the frame.
        verified: which of the assertion's checks hold here, by their places.
        refuted: which are false here.
        coverage: how much of the sentence the checks speak of.
        unchecked: the parts of the sentence that they do not speak of.
        coverage_by: by what the coverage is `whole`: `form`, a claim form, or the name of a proposer.
        looked_at: where it looked. Its `path` is the file of each check for which `detail` names neither file nor
            commit.
        judge: who decided, where not the built-in checks did.
    """

    observation_id: Identifier
    substrate_class: Annotated[str, Meta(min_length=1, max_length=256)]
    observed_at: Time
    observer: Identifier
    subject: Subject
    outcome: Outcome
    tier: Tier = "pseudonymous"
    confidence: Confidence = 1.0
    locator: Locator | None = None
    detail: dict[str, Any] | None = None
    attestation: dict[str, Any] | None = None
    signature: Signature | None = None
    verified: Annotated[list[CheckIndex], Meta(max_length=MAX_CHECKS)] | None = None
    refuted: Annotated[list[CheckIndex], Meta(max_length=MAX_CHECKS)] | None = None
    coverage: CoverageLevel | None = None
    unchecked: Unchecked | None = None
    coverage_by: Identifier | None = None
    looked_at: LookedAt | None = None
    judge: Identifier | None = None


class Sighting(Record, frozen=True, gc=False):
    """An observation whose observer knows of no emission. Topic `sightings`, key `observation_id`."""

    observation_id: Identifier
    substrate_class: Annotated[str, Meta(min_length=1, max_length=256)]
    observed_at: Time
    observer: Identifier
    content: str | int | float
    tier: Tier = "pseudonymous"
    confidence: Confidence = 1.0
    locator: Locator | None = None
    detail: dict[str, Any] | None = None
    attestation: dict[str, Any] | None = None
    signature: Signature | None = None


class Citation(Record, frozen=True, gc=False):
    """An annotation that cites an observation id: what the bind lane joins sightings with. Topic `citations`.

    Attributes:
        text: the sentence; the binding lane reads of it what the checks cover, and where there is none the check that
            it gives. Absent where it is longer than 20,000 characters: then nothing is read of it.
        checks: of the assertion; their places are what `verified` counts in.
        proposer: who proposed checks for it.
        whole: whether the proposer says that they say all of it.
        path: the file that the annotation names; checks that name none speak of that one.
        digest: of the emission's record (`codecs.digests`); a bound observation repeats it.
    """

    observation_id: Identifier
    substrate_class: str
    emission_id: Identifier
    span: Span
    kind: Kind
    cited_at: Time
    attempt: Attempt = 0
    text: str | None = None
    checks: Checks | None = None
    proposer: Identifier | None = None
    whole: bool = False
    path: Annotated[str, Meta(max_length=4096)] | None = None
    digest: Digest | None = None


class Review(Record, frozen=True, gc=False):
    """A person's decision about one assertion. Topic `reviews`, key `emission_id`.

    Attributes:
        emission_id: the emission's.
        span: the assertion's.
        decision: an admission counts only where a review was asked for; a refusal always.
        reviewer: who decided, by a pseudonym.
        reason: why, as the reviewer words it.
        decided_at: when; an admission that has to be signed has to say so.
        attempt: the emission's.
        role: the service that signs for the reviewer, where the policy lists a key for it.
        canonical_hash: of the assertion that was reviewed, as its request has it. Where it is given, the review counts
            for no other text under that id and span.
        signature: the reviewer's or the role's.
    """

    emission_id: Identifier
    span: Span
    decision: Literal["admit", "refuse"]
    reviewer: Identifier | None = None
    reason: str = ""
    decided_at: Time | None = None
    attempt: Attempt = 0
    role: Identifier | None = None
    canonical_hash: Digest | None = None
    signature: Signature | None = None


# ---------------------------------------------------------------- outputs

Status = Literal[
    "admitted",
    "renewed",
    "decayed-to-uncertainty",
    "contradicted",
    "rejected",
    "refused",
    "unverified-inference",
    "below-floor",
    "unannotated",
]
Basis = Literal["corroboration", "declaration", "review", "emitter", "policy"]
Reason = Literal[
    "declared-terminal",
    "unknown-class",
    "ungrounded",
    "citation-violation",
    "low-confidence",
    "confusable-text",
    "fabricated-annotation",
    "contradicted",
    "superseded",
    "partly-checked",
    "below-floor",
    "aged-out",
    "not-checked",
    "no-corroboration",
    "review",
    "validity-ended",
    "not-looked-at",
    "session-failed",
    "session-only",
    "narrower-run",
    "stale-run",
    "no-run",
]
Disposition = Literal["discard", "review", "re-emit", "refuse"]


class Evidence(msgspec.Struct, frozen=True, gc=False):
    """One counted observation, as an output names it. `observation_id` is absent where privacy omits it, and an HMAC
    where it is hashed [S §12]."""

    substrate_class: str
    observed_at: str
    observer: str
    observation_id: str | UnsetType = UNSET


class LedgerPlace(msgspec.Struct, frozen=True, gc=False):
    """Where the decision can be recomputed: the lane's partition, the block, and the output's place in it."""

    partition: int
    height: int
    index: int
    block: str


class SanitationMeta(msgspec.Struct, frozen=True, gc=False):
    """Everything that sanitation changed [V §4, §6]: no character is dropped without a trace here.

    Attributes:
        sanitation_version: of the contract.
        sanitation_revision: of the rules by which this package fulfils it; 1 where a record does not say.
        attestations_rejected: `{field, reason}` for each attestation of an observation that typing refused.
    """

    sanitation_version: str
    unicode_version: str
    truncated: list[dict[str, Any]] = []
    confusables_replaced: list[dict[str, Any]] = []
    stripped_positions: list[dict[str, Any]] = []
    markup_stripped: list[dict[str, Any]] = []
    uris_rejected: list[dict[str, Any]] = []
    normalised: list[str] = []
    scripts: list[str] = []
    confusables_present: bool = False
    unknown_members: list[str] | UnsetType = UNSET
    attestations_rejected: list[dict[str, Any]] | UnsetType = UNSET
    sanitation_revision: int | UnsetType = UNSET


class UntrustedAssertion(msgspec.Struct, frozen=True, gc=False):
    """The frame [V §5.2]: everything in it was written by strangers and is data, never instruction."""

    warning: str
    assertion: str
    type_: Literal["veritas:UntrustedValidatorText"] = field(name="@type", default="veritas:UntrustedValidatorText")
    attestations: list[dict[str, Any]] = []
    rendered: list[str] | UnsetType = UNSET
    checked: list[dict[str, Any]] | UnsetType = UNSET
    chain: list[dict[str, Any]] = []


class CheckCount(msgspec.Struct, frozen=True, gc=False):
    """One check of an assertion, by its name (with `not ` before it where it is negated), and how many distinct classes
    verified it."""

    name: str
    classes: int


class Decision(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What every output about an assertion carries. `id` is deterministic (docs/reference/records.md).

    Attributes:
        type_: which record it is.
        version: of the record's form.
        id: made from emission id, attempt, span, status and revision: one word, one id.
        emission_id: the emission's.
        attempt: the emission's.
        span: the assertion's.
        kind: the assertion's.
        status: what it is held to be from now on.
        basis: what the word rests on.
        reason: why, of what is not admitted.
        disposition: what the policy does about it.
        citation: where the quote stands that is not in its context.
        revision: counts the words about this assertion, from 1.
        effect: the greatest of the policy's, the emission's and the assertion's.
        k: how many distinct classes it needed.
        min_observers: how many distinct observers, where it needed more than one.
        classes: the distinct classes that bear it out.
        evidence: the observations that count, with who made them.
        coverage: how much of the sentence the checks speak of: what is admitted is `rendered`, in the frame.
        unchecked: the parts of the sentence that no check speaks of, in its own code points.
        coverage_by: by what the coverage is `whole`: `form`, or the name of a proposer.
        checks: the checks, in their order. These three are absent where nothing was checked.
        grounded: whether its emitter says so; where its chain does not bear that out it is rejected [C §2].
        grounding: where it is grounded: `matched` if a retrieval of its emitter's chain names an observation that
            counts or a file in which a check was seen to hold, else `claimed`.
        data: the categories of the values that it came from.
        confidence: the least of the assertion's own and its chain's steps'.
        emitted_at: the emission's.
        untrusted_text: what strangers wrote, sanitised, in its frame; empty where the record tells only of an end.
        canonical_hash: of the assertion's text and kind: what looks the same has the same.
        canonicalisation_version: by which rules that hash was made.
        policy: the hash of the policy that decided.
        ledger: where it can be recomputed.
        meta: what sanitation changed in the frame.
    """

    type_: str = field(name="@type")
    version: Literal["1.0"] = field(name="@version", default="1.0")
    id: str
    emission_id: str
    attempt: int
    span: Span
    kind: Kind
    status: Status
    basis: Basis | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET
    disposition: Disposition | UnsetType = UNSET
    citation: dict[str, Any] | UnsetType = UNSET
    revision: int
    effect: Effect
    k: int
    min_observers: int | UnsetType = UNSET  # where more than one is needed [S §11.3]
    classes: list[str]
    evidence: list[Evidence]
    coverage: CoverageLevel | UnsetType = UNSET
    unchecked: list[tuple[int, int]] | UnsetType = UNSET
    coverage_by: str | UnsetType = UNSET
    checks: list[CheckCount] | UnsetType = UNSET
    grounded: bool
    grounding: Literal["matched", "claimed"] | UnsetType = UNSET
    data: list[str]
    confidence: float | int | UnsetType = UNSET
    emitted_at: str
    untrusted_text: UntrustedAssertion = field(name="_untrusted_text")
    canonical_hash: str
    canonicalisation_version: str
    policy: str
    ledger: LedgerPlace
    meta: SanitationMeta = field(name="_meta")


class Admitted(Decision, frozen=True, gc=False, kw_only=True):
    """Topic `admitted`: the change log of the admitted set. The last word of each key says what holds: where its status
    is `admitted` or `renewed`, the assertion does. The header `ce_type` says the status as well.

    Attributes:
        admitted_at: since when it is admitted.
        valid_until: until when; hold it against a clock of your own.
    """

    type_: Literal["sluice:AdmittedAssertion"] = field(name="@type", default="sluice:AdmittedAssertion")
    admitted_at: str | UnsetType = UNSET
    valid_until: str | UnsetType = UNSET


class CheckAsked(CheckCount, frozen=True, gc=False):
    """One check, in a request for a review. What it asks stands in the frame (`asked`), under the same number.

    Attributes:
        number: its place among the assertion's checks, from 0; of an assertion that declares none, 0 is the check that
            its words give.
        k: how many distinct classes it needed.
        verified: the classes that verified it.
        refuted: the classes that found it exactly false when they last looked.
    """

    number: int | UnsetType = UNSET
    k: int | UnsetType = UNSET
    verified: list[str] | UnsetType = UNSET
    refuted: list[str] | UnsetType = UNSET


class ClaimedOf(msgspec.Struct, frozen=True, gc=False):
    """An annotation of an assertion that is up for review: a claim of its emitter's, never evidence [S §11.1].

    Attributes:
        number: its place among the annotations, from 0; in the frame (`claimed`) its locator stands under the same.
        substrate_class: what was consulted; `unknown` for a class of no vocabulary, whose name stands in the frame.
        observation_id: what the emitter says it saw, as far as privacy lets it out.
        ts: when it says it looked.
    """

    number: int
    substrate_class: str
    observation_id: str | UnsetType = UNSET
    ts: str | UnsetType = UNSET


class NotCountedOf(msgspec.Struct, frozen=True, gc=False):
    """An observation that did not count for an assertion that is up for review.

    Attributes:
        substrate_class: of the look.
        outcome: of it.
        observed_at: when.
        observer: who.
        why: it did not count, a word of a closed list; `sluice explain` has a sentence for each.
        reason: why it is `absent`, by the closed list of docs/checks.md; absent where the observer gave none of it.
    """

    substrate_class: str
    outcome: Outcome
    observed_at: str
    observer: str
    why: str
    reason: str | UnsetType = UNSET


class UntrustedReviewing(msgspec.Struct, frozen=True, gc=False):
    """The frame of what strangers wrote that a reviewer needs: data, never instruction.

    Attributes:
        warning: says so.
        before: the emission's text before the assertion, its last 200 characters.
        after: the text behind it, its first 200 characters. Both are empty where its span is none of characters.
        asked: of each check its `number`, the `check` in its canonical form, and under `seen` the places
            (`substrate_class`, `path`, `lines`, `commit`) where it did not hold.
        claimed: of the annotations that have any, by `number`, the `locator`, and the `substrate_class` where it is of
            no vocabulary.
        missing_terms: words of the assertion that observers did not find.
    """

    type_: Literal["veritas:UntrustedValidatorText"] = field(name="@type")
    warning: str
    before: str
    after: str
    asked: list[dict[str, Any]]
    claimed: list[dict[str, Any]]
    missing_terms: list[str]


class ReviewingText(msgspec.Struct, frozen=True, gc=False):
    """What strangers wrote that a reviewer needs, in its frame, with the `_meta` of its own."""

    untrusted_text: UntrustedReviewing = field(name="_untrusted_text")
    meta: SanitationMeta = field(name="_meta")


class Inadmissible(Decision, frozen=True, gc=False, kw_only=True):
    """Topic `inadmissible`: what was not admitted, and what is done about it."""

    type_: Literal["sluice:InadmissibleAssertion"] = field(name="@type", default="sluice:InadmissibleAssertion")


class SeenOfCheck(msgspec.Struct, frozen=True, gc=False):
    """What one class saw of a check that did not hold there.

    Attributes:
        substrate_class: that looked.
        refuted: it is exactly false there; else it was not found, or could not be decided.
        reason: why, by the closed list of docs/checks.md; absent where the observer gave none of it.
    """

    substrate_class: str
    refuted: bool
    reason: str | UnsetType = UNSET


class MissingCheck(msgspec.Struct, frozen=True, gc=False):
    """A check that too few classes verified. What it asks stands in the frame (`asked`), under the same number.

    Attributes:
        number: its place among the assertion's checks, from 0; of an assertion that declares none, 0 is the check that
            its words give.
        name: with `not ` before it where it is negated; `unknown` where it is malformed or not known.
        k: how many distinct classes it needed.
        classes: those that verified it.
        seen: what the others saw.
    """

    number: int
    name: str
    k: int
    classes: list[str]
    seen: list[SeenOfCheck]


class SeenInstead(msgspec.Struct, frozen=True, gc=False):
    """What a class saw instead of evidence when it last looked.

    Attributes:
        substrate_class: that looked.
        outcome: of the look; `corroborates` where some of the checks hold and others do not.
        observed_at: when.
        observer: who.
        reason: why it is `absent`, by the closed list of docs/checks.md; absent where the observer gave none of it.
    """

    substrate_class: str
    outcome: Outcome
    observed_at: str
    observer: str
    reason: str | UnsetType = UNSET


class UntrustedMending(msgspec.Struct, frozen=True, gc=False):
    """The frame of what strangers wrote about what is missing: data, never instruction.

    Attributes:
        warning: says so.
        missing_terms: words of the assertion that observers did not find.
        asked: of each missing check its `number`, the `check` in its canonical form, and under `seen` the places
            (`substrate_class`, `path`, `lines`, `commit`) where it did not hold.
    """

    type_: Literal["veritas:UntrustedValidatorText"] = field(name="@type")
    warning: str
    missing_terms: list[str]
    asked: list[dict[str, Any]]


class MendingText(msgspec.Struct, frozen=True, gc=False):
    """What strangers wrote about what is missing, in its frame, with the `_meta` of its own."""

    untrusted_text: UntrustedMending = field(name="_untrusted_text")
    meta: SanitationMeta = field(name="_meta")


class Request(Inadmissible, frozen=True, gc=False, kw_only=True):
    """What a request says: the inadmissible record with what is missing.

    Attributes:
        missing_floor: how many classes more it would have needed.
        classes_seen: the classes that did bear it out.
        missing_observers: how many observers more, where it needed more than one.
    """

    missing_floor: int
    classes_seen: list[str]
    missing_observers: int | UnsetType = UNSET  # where more than one is needed [S §11.3]


RequestEnd = Literal["reviewed", "expired", "superseded"]
"""How a request for a review ends: a reviewer decided, nobody did in time, or a newer attempt came."""


class ReviewRequest(Request, frozen=True, gc=False, kw_only=True):
    """Topic `review-requests`: the inadmissible record with what is missing; or, with `ended_at`, that the request of
    this key has ended. The last record of a key says whether a review is still wanted (docs/howto/review.md).

    The record of an end has the reason and the revision of the request that it ends, and no text.

    Attributes:
        type_: `sluice:EndedReviewRequest` for the end of one.
        reviewers_needed: how many distinct reviewers have to admit it, where more than one has to.
        admitted_by: who of them has. After each the request is written again, and stays open.
        status: of an end how it ended: `reviewed`, `expired` (nobody decided in time), or `superseded` (a newer
            attempt came).
        checks: which classes verified and which refuted each check.
        deadline: up to when a review is in time, that instant included.
        annotations: what the emitter claims to have consulted; at most 20.
        annotations_left_out: how many more there are.
        looks: which classes saw what instead of evidence; of each class the last look.
        not_counted: observations that did not count, of each class and observer the newest; at most 10, of which 5
            are of observers that the policy does not list. One that only repeats what counts already is not among them.
        reviewing: what strangers wrote that a reviewer needs, sanitised, in a frame of its own.
        ended_at: the time of the block in which it ended.
        decision: what the reviewer decided, of a request that was `reviewed`.
        reviewer: who did; absent where the review names nobody.
        superseded_by: the newer attempt.
    """

    type_: Literal["sluice:InadmissibleAssertion", "sluice:EndedReviewRequest"] = field(  # pyright: ignore[reportIncompatibleVariableOverride]
        name="@type", default="sluice:InadmissibleAssertion"
    )
    status: Status | RequestEnd  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues]
    checks: list[CheckAsked] | UnsetType = UNSET  # pyright: ignore[reportIncompatibleVariableOverride]
    reviewers_needed: int | UnsetType = UNSET
    admitted_by: list[str] | UnsetType = UNSET
    deadline: str | UnsetType = UNSET
    annotations: list[ClaimedOf] | UnsetType = UNSET
    annotations_left_out: int | UnsetType = UNSET
    looks: list[SeenInstead] | UnsetType = UNSET
    not_counted: list[NotCountedOf] | UnsetType = UNSET
    reviewing: ReviewingText | UnsetType = UNSET
    ended_at: str | UnsetType = UNSET
    decision: Literal["admit", "refuse"] | UnsetType = UNSET
    reviewer: str | UnsetType = UNSET
    superseded_by: int | UnsetType = UNSET


class ReEmissionRequest(Request, frozen=True, gc=False, kw_only=True):
    """Topic `re-emission-requests`: the inadmissible record with what is missing, and how to mend it (docs/mending.md).

    Attributes:
        attempts_left: how many further attempts the policy lets its emitter make; the next one has `attempt` + 1.
        mend_until: until when the lane knows this attempt, so that a newer one takes its place; an emission that has
            still this `emitted_at` is too old from then on.
        missing_checks: the checks that too few classes verified.
        looks: which classes saw what instead; of each class the last look. None is kept, and none told, where the
            policy sends back nothing but `decayed-to-uncertainty` and has nothing reviewed.
        mending: what strangers wrote of it, sanitised, in a frame of its own.
    """

    attempts_left: int
    mend_until: str
    missing_checks: list[MissingCheck]
    looks: list[SeenInstead]
    mending: MendingText


VerdictStatus = Status | Literal["pending"]
"""What `verdicts` says of an assertion; never `renewed`, which is a word about one that is `admitted`."""


class CheckVerdict(msgspec.Struct, frozen=True, gc=False):
    """How many distinct classes verified a check by name; `number` is its place among the assertion's checks, from 0
    (of an assertion that declares none, 0 is the check that its words give)."""

    number: int
    classes: int


class AssertionVerdict(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What became of one assertion.

    Attributes:
        attempt: of the emission, which makes it.
        status: `pending` until something is decided; of one whose validity ended, the status that it ended with.
        reason: why, where there is one.
        disposition: what was done with one that was not admitted. With `review`, whether a reviewer is still waited
            for stands on `review-requests`.
        coverage: how much of the sentence its checks speak of; absent where none was verified.
        coverage_by: by what the coverage is `whole`: `form`, or the name of a proposer.
        checks: absent where it declares none and none was verified.
        classes_seen: the classes that bore it out, fresh or not.
        missing_floor: how many classes more it would have needed.
        valid_until: of one that was admitted; hold it against a clock of your own.
    """

    attempt: int
    span_key: str
    kind: Kind
    effect: Effect
    status: VerdictStatus
    reason: Reason | UnsetType = UNSET
    disposition: Disposition | UnsetType = UNSET
    coverage: CoverageLevel | UnsetType = UNSET
    coverage_by: str | UnsetType = UNSET
    checks: list[CheckVerdict] | UnsetType = UNSET
    classes_seen: list[str]
    missing_floor: int
    valid_until: str | UnsetType = UNSET


class Verdicts(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Topic `verdicts`: what became of each assertion of an emission, without any text. The last record of an emission
    says all of it.

    Attributes:
        attempt: the newest that is known.
        emitter: who made it; absent where it does not say.
        settled: none of the assertions is pending.
        decided_at: the time of the block.
        assertions: of every attempt that the lane knows: first those that were closed, then those that live.
        policy: in force in the block, by its hash.
    """

    type_: Literal["sluice:Verdicts"] = field(name="@type", default="sluice:Verdicts")
    version: Literal["1.0"] = field(name="@version", default="1.0")
    emission_id: str
    attempt: int
    emitter: str | UnsetType = UNSET
    settled: bool
    decided_at: str
    assertions: list[AssertionVerdict]
    policy: str
    ledger: LedgerPlace


class UntrustedQuote(msgspec.Struct, frozen=True, gc=False):
    """A quote in its own frame; `source_uri` is the hardened URI, null where it was refused [V §4.5]."""

    type_: Literal["veritas:UntrustedValidatorText"] = field(name="@type")
    warning: str
    quote: str
    source_uri: str | None


class FramedQuote(msgspec.Struct, frozen=True, gc=False):
    """One entry of `evidence` [V §5.1]."""

    untrusted_quote: UntrustedQuote = field(name="_untrusted_quote")


class FramedWork(msgspec.Struct, frozen=True, gc=False):
    """One entry of `cited_works`, hardened."""

    source_uri: str | None
    title: str


class UntrustedAttestation(msgspec.Struct, frozen=True, gc=False):
    """The frame of a validator's texts [V §5.2]; there for empty texts too."""

    type_: Literal["veritas:UntrustedValidatorText"] = field(name="@type")
    warning: str
    validator_did: str
    rationale: str
    qualifications: str
    evidence: list[FramedQuote]
    cited_works: list[FramedWork]


class FramedAttestation(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One attestation, framed: outside the frame stand identifiers and enumerated values only."""

    claim_hash: str
    validator_did: str
    verdict: Literal["VERIFIED", "SUPPORTED", "DISPUTED", "FALSE", "UNVERIFIABLE"]
    consensus_domain: str
    issued_at: str | UnsetType = UNSET
    untrusted_text: UntrustedAttestation = field(name="_untrusted_text")


class VerdictSummary(msgspec.Struct, frozen=True, gc=False):
    """What the attestations come to together."""

    primary_verdict: str
    validator_count: int
    disagreement_present: bool


class Grounded(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Topic `grounded`: a framed attestation in the shape of [V §5.1]; `source` is `topic/partition/offset`."""

    type_: Literal["veritas:GroundedAttestationResponse"] = field(name="@type")
    version: Literal["0.1"] = field(name="@version")
    query: str
    consensus_domain: str
    verdict_summary: VerdictSummary
    attestations: list[FramedAttestation]
    meta: SanitationMeta = field(name="_meta")
    canonical_hash: str
    canonicalisation_version: Literal["0.2", "0.3"]
    source: str | UnsetType = UNSET


INPUTS: dict[str, type[msgspec.Struct]] = {
    "emission": Emission,
    "observation": Observation,
    "sighting": Sighting,
    "citation": Citation,
    "attestation": Attestation,
    "review": Review,
}
OUTPUTS: dict[str, type[msgspec.Struct]] = {
    "admitted": Admitted,
    "inadmissible": Inadmissible,
    "review-request": ReviewRequest,
    "re-emission-request": ReEmissionRequest,
    "verdicts": Verdicts,
    "grounded": Grounded,
}
