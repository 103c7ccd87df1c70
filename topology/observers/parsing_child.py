"""The process that parses sources and documents for parsing.py, so that no text harms the one that looks.

It reads requests from its standard input and writes answers to the same socket, until that ends. It is bounded in
memory by the kernel, and in processor time by a signal for each request; what goes beyond ends it. It imports the
judging core only, and that when it is first needed: its start is part of what a short command takes.
"""

from __future__ import annotations

import os
import resource
import signal
from typing import Any, Final, NamedTuple

import msgspec

MOST_PARSES: Final = 2_000
MOST_PEAK: Final = 400_000
"""Kilobytes of memory at the peak. A process that has had more, or has parsed more often, ends after its answer."""


class Request(NamedTuple):
    """A text to parse.

    Attributes:
        kind: `code` or `document`.
        name: the file's name, which tells the language.
        text: the file's text in UTF-8; lone surrogates are kept.
        seconds: of processor time that it may take.
    """

    kind: str
    name: str
    text: bytes
    seconds: float


def frame(data: bytes) -> bytes:
    """Bytes with their length before them."""
    return len(data).to_bytes(4, "big") + data


def _peak() -> int:
    """The most memory that this process has had, in kilobytes.

    `ru_maxrss` would begin with the memory of the process that started this one.
    """
    try:
        with open("/proc/self/status", "rb") as status:
            return next(int(line.split()[1]) for line in status if line.startswith(b"VmHWM:"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main(memory: int) -> None:
    """Answers requests until there are no more.

    Args:
        memory: bytes of address space that this process may have.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the process that asks
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends this process
    allowed = resource.getrlimit(resource.RLIMIT_AS)[1]
    memory = memory if allowed == resource.RLIM_INFINITY else min(memory, allowed)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warm: set[tuple[str, str]] = set()
    decoder = msgspec.msgpack.Decoder(Request)
    with open(0, "rb", closefd=False) as requests, open(os.dup(0), "wb") as answers:
        for number in range(1, MOST_PARSES + 1):
            data = requests.read(int.from_bytes(requests.read(4), "big"))
            if not data:
                return
            request = decoder.decode(data)
            language = request.kind, request.name.rpartition(".")[2]
            if language not in warm:  # no file pays for what is loaded once
                warm.add(language)
                _parsed(request._replace(text=b""))
            signal.setitimer(signal.ITIMER_PROF, request.seconds)
            answer = msgspec.msgpack.encode(_parsed(request))
            signal.setitimer(signal.ITIMER_PROF, 0)
            last = number == MOST_PARSES or _peak() > MOST_PEAK
            answers.write(frame(bytes([last]) + answer))
            answers.flush()
            if last:
                return


def _parsed(request: Request) -> Any:
    from ...streams.judging.checks import Source

    source = Source(request.name, request.text.decode("utf-8", "surrogatepass"))
    if request.kind == "code":
        from ...streams.judging.verify import parse_code

        return parse_code(source)
    from ...streams.judging.documents import parse_document

    return parse_document(source)
