"""substrate.do.sse-count: how many subscribe to a channel of server-sent events, as the channel reports it [S §4].

The observation id is `sse:` and the count: what the channel reports, less our own subscription where the operator says
that the report counts it (`own_subscription`). So looking does not change what is seen. Of the checks
`count(subscribers, …)` is decided here. A number within the locator's `tolerance`, as far as the operator allows one,
is not refuted; it is not verified either, since a check says what it says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from ...codecs.records import Locator
from ...streams.judging.checks import Check, Held, Unknown, opposite
from ...streams.judging.facts import verify_subscribers
from ...streams.judging.terms import Content, presence
from .ask import OTHER, UNKNOWN, Ask, CannotLook, Finding, answer, decides
from .background import Background, TooSlow
from .file_contents import APART
from .kept_looks import Rest
from .operator_list import SseChannel

if TYPE_CHECKING:
    from .sse_channel import Report

CLASS: Final = "substrate.do.sse-count"


class SseCount:
    """The observer of all listed channels.

    Args:
        channels: as the operator lists them, by URL.
        fresh: seconds for which a report holds: a tenth of W.
        size: bytes that a channel may send in that time.
        connect: seconds to connect.
        background: where the subscriptions live.
        clock: the present time in Unix milliseconds.
    """

    def __init__(
        self,
        channels: Mapping[str, SseChannel],
        *,
        fresh: float,
        size: int,
        connect: float,
        background: Background,
        clock: Callable[[], int],
    ) -> None:
        from .sse_channel import Channel  # brings aiohttp, which only who lists channels needs

        self._listed, self._background, self._rest = channels, background, Rest()
        self._channels = {
            url: Channel(listed, fresh=fresh, size=size, connect=connect, clock=clock)
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
        """Holds the count against the checks.

        Raises:
            CannotLook: the channel reports none in time.
        """
        url = str(ask.locator["url"])
        self._rest.check(url)
        try:
            report = self._background.run(self._channels[url].report, ask.budget)
        except TooSlow as slow:
            self._rest.failed(url, str(slow))  # of what fails at once the channel itself takes care
            raise
        self._rest.worked(url)
        return judge_count(ask, report, self._listed[url])

    def close(self) -> None:
        """The subscriptions end with the background."""


def judge_count(ask: Ask, report: Report, listed: SseChannel) -> Finding:
    """The finding on a count that was reported."""
    helds = [_held(check, report, _allowed(ask.locator, report, listed)) for check in ask.question.checks]
    words = None
    if ask.question.is_sentence:
        region = APART.join((listed.url, f"{report.subscribers} subscribers"))
        words = presence(ask.terms.terms, Content(region))
    return answer(ask, helds, f"sse:{report.subscribers}", words=words, scope="channel", at=report.at)


def _held(check: Check | Unknown, report: Report, allowed: float) -> Held:
    if isinstance(check, Unknown):
        return UNKNOWN
    if not decides(CLASS, check):
        return OTHER
    held = verify_subscribers(check, report.subscribers)
    held = opposite(held) if check.negated else held
    number = check.value("number")
    if held.holds is not False or not allowed or not isinstance(number, int | Decimal):
        return held
    return Held(None, "not-found") if abs(number - report.subscribers) <= allowed else held


def _allowed(locator: Locator, report: Report, listed: SseChannel) -> float:
    """How far a number may be off without being refuted: what the locator asks for, within what the operator allows."""
    most = -(-report.subscribers // 10) if listed.max_tolerance is None else listed.max_tolerance
    return min(_tolerance(locator) or 0, most)


def _tolerance(locator: Locator) -> float | int | None:
    value = locator.get("tolerance")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value <= 2**53 else None
