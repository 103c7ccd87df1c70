"""One look at everything that an emission's annotations declare: an observation each, in their order (observing.md).

The same code serves the filter (`sluice look`), the service (`service.py`) and the demo. Four classes are looked at
below the root; the other three, and whatever an operator observes with means of their own, beyond it
(`instruments.py`), where the operator's list says so.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from contextlib import ExitStack, closing
from typing import Final

import msgspec
import structlog
from msgspec.structs import replace

from ...codecs.decode import assertion_text
from ...codecs.records import Annotation, Assertion, Emission, Locator, Observation
from ...codecs.times import parse_time
from ...codecs.unicode_text import nfkc
from ...codecs.vocabulary import recognise
from ...streams.moments import negates
from ...streams.terms import Terms, terms_of
from ..settings import Settings
from .ask import Ask, Budget, CannotLook, Finding
from .code_read import code_read
from .confine import Files, Root
from .fs_mtime import fs_mtime
from .git import Git
from .git_log import git_log
from .git_tree import CommitTree, WorkTree
from .grep import grep
from .instruments import Instruments, now
from .interface import Observer
from .keeping import Kept
from .record import LOCATORS, known_members, observation, written

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
    root: str | os.PathLike[str],
    clock: Callable[[], int] = now,
    stopped: Callable[[], bool] = lambda: False,
    instruments: Instruments | None = None,
    only: Collection[str] | None = None,
) -> list[Observation]:
    """What stands now at every place that the emission's annotations declare.

    One observation for each annotation that is neither terminal nor unknown, assertion by assertion, in their order.
    A refusal states nothing that could be looked for: its annotations get `unavailable`.

    Args:
        emission: as `decode_emission` returned it.
        settings: the observer's name and the bounds of a look.
        root: the repository or folder to look at.
        clock: the present time in Unix milliseconds.
        stopped: asked before each look.
        instruments: what looks beyond the root, and keeps answers; without them what the settings list is opened for
            this one emission, and closed.
        only: the classes to look at; all by default.

    Raises:
        UnreachableError: the root is not there, and a class below it is to be looked at.
        UsageError: the operator's list is wrong.
        StoppedError: `stopped` said so.
    """
    with ExitStack() as stack:
        if instruments is None:
            instruments = stack.enter_context(closing(Instruments(settings, clock=clock)))
        place = None
        if only is None or not LOCATORS.keys().isdisjoint(only):
            place = stack.enter_context(closing(Root(root)))
        eyes = _Eyes(place, settings, clock, stopped, instruments)
        return [
            eyes.observe(emission, assertion, annotation, name)
            for assertion, annotation, name in observed(emission)
            if only is None or name in only
        ]


def cannot_look(
    emission: Emission,
    settings: Settings,
    reason: str,
    clock: Callable[[], int] = now,
    only: Collection[str] | None = None,
) -> list[Observation]:
    """The observations of `look` where nothing could be looked at: all `unavailable`, with this reason."""
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


log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)
_encode = msgspec.json.Encoder(order="sorted").encode


class _Eyes:
    """One root, if any class below it is looked at, for the time of one emission."""

    def __init__(
        self,
        root: Root | None,
        settings: Settings,
        clock: Callable[[], int],
        stopped: Callable[[], bool],
        instruments: Instruments,
    ) -> None:
        self._settings, self._clock, self._stopped = settings, clock, stopped
        self._root, self._instruments = root, instruments
        self._known: dict[tuple[str | None, bytes], tuple[int, Finding, Locator | None]] = {}
        self._git = None
        if root is not None:
            self._git = Git.at(root.path)
            for folder in self._git.folders() if self._git is not None else ():
                root.forbid(folder)
        self._end = time.monotonic() + LOOKS_AN_EMISSION * settings.look_timeout

    def observe(self, emission: Emission, assertion: Assertion, annotation: Annotation, name: str) -> Observation:
        """The observation of one annotation; of one that says what another did, the same."""
        if self._stopped():
            raise StoppedError
        asked = (assertion.span_key, _encode(annotation))
        known = self._known.get(asked)
        if known is None:
            began = self._clock()  # the look's beginning: its freshness is never overstated
            locator = known_members(name, annotation.locator)
            try:
                if len(self._known) >= MAX_LOOKS:
                    raise CannotLook(f"the emission has more than {MAX_LOOKS} places to look at")
                observer = self._instruments.observer(name)
                if observer is not None:
                    locator = observer.admit(annotation.locator or {})
                elif name not in LOCATORS:
                    raise CannotLook(f"no observer for {name} is configured")
                finding = self._recalled(self._ask(emission, assertion, annotation, name), observer, began)
            except CannotLook as reason:
                finding = Finding("unavailable", reason=str(reason))
            known = began if finding.at is None else min(began, finding.at), finding, locator
            if len(self._known) < MAX_LOOKS:
                self._known[asked] = known
        at, finding, locator = known
        return observation(emission, assertion, annotation, name, finding, self._settings.observer, at, locator)

    def _ask(self, emission: Emission, assertion: Assertion, annotation: Annotation, name: str) -> Ask:
        if assertion.kind == "refusal":
            raise CannotLook("a refusal states nothing that could be looked for")
        text = nfkc(assertion_text(emission, assertion))
        if len(text) > MAX_TEXT:
            raise CannotLook(f"the assertion is longer than {MAX_TEXT} characters")
        left = min(self._settings.look_timeout, self._end - time.monotonic())
        if left <= 0:
            raise CannotLook("the time for this emission's looks is used up")
        locator = annotation.locator or {}
        bounds = self._settings
        budget = Budget(left, bounds.look_bytes, bounds.look_commits, bounds.look_matches)
        ts = None if annotation.ts is None else parse_time(annotation.ts)
        terms = terms_of(text, name, locator)
        if terms.exists and assertion.kind == "assertion" and negates(text):
            # That a place is not there is a denial's business: the place must not bear the opposite of itself out.
            terms = Terms(())
        if len(terms.terms) > MAX_TERMS:
            raise CannotLook(f"the assertion has more than {MAX_TERMS} terms")
        emitted = parse_time(emission.emitted_at)
        return Ask(name, assertion.kind, text, terms, locator, annotation.observation_id, ts, budget, emitted)

    def _recalled(self, ask: Ask, observer: Observer | None, began: int) -> Finding:
        """The finding on the very same question not long ago, or else what comes of a look now.

        Below the root only the whole question is remembered, never what a file held: reading it again is cheap, and
        what it holds now may be the answer. Beyond it the observers keep states (`Memory`).
        """
        if observer is not None:
            return self._beyond(ask, observer)
        memory = self._instruments.answers(ask.substrate_class)
        since = ask.emitted if ask.ts is None else None
        place = self._root.path if self._root is not None else ""
        question = (place, ask.kind, ask.text, ask.declared, ask.ts, since, _encode(ask.locator))
        kept = memory.recall(question)
        if kept is not None:
            return replace(kept.value, at=kept.at)
        monotonic = time.monotonic()
        finding = self._below(ask)
        if finding.outcome != "unavailable":
            memory.keep(question, monotonic, 2 * len(ask.text) + 1000, Kept(began, finding))
        return finding

    def _beyond(self, ask: Ask, observer: Observer) -> Finding:
        try:
            return observer.observe(ask)
        except CannotLook:
            raise
        except Exception as error:  # noqa: BLE001 - an operator's own observer, or a defect of ours: one look is lost
            # Without a traceback: its locals may hold what must not get out, such as credentials.
            log.error("an observer failed", substrate_class=ask.substrate_class, error=type(error).__name__)
            raise CannotLook("the observer failed") from None

    def _below(self, ask: Ask) -> Finding:
        assert self._root is not None, "classes below the root are looked at with a root"
        try:
            finding = self._dispatch(ask, self._root)
        except OSError as error:
            raise CannotLook(f"the root cannot be read: {error.strerror}") from None
        return self._unless_stale(ask, finding)

    def _files(self, root: Root) -> Files:
        if self._git is None:
            return root
        return CommitTree(root, self._git) if self._git.bare else WorkTree(root, self._git)

    def _dispatch(self, ask: Ask, root: Root) -> Finding:
        match ask.substrate_class:
            case "substrate.git.log":
                return git_log(ask, root, self._git)
            case "substrate.grep":
                return grep(ask, self._files(root))
            case "substrate.code.read":
                return code_read(ask, self._files(root))
            case _:
                return fs_mtime(ask, root, self._git, self._files(root))

    def _unless_stale(self, ask: Ask, finding: Finding) -> Finding:
        """A mirror that was not refreshed since proves no absence: of an observation, of what is denied, of a file."""
        proves_absence = (
            finding.outcome == "unknown-observation"
            or (ask.denies and finding.outcome == "corroborates")
            or (finding.outcome == "contradicts" and finding.seen is None)
        )
        if not proves_absence or self._git is None:
            return finding
        refreshed = self._git.refreshed(ask.budget)
        since = ask.ts if ask.ts is not None else ask.emitted
        if refreshed is None or (since is not None and refreshed > since):
            return finding
        return Finding("unavailable", None, finding.presence, "the mirror was not refreshed since the annotation's ts")
