"""What an audit can find wrong: a closed list of kinds, and where one of them was found.

One tampering has one name. What merely follows from it (everything behind a changed block decides otherwise) is counted
in its entry, and of one kind in one lane only the first `MOST` stand by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, get_args

import msgspec

from ...codecs.errors import cut, printable

Kind = Literal[
    "unreadable",
    "lane-gone",
    "cut-tail",
    "missing-block",
    "added-block",
    "changed-block",
    "reordered-block",
    "replayed-block",
    "offsets",
    "time",
    "policy",
    "fold-version",
    "outputs-root",
    "checkpoint-signature",
    "checkpoint-root",
    "checkpoint-chain",
    "checkpoint-missing",
    "claim-signature",
    "claim-order",
    "claim-missing",
    "deleted-early",
    "missing-output",
    "additional-output",
    "changed-output",
    "reordered-output",
]

MEANING: Final[Mapping[Kind, str]] = {
    "unreadable": "records cannot be read",
    "lane-gone": "a ledger is empty although a checkpoint names its blocks",
    "cut-tail": "a ledger ends before what a checkpoint says",
    "missing-block": "a height has no block",
    "added-block": "a block stands in the ledger that is no part of its chain",
    "changed-block": "a block is not the one that its successor, a checkpoint or its outputs name",
    "reordered-block": "a block stands at another place than in the chain",
    "replayed-block": "a block stands in the ledger again",
    "offsets": "the input ranges of two blocks do not follow upon one another, or an event lies outside its block's",
    "time": "a block's time or watermark goes back",
    "policy": "a block or an output names another policy than the one in force",
    "fold-version": "a block was decided by another version of the fold than this one",
    "outputs-root": "a block's outputs, folded again, have another root than the next block names",
    "checkpoint-signature": "a checkpoint is signed by none of the keys, or is no checkpoint",
    "checkpoint-root": "the ledger is not the one that a checkpoint was signed for",
    "checkpoint-chain": "a checkpoint does not follow upon the one before it",
    "checkpoint-missing": "a checkpoint is not there although another one names it",
    "claim-signature": "a claim of the lane is signed by none of the keys, or is no claim of this lane",
    "claim-order": "a block does not name the newest claim before it, or a claim stands in the ledger again",
    "claim-missing": "the claim that a block names is not there",
    "deleted-early": "an output was deleted from the beginning of its topic, younger than the topic keeps records",
    "missing-output": "an output that the fold gives is not there, and nothing has taken it in order",
    "additional-output": "an output stands in a topic that no block gives",
    "changed-output": "an output is not what the fold gives",
    "reordered-output": "an output stands at another place than the fold gives it",
}
"""What each kind says, in one line; its order is that of the report, root causes first."""
assert tuple(MEANING) == get_args(Kind)

INCOMPLETE: Final[frozenset[Kind]] = frozenset(
    {"checkpoint-chain", "checkpoint-missing", "claim-missing", "cut-tail", "lane-gone"}
)
"""These break completeness: something that was there is there no more."""
IN_TIME: Final[frozenset[Kind]] = frozenset(
    {
        "changed-output",
        "deleted-early",
        "missing-output",
        "additional-output",
        "reordered-output",
        "outputs-root",
        "policy",
        "time",
        "offsets",
    }
)
"""What `--since` and `--until` restrict: these stand for themselves; a broken chain bears on everything behind it."""
MOST: Final = 20
"""So many of one kind in one lane stand by themselves; the others are counted in the last of them."""


class Divergence(msgspec.Struct, kw_only=True):
    """One thing that does not hold.

    Attributes:
        expected, got: short, of hashes and numbers as they stand.
    """

    kind: Kind  # of the closed list
    lane: int  # -1 where it concerns none
    height: int = -1  # of the block, -1 where none is meant
    place: str = ""  # `topic/partition/offset`, or as far as it is known
    expected: str = ""
    got: str = ""
    sentence: str = ""  # for people
    count: int = 1  # how many times, where more of the kind were folded into this entry
    time: int = 0  # of the block, Unix ms; 0 where it is not known
    follows: dict[Kind, int] = {}  # what merely follows from this, by kind
    fold: str = "adjudicate"  # whose lane it is


class Findings:
    """The divergences of one lane, as they are found.

    Attributes:
        found: in the order of finding.
        broken: the first divergence behind which this lane's decisions cannot be held against its blocks; what the
            fold finds from its height on follows from it.
    """

    def __init__(self, lane: int, since: int = 0, until: int = 1 << 62, fold: str = "adjudicate") -> None:
        """`since` and `until` are block times, Unix ms; of the kinds `IN_TIME`, what lies outside is not told."""
        self.lane, self.fold, self.found, self.broken = lane, fold, list[Divergence](), None
        self._since, self._until = since, until
        self._last: dict[Kind, Divergence] = {}
        self._counts: dict[Kind, int] = {}

    broken: Divergence | None

    def add(
        self,
        kind: Kind,
        sentence: str,
        *,
        height: int = -1,
        place: str = "",
        expected: object = "",
        got: object = "",
        time: int = 0,
        breaks: bool = False,
    ) -> Divergence:
        """Notes a divergence, or counts it where too many of its `kind` stand already.

        `sentence`, `height`, `place`, `expected`, `got` and `time` are its own; `breaks`: what is found of the fold
        from here on follows from it.
        """
        is_reported = kind not in IN_TIME or not time or self._since <= time <= self._until
        if is_reported:
            count = self._counts[kind] = self._counts.get(kind, 0) + 1
            if count > MOST:
                self._last[kind].count += 1
                return self._last[kind]
        one = Divergence(
            kind=kind,
            lane=self.lane,
            height=height,
            place=place,
            expected=short(expected),
            got=short(got),
            sentence=printable(sentence),
            time=time,
            fold=self.fold,
        )
        if is_reported:
            self._last[kind] = one
            self.found.append(one)
        if breaks and self.broken is None:
            self.broken = one
        return one

    def follow(self, kind: Kind) -> bool:
        """Counts a divergence under the one that it follows from; False where there is none such."""
        if self.broken is None:
            return False
        self.broken.follows[kind] = self.broken.follows.get(kind, 0) + 1
        return True


def short(value: object) -> str:
    """A value for `expected` and `got`: bytes as text, nothing that a terminal would obey, at most 80 characters."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    return cut(printable(str(value)))
