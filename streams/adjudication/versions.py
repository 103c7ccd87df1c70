"""The versions of the fold: what a header's `fold` names, and by which of them a block is folded.

A version is a number, and the data that decide with it. A block is folded by the rules of the version that its own
header names, whichever package does it; so a ledger with blocks of several versions folds as it was written, and a
package may run before anybody decides by its newest version (docs/howto/upgrade.md).

*A new version.* Any change that alters an output is one. Pin the text of the version before as it stands in ledgers,
add the next number behind it, and where the rules differ ask `_Folding.version`. A version stays here only while the
package has its rules and its data. What is above `COMPILED` Python folds, until the compiled core is taught it.
"""

from __future__ import annotations

from typing import Final

from ...codecs.errors import DoesNotHoldError, LaterVersionError
from ...codecs.partition import Partitioner
from ...codecs.vocabulary import NEWEST
from ..policy.privacy import with_key, without_key
from ..sanitise import CONFUSABLES_VERSION, SANITATION_REVISION, SANITATION_VERSION, UNICODE_VERSION

FOLD_VERSIONS: Final[dict[int, str]] = {
    5: f"5 vocabulary={NEWEST} unicode={UNICODE_VERSION} confusables={CONFUSABLES_VERSION} "
    f"sanitation={SANITATION_VERSION}+{SANITATION_REVISION}",
}
"""What headers name, by number: the versions that this package folds. No number is used again: 1 to 4 were versions of
ledgers that no release wrote."""
FOLD_VERSION: Final = FOLD_VERSIONS[max(FOLD_VERSIONS)]
"""Names everything that decides. Any change that alters an output changes it."""
COMPILED: Final = 5
"""The newest version that the compiled core folds (native/README.md)."""
_DATA: Final = ("vocabulary=", "unicode=", "confusables=", "sanitation=")


def newest() -> int:
    """The number of the newest version that this package folds."""
    return max(FOLD_VERSIONS)


def number_of(fold: str) -> int:
    """The number that a header's `fold` begins with; 0 where it names none."""
    first = fold.split(" ", 1)[0]
    return int(first) if first.isdecimal() else 0


def fold_version(partitioner: Partitioner = "murmur2", key: str = "", number: int | None = None) -> str:
    """Returns what a block header names as `fold`: the version by its `number` (None for the newest), the `partitioner`
    that keys are spread by, and, where identifiers are hashed, the id of the `key`, since it decides what outputs say.
    """
    return with_key(f"{FOLD_VERSIONS[number or newest()]} partitioner={partitioner}", key)


def next_number(ledger: str, raised: int) -> int:
    """Returns the number of the version that a ledger's next block is folded by. A ledger (`fold` of its newest block)
    goes on with its own until operators raise it, and is never lowered; a new one begins with the newest."""
    return max(number_of(ledger), raised) or newest()


def rules_of(fold: str) -> int:
    """The number of the rules that a block is folded by.

    Args:
        fold: as its header has it. Where that names no number it stands in no ledger, and the newest rules do.

    Raises:
        LaterVersionError: it is later than any that this package knows.
        DoesNotHoldError: this package does not fold it any more, or has other data than it was folded with.
    """
    number = number_of(fold) or newest()
    demand_not_later(fold, newest(), FOLD_VERSIONS[newest()])
    own = FOLD_VERSIONS.get(number)
    if own is None:
        raise DoesNotHoldError(
            "this package does not fold ledgers of that version",
            expected=" or ".join(map(str, sorted(FOLD_VERSIONS))),
            got=fold,
            hint="the package that wrote the ledger folds it; this one begins with a new ledger",
        )
    words = own.split(" ")
    if any(word.startswith(_DATA) and word not in words for word in fold.split(" ")):
        raise DoesNotHoldError(
            "the ledger was folded with other data than this package decides by",
            expected=own,
            got=without_key(fold),
            hint="install sluice with the versions of its dependencies that it was released with",
        )
    return number


def demand_not_later(fold: str, number: int, own: str, path: str = "") -> None:
    """Demands that the version in a header's `fold` is not later than `number`: its decisions could not be recomputed.
    `own` (the same as a header has it) and the block's `path` are for the error's sentence.

    Raises: LaterVersionError: it is.
    """
    if number_of(fold) > number:
        raise LaterVersionError(
            "the ledger was written by a later version of sluice",
            path=path,
            expected=own,
            got=fold,
            hint="upgrade this worker",
        )
