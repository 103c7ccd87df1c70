"""The adapter without its protocol: each tool as a function from what is asked to an answer, and its resources.

Nothing is answered from a view that is not up to date: what was contradicted since would still be shown. While the view
catches up, or when the broker has not been heard for `STALE_SECONDS`, every question gets a plain error that says so.

`explain` reads the ledger in a thread of its own: a lane that is folded from its beginning must not hold up other
answers. Its texts are sanitised there; here they are put into frames [V §5], and whatever else is no identifier goes
with them. Of an emitter's words that were admitted in part, what no check speaks of is left out, as in the records.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import resources
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeVar, cast

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from ...codecs.errors import DoesNotHoldError, UnreachableError
from ...codecs.identifiers import parse_span_key
from ...codecs.records import SanitationMeta
from ...codecs.times import format_time
from ...codecs.vocabulary import NEWEST, TERMINALS, VERSIONS, recognise
from ...streams.attestations.framing import stricter
from ...streams.policy.policy import DEFAULT_POLICY, AttestationDomain, Policy, policy_of_document
from ...streams.sanitise import (
    CONFUSABLES_VERSION,
    SANITATION_REVISION,
    SANITATION_VERSION,
    UNICODE_VERSION,
    WARNING,
    Trace,
)
from ..audit.explain import explain
from ..audit.explanation import Assertion, Explanation
from ..engine.stored_topics import open_logs
from ..settings.process import now_ms
from ..settings.settings import Settings
from .adapter_view import HOLDING
from .kept_view import Readers, about_of, demand_current
from .tool_answers import (
    AskAssertion,
    AskExplain,
    AskGround,
    AssertionAnswer,
    GroundedAnswer,
    QuestionError,
    check,
    cursor_of,
    ground,
    start_of,
)


class ResourceKind(NamedTuple):
    """A resource as it is listed."""

    uri: str
    name: str
    title: str
    description: str


POLICY: Final = "sluice://policy"
VOCABULARY: Final = "sluice://vocabulary"
CONFORMANCE: Final = "sluice://conformance"
RESOURCES: Final = (
    ResourceKind(
        POLICY, "policy", "Policy", "By what the lanes decide, with its hash and the registry of consensus domains."
    ),
    ResourceKind(
        VOCABULARY, "vocabulary", "Vocabulary", "The substrate classes of every loaded version, and the terminals."
    ),
    ResourceKind(
        CONFORMANCE, "conformance", "Conformance", "The pass rate of the adversarial corpus, and each deviation."
    ),
)
_corpus: Final = msgspec.json.decode(
    resources.files(__package__ or "").joinpath("data", "conformance.json").read_bytes()
)


def policy_resource(in_force: Policy | None, fallback: Policy) -> dict[str, Any]:
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


def vocabulary_resource() -> dict[str, Any]:
    """The closed vocabulary [S §4]."""
    return {
        "@type": "sluice:Vocabulary",
        "newest": NEWEST,
        "versions": {version: sorted(classes) for version, classes in sorted(VERSIONS.items())},
        "terminals": sorted(TERMINALS),
    }


def conformance_resource() -> dict[str, Any]:
    """The rate at which the corpus of [V §9] passes through this adapter, by category."""
    return {
        "@type": "sluice:Conformance",
        "sanitation_version": SANITATION_VERSION,
        "sanitation_revision": SANITATION_REVISION,
        "unicode_version": UNICODE_VERSION,
        "confusables_version": CONFUSABLES_VERSION,
        **_corpus,
    }


FREE: Final = frozenset({"rendered", "assertion", "text", "check", "place", "looked_at", "locator", "detail"})
"""Members that hold what strangers wrote, whatever stands in them; a reviewer's `reason` is one as well."""
NAMES: Final = frozenset(
    {"emission_id", "observation_id", "observer", "judge", "reviewer", "emitter", "locator", "looked_at"}
)
"""Members that hold identifiers which strangers chose; a span's key is one where it names a pointer or a tokenizer."""
FOR_PEOPLE: Final = frozenset({"marked", "left_open"})
"""Members that show what no check speaks of: for people, not for models."""
_IDENTIFIER = re.compile(r"[A-Za-z0-9._~:/+=@%#-]{0,2048}")


class ExplainedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The story of an emission, a page of its assertions at a time; members as `sluice explain --json` has them."""

    type_: Literal["sluice:Explanation"] = field(name="@type", default="sluice:Explanation")
    version: Literal["1.0"] = field(name="@version", default="1.0")
    untrusted_text: Annotated[
        dict[str, Any], Meta(description="The frame with the emission's id, which its emitter chose")
    ] = field(name="_untrusted_text")
    lane: int
    lanes: int
    ledger: dict[str, Any]
    attempts: list[dict[str, Any]]
    assertions: list[dict[str, Any]]
    inputs: list[dict[str, Any]]
    as_of: str
    next_cursor: str | UnsetType = UNSET
    meta: SanitationMeta = field(name="_meta")


class _Cancelled(Exception):
    """Nobody waits for the story any more."""


async def explanation_from_broker(
    settings: Settings, emission_id: str, span_key: str | None, tell: Callable[[int, int], None]
) -> Explanation:
    """The story from the broker; `tell` is called in this loop with how many blocks of how many have been read.

    Raises:
        QuestionError: the span is no span key.
        DoesNotHoldError: the ledger knows nothing of it, or does not hold.
        UnreachableError: no broker answers.
    """
    if span_key is not None and parse_span_key(span_key) is None:
        raise QuestionError("the argument span is wrong", expected="a span key such as c:0-43, t:name:3-9 or p:/a/b")
    loop, cancelled, last = asyncio.get_running_loop(), threading.Event(), -1

    def progress(offset: int, first: int, end: int) -> None:
        nonlocal last
        if cancelled.is_set():
            raise _Cancelled
        percent = 100 * (offset + 1 - first) // max(1, end - first)
        if percent != last:
            last = percent
            loop.call_soon_threadsafe(tell, offset + 1 - first, end - first)

    async def read() -> Explanation:
        async with open_logs(settings) as logs:
            return await explain(logs, emission_id, span_key, now_ms(), progress)

    try:
        return await asyncio.to_thread(lambda: asyncio.run(read()))
    finally:
        cancelled.set()


def framed_explanation(explanation: Explanation, limit: int, cursor: str | None, now: str) -> ExplainedAnswer:
    """The answer: a page of the story's assertions, and the inputs that are about them."""
    question = ("explain", explanation.emission_id, *{one.span_key for one in explanation.assertions[:1]})
    start = start_of(cursor, *question)
    page = explanation.assertions[start : start + limit]
    keys = {one.span_key for one in page}
    inputs = [one for one in explanation.inputs if one.span_key in keys or (start == 0 and one.span_key is UNSET)]
    ledger = {name: value for name, value in explanation.ledger.items() if name in ("height", "block", "time")}
    more = start + limit < len(explanation.assertions)
    return ExplainedAnswer(
        untrusted_text=_frame({"emission_id": explanation.emission_id}),
        lane=explanation.lane,
        lanes=explanation.lanes,
        ledger=ledger,
        attempts=_framed(msgspec.to_builtins(explanation.attempts)),
        assertions=[_framed(_as_recorded(one)) for one in page],
        inputs=_framed(msgspec.to_builtins(inputs)),
        as_of=now,
        next_cursor=cursor_of(start + len(page), *question) if more else UNSET,
        meta=Trace().meta(),
    )


def _as_recorded(assertion: Assertion) -> dict[str, Any]:
    """An assertion's story with its text as the record of its admission shows it."""
    held = [one.assertion for one in assertion.verdicts if one.status in HOLDING and one.assertion is not UNSET]
    return msgspec.to_builtins(assertion) | ({"text": held[-1]} if held else {})


def _framed(value: Any) -> Any:
    """The same with every free text moved into a frame in the object that it stood in."""
    if isinstance(value, list):
        return [_framed(one) for one in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    outside: dict[str, Any] = {}
    inside: dict[str, Any] = {}
    members = cast("dict[str, Any]", value)
    review = "decision" in members
    for name, member in members.items():
        if name in FOR_PEOPLE:
            continue
        free = name in FREE or name in NAMES or (review and name == "reason")
        free = free or (name == "span_key" and not str(member).startswith("c:"))
        free = free or (name == "substrate_class" and not _is_class(member))
        if free or not _IDENTIFIER.fullmatch(name) or not _is_outside(member):
            inside[name] = member
        else:
            outside[name] = _framed(member)
    if inside:
        outside["_untrusted_text"] = _frame(inside)
    return outside


def _is_class(name: object) -> bool:
    """Whether a class is of a loaded vocabulary or a terminal; any other name is whatever its writer liked."""
    return isinstance(name, str) and recognise(name).name is not None


def _frame(inside: dict[str, Any]) -> dict[str, Any]:
    return {"@type": "veritas:UntrustedValidatorText", "warning": WARNING, **inside}


def _is_outside(member: Any) -> bool:
    """Whether a text, or each of a list, is of the characters of identifiers and times. Objects are looked into."""
    if isinstance(member, str):
        return _IDENTIFIER.fullmatch(member) is not None
    if isinstance(member, list):
        return all(_is_outside(one) for one in cast("list[Any]", member))
    return True


T = TypeVar("T")

STORIES_AT_ONCE: Final = 2
"""A story folds a whole lane again."""

Tell = Callable[[int, int], None]
"""Told how many of how many steps are done."""


class Standing(NamedTuple):
    """How the view stands: up to when it is known to be complete, and the policy in force."""

    caught_up_at: int
    policy: Policy | None


def _untold(_done: int, _steps: int) -> None:
    """Tells nothing of progress."""


class Adapter:
    """The tools and resources over one view.

    Args:
        readers: of the view.
        settings: of the broker, for `explain`; None: there is none to ask.
        now: the time in Unix ms.
        fallback: the policy where no lane has one yet.
    """

    def __init__(
        self,
        readers: Readers,
        settings: Settings | None = None,
        now: Callable[[], int] = now_ms,
        fallback: Policy = DEFAULT_POLICY,
    ) -> None:
        self._readers, self._settings, self._now, self._fallback = readers, settings, now, fallback
        self._stories = asyncio.Semaphore(STORIES_AT_ONCE)
        self._policy: tuple[str, Policy | None] = ("", None)

    async def ground(self, ask: AskGround) -> GroundedAnswer:
        """Attestations that match, in the envelope of [V §5.1].

        Raises:
            NotReady: the view is not up to date.
            QuestionError: no such consensus domain, or a cursor of another question.
            UnreachableError: the view cannot be read.
        """

        def answer(db: sqlite3.Connection, standing: Standing, now: int) -> GroundedAnswer:
            registry = (standing.policy or self._fallback).attestations
            domain = _domain(ask.consensus_domain, registry.consensus_domains)
            rules = registry.domains.get(domain, AttestationDomain())
            composition, quorum = stricter(rules.composition, rules.quorum, ask.composition, ask.quorum)
            rules = msgspec.structs.replace(rules, composition=composition, quorum=quorum)
            found = ground(db, ask.query, domain, ask.limit, ask.cursor, now, rules)
            if ask.composition is None and ask.quorum is None:
                return found
            return msgspec.structs.replace(found, composition=composition, quorum=quorum)

        return await self._ask(answer)

    async def check_assertion(self, ask: AskAssertion) -> AssertionAnswer:
        """What is admitted about a text.

        Raises:
            As `ground`.
        """
        return await self._ask(lambda db, _, now: check(db, ask.text, ask.kind, ask.limit, ask.cursor, now))

    async def explain(self, ask: AskExplain, tell: Tell = _untold) -> ExplainedAnswer:
        """The story of an emission, from the ledger.

        Raises:
            QuestionError: the span is none, or the cursor is of another question.
            DoesNotHoldError: the ledger knows nothing of it.
            UnreachableError: no broker answers.
        """
        if self._settings is None:
            raise UnreachableError("there is no broker to ask")
        async with self._stories:
            try:
                explanation = await explanation_from_broker(self._settings, ask.emission_id, ask.span, tell)
            except DoesNotHoldError:
                # Its sentence names the broker, and what else the ledger holds.
                raise DoesNotHoldError(
                    "the ledger tells nothing of this emission, or of this span of it", hint="check the id and the span"
                ) from None
            except UnreachableError:
                raise UnreachableError("the broker does not answer", hint="ask again in a moment") from None
        return framed_explanation(explanation, ask.limit, ask.cursor, format_time(self._now()))

    async def resource(self, uri: str) -> dict[str, Any] | None:
        """The contents of a resource; None where there is none of this name.

        Raises:
            UnreachableError: the view cannot be read.
        """
        if uri == VOCABULARY:
            return vocabulary_resource()
        if uri == CONFORMANCE:
            return conformance_resource()
        if uri != POLICY:
            return None
        about = await self._readers.ask(about_of)
        return policy_resource(self._in_force(about), self._fallback)

    async def standing(self) -> Standing:
        """How the view stands.

        Raises:
            NotReady: it is not up to date.
            UnreachableError: it cannot be read.
        """
        return await self._ask(lambda _db, standing, _now: standing)

    async def _ask(self, question: Callable[[sqlite3.Connection, Standing, int], T]) -> T:
        now = self._now()

        def answer(db: sqlite3.Connection) -> T:
            about = about_of(db)
            return question(db, Standing(demand_current(about, now), self._in_force(about)), now)

        return await self._readers.ask(answer)

    def _in_force(self, about: dict[str, str]) -> Policy | None:
        document = about.get("policy", "")
        if document != self._policy[0]:
            policy: Policy | None = None
            with suppress(msgspec.MsgspecError):
                policy = policy_of_document(document.encode()) if document else None
            self._policy = (document, policy)
        return self._policy[1]


def _domain(named: str | None, registry: Sequence[str]) -> str:
    if named is None and len(registry) == 1:
        return registry[0]
    if named is None or named not in registry:
        what = "the argument consensus_domain is missing" if named is None else "no such consensus domain"
        raise QuestionError(what, expected="one of " + ", ".join(registry))
    return named
