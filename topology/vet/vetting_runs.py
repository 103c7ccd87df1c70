"""Vets files turn by turn, in this process or in several, while they are read (docs/vetting.md).

Each process reads all of a transcript, since what was called in a turn counts in later ones, and judges its own share
of the turns. Verdicts are given in the order of the turns, whichever process judged them. In memory are the open turn,
the newest calls of the session, and the verdicts of one turn.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any, Final, NamedTuple

from ...codecs.errors import SluiceError, UnreachableError, UsageError
from ...record import Problem, Recorded
from ...record.transcripts import Format, open_transcript
from ...streams.policy.policy import Policy
from ..observers.instruments import Instruments
from ..observers.nameable_files import foresee
from ..observers.roots import Roots
from ..settings.settings import Settings
from .at_hand import AtHand
from .sources import STANDARD_INPUT, Turn, folder_of, of_answer, read_answer, turns_of
from .vetted_assertions import Verdict
from .vetting import Vetter

MOST_PROCESSES: Final = 4
WORTH_IT: Final = 400_000
"""Bytes of transcripts from which on several processes are begun: one takes a fifth of a second to begin."""


class Named(NamedTuple):
    """A file that is vetted.

    Attributes:
        name: as it was given; `-` is standard input.
        form: the format of the transcript; None where it is found when it is opened.
        is_answer: it is no transcript, but a plain answer.
    """

    name: str
    form: Format | None = None
    is_answer: bool = False

    @property
    def conversation(self) -> str:
        """The name that its emissions have."""
        return "stdin" if self.name == STANDARD_INPUT else Path(self.name).stem or "session"


class Job(NamedTuple):
    """What is to be vetted.

    Attributes:
        files: in their order.
        settings: of the observers, and the roots.
        policy: decides.
        last: of a transcript the last turn that says something, and no other.
    """

    files: Sequence[Named]
    settings: Settings
    policy: Policy
    last: bool = False


class Unread(NamedTuple):
    """What could not be read of a file: the line, and one sentence."""

    name: str
    line: int
    sentence: str


class Told(NamedTuple):
    """What an agent said in a turn of a transcript, or in an answer, which has no turns.

    Attributes:
        name: of the file.
        turn: its number, from 1; None for an answer.
        emissions: in their order.
    """

    name: str
    turn: int | None
    emissions: Sequence[Recorded]


class Vetted(NamedTuple):
    """A turn or an answer, and the verdicts about its statements, in their order."""

    name: str
    turn: int | None
    verdicts: Sequence[Verdict]


Read = Callable[[int], None]
"""Told how many more bytes were read."""
Share = Callable[[int], bool]
"""Whether a turn, by its number, or an answer, by that of its file, is this process's to judge."""


def _nothing(_: int) -> None:
    pass


def _all(_: int) -> bool:
    return True


def told(
    job: Job,
    instruments: Instruments,
    read: Read = _nothing,
    share: Share = _all,
    end: Callable[[], None] = lambda: None,
) -> Iterator[Told | Unread]:
    """The emissions of the files, and what cannot be read of them, as it is read.

    Args:
        job: the files.
        instruments: what the observers look with.
        read: told of progress.
        share: what of it is wanted.
        end: called behind each file.

    Raises:
        UsageError: a file cannot be opened.
    """
    folder = folder_of(Roots.of(job.settings.root))
    at_hand = AtHand(folder, job.settings, instruments, job.policy)
    for place, named in enumerate(job.files, 1):
        if named.is_answer:
            text = read_answer(named.name)
            if share(place):
                source = of_answer(text, at_hand, conversation=named.conversation)
                yield Told(named.name, None, source.emissions)
        else:
            events = open_transcript(named.name, named.form, tell=read)
            turns = turns_of(
                events, folder, conversation=named.conversation, chosen=share, last=job.last, at_hand=at_hand
            )
            for one in turns:
                yield _named(named.name, one)
        end()


def _named(name: str, one: Turn | Problem) -> Told | Unread:
    if isinstance(one, Problem):
        return Unread(name, one.line, one.sentence)
    return Told(name, one.number, one.emissions)


def vetted(
    job: Job, read: Read = _nothing, share: Share = _all, end: Callable[[], None] = lambda: None
) -> Iterator[Vetted | Unread]:
    """The verdicts of a job, in this process. Arguments are those of `told`.

    Raises:
        UsageError: a file cannot be opened.
        UnreachableError: the root is not there.
    """
    roots = Roots.of(job.settings.root)
    roots.check()
    with closing(Instruments(job.settings)) as instruments:
        if _size(job) >= WORTH_IT:
            foresee(folder_of(roots), job.settings, instruments)
        vetter = Vetter(job.settings, roots, instruments, job.policy)
        for one in told(job, instruments, read, share, end):
            if isinstance(one, Unread):
                yield one
                continue
            verdicts = [verdict for recorded in one.emissions for verdict in vetter.vet(recorded)]
            placed = [verdict._replace(file=one.name, turn=one.turn) for verdict in verdicts]
            yield Vetted(one.name, one.turn, placed)


def processes_for(job: Job, available: int | None = None) -> int:
    """How many processes a job is worth.

    Args:
        job: what is to be vetted.
        available: processors; those that this process may use, where it is left out.
    """
    if job.last or not all(Path(named.name).is_file() for named in job.files):
        return 1  # a pipe can be read once
    processors = len(os.sched_getaffinity(0)) if available is None else available
    return max(1, min(MOST_PROCESSES, processors)) if _size(job) >= WORTH_IT else 1


def _size(job: Job) -> int:
    """Bytes of the transcripts that are files."""
    paths = [Path(named.name) for named in job.files if not named.is_answer]
    return sum(path.stat().st_size for path in paths if path.is_file())


class Running:
    """A job under way, in several processes or in this one. A context manager: what it began ends with it.

    Args:
        job: what is to be vetted.
        processes: how many judge it.

    Attributes:
        workers: the processes, where it is not this one.
    """

    def __init__(self, job: Job, processes: int = 1) -> None:
        self._job, self._number = job, processes
        self.workers: list[ForkProcess] = []
        self._ends: list[Connection] = []

    def __enter__(self) -> Running:
        if self._number > 1:
            context = multiprocessing.get_context("fork")
            for rank in range(self._number):
                ours, theirs = context.Pipe(duplex=False)
                worker = context.Process(target=_work, args=(self._job, rank, self._number, theirs), daemon=True)
                worker.start()
                theirs.close()
                self.workers.append(worker)
                self._ends.append(ours)
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.terminate()
        for worker in self.workers:
            worker.join()
        for one in self._ends:
            one.close()

    def results(self, read: Read = _nothing) -> Iterator[Vetted | Unread]:
        """The verdicts, turn by turn, and what could not be read.

        Args:
            read: told how many more bytes were read.

        Raises:
            UsageError: a file cannot be opened.
            UnreachableError: the root is not there, or a process came to its end.
        """
        if not self._ends:
            yield from vetted(self._job, read)
            return
        for place, named in enumerate(self._job.files, 1):
            if named.is_answer:
                yield from self._from(place % self._number, read)
                yield from self._ends_of(range(self._number), read)
                continue
            number, ended = 1, False
            while not ended:
                ended = yield from self._from(number % self._number, read)
                number += 1
            others = [rank for rank in range(self._number) if rank != (number - 1) % self._number]
            yield from self._ends_of(others, read)

    def _from(self, rank: int, read: Read) -> Iterator[Vetted | Unread]:
        """What a process says up to its next turn, or the file's end; returns whether it was that."""
        while True:
            kind, content = self._received(rank)
            if kind == "read":
                read(content)
            elif kind == "failed":
                raise (UnreachableError if content[0] else UsageError)(content[1])
            elif kind == "end":
                return True
            else:
                yield content
                if kind == "vetted":
                    return False

    def _received(self, rank: int) -> tuple[str, Any]:
        try:
            return self._ends[rank].recv()
        except (EOFError, OSError):
            raise UnreachableError(
                "a process that judges came to its end", hint="is there memory enough? --last judges less"
            ) from None

    def _ends_of(self, ranks: Iterable[int], read: Read) -> Iterator[Vetted | Unread]:
        """What these processes say up to the file's end: no turn any more."""
        for rank in ranks:
            ended = yield from self._from(rank, read)
            assert ended, "no process has a turn behind the last one"


def _work(job: Job, rank: int, number: int, to: Connection) -> None:
    """One of the processes."""
    unread = 0

    def read(size: int) -> None:
        nonlocal unread
        unread += size
        if unread > WORTH_IT // 4:
            to.send(("read", unread))
            unread = 0

    try:
        share: Share = lambda one: one % number == rank  # noqa: E731
        for one in vetted(job, read if rank == 0 else _nothing, share, lambda: to.send(("end", None))):
            if isinstance(one, Vetted):
                to.send(("vetted", one))
            elif rank == 0:  # each reads the same, and one tells of it
                to.send(("unread", one))
    except SluiceError as error:
        to.send(("failed", (isinstance(error, UnreachableError), str(error))))
    except (KeyboardInterrupt, BrokenPipeError):
        pass
    to.close()
