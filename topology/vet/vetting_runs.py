"""Vets files turn by turn, in this process or in several, while they are read (docs/vetting.md).

Each process reads all of a transcript, since what was called in a turn counts in later ones, and judges the turns that
it comes to first: so none is idle while another one has turns left. Verdicts are given in the order of the turns,
whichever process judged them. In memory are the open turn, the newest calls of the session, and of each process the
verdicts of one turn, besides those that wait in its pipe (`PIPE`).
"""

from __future__ import annotations

import fcntl
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkContext, ForkProcess
from pathlib import Path
from typing import Any, Final, NamedTuple

from ...codecs.decode import decode_emission
from ...codecs.errors import Fault, SluiceError, UnreachableError, UsageError
from ...record import Problem, Reading, Recorded
from ...record.proposing import FileProposer, Proposer
from ...record.transcripts import Format, open_transcript
from ...streams.policy.policy import Policy
from ..observers.nameable_files import foresee
from ..observers.observer_registry import ObserverRegistry
from ..observers.roots import Roots
from ..settings.settings import Settings
from .at_hand import AtHand
from .sources import STANDARD_INPUT, Turn, folder_of, of_answer, read_answer, turns_of
from .vetted_assertions import Verdict
from .vetting import ProposedChecks, Vetter

MOST_PROCESSES: Final = 4
PIPE: Final = 1 << 20
"""Bytes of verdicts that a process may be ahead of what is taken from it: several turns."""
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
        proposer: asked for the checks of all statements, before the first is vetted; None: nobody is.
    """

    files: Sequence[Named]
    settings: Settings
    policy: Policy
    last: bool = False
    proposer: Proposer | None = None

    @property
    def paths(self) -> list[str]:
        """The files, without standard input."""
        return [named.name for named in self.files if named.name != STANDARD_INPUT]


class Unread(NamedTuple):
    """What could not be read of a file: the line, and one sentence; `nothing_read`: no line of the file was read."""

    name: str
    line: int
    sentence: str
    nothing_read: bool = False


class ReadFile(NamedTuple):
    """What was read of a transcript, at its end; the statements of those turns that this process judged."""

    name: str
    reading: Reading


class Told(NamedTuple):
    """What an agent said in a turn of a transcript, or in an answer, which has no turns.

    Attributes:
        name: of the file.
        turn: its number, from 1; None for an answer.
        emissions: in their order.
        left_out: which of its own annotations are not read, a sentence each.
    """

    name: str
    turn: int | None
    emissions: Sequence[Recorded]
    left_out: Sequence[str] = ()


class Asked(NamedTuple):
    """How many statements go to the proposer, and one sentence on what of its answers cannot be read."""

    number: int
    left_out: str = ""


class Vetted(NamedTuple):
    """A turn or an answer, the verdicts about its statements, in their order, and which of its own annotations are not
    read, a sentence each."""

    name: str
    turn: int | None
    verdicts: Sequence[Verdict]
    left_out: Sequence[str] = ()


Read = Callable[[int], None]
"""Told how many more bytes were read."""
Place = tuple[int, int]
"""A file by its number, and a turn of it by its own, both from 1; an answer is turn 1."""
Share = Callable[[Place], bool]
"""Whether a turn or an answer is this process's to judge. Each process asks of all of them, in their order."""


def _nothing(_: int) -> None:
    pass


def _all(_: Place) -> bool:
    return True


def told(
    job: Job,
    instruments: ObserverRegistry,
    read: Read = _nothing,
    share: Share = _all,
    end: Callable[[], None] = lambda: None,
) -> Iterator[Told | Unread | ReadFile]:
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
            if not text.strip():
                yield Unread(named.name, 1, "The answer is empty.", nothing_read=True)
            if share((place, 1)):
                source = of_answer(text, at_hand, conversation=named.conversation)
                yield Told(named.name, None, source.emissions, source.left_out)
        else:
            events = open_transcript(named.name, named.form, tell=read)
            turns = turns_of(
                events,
                folder,
                conversation=named.conversation,
                chosen=lambda number, file=place: share((file, number)),
                last=job.last,
                at_hand=at_hand,
            )
            for one in turns:
                yield _named(named.name, one)
        end()


def _named(name: str, one: Turn | Problem | Reading) -> Told | Unread | ReadFile:
    match one:
        case Reading():
            return ReadFile(name, one)
        case Problem():
            return Unread(name, one.line, one.sentence, one.nothing_read)
        case Turn():
            return Told(name, one.number, one.emissions, one.left_out)


def vetted(
    job: Job, read: Read = _nothing, share: Share = _all, end: Callable[[], None] = lambda: None
) -> Iterator[Vetted | Unread | ReadFile | Asked]:
    """The verdicts of a job, in this process. Arguments are those of `told`.

    With a proposer all files are read first, and how many statements go to it is told before any does.

    Raises:
        UsageError: a file cannot be opened.
        UnreachableError: the root is not there.
    """
    roots = Roots.of(job.settings.root)
    roots.check()
    with closing(ObserverRegistry(job.settings, vetted=job.paths, on_disk=True)) as instruments:
        if _size(job) >= WORTH_IT:
            foresee(folder_of(roots), job.settings, instruments)
        said, proposed = told(job, instruments, read, share, end), None
        if job.proposer is not None:
            at_hand = AtHand(folder_of(roots), job.settings, instruments, job.policy)
            said, proposed = list(said), ProposedChecks(job.proposer, at_hand)
            yield _asked(said, proposed, job.proposer)
        vetter = Vetter(job.settings, roots, instruments, job.policy, proposed=proposed)
        for one in said:
            if not isinstance(one, Told):
                yield one
                continue
            verdicts = [verdict for recorded in one.emissions for verdict in vetter.vet(recorded)]
            placed = [verdict._replace(file=one.name, turn=one.turn) for verdict in verdicts]
            yield Vetted(one.name, one.turn, placed, one.left_out)


def _asked(said: Sequence[Told | Unread | ReadFile], proposed: ProposedChecks, proposer: Proposer) -> Asked:
    emissions = [decode_emission(made.value) for one in said if isinstance(one, Told) for made in one.emissions]
    number = sum(
        proposed.goes(emission, assertion)
        for emission in emissions
        if not isinstance(emission, Fault)
        for assertion in emission.assertions or ()
    )
    return Asked(number, proposer.left_out if isinstance(proposer, FileProposer) else "")


def processes_for(job: Job, available: int | None = None) -> int:
    """How many processes a job is worth, of `available` processors (else those that this process may use)."""
    if job.last or job.proposer is not None or not all(Path(named.name).is_file() for named in job.files):
        return 1  # a pipe can be read once; a proposer is told of everything at once
    processors = len(os.sched_getaffinity(0)) if available is None else available
    return max(1, min(MOST_PROCESSES, processors)) if _size(job) >= WORTH_IT else 1


def _size(job: Job) -> int:
    """Bytes of the transcripts that are files."""
    paths = [Path(named.name) for named in job.files if not named.is_answer]
    return sum(path.stat().st_size for path in paths if path.is_file())


class Claims:
    """Who judges which turn: whichever process comes to it first. Shared by the processes of one job.

    Each goes through the turns in their order, so that of those up to the last one that was claimed none is left.
    """

    def __init__(self, context: ForkContext) -> None:
        self._file, self._turn = context.RawValue("q", 0), context.RawValue("q", 0)
        self._lock = context.Lock()

    def claim(self, place: Place) -> bool:
        """Whether the turn is the caller's to judge: nobody else was told so."""
        with self._lock:
            if place <= (self._file.value, self._turn.value):
                return False
            self._file.value, self._turn.value = place
            return True


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
            claims = Claims(context)
            for rank in range(self._number):
                ours, theirs = context.Pipe(duplex=False)
                _widen(theirs)
                worker = context.Process(target=_work, args=(self._job, rank, claims, theirs), daemon=True)
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

    def results(self, read: Read = _nothing) -> Iterator[Vetted | Unread | ReadFile | Asked]:
        """The verdicts, turn by turn, and what could not be read; `read` is told how many more bytes were read.

        Raises:
            UsageError: a file cannot be opened.
            UnreachableError: the root is not there, or a process came to its end.
        """
        if not self._ends:
            yield from vetted(self._job, read)
            return
        for _ in self._job.files:
            yield from self._of_file(read)

    def _of_file(self, read: Read) -> Iterator[Vetted | Unread | ReadFile]:
        """What the processes say of the next file, up to its end. Of each one turn is held, until those before it have
        come."""
        held: dict[Connection, Vetted] = {}
        reading = set(self._ends)
        number, last = 1, list[ReadFile]()
        while reading or held:
            # Each process tells its turns in their order: who has told a later one does not judge this one.
            for one in wait(reading - held.keys()) if reading - held.keys() else ():
                assert isinstance(one, Connection), "nothing else is waited for"
                kind, content = _received(one)
                if kind == "read":
                    read(content)
                elif kind == "failed":
                    raise (UnreachableError if content[0] else UsageError)(content[1])
                elif kind == "end":
                    reading.discard(one)
                elif kind == "vetted":
                    held[one] = content
                elif isinstance(content, ReadFile):
                    last.append(content)
                else:
                    yield content
            ready = next((one for one, turn in held.items() if turn.turn in (None, number)), None)
            if ready is not None:
                yield held.pop(ready)
                number += 1
            else:
                assert reading - held.keys() or not held, "every turn is somebody's"
        yield from last


def _received(end: Connection) -> tuple[str, Any]:
    try:
        return end.recv()
    except (EOFError, OSError):
        hint = "is there memory enough? --last judges less"
        raise UnreachableError("a process that judges came to its end", hint=hint) from None


def _widen(end: Connection) -> None:
    """Makes a pipe as wide as `PIPE`, so that a process can go on while the turn before its own is judged."""
    with suppress(OSError):  # more than this user may have; then it is as wide as any other
        fcntl.fcntl(end.fileno(), fcntl.F_SETPIPE_SZ, PIPE)


def _work(job: Job, rank: int, claims: Claims, to: Connection) -> None:
    unread = 0

    def read(size: int) -> None:
        nonlocal unread
        unread += size
        if unread > WORTH_IT // 4:
            to.send(("read", unread))
            unread = 0

    try:
        for one in vetted(job, read if rank == 0 else _nothing, claims.claim, lambda: to.send(("end", None))):
            if isinstance(one, Vetted):
                to.send(("vetted", one))
            elif rank == 0:  # each reads the same, and one tells of it
                to.send(("unread", one))
    except SluiceError as error:
        to.send(("failed", (isinstance(error, UnreachableError), str(error))))
    except (KeyboardInterrupt, BrokenPipeError):
        pass
    to.close()
