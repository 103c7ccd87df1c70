"""What live adapters share: the thread that records, and the error for a framework that is not installed."""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import packages_distributions
from queue import Empty, SimpleQueue
from typing import Any, Final
from weakref import WeakKeyDictionary, WeakSet

from ...codecs.errors import UsageError, printable
from ..events import Reading
from ..recorder import Recorder


def module_of(name: str, package: str, extra: str) -> Any:
    """A module of this folder that imports its framework.

    Raises:
        UsageError: the framework is not installed; it says so, and which extra brings it.
    """
    try:
        return import_module(f".{name}", __package__)
    except ImportError as error:
        raise missing(package, extra, error) from None


def missing(package: str, extra: str, error: ImportError) -> UsageError:
    """One sentence with the command that installs a framework."""
    ours = next(iter(packages_distributions().get("sluice", ())), "sluice-verdicts")
    return UsageError(f"{package} is not installed ({error.name or error})", hint=f"pip install '{ours}[{extra}]'")


MOST_JOBS: Final = 20_000
"""Things handed over that may wait; what comes beyond is left out and counted."""
MOST_CHARACTERS: Final = 200_000_000
"""Characters of texts and results that may wait."""
IDLE_SECONDS: Final = 5.0
"""After so long without a job the thread ends; the next job starts another one."""
EXIT_SECONDS: Final = 10.0
"""How long the process waits for what is not recorded yet when it ends."""

_log = logging.getLogger("sluice.record")


class Live:
    """Records for one recorder, which nothing else may use from then on. Any thread may call.

    Args:
        reading: the recorder's, which the process's end logs.

    Attributes:
        failures: how much could not be recorded: what raised, what the sink did not take, what found no room.
    """

    def __init__(self, reading: Reading | None = None) -> None:
        self.reading = Reading() if reading is None else reading
        self.failures = 0
        self._jobs: SimpleQueue[tuple[Callable[[], None], int]] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._waiting, self._size, self._full = 0, 0, False
        _all.add(self)

    def do(self, job: Callable[..., None], *given: Any, size: int = 0) -> bool:
        """Hands a job over and returns at once: whether there was room for it.

        Args:
            job: what the recording thread calls. It must not call `flush`.
            given: the job's arguments.
            size: about how many characters it holds.
        """
        try:
            with self._lock:
                if self._waiting >= MOST_JOBS or (self._waiting and self._size + size > MOST_CHARACTERS):
                    self._count()
                    logged, self._full = self._full, True
                else:
                    self._waiting += 1
                    self._size += size
                    self._jobs.put((lambda: job(*given), size))
                    self._start()
                    return True
        except Exception as error:  # noqa: BLE001 - the host program goes on, whatever happens here
            self.failed("what was handed over cannot be recorded", error)
            return False
        if not logged:
            _log.warning("sluice: %d things wait to be recorded; more are left out until there is room", MOST_JOBS)
        return False

    def flush(self, seconds: float = 30.0) -> bool:
        """Waits until everything that was handed over so far is recorded, at most `seconds` (s); whether it was."""
        with self._lock:
            if not self._waiting:
                return True
            if self._thread is threading.current_thread():
                return False
        done = threading.Event()
        return self.do(done.set) and done.wait(seconds)

    def failed(self, what: str, error: BaseException) -> None:
        """Counts a failure and logs it in one sentence, without what strangers wrote."""
        self._count()
        said = str(error) if type(error).__module__.startswith("sluice.") else type(error).__name__
        _log.warning("sluice: %s: %s", what, printable(said))

    def _count(self) -> None:
        self.failures += 1
        self.reading.not_understood += 1

    def tell(self) -> None:
        """Logs what was read; as a warning where something was not understood, or nothing was read."""
        is_wrong = self.reading.is_nothing or self.reading.not_understood
        _log.log(logging.WARNING if is_wrong else logging.INFO, "sluice: %s", self.reading)

    def _start(self) -> None:
        """Starts the thread where it is not there: at first, and in a process that was forked."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="sluice-record", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                job, size = self._jobs.get(timeout=IDLE_SECONDS)
            except Empty:
                with self._lock:
                    if not self._waiting:
                        self._thread = None
                        return
                continue
            try:
                job()
            except Exception as error:  # noqa: BLE001 - the next job is another one's
                self.failed("a part of a run is not recorded, or its emissions wait", error)
            with self._lock:
                self._waiting -= 1
                self._size -= size
                self._full = self._full and self._waiting > MOST_JOBS // 2


_all: WeakSet[Live] = WeakSet()
_known: WeakKeyDictionary[Recorder, Live] = WeakKeyDictionary()
_known_lock = threading.Lock()


def live(recorder: Recorder) -> Live:
    """The thread of a recorder: several adapters may share one recorder."""
    with _known_lock:
        return _known.setdefault(recorder, _known.get(recorder) or Live(recorder.reading))


class LiveRecorder:
    """What records in the thread of its recorder. Any thread may call its methods; they return at once.

    Args:
        recorder: what records; only adapters use it from then on.
    """

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder, self._live = recorder, live(recorder)

    @property
    def failures(self) -> int:
        """How much could not be recorded."""
        return self._live.failures

    def flush(self, seconds: float = 30.0) -> bool:
        """Waits until everything so far is recorded, at most so many seconds; whether it was."""
        return self._live.flush(seconds)


@atexit.register
def _at_exit() -> None:
    for one in list(_all):
        one.flush(EXIT_SECONDS)
        one.tell()
