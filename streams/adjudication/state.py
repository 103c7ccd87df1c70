"""One lane's state: the windowed table with the rules in force and the clocks.

Wall clock enters only through block headers: `time` runs what expires, `watermark` what waits
for evidence. `ran` counts the milliseconds in which the lane ran, for `max_stall`.
"""

from __future__ import annotations

from ...codecs.blocks import Header
from ...codecs.partition import Partitioner
from ..policy.policy import Policy
from ..policy.privacy import NO_SECRETS, Secrets
from .emission_state import ALONE, COVERAGE, NUMBER_OF, CheckTerms, Terms
from .table import Table

MAX_TIMERS = 200
"""At most so many timers fire in one block; a lane closes empty blocks until none is due. A rule of the fold, so that a
ledger replays: as many take 0.1 s where each is a decision that Python makes."""
TICK = 1000
"""A gap of more than a second between two blocks counts as one second of running (`max_stall`)."""


class State(Table):
    """One lane's state. `fold` is the only writer.

    Args:
        lane: its number.
        lanes: how many lanes there are.
        partitioner, secrets: see below.

    Attributes:
        partitioner: how producers choose a key's partition; the lane checks it.
        secrets: what identifiers are hashed with; of the process, not of the ledger, so in no snapshot.
        terms_number: of the terms of the policy in force.
        left_to_python: how many events of the last block the compiled core, where it is in use, left to Python. About
            the process, not about the lane: in no snapshot, and nothing is decided by it.
    """

    def __init__(self, lane: int, lanes: int, partitioner: Partitioner, secrets: Secrets = NO_SECRETS) -> None:
        super().__init__(lane, lanes)
        self.partitioner: Partitioner = partitioner
        self.secrets = secrets
        self.terms_number = -1
        self.left_to_python = 0
        self._hash = self._next_hash = ""

    @property
    def policy_hash(self) -> str:
        """Hash of the policy that the next block's header names; empty before the first policy."""
        return self._next_hash or self._hash

    @property
    def key_in_force(self) -> str:
        """The id of the key that the next block's header names; empty where it hashes nothing."""
        policy = self.next_policy or self.policy
        return self.secrets.key_for(policy.privacy if policy is not None else None)

    def announce(self, policy: Policy) -> None:
        """Takes a policy document in: it is in force from the next block on."""
        self.next_policy, self._next_hash = policy, policy.hash

    def enforce(self) -> None:
        """Puts an announced policy into force. Lives that are under way keep the bounds that they started with."""
        policy = self.next_policy
        if policy is None:
            return
        self.policy, self.next_policy = policy, None
        self._hash, self._next_hash = self._next_hash, ""
        rules = policy.admissibility
        least = rules.min_observers
        # Where the emitter's own word is evidence no observer is heard, so none is counted (`policy check` warns).
        needed = ALONE if rules.trust == "declared" else (least.internal, least.external)
        terms = Terms(rules.window, rules.horizon, rules.late_horizon, rules.max_validity, needed, _check_terms(policy))
        if terms not in self.terms:
            self.terms.append(terms)
        self.terms_number = self.terms.index(terms)
        self.max_validities.append((self.time, rules.max_validity))

    def advance(self, header: Header) -> None:
        """Moves the clocks to a block's; they never go back, whatever a header says."""
        if self.time:
            self.ran += min(max(0, header.time - self.time), TICK)
        self.time = max(self.time, header.time)
        self.watermark = max(self.watermark, header.watermark)
        running = self.running
        if not running or self.ran - running[-1][0] >= TICK:
            running.append((self.ran, self.time))

    def evidence_mark(self) -> int:
        """The instant up to which all evidence is in: the watermark, or what `max_stall` makes of it (Unix ms).

        What has waited for `max_stall` of running time beyond its horizon is over, whatever the watermark says.
        """
        if self.policy is None:
            return self.watermark
        rules = self.policy.admissibility
        running, longest = self.running, rules.horizon + rules.max_stall
        while len(running) > 1 and self.ran - running[1][0] > longest:
            running.popleft()
        if not running or self.ran - running[0][0] <= longest:
            return self.watermark
        return max(self.watermark, running[0][1] + rules.horizon)


def _check_terms(policy: Policy) -> CheckTerms:
    judging = policy.judging
    least = judging.min_coverage
    return CheckTerms(
        (COVERAGE.index(least.internal), COVERAGE.index(least.external)),
        {name: (k.internal or 0, k.external or 0) for name, k in sorted(policy.admissibility.k_by_check.items())},
        judging.same_bytes,
        judging.same_root,
        [[NUMBER_OF[name] for name in group] for group in judging.groups],
    )


def new_state(lane: int, lanes: int, partitioner: Partitioner = "murmur2", secrets: Secrets = NO_SECRETS) -> State:
    """The state of a lane before its first block. The arguments `lane`, `lanes`, `partitioner` and `secrets` are those
    of `State`."""
    return State(lane, lanes, partitioner, secrets)


def due(state: State, time: int, watermark: int) -> int:
    """How many timers a block would fire, counted up to `MAX_TIMERS + 1`.

    Args:
        state: after the block before.
        time: of the block, Unix ms.
        watermark: of the block, Unix ms.
    """
    most = MAX_TIMERS + 1
    found = state.pending.count_due(max(watermark, state.evidence_mark()), most)
    return found if found == most else min(most, found + state.expiring.count_due(time, most))


def next_due(state: State) -> tuple[int | None, int | None]:
    """The earliest block time, and the earliest watermark, at which something fires (Unix ms, None: nothing waits).

    While something waits for a watermark that does not come, a block a second is due, so that `max_stall` can run.
    """
    pending, expiring = state.pending.next_due(), state.expiring.next_due()
    times = [expiring + 1] if expiring is not None else []
    if pending is not None:
        times.append(max(pending + 1, state.time + TICK))
    return min(times, default=None), None if pending is None else pending + 1


def counters(state: State) -> dict[str, int]:
    """The named fates so far, and what lives now: `lives`, `waiting`."""
    return {**dict(sorted(state.counters.items())), "lives": state.live, "waiting": state.asides}
