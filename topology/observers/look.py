"""One look at everything that an emission's annotations declare: an observation each, in their order (observing.md).

The same code serves the filter (`sluice look`), the service (`service.py`) and the demo. Four classes are looked at
below the root; the other three, and whatever an operator observes with means of their own, beyond it
(`observer_registry.py`), where the operator's list says so. A person's answers become observations here as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, closing
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from ...codecs.decode import assertion_text, normalise_emission
from ...codecs.errors import Fault, UsageError
from ...codecs.records import MAX_CHECK_LENGTH, Annotation, Assertion, Emission, Locator, Observation
from ...codecs.times import format_time, parse_time
from ...codecs.unicode_text import nfkc
from ...codecs.vocabulary import recognise
from ...streams.judging.check_texts import render
from ...streams.judging.checks import Check, Unknown, canonical, parse_check
from ...streams.judging.claim_forms import checks_of
from ...streams.judging.coverage import Proposed
from ...streams.judging.prose_literals import negates
from ...streams.judging.terms import Terms, terms_of
from ...streams.judging.verify import checks_of_assertion
from ..settings.late_logs import late_logger
from ..settings.settings import Settings
from .ask import BOUND, DECIDES, Ask, Budget, Finding, ObservationUnavailable, decides
from .file_looks import code_read, fs_mtime, grep
from .git_log import git_log
from .history import unless_stale
from .interface import Observer
from .kept_looks import Kept
from .observation_record import LOCATORS, known_members, observation, written
from .observer_registry import MCP_BRIEF, PEERCRED, SSE_COUNT, ObserverRegistry, now
from .root_set import NotReached, RootSet, Site
from .roots import Roots, RootsLike

MAX_TEXT: Final = 20_000
"""Characters of an assertion that is looked for."""
EVERY_ROOT: Final = "*"
MAX_TERMS: Final = 100
MAX_SAID: Final = 1_000_000
"""Characters that the looks at one emission are about together: statements may lie over one another, and each is asked
about once for each annotation."""
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
    instruments: ObserverRegistry | None = None,
    only: Collection[str] | None = None,
    until: float | None = None,
) -> list[Observation]:
    """What stands now at every place that the emission's annotations declare.

    One observation for each annotation that is neither terminal nor unknown, assertion by assertion, in their order;
    behind it one of each judge that the operator lists. A refusal states nothing that could be looked for:
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
        until: when all of it has to be done, on the clock of `time.monotonic`, where a user sets that. What is not
            looked at by then is `unavailable`.

    Raises:
        UnreachableError: the one root is not there, and a class below it is to be looked at. Of several, those that
            are not there are `unavailable`.
        UsageError: the operator's list is wrong.
        StoppedError: `stopped` said so.
    """
    with ExitStack() as stack:
        if instruments is None:
            instruments = stack.enter_context(closing(ObserverRegistry(settings, clock=clock)))
        root_set = None
        if only is None or not LOCATORS.keys().isdisjoint(only):
            root_set = stack.enter_context(closing(RootSet(Roots.of(root), instruments)))
        asked = [annotated for annotated in observed(emission) if only is None or annotated[2] in only]
        shares = Shares(len({assertion.span_key for assertion, _, _ in asked}), settings.emission_bytes, until)
        observer = _EmissionObserver(root_set, settings, clock, stopped, instruments, shares)
        return [seen for annotated in asked for seen in observer.observe(emission, *annotated)]


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


class Shares:
    """What each statement may take of its emission's work, and of the time that a user sets: an equal part of what the
    statements before it have left. So what one costs silences no other.

    Args:
        statements: how many there are.
        size: bytes for all of them.
        until: the end of the time, if there is one.
    """

    def __init__(self, statements: int, size: int, until: float | None) -> None:
        self._waiting, self._left, self._until = statements, size, until
        self._statement: object = None
        self._size = 0
        self._end: float | None = None

    def begin(self, statement: object) -> None:
        """The look that follows is about this statement; those about one follow one another."""
        if statement == self._statement:
            return
        self._statement = statement
        self._size = self._left // max(1, self._waiting)
        if self._until is not None:
            now = time.monotonic()
            self._end = now + (self._until - now) / max(1, self._waiting)
        self._waiting -= 1

    def budget(self, settings: Settings, seconds: float | None) -> Budget:
        """For a look that may take so many seconds.

        Raises:
            ObservationUnavailable: nothing is left.
        """
        if self._end is not None:
            left = self._end - time.monotonic()
            seconds = left if seconds is None else min(left, seconds)
            if seconds <= 0:
                raise ObservationUnavailable(f"the time for this statement is over, {BOUND} of time")
        if self._size <= 0:
            raise ObservationUnavailable(f"this statement's share of the work is done, {BOUND} `emission_bytes`")
        size = min(settings.look_bytes, self._size)
        return Budget(seconds, size, settings.look_commits, settings.look_matches)

    def spend(self, size: int) -> None:
        """What a look has read."""
        self._size -= size
        self._left -= size


def _at_head(annotation: Annotation) -> Annotation:
    """An annotation without the commit that it names and the id that was computed."""
    kept = {key: value for key, value in (annotation.locator or {}).items() if key not in ("commit", "ref")}
    return replace(annotation, observation_id=None, computed=False, locator=kept or None)


class _EmissionObserver:
    """What looks for the time of one emission; with the roots, if any class below one is looked at."""

    def __init__(
        self,
        root_set: RootSet | None,
        settings: Settings,
        clock: Callable[[], int],
        stopped: Callable[[], bool],
        instruments: ObserverRegistry,
        shares: Shares,
    ) -> None:
        self._shares = shares
        self._settings, self._clock, self._stopped = settings, clock, stopped
        self._root_set, self._instruments = root_set, instruments
        self._known: dict[tuple[str | None, bytes], _Looked] = {}
        self._said = 0

    def observe(self, emission: Emission, assertion: Assertion, annotation: Annotation, name: str) -> list[Observation]:
        """The observation of one annotation, and each judge's; of one that says what another did, the same."""
        if self._stopped():
            raise StoppedError
        asked = (assertion.span_key, _encode(annotation))
        self._shares.begin(assertion.span_key)
        known = self._known.get(asked)
        if known is None:
            known = self._looked(emission, assertion, annotation, name)
            if len(self._known) < MAX_LOOKS:
                self._known[asked] = known
        at, locator, ask, findings = known
        checks = () if ask is None else ask.question.checks
        about = (emission, assertion, annotation, name)
        who = self._settings.observer
        form = "declared" if ask is None else ask.question.derived.form
        return [
            observation(*about, finding, who, at, locator, checks, judge, form, self._is_public(finding))
            for judge, finding in findings
        ]

    def _is_public(self, finding: Finding) -> bool:
        """Whether the operator lets observations show lines of the root that was looked at."""
        names = (self._settings.public_roots or "").replace(",", " ").split()
        root = None if finding.looked_at is None else finding.looked_at.root
        return root is not None and (EVERY_ROOT in names or root in names)

    def _looked(self, emission: Emission, assertion: Assertion, annotation: Annotation, name: str) -> _Looked:
        """When it was seen, the locator that may be repeated, what was asked, and what each judge found."""
        began = self._clock()  # the look's beginning: its freshness is never overstated
        locator = known_members(name, annotation.locator)
        ask = None
        try:
            if len(self._known) >= MAX_LOOKS:
                raise ObservationUnavailable(
                    f"the emission has more than {MAX_LOOKS} places to look at, {BOUND} of places"
                )
            observer = self._instruments.observer(name)
            if observer is not None:
                locator = observer.admit(annotation.locator or {})
            elif name not in LOCATORS:
                raise ObservationUnavailable(f"no observer for {name} is configured")
            ask = self._ask(emission, assertion, annotation, name)
            finding = None
            try:
                finding = self._recalled(ask, observer, began)
            except NotReached:
                if not annotation.computed:
                    raise
            finally:
                self._shares.spend(ask.budget.spent)
            if finding is None or (annotation.computed and finding.outcome == "unknown-observation"):
                # A rebase or an amended commit took what the recorder named: what stands there now is looked at.
                return self._looked(emission, assertion, _at_head(annotation), name)
        except ObservationUnavailable as reason:
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
            raise ObservationUnavailable("a refusal states nothing that could be looked for")
        said = assertion_text(emission, assertion)
        if len(said) > MAX_TEXT:
            raise ObservationUnavailable(f"the assertion is longer than {MAX_TEXT} characters")
        if self._said + len(said) > MAX_SAID:
            raise ObservationUnavailable(
                f"the emission's looks are about more than {MAX_SAID} characters, {BOUND} of text"
            )
        self._said += len(said)
        text = nfkc(said)
        locator = annotation.locator or {}
        proposal = assertion.proposal
        checks = assertion.checks or (None if proposal is None else proposal.checks)
        question = checks_of_assertion(assertion.kind, checks_of(said, assertion.kind, checks))
        is_below = name in LOCATORS and self._instruments.observer(name) is None
        seconds = self._settings.look_wall if is_below else self._settings.look_timeout
        # Where checks and a path say what is looked at, none of our observers asks for the words.
        is_told = is_below and not question.is_sentence and isinstance(locator.get("path"), str)
        terms = Terms(()) if is_told else terms_of(text, name, locator)
        if terms.exists and assertion.kind == "assertion" and negates(text):
            # The text denies that a place exists: an observer that finds the place must not confirm the text.
            terms = Terms(())
        if len(terms.terms) > MAX_TERMS and question.is_sentence:
            raise ObservationUnavailable(f"the assertion has more than {MAX_TERMS} terms")
        return Ask(
            name,
            assertion.kind,
            text,
            terms,
            locator,
            annotation.declared_id,
            None if annotation.ts is None else parse_time(annotation.ts),
            self._shares.budget(self._settings, seconds),
            parse_time(emission.emitted_at),
            question,
            said,
            bool(self._instruments.judges.of(name)),
            None if proposal is None else Proposed(proposal.by, proposal.whole),
        )

    def _recalled(self, ask: Ask, observer: Observer | None, began: int) -> Finding:
        """The finding on the very same question not long ago, or else what comes of a look now.

        Below the root only the whole question is remembered, never what a file held: reading it again is cheap, and
        what it holds now may be the answer. Beyond it the observers keep states (`Memory`).
        """
        if observer is not None:
            return self._beyond(ask, observer)
        assert self._root_set is not None, "classes below a root are looked at with one"
        site = self._root_set.site(ask)
        memory = self._instruments.answers(ask.substrate_class)
        since = ask.emitted if ask.ts is None else None
        place = (self._root_set.path(site.name), site.name)
        checks = ask.question.derived.checks
        question = (place, ask.kind, ask.said, ask.declared, ask.ts, since, checks, ask.proposed, _encode(ask.locator))
        kept = memory.recall(question)
        if kept is not None:
            finding, spent = kept.value
            ask.budget.spent = spent  # as if it were looked at now, so that what follows comes to the same
            return replace(finding, at=kept.at)
        monotonic = time.monotonic()
        finding = self._below(ask, site)
        if finding.outcome != "unavailable":
            size = 2 * len(ask.text) + 3000 + sum(map(len, checks)) + 2 * len(finding.region or "")
            memory.keep(question, monotonic, size, Kept(began, (finding, ask.budget.spent)))
        return finding

    def _beyond(self, ask: Ask, observer: Observer) -> Finding:
        for member in ("repo", "ref", "commit") if ask.substrate_class not in LOCATORS else ():
            if member in ask.locator:
                raise ObservationUnavailable(f"this class knows no {member}")
        try:
            return observer.observe(ask)
        except ObservationUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 - an operator's own observer, or a defect of ours: one look is lost
            # Without a traceback: its locals may hold what must not get out, such as credentials.
            log.error("an observer failed", substrate_class=ask.substrate_class, error=type(error).__name__)
            raise ObservationUnavailable("the observer failed") from None

    def _below(self, ask: Ask, site: Site) -> Finding:
        try:
            finding = self._dispatch(ask, site)
        except OSError as error:
            raise ObservationUnavailable(f"the root cannot be read: {error.strerror}") from None
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


PREFIX: Final = "substrate."


class Tried(NamedTuple):
    """What came of one check at one place.

    Attributes:
        check: its canonical form.
        substrate_class: who looked.
        place: the root, channel or socket.
        holds: None where it could not be decided.
        reason: why it does not hold, or why nobody could look.
        where: what the observation says of where: path, lines, commit.
        rendered: the check as a sentence, where it holds.
    """

    check: str
    substrate_class: str
    place: str
    holds: bool | None
    reason: str | None
    where: dict[str, Any]
    rendered: str | None

    def form(self) -> dict[str, Any]:
        """As one JSON object."""
        shown = {"check": self.check, "class": self.substrate_class, "place": self.place, "holds": self.holds}
        more = {"reason": self.reason, **self.where, "rendered": self.rendered}
        return shown | {name: value for name, value in more.items() if value is not None}


def read_check(text: str) -> Check:
    """A check of the command line.

    Raises:
        UsageError: it is none; the sentence says what is wrong with it.
    """
    found = Unknown(text, f"more than {MAX_CHECK_LENGTH} characters") if len(text) > MAX_CHECK_LENGTH else None
    found = found or parse_check(text)
    if isinstance(found, Unknown):
        shown = text if len(text) <= 80 else text[:79] + "…"
        raise UsageError(f"the check {shown!r} is malformed: {found.why}", hint="docs/checks.md lists them")
    return found


def read_class(text: str) -> str:
    """A class, with or without `substrate.` before it.

    Raises:
        UsageError: there is none of that name.
    """
    name = text if text.startswith(PREFIX) else PREFIX + text
    if name not in DECIDES:
        known = ", ".join(sorted(one.removeprefix(PREFIX) for one in DECIDES))
        raise UsageError(f"there is no class {text!r}", expected=known)
    return name


def tried(
    check: Check,
    settings: Settings,
    roots: Roots,
    instruments: ObserverRegistry,
    *,
    path: str | None = None,
    classes: Collection[str] = (),
) -> Iterator[Tried]:
    """One check at every place that its classes know.

    Args:
        check: as it was read.
        settings: the bounds of a look.
        roots: the repositories and folders.
        instruments: what looks.
        path: for a check that names none itself.
        classes: the only ones that are wanted; else all that decide it.
    """
    for name in DECIDES:
        if (classes and name not in classes) or not (decides(name, check) or name in classes):
            continue
        if not decides(name, check):
            yield Tried(canonical(check), name, "", None, "this class does not decide that check", {}, None)
            continue
        for place, locator in _places(name, roots, instruments, path):
            if isinstance(locator, str):
                yield Tried(canonical(check), name, place, None, locator, {}, None)
            else:
                yield _tried(check, name, place, locator, settings, roots, instruments)


def _places(
    name: str, roots: Roots, instruments: ObserverRegistry, path: str | None
) -> Iterator[tuple[str, Locator | str]]:
    """Where a class can look without an annotation, or why it cannot."""
    if name in LOCATORS:
        for root in roots.named:
            yield root, {"repo": root} | ({} if path is None else {"path": path})
    elif name == SSE_COUNT:
        yield from ((url, {"url": url}) for url in instruments.access.sse)
    elif name == PEERCRED:
        yield from ((one, {"socket": one}) for one in sorted(instruments.access.sockets))
    elif name == MCP_BRIEF and instruments.access.mcp:
        yield "", "a tool is called with arguments: look at an emission whose locator names them"


def _tried(
    check: Check,
    name: str,
    place: str,
    locator: Locator,
    settings: Settings,
    roots: Roots,
    instruments: ObserverRegistry,
) -> Tried:
    written = canonical(check)
    assertion = Assertion(assertion=written, checks=[written], provenance=[Annotation(name, locator=locator)])
    emission = normalise_emission(Emission("by-hand", format_time(now()), assertions=[assertion]))
    assert not isinstance(emission, Fault), "a check is an assertion like any other"
    (seen,) = look(emission, settings, roots, instruments=instruments, only={name})
    detail = seen.detail or {}
    (found,) = detail.get("checks") or [{"holds": None, "reason": detail.get("reason")}]
    where = {key: found[key] for key in ("path", "lines", "commit") if key in found}
    holds = found["holds"]
    rendered = None
    if holds:
        lines = where.get("lines")
        span = None if lines is None else (lines[0], lines[1])
        rendered = render(check, path=where.get("path"), lines=span, commit=where.get("commit"))
    reason = None if holds else found.get("reason") or detail.get("reason")
    return Tried(written, name, place, holds, reason, where, rendered)


__all__ = ["StoppedError", "cannot_look", "look", "observed", "observed_class", "written"]
