"""The folds that a worker's lanes run, one lane group each.

Each is a thin face over pure functions of `streams/`, in the form that lanes take (`interfaces.Fold`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from typing import Any, Final

from ...codecs.blocks import Event, Header, unseal
from ...codecs.errors import UsageError
from ...codecs.partition import PARTITIONERS, Partitioner
from ...streams.adjudication import fold as core
from ...streams.adjudication import outputs, snapshot
from ...streams.adjudication.versions import FOLD_VERSIONS, next_number, number_of
from ...streams.attestations import framing, framing_state
from ...streams.policy import adoption_rule
from ...streams.policy.policy import Policy
from ...streams.policy.privacy import NO_SECRETS, Secrets, without_key
from ...streams.sightings import binding, binding_state
from .interfaces import Fold, Logs
from .obligations import GROUNDED, Categories
from .replay import blocks_of


def _categories(topics: Sequence[str], grounded: str) -> Categories:
    """Of these topics one holds what was looked up; of the others nothing is said."""
    return {topic: frozenset({GROUNDED} if topic == grounded else ()) for topic in topics}


class _Keyed:
    """What the folds (`interfaces.Fold`) have in common: their inputs' keys are checked by one partitioner, which
    their version names.

    Args:
        partitioner: by which keys are spread.
        raised: the number of the version that ledgers are raised to; 0 leaves them at their own.
    """

    layout = ""
    event_for = staticmethod(core.event_for)

    def __init__(self, partitioner: Partitioner = "murmur2", raised: int = 0) -> None:
        self._partitioner: Partitioner = partitioner
        self._raised = raised
        self.version = core.fold_version(partitioner)
        self.form = f"state={self.layout} partitioner={partitioner}"

    def named(self, state: Any, ledger: str = "") -> str:
        return core.fold_version(self._partitioner, number=next_number(ledger, self._raised))

    def policy_in_force(self, state: Any) -> Policy | None:
        return None

    def _policy_of(self, state: Any) -> Policy | None:
        """The policy of the next block; None before the first one."""
        return self.policy_in_force(state)

    def refuses(self, state: Any, adoption: Event, time: int) -> str:
        policy = self._policy_of(state)
        return "no policy came before it" if policy is None else adoption_rule.refusal(adoption, policy, time)


class Adjudicate(_Keyed):
    """Emissions, observations and reviews become verdicts (streams/adjudication/fold.py): an `interfaces.Fold`.

    Args:
        partitioner: by which keys are spread.
        secrets: what identifiers are hashed with, where the policy says so.
        raised: the number of the version that ledgers are raised to; 0 leaves them at their own.
    """

    name = "adjudicate"
    inputs: Sequence[str] = core.INPUTS
    outputs: Sequence[str] = (
        outputs.ADMITTED,
        outputs.INADMISSIBLE,
        outputs.REVIEWS,
        outputs.REEMISSIONS,
        outputs.VERDICTS,
        outputs.CITATIONS,
        outputs.DEAD_LETTERS,
    )
    ledger = "ledger"
    checkpoints = "checkpoints"
    layout = snapshot.LAYOUT
    consumes: Categories = _categories(inputs, "observations")
    produces: Categories = _categories(outputs, "admitted")
    fold = staticmethod(core.fold)
    due = staticmethod(core.due)
    next_due = staticmethod(core.next_due)
    counters = staticmethod(core.counters)
    dump = staticmethod(snapshot.dump)

    def __init__(self, partitioner: Partitioner = "murmur2", secrets: Secrets = NO_SECRETS, raised: int = 0) -> None:
        super().__init__(partitioner, raised)
        self._secrets = secrets

    def new(self, lane: int, lanes: int) -> core.State:
        return core.new_state(lane, lanes, self._partitioner, self._secrets)

    def policy_hash(self, state: core.State) -> str:
        return state.policy_hash

    def policy_in_force(self, state: core.State) -> Policy | None:
        return state.next_policy or state.policy

    def named(self, state: core.State, ledger: str = "") -> str:
        return core.fold_version(self._partitioner, state.key_in_force, next_number(ledger, self._raised))

    def load(self, chunks: Iterable[bytes]) -> core.State:
        return snapshot.load(chunks, self._secrets)


class Bind(_Keyed):
    """Sightings and citations become observations (streams/sightings/binding.py): an `interfaces.Fold`."""

    name = "bind"
    inputs: Sequence[str] = binding.INPUTS
    outputs: Sequence[str] = (binding.OBSERVATIONS, outputs.DEAD_LETTERS)
    ledger = "bind-ledger"
    checkpoints = "bind-checkpoints"
    layout = binding_state.LAYOUT
    consumes: Categories = _categories(inputs, "sightings")
    produces: Categories = _categories(outputs, "observations")
    fold = staticmethod(binding.fold)
    due = staticmethod(binding_state.due)
    next_due = staticmethod(binding_state.next_due)
    counters = staticmethod(binding_state.counters)
    dump = staticmethod(binding_state.dump)
    load = staticmethod(binding_state.load)

    def __init__(self, partitioner: Partitioner = "murmur2", raised: int = 0) -> None:
        super().__init__(partitioner, raised)
        self.version += binding.FORMS

    def named(self, state: Any, ledger: str = "") -> str:
        return super().named(state, ledger) + binding.FORMS

    def new(self, lane: int, lanes: int) -> binding.BindState:
        return binding.new_state(lane, lanes, self._partitioner)

    def policy_hash(self, state: binding.BindState) -> str:
        return state.rules.policy_hash

    def _policy_of(self, state: binding.BindState) -> Policy | None:
        return state.rules.next_policy or state.rules.policy


class FrameAttestations(_Keyed):
    """Attestations are typed, sanitised and framed (streams/attestations/framing.py): an `interfaces.Fold`."""

    name = "frame"
    inputs: Sequence[str] = framing.INPUTS
    outputs: Sequence[str] = (framing.GROUNDED, outputs.DEAD_LETTERS)
    ledger = "frame-ledger"
    checkpoints = "frame-checkpoints"
    layout = framing_state.LAYOUT
    consumes: Categories = _categories(inputs, "attestations")
    produces: Categories = _categories(outputs, "grounded")
    fold = staticmethod(framing.fold)
    dump = staticmethod(framing_state.dump)
    load = staticmethod(framing_state.load)

    def new(self, lane: int, lanes: int) -> framing_state.State:
        return framing_state.State(lane, lanes, self._partitioner)

    def due(self, state: framing_state.State, time: int, watermark: int) -> int:
        return 0

    def next_due(self, state: framing_state.State) -> tuple[int | None, int | None]:
        return None, None

    def policy_hash(self, state: framing_state.State) -> str:
        return state.policy_hash

    def _policy_of(self, state: framing_state.State) -> Policy | None:
        return state.next_policy

    def counters(self, state: framing_state.State) -> dict[str, int]:
        return dict(state.counters)


def folds(partitioner: Partitioner = "murmur2", secrets: Secrets = NO_SECRETS, raised: int = 0) -> tuple[Fold, ...]:
    """All that a worker runs; every partition number has one lane of each. The arguments are those of `Adjudicate`.

    Raises:
        UsageError: ledgers are to be raised to a version that this package does not fold.
    """
    if raised and raised not in FOLD_VERSIONS:
        raise UsageError(
            "this package does not fold the version that ledgers are to be raised to",
            path="fold_version",
            expected=" or ".join(map(str, sorted(FOLD_VERSIONS))),
            got=str(raised),
            hint="upgrade every worker first, then raise it (docs/howto/upgrade.md)",
        )
    return Adjudicate(partitioner, secrets, raised), Bind(partitioner, raised), FrameAttestations(partitioner, raised)


FOLDS: Final[dict[str, Partitioner]] = {
    core.fold_version(name, number=number): name for number in sorted(FOLD_VERSIONS) for name in PARTITIONERS
}
"""The versions of the fold that this package can recompute, and each one's partitioner."""


class FoldByVersion:
    """The fold of a ledger that nobody vouches for: chosen by its first header, and kept while versions follow.

    Attributes:
        fold: the one in use; None before the first block.
    """

    def __init__(
        self, secrets: Secrets = NO_SECRETS, make: Callable[[Partitioner, Secrets], Fold] = Adjudicate
    ) -> None:
        """
        Args:
            secrets: what its identifiers are hashed with, where they are.
            make: the fold of whose ledger it is.
        """
        self.fold: Fold | None = None
        self._secrets, self._make, self._version = secrets, make, ""  # the version without a key, of the block before

    def take(self, header: Header) -> Fold | None:
        """The fold of the next block; None where it is not ours, or may not follow upon the one before."""
        version = without_key(header.fold).removesuffix(binding.FORMS)
        if not self._follows(version):
            return None
        if self.fold is None:
            self.fold = self._make(FOLDS[version], self._secrets)
        self._version = version
        return self.fold

    def expected(self) -> list[str]:
        """The versions that the next block may have."""
        return [version for version in FOLDS if self._follows(version)]

    def _follows(self, version: str) -> bool:
        """Whether a block of this version can be folded here: the same as before, or one raised since."""
        partitioner, before = FOLDS.get(version), self._version
        if partitioner is None or not before:
            return partitioner is not None
        return partitioner == FOLDS.get(before) and number_of(version) >= number_of(before)


async def partitioner_of(logs: Logs, lane: int | None = None) -> Partitioner:
    """By which partitioner a ledger's keys are spread: its first block says so. Kafka's own where there is none yet.

    Args:
        logs: the stored topics.
        lane: whose blocks are asked; None: those of the first lane that has any.
    """
    for number in range(logs.lanes) if lane is None else (lane,):
        async with aclosing(blocks_of(logs, number)) as blocks:
            async for _, data in blocks:
                return partitioner_named(unseal(data).header.fold)
    return "murmur2"


def partitioner_named(fold: str) -> Partitioner:
    """The partitioner that a block header's `fold` names (`streams.adjudication.versions.fold_version`)."""
    return "crc32" if "partitioner=crc32" in fold.split() else "murmur2"
