"""One look at everything that an emission's annotations declare: an observation each, in their order (observing.md).

The same code serves the filter (`sluice look`), the service (`service.py`) and the demo. Four classes are looked at
below the root; the other three, and whatever an operator observes with means of their own, beyond it
(`instruments.py`), where the operator's list says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, closing
from typing import Final

import msgspec
from msgspec.structs import replace

from ...codecs.decode import assertion_text
from ...codecs.records import Annotation, Assertion, Emission, Locator, Observation
from ...codecs.times import parse_time
from ...codecs.unicode_text import nfkc
from ...codecs.vocabulary import recognise
from ...streams.judging.derivation import checks_of
from ...streams.judging.moments import negates
from ...streams.judging.outcomes import checks_of_assertion
from ...streams.judging.terms import Terms, terms_of
from ..settings.late_logs import late_logger
from ..settings.settings import Settings
from .ask import Ask, Budget, CannotLook, Finding
from .code_read import code_read
from .fs_mtime import fs_mtime
from .git_log import git_log
from .grep import grep
from .ground import Ground
from .instruments import Instruments, now
from .interface import Observer
from .kept_looks import Kept
from .looked_root import NotReached, Site
from .mirrors import unless_stale
from .observation_record import LOCATORS, known_members, observation, written
from .roots import Roots, RootsLike

__all__ = ["StoppedError", "cannot_look", "look", "observed", "observed_class", "written"]

MAX_TEXT: Final = 20_000
"""Characters of an assertion that is looked for."""
MAX_TERMS: Final = 100
LOOKS_AN_EMISSION: Final = 4
"""All looks of one emission may take so many times `look_timeout`: one emission must not keep an observer for ever."""
MAX_LOOKS: Final = 1000
"""Places looked at for one emission: as many as it may hold assertions. Strangers choose how many annotations come."""


class StoppedError(Exception):
    """The observer was told to stop in the middle of an emission: what was seen so far is not to be written."""


def look(
    emission: Emission,
    settings: Settings,
    root: RootsLike,
    clock: Callable[[], int] = now,
    stopped: Callable[[], bool] = lambda: False,
    instruments: Instruments | None = None,
    only: Collection[str] | None = None,
) -> list[Observation]:
    """What stands now at every place that the emission's annotations declare.

    One observation for each annotation that is neither terminal nor unknown, assertion by assertion, in their order;
    behind it one of each judge that the operator lists (judges.py). A refusal states nothing that could be looked for:
    its annotations get `unavailable`.

    Args:
        emission: as `decode_emission` returned it.
        settings: the observer's name and the bounds of a look.
        root: the repository or folder to look at; several by name (roots.py).
        clock: the present time in Unix milliseconds.
        stopped: asked before each look.
        instruments: what looks beyond the root, and keeps answers; without them what the settings list is opened for
            this one emission, and closed.
        only: the classes to look at; all by default.

    Raises:
        UnreachableError: the one root is not there, and a class below it is to be looked at. Of several, those that
            are not there are `unavailable`.
        UsageError: the operator's list is wrong.
        StoppedError: `stopped` said so.
    """
    with ExitStack() as stack:
        if instruments is None:
            instruments = stack.enter_context(closing(Instruments(settings, clock=clock)))
        ground = None
        if only is None or not LOCATORS.keys().isdisjoint(only):
            ground = stack.enter_context(closing(Ground(Roots.of(root), instruments)))
        eyes = _Eyes(ground, settings, clock, stopped, instruments)
        return [
            one
            for assertion, annotation, name in observed(emission)
            if only is None or name in only
            for one in eyes.observe(emission, assertion, annotation, name)
        ]


def cannot_look(
    emission: Emission,
    settings: Settings,
    reason: str,
    clock: Callable[[], int] = now,
    only: Collection[str] | None = None,
) -> list[Observation]:
    """The observations of `look` where nothing could be looked at: all are `unavailable`.

    Args:
        emission: whose annotations could not be looked at.
        settings: with the observer's name.
        reason: why, as the observations say it.
        clock: gives their time, Unix ms.
        only: the bare classes; None for all.
    """
    finding = Finding("unavailable", reason=reason)
    return [
        observation(emission, assertion, annotation, name, finding, settings.observer, clock())
        for assertion, annotation, name in observed(emission)
        if only is None or name in only
    ]


def observed(emission: Emission) -> list[tuple[Assertion, Annotation, str]]:
    """Every annotation that can be looked at, with its assertion and its bare class, in their order."""
    return [
        (assertion, annotation, name)
        for assertion in emission.assertions or ()
        for annotation in assertion.annotations
        if (name := observed_class(annotation, emission.vocabulary)) is not None
    ]


def observed_class(annotation: Annotation, vocabulary: str) -> str | None:
    """The bare class of an annotation that can be looked at; None for a terminal or an unknown one."""
    recognised = recognise(annotation.substrate_class, vocabulary)
    return None if annotation.unknown or recognised.terminal else recognised.name


log = late_logger(__name__)
_encode = msgspec.json.Encoder(order="sorted").encode


_Looked = tuple[int, Locator | None, Ask | None, list[tuple[str | None, Finding]]]


class _Eyes:
    """What looks for the time of one emission; with the roots, if any class below one is looked at."""

    def __init__(
        self,
        ground: Ground | None,
        settings: Settings,
        clock: Callable[[], int],
        stopped: Callable[[], bool],
        instruments: Instruments,
    ) -> None:
        self._settings, self._clock, self._stopped = settings, clock, stopped
        self._ground, self._instruments = ground, instruments
        self._known: dict[tuple[str | None, bytes], _Looked] = {}
        self._end = time.monotonic() + LOOKS_AN_EMISSION * settings.look_timeout

    def observe(self, emission: Emission, assertion: Assertion, annotation: Annotation, name: str) -> list[Observation]:
        """The observation of one annotation, and each judge's; of one that says what another did, the same."""
        if self._stopped():
            raise StoppedError
        asked = (assertion.span_key, _encode(annotation))
        known = self._known.get(asked)
        if known is None:
            known = self._looked(emission, assertion, annotation, name)
            if len(self._known) < MAX_LOOKS:
                self._known[asked] = known
        at, locator, ask, findings = known
        checks = () if ask is None else ask.question.checks
        about = (emission, assertion, annotation, name)
        who = self._settings.observer
        return [observation(*about, finding, who, at, locator, checks, judge) for judge, finding in findings]

    def _looked(self, emission: Emission, assertion: Assertion, annotation: Annotation, name: str) -> _Looked:
        """When it was seen, the locator that may be repeated, what was asked, and what each judge found."""
        began = self._clock()  # the look's beginning: its freshness is never overstated
        locator = known_members(name, annotation.locator)
        ask = None
        try:
            if len(self._known) >= MAX_LOOKS:
                raise CannotLook(f"the emission has more than {MAX_LOOKS} places to look at")
            observer = self._instruments.observer(name)
            if observer is not None:
                locator = observer.admit(annotation.locator or {})
            elif name not in LOCATORS:
                raise CannotLook(f"no observer for {name} is configured")
            ask = self._ask(emission, assertion, annotation, name)
            finding = self._recalled(ask, observer, began)
        except CannotLook as reason:
            finding = Finding("unavailable", reason=str(reason))
        findings = [(None, finding), *self._opinions(name, ask, finding)]
        return began if finding.at is None else min(began, finding.at), locator, ask, findings

    def _opinions(self, name: str, ask: Ask | None, seen: Finding) -> Iterator[tuple[str | None, Finding]]:
        """What the operator's judges make of what was seen."""
        judges = self._instruments.judges
        for judge in judges.of(name) if ask is not None else ():
            assert ask is not None, "nothing is judged that was not asked"
            found = judges.finding(judge, ask, seen)
            if found is not None:
                yield judge, found

    def _ask(self, emission: Emission, assertion: Assertion, annotation: Annotation, name: str) -> Ask:
        if assertion.kind == "refusal":
            raise CannotLook("a refusal states nothing that could be looked for")
        said = assertion_text(emission, assertion)
        if len(said) > MAX_TEXT:
            raise CannotLook(f"the assertion is longer than {MAX_TEXT} characters")
        left = min(self._settings.look_timeout, self._end - time.monotonic())
        if left <= 0:
            raise CannotLook("the time for this emission's looks is used up")
        text = nfkc(said)
        locator = annotation.locator or {}
        bounds = self._settings
        question = checks_of_assertion(assertion.kind, checks_of(said, assertion.kind, assertion.checks))
        is_below = name in LOCATORS and self._instruments.observer(name) is None
        # Where checks and a path say what is looked at, none of our observers asks for the words.
        is_told = is_below and not question.is_sentence and isinstance(locator.get("path"), str)
        terms = Terms(()) if is_told else terms_of(text, name, locator)
        if terms.exists and assertion.kind == "assertion" and negates(text):
            # The text denies that a place exists: an observer that finds the place must not confirm the text.
            terms = Terms(())
        if len(terms.terms) > MAX_TERMS and question.is_sentence:
            raise CannotLook(f"the assertion has more than {MAX_TERMS} terms")
        return Ask(
            name,
            assertion.kind,
            text,
            terms,
            locator,
            annotation.observation_id,
            None if annotation.ts is None else parse_time(annotation.ts),
            Budget(left, bounds.look_bytes, bounds.look_commits, bounds.look_matches),
            parse_time(emission.emitted_at),
            question,
            said,
            bool(self._instruments.judges.of(name)),
        )

    def _recalled(self, ask: Ask, observer: Observer | None, began: int) -> Finding:
        """The finding on the very same question not long ago, or else what comes of a look now.

        Below the root only the whole question is remembered, never what a file held: reading it again is cheap, and
        what it holds now may be the answer. Beyond it the observers keep states (`Memory`).
        """
        if observer is not None:
            return self._beyond(ask, observer)
        assert self._ground is not None, "classes below a root are looked at with one"
        site = self._ground.site(ask)
        memory = self._instruments.answers(ask.substrate_class)
        since = ask.emitted if ask.ts is None else None
        place = (self._ground.path(site.name), site.name)
        checks = ask.question.derived.checks
        question = (place, ask.kind, ask.said, ask.declared, ask.ts, since, checks, _encode(ask.locator))
        kept = memory.recall(question)
        if kept is not None:
            return replace(kept.value, at=kept.at)
        monotonic = time.monotonic()
        finding = self._below(ask, site)
        if finding.outcome != "unavailable":
            size = 2 * len(ask.text) + 3000 + sum(map(len, checks)) + 2 * len(finding.region or "")
            memory.keep(question, monotonic, size, Kept(began, finding))
        return finding

    def _beyond(self, ask: Ask, observer: Observer) -> Finding:
        for member in ("repo", "ref", "commit") if ask.substrate_class not in LOCATORS else ():
            if member in ask.locator:
                raise CannotLook(f"this class knows no {member}")
        try:
            return observer.observe(ask)
        except CannotLook:
            raise
        except Exception as error:  # noqa: BLE001 - an operator's own observer, or a defect of ours: one look is lost
            # Without a traceback: its locals may hold what must not get out, such as credentials.
            log.error("an observer failed", substrate_class=ask.substrate_class, error=type(error).__name__)
            raise CannotLook("the observer failed") from None

    def _below(self, ask: Ask, site: Site) -> Finding:
        try:
            finding = self._dispatch(ask, site)
        except OSError as error:
            raise CannotLook(f"the root cannot be read: {error.strerror}") from None
        return unless_stale(ask, site, finding)

    def _dispatch(self, ask: Ask, site: Site) -> Finding:
        parser = self._instruments.parsed
        match ask.substrate_class:
            case "substrate.git.log":
                try:
                    view = site.past(ask)
                except NotReached as missing:
                    declared = ask.declared or missing.prefix
                    return Finding("unknown-observation", declared, reason=f"no commit {missing.prefix} is reachable")
                return git_log(ask, site, view, parser)
            case "substrate.grep":
                return grep(ask, site, site.view(ask), parser)
            case "substrate.code.read":
                return code_read(ask, site, site.view(ask), parser)
            case _:
                return fs_mtime(ask, site, site.view(ask))
