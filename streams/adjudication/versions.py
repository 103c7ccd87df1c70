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

from ...codecs import unicode_text
from ...codecs.errors import DoesNotHoldError, LaterVersionError
from ...codecs.partition import Partitioner
from ...codecs.vocabulary import NEWEST
from ..policy.privacy import with_key, without_key
from ..sanitise import CONFUSABLES_VERSION, SANITATION_VERSION, UNICODE_VERSION

_DATA_OF_1: Final = (
    f"vocabulary={NEWEST} unicode={UNICODE_VERSION} confusables={CONFUSABLES_VERSION} sanitation={SANITATION_VERSION}"
)
FOLD_VERSIONS: Final[dict[int, str]] = {
    1: f"1 {_DATA_OF_1}",
    2: f"2 {_DATA_OF_1}",
    3: f"3 {_DATA_OF_1}",
    4: f"4 {_DATA_OF_1}",
}
"""What headers name, by number: the versions that this package folds."""
FOLD_VERSION: Final = FOLD_VERSIONS[max(FOLD_VERSIONS)]
"""Names everything that decides. Any change that alters an output changes it."""
COMPILED: Final = 4
"""The newest version that the compiled core folds (native/README.md)."""
AUTHORITY: Final = 2
"""From this version on signatures are bound to their use, a review counts only where one was asked for, and attempts
come in order (docs/security.md)."""
MENDING: Final = 3
"""From this version on requests for another attempt say how to mend the answer, and lanes keep what they need for it
(mending.py)."""
TERMINALS: Final = 3
"""From this version on a terminal is of a version of the vocabulary, like any class, and of any letter case [S §4]."""
TEXT: Final = 3
"""From this version on texts are cleaned by revision 2 (`unicode_text.REVISION`), records say how far grounding was
matched (`grounding.py`), and the spans of one emission are bounded together (`validation.overlapping`)."""
WAITING: Final = 4
"""From this version on evidence that waits is bounded, for each emission and observer and for the lane (waiting.py)."""
VERDICTS: Final = 4
"""From this version on the topic `verdicts` is written (verdict_json.py)."""
REQUESTS: Final = 4
"""From this version on every request for a review ends with a record of its own, and a newer attempt ends those of
earlier ones (verdicts.py)."""
ANSWERS: Final = 4
"""From this version on `early_settle` settles what every observer has answered about (observer_answers.py)."""
NAMES: Final = 4
"""From this version on identifiers percent-encode nothing but what needs it (codecs/identifier_characters.py)."""
SUBJECTS: Final = 4
"""From this version on an observation counts only for the record and the checks that were looked at (subjects.py)."""
SUCCESSION: Final = 4
"""From this version on a key that says which key it follows counts only where that one signed it (policy/keys.py)."""
REVIEWS: Final = 4
"""From this version on a review counts only for the text that it names, and where it has to be signed for nothing that
came after it (validation.py, `stale_review`)."""
EMITTERS: Final = 4
"""From this version on an emitter that did not sign, where others do, gains nothing by the name that it gives
(corroboration.py, `barred`)."""
ROOTS: Final = 4
"""From this version on evidence that names no root counts against the bound of every root (independence.py)."""
FILES: Final = 4
"""From this version on `looked_at.path` is the file of each check for which `detail.checks` names neither a file nor a
commit (check_places.py)."""
REPEATS: Final = 4
"""From this version on an emission that comes again is a duplicate before its signature is looked at."""
ROLES: Final = 4
"""From this version on texts are cleaned by revision 3: more ways to begin a line with a role (sanitise/_chat.py)."""
POLICIES: Final = 4
"""From this version on a policy that lists keys under `[policies.keys]` is followed only by one that such a key signed
(policy/signed_policies.py)."""
MARKS: Final = 4
"""From this version on a bound observation carries the mark by which an audit finds it (sightings/binding.py)."""
TOPIC_IDS: Final = 4
"""From this version on headers name the ids of the topics, and a topic that was made anew is adopted (adoptions.py)."""
_DATA: Final = ("vocabulary=", "unicode=", "confusables=", "sanitation=")


def newest() -> int:
    """The number of the newest version that this package folds."""
    return max(FOLD_VERSIONS)


def number_of(fold: str) -> int:
    """The number that a header's `fold` begins with; 0 where it names none."""
    first = fold.split(" ", 1)[0]
    return int(first) if first.isdecimal() else 0


def fold_version(partitioner: Partitioner = "murmur2", key: str = "", number: int | None = None) -> str:
    """What a block header names as `fold`: the version, and the partitioner that keys are checked by.

    Where identifiers are hashed also the id of the key (`State.key_in_force`), since it decides what outputs say.

    Args:
        partitioner: by which keys are spread.
        key: the key's id; empty for none.
        number: of the version; None for the newest.
    """
    return with_key(f"{FOLD_VERSIONS[number or newest()]} partitioner={partitioner}", key)


def next_number(ledger: str, raised: int) -> int:
    """The number of the version that a ledger's next block is folded by.

    A ledger goes on with its own until that is raised, and is never lowered; a new one begins with the newest.

    Args:
        ledger: `fold` of its newest block, empty where it has none.
        raised: to which number operators raise ledgers; 0 where they do not.
    """
    return max(number_of(ledger), raised) or newest()


def rules_of(fold: str) -> int:
    """The number of the rules that a block is folded by.

    Args:
        fold: as its header has it. Where that names no number it stands in no ledger, and the oldest rules do.

    Raises:
        LaterVersionError: it is later than any that this package knows.
        DoesNotHoldError: this package does not fold it any more, or has other data than it was folded with.
    """
    number = number_of(fold) or min(FOLD_VERSIONS)
    demand_not_later(fold, newest(), FOLD_VERSIONS[newest()])
    own = FOLD_VERSIONS.get(number)
    if own is None:
        raise DoesNotHoldError(
            "the ledger was folded by a version that this package does not have any more",
            expected=" or ".join(map(str, sorted(FOLD_VERSIONS))),
            got=fold,
            hint="the package that wrote it still folds it",
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


def revision_of(fold: str) -> int:
    """The revision by which the texts of a block are cleaned, by its header's `fold`."""
    number = number_of(fold)
    return unicode_text.REVISION if number >= ROLES else 2 if number >= TEXT else 1


def demand_not_later(fold: str, number: int, own: str, path: str = "") -> None:
    """Demands that a header's fold version is not later than a given one: its decisions could not be recomputed.

    Args:
        fold: the header's.
        number: the newest version that may be there.
        own: the same as a header has it, for the error's sentence.
        path: of the block, for the error's sentence.

    Raises:
        LaterVersionError: it is.
    """
    if number_of(fold) > number:
        raise LaterVersionError(
            "the ledger was written by a later version of sluice",
            path=path,
            expected=own,
            got=fold,
            hint="upgrade this worker",
        )
