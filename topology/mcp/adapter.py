"""The adapter without its protocol: each tool as a function from what is asked to an answer.

Nothing is answered from a view that is not up to date: what was contradicted since would still be shown. While the view
catches up, or when the broker has not been heard for `STALE_SECONDS`, every question gets a plain error that says so.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from ...codecs.errors import DoesNotHoldError, UnreachableError
from ...codecs.times import format_time
from ...streams.attestations.composition import stricter
from ...streams.policy.policy import DEFAULT_POLICY, Domain, Policy, policy_of_document
from ..settings.clock import now_ms
from ..settings.settings import Settings
from . import explained, resources
from .answer_pages import Badly
from .asked import AskAssertion, AskExplain, AskGround
from .explained import ExplainedAnswer
from .readers import NotReady, Readers
from .tool_answers import AssertionAnswer, GroundedAnswer, check, ground

T = TypeVar("T")

STALE_SECONDS: Final = 60.0
"""So old may the last moment be at which the view was known to hold all that the topics held."""
STORIES_AT_ONCE: Final = 2
"""A story folds a whole lane again."""

Tell = Callable[[int, int], None]
"""Told how many of how many steps are done."""


class Standing(NamedTuple):
    """How the view stands: up to when it is known to be complete, and the policy in force."""

    caught_up_at: int
    policy: Policy | None


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
            Badly: no such consensus domain, or a cursor of another question.
            UnreachableError: the view cannot be read.
        """

        def answer(db: sqlite3.Connection, standing: Standing, now: int) -> GroundedAnswer:
            registry = (standing.policy or self._fallback).attestations
            domain = _domain(ask.consensus_domain, registry.consensus_domains)
            rules = registry.domains.get(domain, Domain())
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

    async def explain(self, ask: AskExplain, tell: Tell = lambda *_: None) -> ExplainedAnswer:
        """The story of an emission, from the ledger.

        Raises:
            Badly: the span is none, or the cursor is of another question.
            DoesNotHoldError: the ledger knows nothing of it.
            UnreachableError: no broker answers.
        """
        if self._settings is None:
            raise UnreachableError("there is no broker to ask")
        async with self._stories:
            try:
                explanation = await explained.explanation_from_broker(self._settings, ask.emission_id, ask.span, tell)
            except DoesNotHoldError:
                # Its sentence names the broker, and what else the ledger holds.
                raise DoesNotHoldError(
                    "the ledger tells nothing of this emission, or of this span of it", hint="check the id and the span"
                ) from None
            except UnreachableError:
                raise UnreachableError("the broker does not answer", hint="ask again in a moment") from None
        return explained.framed(explanation, ask.limit, ask.cursor, format_time(self._now()))

    async def resource(self, uri: str) -> dict[str, Any] | None:
        """The contents of a resource; None where there is none of this name.

        Raises:
            UnreachableError: the view cannot be read.
        """
        if uri == resources.VOCABULARY:
            return resources.vocabulary()
        if uri == resources.CONFORMANCE:
            return resources.conformance()
        if uri != resources.POLICY:
            return None
        about = await self._readers.ask(_about)
        return resources.policy(self._in_force(about), self._fallback)

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
            about = _about(db)
            return question(db, Standing(_caught_up(about, now), self._in_force(about)), now)

        return await self._readers.ask(answer)

    def _in_force(self, about: dict[str, str]) -> Policy | None:
        document = about.get("policy", "")
        if document != self._policy[0]:
            policy: Policy | None = None
            with suppress(msgspec.MsgspecError):
                policy = policy_of_document(document.encode()) if document else None
            self._policy = (document, policy)
        return self._policy[1]


def _about(db: sqlite3.Connection) -> dict[str, str]:
    return dict(db.execute("SELECT name, value FROM about"))


def _caught_up(about: dict[str, str], now: int) -> int:
    at = about.get("caught_up_at")
    if at is None:
        progress = float(about.get("progress", "0"))
        raise NotReady(f"the view is still being read from the broker ({progress:.0%})", progress)
    silent = (now - int(at)) / 1000
    if silent > STALE_SECONDS:
        raise NotReady(f"the view has not kept up with the broker for {silent:.0f} s")
    return int(at)


def _domain(named: str | None, registry: Sequence[str]) -> str:
    if named is None and len(registry) == 1:
        return registry[0]
    if named is None or named not in registry:
        what = "the argument consensus_domain is missing" if named is None else "no such consensus domain"
        raise Badly(what, expected="one of " + ", ".join(registry))
    return named
