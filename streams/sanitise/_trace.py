"""What sanitation changed [V §6]: one collector for each output record, turned into its `_meta`.

Nothing of what was taken out stands in it. A stretch of removed characters is given by its place and length, a removed
tag by its kind, place and length: code points in a row would spell a hidden message out in clear.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sized
from typing import Any, Final, Literal, get_args

from msgspec import UNSET

from ...codecs.records import SanitationMeta
from ...codecs.unicode_text import UNICODE_VERSION
from ._markup import Link, Piece

SANITATION_VERSION: Final = "0.1"
SANITATION_REVISION: Final = 3
"""Of the rules by which the version is fulfilled: a change of any output is a new one (docs/security.md)."""
MAX_ENTRIES: Final = 5000
"""So many entries a list has, one a change; what comes after them is counted, `{field, omitted}`, one entry for each
root of a field's name (`evidence`, `cited_works`, `chain`).

The texts of one attestation hold at most 4,500 invisible characters [V §4.1]. A megabyte of cited works or of a chain
holds a hundred times as many, and would become a record of 25 MB that no topic takes.
"""
MAX_NAMES: Final = 200_000
"""So many characters the long names of fields in one list have together: deep in a chain a name has 1,500, in every
entry about it. With both bounds `_meta` has less than 4 MB."""
MAX_UNKNOWN: Final = 20
"""So many unknown members are named."""
LONGEST_MEMBER: Final = 64
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9_@.:-]")
LONG_NAME: Final = 40
"""Longer than any name in an attestation, which are not added up: 0.2 us an entry less."""

Entry = dict[str, Any]
Kind = Literal["truncated", "confusables_replaced", "stripped_positions", "markup_stripped", "uris_rejected"]
_KINDS: Final = get_args(Kind)
_NOTHING: Final = SanitationMeta(
    sanitation_version=SANITATION_VERSION, unicode_version=UNICODE_VERSION, sanitation_revision=SANITATION_REVISION
)


class Trace:
    """Collects what was changed while one output record is made. Positions are in characters of the text as it stood
    before the step that made the entry.

    Invariant: a list that was once full (`MAX_ENTRIES`, `MAX_NAMES`) takes no further entries, and at its end stand
    the counts of what it did not take, one for each root; every change is an entry or in a count.

    Attributes:
        truncated: `{field, octets_before, octets_after}` for each cut [V §4.1]. For cited works that are left out one
            entry, of the field `cited_works`: bytes of the URIs and titles, and how many works are `omitted`.
        normalised: the fields that NFKC changed [V §4.2]; of those past a full list the roots.
        confusables_replaced: `{field, position, character, replacement}` [V §4.3]; the character is a code point,
            `U+0430`, its replacement stands as it is. Also characters of private use, which are not named; the
            replacement is then the word `U+FFFD`.
        confusables_present: look-alikes were left in place, under the policy `flag` [V §4.3].
        stripped_positions: `{field, position, count}` for each stretch of removed characters [V §4.4].
        uris_rejected: `{field, reason}` [V §4.5].
        markup_stripped: `{field, position, kind, characters}`: `kind` is what a parser saw there, `characters` how
            long it was [V §4.6].
        scripts: the scripts of the characters outside ASCII, before anything was replaced; Unicode has 170.
        attestations_rejected: `{field, reason}` for each attestation inside an observation that typing refused [V §3].
        unknown_members: the names of members that no version of the record knows: at most `MAX_UNKNOWN`, and no more
            than the characters of identifiers.
    """

    def __init__(self) -> None:
        self.truncated: list[Entry] = []
        self.confusables_replaced: list[Entry] = []
        self.stripped_positions: list[Entry] = []
        self.markup_stripped: list[Entry] = []
        self.uris_rejected: list[Entry] = []
        self.normalised: list[str] = []
        self.scripts: list[str] = []
        self.confusables_present = False
        self.unknown_members: list[str] = []
        self.attestations_rejected: list[Entry] = []
        self._fields: set[str] = set()  # those in `normalised`: 90,000 titles took 9 s in a list
        self._names: dict[str, int] = {}  # by list: the characters of its long names
        self._omitted: dict[str, dict[str, Entry]] = {}  # by full list and root: the counts at its end

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
            or self.unknown_members
            or self.attestations_rejected
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
            unknown_members=self.unknown_members or UNSET,
            attestations_rejected=self.attestations_rejected or UNSET,
            sanitation_revision=SANITATION_REVISION,
        )

    def as_dict(self) -> dict[str, Any]:
        """`meta` as a plain dictionary, for a trace that records nothing more: the lists are the trace's own.

        0.3 us, where converting takes 0.6 for an empty record, 3.4 where every step had work and 20 for Russian.
        """
        more = {"unknown_members": self.unknown_members} if self.unknown_members else {}
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
            **more,
            "sanitation_revision": SANITATION_REVISION,
        }

    def take_over(self, later: Trace) -> None:
        """Everything that another trace recorded, as if it had been recorded here."""
        for kind in _KINDS:
            entries: list[Entry] = getattr(later, kind)
            counts = later._omitted.get(kind, {})
            for entry in entries[: len(entries) - len(counts)]:
                self._add(kind, entry["field"], [entry])
            for root, count in counts.items():
                self._omit(kind, root, count["omitted"])
        for field in later.normalised:
            self.normalise(field)
        self.name_scripts(later.scripts)
        self.confusables_present = self.confusables_present or later.confusables_present
        for name in later.unknown_members:
            self._name_member(name)

    def cut(self, field: str, before: int, after: int, omitted: int = 0) -> None:
        """Notes that a text or a list was cut.

        Args:
            field: that was cut.
            before: its length before, in bytes.
            after: its length after, in bytes.
            omitted: how many items of a list were left out; 0 where a text was cut.
        """
        entry: Entry = {"field": field, "octets_before": before, "octets_after": after}
        if omitted:
            entry["omitted"] = omitted
        self._add("truncated", field, [entry])

    def normalise(self, field: str) -> None:
        """NFKC changed the field."""
        if field in self._fields:
            return
        short = len(field) <= LONG_NAME and len(self.normalised) < MAX_ENTRIES and not self._omitted
        if not short and self._room("normalised", self.normalised, field, 1) == 0:
            self._omitted["normalised"] = {}
            field = _root(field)
            if field in self._fields:
                return
        self._fields.add(field)
        self.normalised.append(field)

    def replace(self, field: str, entries: list[Entry]) -> None:
        """Look-alikes gave way to ASCII."""
        self._add("confusables_replaced", field, entries)

    def strip(self, field: str, positions: list[int]) -> None:
        """The characters at these positions, in order, were taken out: one entry for each stretch of them."""
        entries: list[Entry] = []
        end = -1
        for position in positions:
            if position == end:
                entries[-1]["count"] += 1
            else:
                entries.append({"field": field, "position": position, "count": 1})
            end = position + 1
        self._add("stripped_positions", field, entries)

    def markup(self, field: str, pieces: Iterable[Piece | Link]) -> None:
        """These pieces of markup were taken out, or collapsed."""
        self._add(
            "markup_stripped",
            field,
            [
                {"field": field, "position": one.start, "kind": one.kind, "characters": one.end - one.start}
                for one in pieces
            ],
        )

    def reject_uri(self, field: str, reason: str) -> None:
        """A URI was refused."""
        self._add("uris_rejected", field, [{"field": field, "reason": reason}])

    def reject_attestation(self, reason: str) -> None:
        """An attestation of an observation was refused."""
        self.attestations_rejected.append({"field": "attestations", "reason": reason})

    def leave_out(self, name: str) -> None:
        """An unknown member does not come out."""
        self._name_member(_FOREIGN.sub("_", name[:LONGEST_MEMBER]))

    def _name_member(self, name: str) -> None:
        if len(self.unknown_members) < MAX_UNKNOWN and name not in self.unknown_members:
            self.unknown_members.append(name)

    def name_scripts(self, names: list[str]) -> None:
        """These scripts occur."""
        self.scripts += [name for name in names if name not in self.scripts]

    def _add(self, kind: Kind, field: str, more: list[Entry]) -> None:
        """Entries of one field, as many as there is room for; the others are counted."""
        entries: list[Entry] = getattr(self, kind)
        if len(entries) + len(more) <= MAX_ENTRIES and len(field) <= LONG_NAME and not self._omitted:  # nearly always
            entries += more
            return
        room = self._room(kind, entries, field, len(more))
        entries += more[:room]
        if room < len(more):
            self._omit(kind, _root(field), sum(one.get("omitted", 1) for one in more[room:]))

    def _room(self, kind: str, entries: Sized, field: str, wanted: int) -> int:
        """How many of so many entries about one field the list still takes; the names of these are then spent."""
        if kind in self._omitted:
            return 0
        room = min(wanted, MAX_ENTRIES - len(entries))
        if len(field) > LONG_NAME:
            spent = self._names.get(kind, 0)
            room = min(room, (MAX_NAMES - spent) // len(field))
            self._names[kind] = spent + room * len(field)
        return room

    def _omit(self, kind: Kind, root: str, count: int) -> None:
        counts = self._omitted.setdefault(kind, {})
        if root in counts:
            counts[root]["omitted"] += count
        else:
            counts[root] = {"field": root, "omitted": count}
            entries: list[Entry] = getattr(self, kind)
            entries.append(counts[root])


def _root(field: str) -> str:
    """What a field's name begins with: `cited_works` of `cited_works[7].title`."""
    return field.partition("[")[0].partition(".")[0]
