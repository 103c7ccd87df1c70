"""Vets answers while a program waits for them: several at once, each within a budget of time, from threads and loops.

A look cannot be broken off, so each vetting has a thread of its own that ends by itself; who asked waits for it no
longer than the budget. How many look at the same time is bounded, and how many wait.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple

from ...codecs.errors import SluiceError, UsageError
from ...record import ToolCall, ToolMap
from ...streams.policy.policy import Policy
from ..observers.instruments import Instruments
from ..observers.roots import Roots
from ..settings.settings import Settings
from .at_hand import AtHand
from .sources import MAX_ANSWER, folder_of, of_answer, of_events, roots_around
from .vetted_assertions import Verdict
from .vetting import VETTING_POLICY, Vetter

BUDGET_SECONDS: Final = 8.0
LOOKING: Final = 0.8
"""Which part of the budget looks may take: what was looked at is told, and what is late is late alone."""
AT_ONCE: Final = 2
"""Answers that are looked at at the same time."""
MOST_WAITING: Final = 200
"""Answers that are being vetted, or wait for it."""
LATE: Final = "it could not be vetted in time"
FAILED: Final = "it could not be vetted"

Calls = Callable[[], Sequence[ToolCall]]

_log = logging.getLogger("sluice.vet")


class Vetted(NamedTuple):
    """What came of an answer.

    Attributes:
        verdicts: about its statements, in their order.
        failure: why there are none, in half a sentence for whoever gets the answer; empty where it was vetted.
    """

    verdicts: Sequence[Verdict]
    failure: str = ""


class AnswerVetter:
    """Vets answers against the tracked files of a checkout. Any thread and any event loop may call.

    Args:
        root: the checkout; that of the current directory where it is left out.
        policy: decides.
        tools: which call looked where; the defaults where it is left out.
        budget: seconds for one answer.

    Raises:
        UsageError: the budget is none.
        UnreachableError: the root is not there.
    """

    def __init__(
        self,
        root: str | Path | None = None,
        policy: Policy = VETTING_POLICY,
        tools: ToolMap | None = None,
        *,
        budget: float = BUDGET_SECONDS,
    ) -> None:
        if not 0 < budget <= 300:
            raise UsageError("the budget is none", expected="more than 0 and at most 300 seconds", got=str(budget))
        self.budget = budget
        self._settings = Settings(root=roots_around(Path.cwd()) if root is None else str(root))
        self._roots = Roots.of(self._settings.root)
        self._roots.check()
        self._policy, self._tools = policy, ToolMap.default() if tools is None else tools
        self._places = threading.BoundedSemaphore(AT_ONCE)
        self._lock, self._waiting = threading.Lock(), 0

    def vet(self, text: str, calls: Calls = tuple) -> Vetted:
        """Vets an answer; takes as long as the budget at most. Never raises for what it says.

        Args:
            text: Markdown.
            calls: gives those that were made for it; asked in the thread that vets. What the text names is looked up
                whatever they looked at.
        """
        begun = self._begin(text, calls)
        if isinstance(begun, Vetted):
            return begun
        future, over = begun
        try:
            return future.result(self.budget)
        except TimeoutError:
            return self._late(over)

    async def avet(self, text: str, calls: Calls = tuple) -> Vetted:
        """As `vet`; other tasks run meanwhile."""
        begun = self._begin(text, calls)
        if isinstance(begun, Vetted):
            return begun
        future, over = begun
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self.budget)
        except TimeoutError:
            return self._late(over)
        except asyncio.CancelledError:
            over.set()
            raise

    def _late(self, over: threading.Event) -> Vetted:
        over.set()
        _log.warning("sluice: an answer was not vetted within %g s", self.budget)
        return Vetted((), LATE)

    def _begin(self, text: str, calls: Calls) -> tuple[Future[Vetted], threading.Event] | Vetted:
        with self._lock:
            if len(text) > MAX_ANSWER or self._waiting >= MOST_WAITING:
                _log.warning("sluice: an answer was not vetted: it is too long, or too many wait")
                return Vetted((), FAILED)
            self._waiting += 1
        future: Future[Vetted] = Future()
        over, until = threading.Event(), monotonic() + self.budget
        looking = until - (1 - LOOKING) * self.budget

        def work() -> None:
            found = Vetted((), LATE)
            try:
                if self._places.acquire(timeout=max(0.0, until - monotonic())):
                    try:
                        found = Vetted((), LATE) if over.is_set() else self._vetted(text, calls, over, looking)
                    finally:
                        self._places.release()
            except SluiceError as error:
                _log.warning("sluice: an answer was not vetted: %s", error)
                found = Vetted((), FAILED)
            except Exception as error:  # noqa: BLE001 - a defect of ours must not break the program that waits
                _log.warning("sluice: an answer was not vetted: %s", type(error).__name__)
                found = Vetted((), FAILED)
            finally:
                with self._lock:
                    self._waiting -= 1
            if future.set_running_or_notify_cancel():
                future.set_result(found)

        # A daemon's: a look that hangs ends with the process.
        threading.Thread(target=work, name="sluice-vet", daemon=True).start()
        return future, over

    def _vetted(self, text: str, calls: Calls, over: threading.Event, until: float) -> Vetted:
        folder = os.path.realpath(folder_of(self._roots))
        with closing(Instruments(self._settings, on_disk=True)) as instruments:
            made, at_hand = calls(), AtHand(folder, self._settings, instruments, self._policy, until)
            if any(self._tools.looks(call, folder) for call in made):
                source = of_events(
                    made, folder, conversation="answer", message=text, tools=self._tools, at_hand=at_hand
                )
            else:
                source = of_answer(text, at_hand)
            for sentence in source.left_out:
                _log.info("sluice: %s", sentence)
            vetter = Vetter(self._settings, self._roots, instruments, self._policy, stopped=over.is_set, until=until)
            verdicts = [verdict for one in source.emissions for verdict in vetter.vet(one)]
            unseen = sum(one.not_looked_at for one in verdicts)
            if unseen:
                _log.warning("sluice: observers could not look at %d of %d statements", unseen, len(verdicts))
            return Vetted(verdicts)
