"""Asks a process of its own to parse, and lives through whatever that comes to (observing.md).

The parser of a language may take minutes and gigabytes for a few kilobytes of hostile text, and cannot be stopped from
within. So it runs in a process with bounds (parsing_child.py). Those of time are processor time, which is the same on a
busy machine. One such process serves all threads and is replaced when it ends; it ends when the socket to it does.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import subprocess
import sys
import threading
from typing import Final, NamedTuple

import msgspec

from ..settings.late_logs import late_logger
from .parsing_child import Request, frame

_MAIN: Final = """\
import sys
sys.path += [path for path in sys.argv[2:] if path not in sys.path]
from sluice.topology.observers.parsing_child import main
main(int(sys.argv[1]))
"""
_ENVIRONMENT: Final = ("LD_LIBRARY_PATH", "PATH")
"""All of the environment that the process needs; the rest may hold secrets."""
_FROM_OUTSIDE: Final = (-signal.SIGKILL, -signal.SIGTERM)
MAX_ANSWER: Final = 256_000_000

log = late_logger(__name__)


class Limits(NamedTuple):
    """What one text may take.

    Attributes:
        memory: bytes of address space of the process.
        seconds: of processor time for any text. Ordinary text takes a hundredth of what these two allow.
        seconds_per_megabyte: the same, and more for each megabyte of the text.
        wall: seconds after which a process that does nothing is given up.
    """

    memory: int = 600_000_000
    seconds: float = 3.0
    seconds_per_megabyte: float = 15.0
    wall: float = 300.0


LIMITS: Final = Limits()


class ParsingProcess:
    """A process that parses, shared by threads. It starts with the first request.

    Args:
        limits: what one text may take.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._running: tuple[subprocess.Popen[bytes], socket.socket] | None = None
        self._over = False

    def ask(self, kind: str, name: str, text: bytes) -> bytes | None:
        """What a text comes to, in msgpack.

        Args:
            kind: see `Request`, as the others.
            name: the file's name.
            text: the file's text.

        Returns:
            None where that is beyond a limit. Where the process may have ended for another reason, such as a signal or
            the memory of files before, it is tried once more.
        """
        limits = self._limits
        seconds = limits.seconds + limits.seconds_per_megabyte * len(text) / 1_000_000
        request = frame(msgspec.msgpack.encode(Request(kind, name, text, seconds)))
        status = 0
        with self._lock:
            for _ in range(2):
                fresh = self._running is None
                try:
                    return self._answer(request)
                except OSError:
                    status = self._end()
                    if status == -signal.SIGPROF or (fresh and status not in _FROM_OUTSIDE):
                        break
                except BaseException:
                    self._end()  # its answer would be taken for that of the next request
                    raise
        log.warning("a file took too much to parse", kind=kind, size=len(text), status=status)
        return None

    def start(self) -> None:
        """Starts the process before it is needed: it takes a moment. Nothing waits for it here."""
        with self._lock:
            try:
                self._running = self._running or self._start()
            except OSError:
                pass  # the first request tries again

    def _answer(self, request: bytes) -> bytes:
        running, connection = self._running = self._running or self._start()
        watch = threading.Timer(self._limits.wall, running.kill)
        watch.daemon = True
        watch.start()
        try:
            connection.sendall(request)
            size = int.from_bytes(_read(connection, 4), "big")
            if not 1 <= size <= MAX_ANSWER:
                raise OSError("an answer beyond every bound")
            answer = _read(connection, size)
        finally:
            watch.cancel()
        if answer[0]:
            self._end()
        return answer[1:]

    def _start(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        if self._over:
            raise ConnectionError("this process ends")
        ours, its = socket.socketpair()
        paths = [path for path in sys.path if os.path.isabs(path)]
        with its:
            process = subprocess.Popen(
                [sys.executable, "-I", "-c", _MAIN, str(self._limits.memory), *paths],
                stdin=its.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                cwd="/",
            )
        return process, ours

    def _end(self) -> int:
        """Ends the process, if it runs. Returns its exit status, or the signal that ended it before, below zero."""
        if self._running is None:
            return 0
        (process, connection), self._running = self._running, None
        connection.close()
        try:
            process.wait(1.0)  # an end that is under way, so that its own status is told
        except subprocess.TimeoutExpired:
            process.kill()
        return process.wait()

    def close(self) -> None:
        """Ends the process for good, also while it parses; requests come to nothing from then on."""
        self._over, running = True, self._running
        if running is not None:
            running[0].kill()
            running[0].wait()

    def forget(self) -> None:
        """Leaves the process to the one that started it: called in a process that was forked off."""
        self._lock = threading.Lock()
        if self._running is not None:
            self._running[1].close()
            self._running[0].returncode = 0  # it is no child of this process
            self._running = None


def _read(connection: socket.socket, size: int) -> bytes:
    data = bytearray(size)
    view, done = memoryview(data), 0
    while done < size:
        count = connection.recv_into(view[done:])
        if not count:
            raise ConnectionError("the process ended")
        done += count
    return bytes(data)


_shared: Final[dict[Limits, ParsingProcess]] = {}


def parsing_process(limits: Limits) -> ParsingProcess:
    """The process for these limits: each Python process has one, which ends with it."""
    return _shared.setdefault(limits, ParsingProcess(limits))


def _close() -> None:
    for process in _shared.values():
        process.close()


def _forget() -> None:
    for process in _shared.values():
        process.forget()


atexit.register(_close)
os.register_at_fork(after_in_child=_forget)
