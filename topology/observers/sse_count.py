"""substrate.do.sse-count: how many subscribe to a channel of server-sent events, as the channel reports it [S §4].

The observation id is `sse:` and the count: what the channel reports, less our own subscription where the operator says
that the report counts it (`own_subscription`). So looking does not change what is seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from ...codecs.records import Locator
from ...codecs.unicode_text import nfkc
from ...streams.counts import relation_before, without_relations
from ...streams.literals import literals
from ...streams.moments import negates
from ...streams.terms import Content, Presence, Term
from .access import SseChannel
from .ask import Ask, CannotLook, Finding
from .background import Background, TooSlow
from .keeping import Rest
from .sse_channel import Channel, Report

_DIGITS: Final = re.compile(r"[+]?(\d[\d,_]*(?:\.\d+)?)(?![\d.])")


class Claim(NamedTuple):
    """The one number that a text names, and how it stands to it: equal, at least, at most, more or less than it."""

    number: float
    relation: str
    text: str

    def distance(self, count: int) -> float:
        """How far the count is from being as claimed; 0 where it is so."""
        match self.relation:
            case "least":
                return max(0, self.number - count)
            case "most":
                return max(0, count - self.number)
            case "more":
                return max(0, self.number + 1 - count)
            case "less":
                return max(0, count - self.number + 1)
            case _:
                return abs(count - self.number)


class SseCount:
    """The observer of all listed channels.

    Args:
        channels: as the operator lists them, by URL.
        fresh: seconds for which a report holds: a tenth of W.
        octets: what a channel may send in that time.
        connect: seconds to connect.
        background: where the subscriptions live.
        clock: the present time in Unix milliseconds.
    """

    def __init__(
        self,
        channels: Mapping[str, SseChannel],
        *,
        fresh: float,
        octets: int,
        connect: float,
        background: Background,
        clock: Callable[[], int],
    ) -> None:
        self._listed, self._background, self._rest = channels, background, Rest()
        self._channels = {
            url: Channel(listed, fresh=fresh, octets=octets, connect=connect, clock=clock)
            for url, listed in channels.items()
        }

    def start(self) -> None:
        """Subscribes to every channel, so that a look finds the count there."""
        for channel in self._channels.values():
            self._background.start(channel.begin)

    def admit(self, locator: Locator) -> Locator:
        """Raises:
        CannotLook: no URL is named, or one that is not on the operator's list.
        """
        url = locator.get("url")
        if not isinstance(url, str) or url not in self._listed:
            raise CannotLook("the channel is not on the operator's list" if url else "the locator names no url")
        tolerance = _tolerance(locator)
        return {"url": url} if tolerance is None else {"url": url, "tolerance": tolerance}

    def observe(self, ask: Ask) -> Finding:
        """Compares the assertion's one number with the count.

        Raises:
            CannotLook: the assertion names no single number, or the channel reports none in time.
        """
        url = str(ask.locator["url"])
        claim = claim_of(ask.text, url)
        if not ask.denies and negates(without_relations(ask.text)):
            raise CannotLook("the number is negated; only a denial is turned round")
        self._rest.check(url)
        try:
            report = self._background.run(self._channels[url].report, ask.budget)
        except TooSlow as slow:
            self._rest.failed(url, str(slow))  # of what fails at once the channel itself takes care
            raise
        self._rest.worked(url)
        return judge_count(ask, claim, report, self._listed[url])

    def close(self) -> None:
        """The subscriptions end with the background."""


def claim_of(text: str, url: str) -> Claim:
    """The one number in a text, digits only; what stands in the URL or is a date, a version, a time is none.

    Raises:
        CannotLook: there is none, or more than one.
    """
    text = nfkc(text).replace(url, " ")
    found = [one for one in literals(text) if one.form == "number"]
    if len(found) != 1:
        raise CannotLook(f"the assertion names {len(found) or 'no'} number{'s' if found else ''}, not one")
    digits = _DIGITS.match(found[0].text)
    if digits is None:
        raise CannotLook("the assertion's number is none that counts")
    relation = relation_before(text[: found[0].start]) or "equal"
    return Claim(float(digits[1].replace(",", "").replace("_", "")), relation, found[0].text)


def judge_count(ask: Ask, claim: Claim, report: Report, listed: SseChannel) -> Finding:
    """The verdict on a count that was reported.

    Within the locator's `tolerance` a number is not contradicted; borne out it is only within what the operator allows,
    since the emitter chooses the locator. What else the assertion says, a count cannot show.
    """
    seen = f"sse:{report.subscribers}"
    asked = _tolerance(ask.locator) or 0
    allowed = -(-report.subscribers // 10) if listed.max_tolerance is None else listed.max_tolerance
    distance = claim.distance(report.subscribers)
    others = other_terms(ask, claim, listed.url)
    if ask.denies:
        near, right = distance <= asked, distance == 0
        found, missing = ((claim.text,), others) if near else ((), (claim.text, *others))
        outcome = "absent" if others or (near and not right) else "contradicts" if right else "corroborates"
        return Finding(outcome, seen, Presence(found, missing), at=report.at)
    if distance > asked:
        return Finding("contradicts", seen, Presence((), (claim.text, *others)), at=report.at)
    held = Presence((claim.text,), others)
    if distance > min(asked, allowed):
        reason = "the number is within the locator's tolerance, but not within the operator's"
        return Finding("absent", seen, Presence((), (claim.text, *others)), reason, report.at)
    return Finding("absent" if others else "corroborates", seen, held, at=report.at)


def other_terms(ask: Ask, claim: Claim, url: str) -> tuple[str, ...]:
    """What the assertion says beside its number and the channel."""
    place = Content(url)

    def names_place(term: Term) -> bool:
        return term.kind == "word" or term.text.rstrip("/") in url or place.holds(term)

    return tuple(term.text for term in ask.terms.terms if term.text != claim.text and not names_place(term))


def _tolerance(locator: Locator) -> float | int | None:
    value = locator.get("tolerance")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value <= 2**53 else None
