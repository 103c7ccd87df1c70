"""One check tried by hand: where it holds, by every class that decides it, or why it does not (`sluice look --check`).

The same looks as for an emission, as if one had just been made that declares this check and nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final, NamedTuple

from ...codecs.decode import normalise_emission
from ...codecs.errors import Fault, UsageError
from ...codecs.records import MAX_CHECK_LENGTH, Annotation, Assertion, Emission, Locator
from ...codecs.times import format_time
from ...streams.judging.checks import Check, Unknown, canonical, parse_check
from ...streams.judging.rendering import render
from ..settings.settings import Settings
from .instruments import MCP_BRIEF, PEERCRED, SSE_COUNT, Instruments, now
from .look import look
from .observation_record import LOCATORS
from .place_findings import DECIDES, decides
from .roots import Roots

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
    instruments: Instruments,
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


def _places(name: str, roots: Roots, instruments: Instruments, path: str | None) -> Iterator[tuple[str, Locator | str]]:
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
    instruments: Instruments,
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
