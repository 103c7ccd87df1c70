"""What sanitation changed [V §6]: one collector for each output record, turned into its `_meta`.

Nothing of what was taken out stands in it: a removed character is named by its code point and a removed tag by its
kind, place and length, so that the record of an attack is not a second way for it to come through.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ...codecs.records import SanitationMeta
from ...codecs.unicode_text import UNICODE_VERSION
from ._markup import Link, Piece

SANITATION_VERSION: Final = "0.1"
MAX_ENTRIES: Final = 5000
"""One entry a character up to here, which no single field reaches; beyond it one entry a field with a count.

The fields of one attestation hold at most 4,500 invisible characters [V §4.1]; only a chain of a megabyte holds more,
and would otherwise become a record of 25 MB that no topic takes.
"""

Entry = dict[str, Any]
_NOTHING: Final = SanitationMeta(sanitation_version=SANITATION_VERSION, unicode_version=UNICODE_VERSION)


class Trace:
    """Collects what was changed while one output record is made. Positions are in characters of the text as it stood
    before the step that made the entry.

    Attributes:
        truncated: `{field, octets_before, octets_after}` for each cut [V §4.1].
        normalised: the fields that NFKC changed [V §4.2].
        confusables_replaced: `{field, position, character, replacement}` [V §4.3]; the character is a code point,
            `U+0430`, its replacement stands as it is.
        confusables_present: look-alikes were left in place, under the policy `flag` [V §4.3].
        stripped_positions: `{field, position, character}` [V §4.4].
        uris_rejected: `{field, reason}` [V §4.5].
        markup_stripped: `{field, position, kind, characters}`: `kind` is what a parser saw there, `characters` how
            long it was [V §4.6].
        scripts: the scripts of the characters outside ASCII, before anything was replaced.
    """

    __slots__ = (
        "confusables_present",
        "confusables_replaced",
        "markup_stripped",
        "normalised",
        "scripts",
        "stripped_positions",
        "truncated",
        "uris_rejected",
    )

    def __init__(self) -> None:
        self.truncated: list[Entry] = []
        self.confusables_replaced: list[Entry] = []
        self.stripped_positions: list[Entry] = []
        self.markup_stripped: list[Entry] = []
        self.uris_rejected: list[Entry] = []
        self.normalised: list[str] = []
        self.scripts: list[str] = []
        self.confusables_present = False

    def meta(self) -> SanitationMeta:
        """The `_meta` block of the record. Not to be changed: records without a change share one."""
        if not (
            self.truncated
            or self.normalised
            or self.confusables_replaced
            or self.stripped_positions
            or self.markup_stripped
            or self.uris_rejected
            or self.scripts
            or self.confusables_present
        ):
            return _NOTHING
        return SanitationMeta(
            sanitation_version=SANITATION_VERSION,
            unicode_version=UNICODE_VERSION,
            truncated=self.truncated,
            confusables_replaced=self.confusables_replaced,
            stripped_positions=self.stripped_positions,
            markup_stripped=self.markup_stripped,
            uris_rejected=self.uris_rejected,
            normalised=self.normalised,
            scripts=sorted(self.scripts),
            confusables_present=self.confusables_present,
        )

    def as_dict(self) -> dict[str, Any]:
        """`meta` as a plain dictionary, for a trace that records nothing more: the lists are the trace's own.

        0.3 us, where converting takes 0.6 for an empty record, 3.4 where every step had work and 20 for Russian.
        """
        return {
            "sanitation_version": SANITATION_VERSION,
            "unicode_version": UNICODE_VERSION,
            "truncated": self.truncated,
            "confusables_replaced": self.confusables_replaced,
            "stripped_positions": self.stripped_positions,
            "markup_stripped": self.markup_stripped,
            "uris_rejected": self.uris_rejected,
            "normalised": self.normalised,
            "scripts": sorted(self.scripts),
            "confusables_present": self.confusables_present,
        }

    def take_over(self, later: Trace) -> None:
        """Everything that another trace recorded, as if it had been recorded here."""
        _add(self.truncated, later.truncated)
        _add(self.confusables_replaced, later.confusables_replaced)
        _add(self.stripped_positions, later.stripped_positions)
        _add(self.markup_stripped, later.markup_stripped)
        _add(self.uris_rejected, later.uris_rejected)
        self.normalised += [field for field in later.normalised if field not in self.normalised]
        self.name_scripts(later.scripts)
        self.confusables_present = self.confusables_present or later.confusables_present

    def cut(self, field: str, before: int, after: int) -> None:
        """A text, or a quote too many, was cut to `after` octets."""
        _add(self.truncated, [{"field": field, "octets_before": before, "octets_after": after}])

    def normalise(self, field: str) -> None:
        """NFKC changed the field."""
        if field not in self.normalised:
            self.normalised.append(field)

    def replace(self, entries: list[Entry]) -> None:
        """Look-alikes gave way to ASCII."""
        _add(self.confusables_replaced, entries)

    def strip(self, entries: list[Entry]) -> None:
        """Invisible characters were taken out."""
        _add(self.stripped_positions, entries)

    def markup(self, field: str, pieces: Iterable[Piece | Link]) -> None:
        """These pieces of markup were taken out, or collapsed."""
        _add(
            self.markup_stripped,
            [
                {"field": field, "position": one.start, "kind": one.kind, "characters": one.end - one.start}
                for one in pieces
            ],
        )

    def reject_uri(self, field: str, reason: str) -> None:
        """A URI was refused."""
        _add(self.uris_rejected, [{"field": field, "reason": reason}])

    def name_scripts(self, names: list[str]) -> None:
        """These scripts occur."""
        self.scripts += [name for name in names if name not in self.scripts]


def _add(entries: list[Entry], more: list[Entry]) -> None:
    room = MAX_ENTRIES - len(entries)
    if len(more) <= room:
        entries += more
        return
    entries += more[: max(room, 0)]
    for one in more[max(room, 0) :]:
        last = entries[-1]
        omitted = one.get("omitted", 1)  # an entry may itself stand for several, in a trace that is taken over
        if last.get("field") == one["field"] and "omitted" in last:
            last["omitted"] += omitted
        else:
            entries.append({"field": one["field"], "omitted": omitted})
