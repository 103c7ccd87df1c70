"""One look at everything that an emission's annotations declare: an observation each, in their order (observing.md).

The same code serves the filter (`sluice look`), the service (`service.py`) and the demo. Four classes have an observer
here; of the other three an operator has none, and it says so.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, Final

import msgspec

from ...codecs.decode import assertion_text
from ...codecs.records import Annotation, Assertion, Emission, Locator, Observation, Subject
from ...codecs.spans import Span
from ...codecs.times import format_time, parse_time
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

GIT_LOG: Final = "substrate.git.log"
GREP: Final = "substrate.grep"
CODE_READ: Final = "substrate.code.read"
FS_MTIME: Final = "substrate.fs.mtime"
LOCATORS: Final[dict[str, dict[str, tuple[type, ...]]]] = {
    GIT_LOG: {"ref": (str,), "path": (str,), "commit": (str,)},
    GREP: {"pattern": (str,), "regex": (bool, str), "path": (str,), "lines": (list, str, int)},
    CODE_READ: {"path": (str,), "lines": (list, str, int)},
    FS_MTIME: {"path": (str,)},
}
"""The classes that are observed here, and the members of a locator that each of them knows."""

MAX_TEXT: Final = 20_000
"""Characters of an assertion that is looked for."""
MAX_TERMS: Final = 100
MAX_SHOWN: Final = 200
"""Characters of a term that an observation shows; its text is a stranger's, and an observation has to stay small."""
LOOKS_AN_EMISSION: Final = 4
"""All looks of one emission may take so many times `look_timeout`: one emission must not keep an observer for ever."""
MAX_LOOKS: Final = 1000
"""Places looked at for one emission: as many as it may hold assertions. Strangers choose how many annotations come."""


class StoppedError(Exception):
    """The observer was told to stop in the middle of an emission: what was seen so far is not to be written."""


def now() -> int:
    """Unix milliseconds."""
    return time.time_ns() // 1_000_000


def look(
    emission: Emission,
    settings: Settings,
    root: str | os.PathLike[str],
    clock: Callable[[], int] = now,
    stopped: Callable[[], bool] = lambda: False,
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

    Raises:
        UnreachableError: the root is not there.
        StoppedError: `stopped` said so.
    """
    place = Root(root)
    try:
        eyes = _Eyes(place, settings, clock, stopped)
        return [
            eyes.observe(emission, assertion, annotation, name)
            for assertion in emission.assertions or ()
            for annotation in assertion.annotations
            if (name := observed_class(annotation, emission.vocabulary)) is not None
        ]
    finally:
        place.close()


def cannot_look(
    emission: Emission, settings: Settings, reason: str, clock: Callable[[], int] = now
) -> list[Observation]:
    """The observations of `look` where nothing could be looked at: all `unavailable`, with this reason."""
    finding = Finding("unavailable", reason=reason)
    return [
        observation(emission, assertion, annotation, name, finding, settings.observer, clock())
        for assertion in emission.assertions or ()
        for annotation in assertion.annotations
        if (name := observed_class(annotation, emission.vocabulary)) is not None
    ]


def observed_class(annotation: Annotation, vocabulary: str) -> str | None:
    """The bare class of an annotation that can be looked at; None for a terminal or an unknown one."""
    recognised = recognise(annotation.substrate_class, vocabulary)
    return None if annotation.unknown or recognised.terminal else recognised.name


_encode = msgspec.json.Encoder().encode


class _Eyes:
    """One root for the time of one emission."""

    def __init__(self, root: Root, settings: Settings, clock: Callable[[], int], stopped: Callable[[], bool]) -> None:
        self._root, self._settings, self._clock, self._stopped = root, settings, clock, stopped
        self._known: dict[tuple[str | None, bytes], tuple[int, Finding]] = {}
        self._git = Git.at(root.path)
        for folder in self._git.folders() if self._git is not None else ():
            root.forbid(folder)
        self._end = time.monotonic() + LOOKS_AN_EMISSION * settings.look_timeout

    def _files(self) -> Files:
        if self._git is None:
            return self._root
        return CommitTree(self._root, self._git) if self._git.bare else WorkTree(self._root, self._git)

    def observe(self, emission: Emission, assertion: Assertion, annotation: Annotation, name: str) -> Observation:
        """The observation of one annotation; of one that says what another did, the same."""
        if self._stopped():
            raise StoppedError
        asked = (assertion.span_key, _encode(annotation))
        known = self._known.get(asked)
        if known is None:
            began = self._clock()  # the look's beginning: its freshness is never overstated
            try:
                if len(self._known) >= MAX_LOOKS:
                    raise CannotLook(f"the emission has more than {MAX_LOOKS} places to look at")
                finding = self._look(emission, assertion, annotation, name)
            except CannotLook as reason:
                finding = Finding("unavailable", reason=str(reason))
            if len(self._known) < MAX_LOOKS:
                self._known[asked] = began, finding
        else:
            began, finding = known
        return observation(emission, assertion, annotation, name, finding, self._settings.observer, began)

    def _look(self, emission: Emission, assertion: Assertion, annotation: Annotation, name: str) -> Finding:
        if name not in LOCATORS:
            raise CannotLook(f"no observer for {name} is configured")
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
        ask = Ask(name, assertion.kind, text, terms, locator, annotation.observation_id, ts, budget)
        if len(ask.terms.terms) > MAX_TERMS:
            raise CannotLook(f"the assertion has more than {MAX_TERMS} terms")
        try:
            finding = self._dispatch(ask)
        except OSError as error:
            raise CannotLook(f"the root cannot be read: {error.strerror}") from None
        return self._unless_stale(ask, finding, parse_time(emission.emitted_at))

    def _dispatch(self, ask: Ask) -> Finding:
        match ask.substrate_class:
            case "substrate.git.log":
                return git_log(ask, self._root, self._git)
            case "substrate.grep":
                return grep(ask, self._files())
            case "substrate.code.read":
                return code_read(ask, self._files())
            case _:
                return fs_mtime(ask, self._root, self._git, self._files())

    def _unless_stale(self, ask: Ask, finding: Finding, emitted: int | None) -> Finding:
        """A mirror that was not refreshed since proves no absence: of an observation, of what is denied, of a file."""
        proves_absence = (
            finding.outcome == "unknown-observation"
            or (ask.denies and finding.outcome == "corroborates")
            or (finding.outcome == "contradicts" and finding.seen is None)
        )
        if not proves_absence or self._git is None:
            return finding
        refreshed = self._git.refreshed(ask.budget)
        since = ask.ts if ask.ts is not None else emitted
        if refreshed is None or (since is not None and refreshed > since):
            return finding
        return Finding("unavailable", None, finding.presence, "the mirror was not refreshed since the annotation's ts")


def observation(
    emission: Emission,
    assertion: Assertion,
    annotation: Annotation,
    name: str,
    finding: Finding,
    observer: str,
    began: int,
) -> Observation:
    """The record of one look (records.md)."""
    detail: dict[str, Any] = {
        "found": [_shown(text) for text in finding.presence.found],
        "missing": [_shown(text) for text in finding.presence.missing],
    }
    if finding.reason is not None:
        detail["reason"] = _shown(finding.reason)
    return Observation(
        observation_id=finding.seen or annotation.observation_id or f"none:{name}",
        substrate_class=name,
        observed_at=format_time(began),
        observer=observer,
        subject=Subject(emission.emission_id, assertion.span or Span(path=""), emission.attempt),
        outcome=finding.outcome,
        locator=known_members(name, annotation.locator),
        detail=detail,
    )


def written(one: Observation) -> dict[str, Any]:
    """The JSON-ready form of an observation; `subject.attempt` is always written (records.md)."""
    form: dict[str, Any] = msgspec.to_builtins(one)
    form["subject"]["attempt"] = one.subject.attempt
    return form


def known_members(name: str, locator: Locator | None) -> Locator | None:
    """The members of a locator that the class knows, in the form it knows: nothing else is repeated."""
    if not locator:
        return None
    known = LOCATORS.get(name, {})
    kept = {key: value for key, value in locator.items() if key in known and isinstance(value, known[key])}
    return kept if kept and len(msgspec.json.encode(kept)) <= 16_384 else None


def _shown(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"
