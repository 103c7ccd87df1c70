"""The pure fold: CPU time of unsealing a block, folding it and rooting its outputs, an input, in one process.

`.venv/bin/python benchmarks/fold.py [--emissions N] [--runs N] [--verdicts WHAT] [--json] [--profile FILE]`. What an
audit does for each block, and a lane but for the transport. The inputs are those of `throughput.py`
(`workload.py`). Blocks are made once; each run folds them from a new state, and the best run counts, since the machine
may be doing something else besides.

Two workloads. `live`: nothing expires, as while a worker catches up. `whole-life`: time goes on until every assertion
has had its last word and every memory has ended, as in the audit of a long ledger. `sha256` tells whether two
versions of the code gave the same outputs and the same state.

`calls` tells how often the compiled core called Python back, an input: `left` for events that it left to Python, and
each function that it is given (`streams/adjudication/compiled.py`). They are counted in a run of their own.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, get_args

sys.path.insert(0, str(Path(__file__).parent))
from workload import records

from sluice.codecs.blocks import GENESIS, Event, EventKind, Header, Source, outputs_root, seal, unseal
from sluice.codecs.partition import PARTITIONERS
from sluice.codecs.times import format_time
from sluice.streams.adjudication import compiled, snapshot
from sluice.streams.adjudication import fold as core
from sluice.streams.policy.policy import Policy, PublishedVerdicts

T = 1_790_000_000_000
MINUTE, DAY = 60_000, 86_400_000
FRAME = 250
"""So many emissions come, then their observations: a lane reads its inputs in turn, a fetch at a time."""
LANES = 4
BLOCK = 2000
"""Inputs of a block, about what a lane takes under load."""


def events(emissions: int, early: bool) -> Iterator[Event]:
    """All inputs in the order in which a lane takes them; `early`: evidence comes before its emission."""
    now, offsets = format_time(T), [0, 0, 0]
    place = PARTITIONERS["murmur2"]
    numbers = [number for number in range(emissions * LANES * 2) if place(b"em-%d" % number, LANES) == 0][:emissions]
    for first in range(0, emissions, FRAME):
        frames: list[list[tuple[bytes, bytes]]] = [[], []]
        for number in numbers[first : first + FRAME]:
            for topic, key, value in records(number, now):
                frames[core.INPUTS.index(topic)].append((key, value))
        for source in (1, 0) if early else (0, 1):
            for key, value in frames[source]:
                yield Event(EventKind.RECORD, source, offsets[source], T, [], key, value)
                offsets[source] += 1


class Ledger:
    """Sealed blocks, linked; made with the state that they are folded into, so that each names its predecessor's root.

    Attributes:
        blocks: the bytes of each, as they stand in the ledger.
    """

    def __init__(self, policy: Policy) -> None:
        self._state, self._prev, self._root = core.new_state(0, LANES), GENESIS, outputs_root([])
        self.blocks: list[bytes] = []
        self.add(T, [Event(EventKind.POLICY, 0, 0, T, [], None, policy.document)])

    def add(self, at: int, some: list[Event]) -> None:
        """Seals and folds one more block."""
        header = Header(
            lane=0,
            lanes=LANES,
            height=len(self.blocks),
            prev=self._prev,
            time=at,
            watermark=at,
            policy=self._state.policy_hash,
            fold=core.fold_version(),
            sources=[Source(topic, 0, 0) for topic in core.INPUTS],
            outputs=self._root,
        )
        block, raw = seal(header, some)
        self._root, self._prev = outputs_root(core.fold(self._state, block)), block.hash
        self.blocks.append(raw)

    def drain(self, at: int) -> None:
        """Empty blocks until nothing waits any more."""
        while core.due(self._state, at, at):
            self.add(at, [])


def make(emissions: int, *, early: bool, to_the_end: bool, told: PublishedVerdicts = "settled") -> list[bytes]:
    """The ledger of a workload; `told`: what its policy has told on `verdicts`."""
    ledger, some, at = Ledger(Policy(verdicts=told)), list[Event](), T
    for event in events(emissions, early):
        some.append(event)
        if len(some) == BLOCK:
            at += 20
            ledger.add(at, some)
            some = []
    ledger.add(at + 20, some)
    for later in (11 * MINUTE, 61 * MINUTE, DAY + MINUTE, 2 * DAY, 3 * DAY) if to_the_end else ():
        ledger.drain(T + later)
    return ledger.blocks


def run(blocks: list[bytes]) -> dict[str, float]:
    """CPU seconds of each part over all blocks, from a new state."""
    clock, state = time.process_time, core.new_state(0, LANES)
    spent = {"unseal": 0.0, "fold": 0.0, "root": 0.0}
    for raw in blocks:
        began = clock()
        block = unseal(raw, in_place=True)
        unsealed = clock()
        outputs = core.fold(state, block)
        folded = clock()
        outputs_root(outputs)
        rooted = clock()
        spent["unseal"] += unsealed - began
        spent["fold"] += folded - unsealed
        spent["root"] += rooted - folded
    return spent


def calls(blocks: list[bytes], inputs: int) -> dict[str, float]:
    """How often the compiled core called Python back over all blocks, an input, by what it asked for."""
    found, state, functions = Counter[str](), core.new_state(0, LANES), compiled._functions

    def counting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: Any) -> Any:
            found[name] += 1
            return function(*given)

        return counted

    def counted_functions(*given: Any) -> Any:
        made = functions(*given)
        return made._replace(**{name: counting(name, one) for name, one in made._asdict().items()})

    compiled._functions = counted_functions
    try:
        for raw in blocks:
            core.fold(state, unseal(raw, in_place=True))
            found["left"] += state.left_to_python
    finally:
        compiled._functions = functions
    return {name: round(number / inputs, 3) for name, number in found.most_common() if number}


def digest(blocks: list[bytes]) -> str:
    """Over every output and the snapshot of the state after all blocks."""
    state, found = core.new_state(0, LANES), sha256()
    for raw in blocks:
        found.update(outputs_root(core.fold(state, unseal(raw, in_place=True))).encode())
    for chunk in snapshot.dump(state):
        found.update(chunk)
    return found.hexdigest()


def measure(blocks: list[bytes], inputs: int, runs: int) -> dict[str, Any]:
    """The least of each part's times over the runs, in microseconds an input."""
    found = [run(blocks) for _ in range(runs)]
    least = {part: min(one[part] for one in found) * 1e6 / inputs for part in found[0]}
    return {
        "inputs": inputs,
        **{f"{part}_us": round(spent, 2) for part, spent in least.items()},
        "all_us": round(min(sum(one.values()) for one in found) * 1e6 / inputs, 2),
        "calls": calls(blocks, inputs),
        "sha256": digest(blocks),
    }


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--emissions", type=int, default=7_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--early", action="store_true", help="evidence comes before its emission")
    parser.add_argument(
        "--collect", action="store_true", help="leave the cyclic collector on; a worker switches it off"
    )
    parser.add_argument("--profile", metavar="FILE", help="one run of `live` under cProfile; writes its figures there")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--verdicts", choices=get_args(PublishedVerdicts), default="settled", help="the policy's key")
    arguments = parser.parse_args()
    if not arguments.collect:
        gc.disable()
    inputs = sum(1 for _ in events(arguments.emissions, arguments.early))
    if arguments.profile:
        blocks = make(arguments.emissions, early=arguments.early, to_the_end=False, told=arguments.verdicts)
        profile = cProfile.Profile()
        profile.runcall(run, blocks)
        profile.dump_stats(arguments.profile)
        return
    results = {
        name: measure(
            make(arguments.emissions, early=arguments.early, to_the_end=whole, told=arguments.verdicts),
            inputs,
            arguments.runs,
        )
        for name, whole in (("live", False), ("whole-life", True))
    }
    if arguments.json:
        print(json.dumps(results))
        return
    for name, result in results.items():
        print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in result.items()))


if __name__ == "__main__":
    sys.exit(main())
