"""What the seed chooses before a run begins: how large the world is, what it may suffer, and when."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from .network import Weather
from .workload import INPUTS, Sending

LEVELS = (0.01, 0.03, 0.1)
"""How often something goes wrong where it does."""
KINDS = ("crash", "freeze", "strike", "strike", "rebalance", "stop", "clock", "away", "retention", "retention")
"""What may happen: methods of `faults.Faults`."""


class Plan(NamedTuple):
    """What the seed has chosen."""

    lanes: int
    workers: int
    seconds: float
    emissions: int
    weather: Weather
    true_clocks: bool
    static: bool
    snapshots_every: float | None
    checkpoints_every: float | None
    shared_folder: bool
    faults: list[tuple[float, str]]


def elections_of(seed: int, plan: Plan) -> list[tuple[float, str]]:
    """When partitions get other leaders, by dice of their own: in a third of the worlds, and the others stay as they
    were before there were any."""
    random = Random(f"{seed} elections")
    if random.random() > 0.35:
        return []
    return [(random.uniform(0.2, plan.seconds + 4), "elect") for _ in range(random.choice((1, 3, 8, 20)))]


def moves_of(seed: int, plan: Plan) -> list[tuple[float, str]]:
    """When the coordinators move, by dice of their own: in a fifth of the worlds."""
    random = Random(f"{seed} coordinators")
    if random.random() > 0.2:
        return []
    return [(random.uniform(0.2, plan.seconds + 4), "move_coordinators") for _ in range(random.choice((1, 2, 6)))]


def silences_of(seed: int, plan: Plan) -> list[tuple[float, str]]:
    """When a worker loses its group's coordinator, and nothing else, by dice of their own: in a sixth of the worlds."""
    random = Random(f"{seed} silences")
    if random.random() > 0.17:
        return []
    return [(random.uniform(1.0, plan.seconds + 2), "lose_coordinator") for _ in range(random.choice((1, 2, 4)))]


def kills_of(seed: int, plan: Plan) -> list[tuple[float, str]]:
    """When brokers are killed in the midst of something, or restarted in turn, by dice of their own: in a sixth."""
    random = Random(f"{seed} kills")
    if random.random() > 0.17:
        return []
    kinds = random.choice((("depose",), ("depose",), ("roll",), ("depose", "depose", "roll")))
    return [(random.uniform(0.2, plan.seconds + 3), random.choice(kinds)) for _ in range(random.choice((1, 3, 6)))]


def astray_of(seed: int, plan: Plan) -> list[tuple[float, str]]:
    """When a machine's clock goes far astray, by dice of their own: in a sixth of the worlds, which have a fence."""
    random = Random(f"{seed} astray")
    if random.random() > 0.17:
        return []
    return [(random.uniform(0.2, plan.seconds + 4), "set_astray") for _ in range(random.choice((1, 2, 5)))]


def cuts_of(seed: int, plan: Plan) -> list[tuple[float, str]]:
    """When a ledger's last blocks are gone for a while, by dice of their own: in half of the worlds with one worker.

    Of two, one may know nothing of those blocks.
    """
    random = Random(f"{seed} cuts")
    if plan.workers > 1 or random.random() > 0.5:
        return []
    return [(random.uniform(1.0, plan.seconds + 4), "cut") for _ in range(random.choice((1, 2, 4)))]


def hangs_of(seed: int, plan: Plan) -> list[Sending]:
    """Transactions on inputs that stay open for long, by dice of their own: in a fifth of the worlds."""
    random = Random(f"{seed} hangs")
    if random.random() > 0.2:
        return []
    return [
        Sending(
            random.uniform(0.2, plan.seconds),
            random.choice(("emissions", "observations", "observations", "reviews", "sightings")),
            random.randrange(plan.lanes),
            [(b"em-0", b"{", [])],
            (random.choice((12.0, 25.0)), random.random() < 0.6),
        )
        for _ in range(random.choice((1, 1, 3)))
    ]


SIBLINGS = {
    "emissions": "reviews",
    "observations": "emissions",
    "reviews": "emissions",
    "sightings": "citations",
    "citations": "sightings",
}
"""Inputs of lanes that have another one, and that one."""


def last_lost_of(seed: int, plan: Plan) -> str | None:
    """The input of which the very last range gets lost while its lane goes on with another one, by dice of their own:
    one in a sixth of the worlds."""
    random = Random(f"{seed} last range")
    return random.choice(sorted(SIBLINGS)) if random.random() < 0.17 else None


def poisons_of(seed: int, plan: Plan) -> list[Sending] | None:
    """Batches of inputs that cannot be read, by dice of their own: in a sixth of the worlds; None in the others.

    In those, others are damaged on the way to a worker (worker.py).
    """
    random = Random(f"{seed} poisons")
    if random.random() > 0.17:
        return None
    return [
        Sending(
            random.uniform(0.2, plan.seconds),
            random.choice(INPUTS),
            random.randrange(plan.lanes),
            [(None, b"unreadable %d" % place, [])] * random.choice((1, 3)),
            None,
            random.choice(("checksum", "damaged", "too-large")),
        )
        for place in range(random.choice((0, 1, 2, 4)))
    ]


REMADE = ("emissions", "reviews", "attestations", "sightings")
"""Inputs that may be deleted and made again: those to which no lane writes."""


def remakes_of(seed: int, plan: Plan) -> list[tuple[float, str]]:
    """When which input is deleted and made again, by dice of their own: in a seventh of the worlds."""
    random = Random(f"{seed} remakes")
    if random.random() > 0.15:
        return []
    return [(random.uniform(0.5, plan.seconds + 2), topic) for topic in random.sample(REMADE, random.choice((1, 1, 2)))]


def plan_of(random: Random) -> Plan:
    """A world from the dice: small ones mostly, since they find most."""
    weather = Weather(
        **{field: random.choice(LEVELS) if random.random() < 0.4 else 0.0 for field in Weather.__struct_fields__}
    )
    seconds = random.choice((4.0, 8.0, 8.0, 15.0, 25.0))
    kinds = random.sample(KINDS, random.randrange(1, 5))
    faults = [(random.uniform(0.2, seconds + 4), random.choice(kinds)) for _ in range(random.choice((0, 3, 6, 12)))]
    return Plan(
        lanes=random.choice((1, 1, 1, 1, 2, 2, 3)),
        workers=random.choice((1, 2, 2, 3)),
        seconds=seconds,
        emissions=random.choice((1, 2, 3, 6, 12)),
        weather=weather,
        true_clocks="clock" not in kinds and random.random() < 0.7,
        static=random.random() < 0.5,
        snapshots_every=random.choice((None, 0.5, 3.0)),
        checkpoints_every=random.choice((None, 0.2, 0.2, 1.5, 60.0)),
        shared_folder=random.random() < 0.5,
        faults=sorted(faults),
    )
