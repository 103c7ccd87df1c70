"""What goes wrong and when, drawn from a seed.

Three tracks run beside one another, so that several things go wrong at once: SIGKILLs of workers, what else befalls
workers, and what befalls brokers.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Final, Literal, NamedTuple

SESSION_SECONDS: Final = 6.0
"""What `lanes_on_kafka.Workers` sets: the least that a broker takes."""

Track = Literal["kills", "workers", "brokers"]


class Kind(NamedTuple):
    """A kind of fault.

    Attributes:
        track: in which it comes.
        what: it is, for people.
        full, short: how often in a full run (`FULL_MINUTES`) and in a short one.
        seconds, short_seconds: how long it lasts there, drawn between these.
        room: seconds from its beginning until the next one of its track, at the least.
    """

    track: Track
    what: str
    full: int
    short: int
    seconds: tuple[float, float]
    short_seconds: tuple[float, float]
    room: float


_PAST_SESSION = (SESSION_SECONDS + 3, SESSION_SECONDS + 8)
_JUST_PAST = (SESSION_SECONDS + 3, SESSION_SECONDS + 3)

KINDS: Mapping[str, Kind] = {
    "kill": Kind("kills", "SIGKILL of a worker", 40, 2, (1, 6), (1, 2), 0),
    "freeze": Kind("workers", "a worker stands still past its session", 4, 1, _PAST_SESSION, _JUST_PAST, 16),
    "network": Kind("workers", "a worker reaches no broker", 4, 1, (12, 30), (10, 10), 22),
    "membership": Kind("workers", "a worker loses its group's coordinator alone", 4, 1, (12, 20), (10, 10), 22),
    "clock": Kind("workers", "a worker's clock steps by an hour", 4, 1, (3, 6), (1, 1), 14),
    "disk": Kind("workers", "a worker's disk is full", 3, 1, (5, 15), (1, 1), 20),
    "snapshot": Kind("workers", "all snapshots of a worker are damaged", 2, 1, (0, 0), (0, 0), 22),
    "leader": Kind("brokers", "SIGKILL of the leader of a ledger under load", 8, 1, (2, 6), (1, 1), 14),
    "take-over": Kind("brokers", "SIGKILL of a ledger's leader while its lane is taken over", 5, 1, (2, 6), (1, 1), 18),
    "frozen-leader": Kind("brokers", "the leader of a ledger stands still and wakes up", 5, 1, (5, 10), (5, 5), 16),
    "frozen-take-over": Kind("brokers", "a worker is killed while a node stands still", 5, 1, (1, 3), (1, 1), 30),
    "follower": Kind("brokers", "SIGKILL of a follower of a ledger", 3, 0, (2, 6), (1, 1), 14),
    "slow-follower": Kind("brokers", "a follower of a ledger runs a fifth of the time", 3, 0, (5, 10), (4, 4), 12),
    "group": Kind("brokers", "SIGKILL of the group's coordinator", 3, 1, (2, 6), (1, 1), 14),
    "transactions": Kind("brokers", "SIGKILL of the coordinator of a lane's transactions", 3, 0, (2, 6), (1, 1), 14),
    "controller": Kind("brokers", "SIGKILL of the quorum's controller", 3, 0, (2, 6), (1, 1), 14),
    "election": Kind("brokers", "the leaders of all that a lane reads and writes move", 16, 1, (0, 0), (0, 0), 4),
    "rolling": Kind("brokers", "all three brokers are started again, in turn", 1, 0, (0, 0), (0, 0), 40),
    "majority": Kind("brokers", "SIGKILL of two brokers of three", 2, 0, (2, 5), (1, 1), 18),
    "all-brokers": Kind("brokers", "SIGKILL of all three brokers", 1, 0, (1, 4), (1, 1), 20),
    "in-sync": Kind("brokers", "too few replicas: the ledgers take nothing", 2, 0, (5, 8), (4, 4), 20),
    "open-transaction": Kind("brokers", "a transaction on observations stays open", 4, 1, (8, 15), (4, 4), 10),
}
FULL_MINUTES = 22.0
SHORT_MINUTES = 1.3


class Fault(NamedTuple):
    """One fault: `at` seconds after the beginning, on the `pick`-th of those it may hit.

    `workers` is how many are to run from then on, never fewer than two; None where that stays.
    """

    at: float
    kind: str
    pick: int
    seconds: float
    workers: int | None


def schedule(seed: int, minutes: float, workers: int, *, short: bool) -> list[Fault]:
    """The faults of a run in order; equal arguments give equal schedules.

    Args:
        seed: any number.
        minutes: how long the load lasts; the number of faults goes with it.
        workers: how many there are at first.
        short: the kinds of a short run, each as short as it can be.
    """
    random = Random(f"faults {seed}")
    length = minutes * 60
    counts = {
        name: kind.short if short else max(1, round(kind.full * minutes / FULL_MINUTES)) for name, kind in KINDS.items()
    }
    kills = counts["kill"]
    found = [_fault(random, length * (n + random.random()) / kills, "kill", workers, short) for n in range(kills)]
    for track in ("workers", "brokers"):
        names = [name for name, count in counts.items() for _ in range(count) if KINDS[name].track == track]
        random.shuffle(names)
        room, at = sum(KINDS[name].room for name in names), 0.0
        for name in names:
            share = length * KINDS[name].room / room
            found.append(_fault(random, at + random.uniform(0, 0.2) * share, name, workers, short))
            at += share
    return sorted(found)


def _fault(random: Random, at: float, kind: str, workers: int, short: bool) -> Fault:
    seconds = random.uniform(*(KINDS[kind].short_seconds if short else KINDS[kind].seconds))
    count = random.choice((workers - 1, workers, workers + 1)) if kind == "kill" and random.random() < 0.4 else None
    return Fault(at, kind, random.randrange(1000), seconds, None if count is None else max(2, count))
