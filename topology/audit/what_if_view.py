"""What `sluice what-if` shows: how many assertions had which status under both policies, and which of them changed.

`report` is the JSON form, `sluice:WhatIf`, version 1.0; `write_csv` the list for spreadsheets. Identifiers and
enumerated values only: nothing here was written as free text, and a path span stands percent-encoded, as in its key.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from ..settings.showing import STYLES, escaped
from .what_if import Comparison, Decided, Row

LIMITS: Final = (
    "What people and machines did because of the old decisions is part of this past: re-emissions and reviews come as "
    "they came, whether or not the new policy would have asked for them."
)
COLUMNS: Final = (
    *("emission_id", "attempt", "span_key", "arrived_at", "old_status", "old_reason", "old_k", "old_classes"),
    *("new_status", "new_reason", "new_k", "new_classes"),
)
UNBOUNDED: Final = 100_000
"""Columns in which any table is as wide as it wants to be."""
SHOWN: Final = 200
"""Rows of a terminal's table; the others are in the CSV and the JSON."""


def report(comparison: Comparison, policy: str, lanes: Sequence[int], where: str) -> dict[str, Any]:
    """Returns the JSON form of a `comparison` with the policy of the hash `policy`, of these `lanes`, read from
    `where`.

    `counts` has every pair of statuses that some assertion has; `changes` each assertion with another status or reason.
    """
    return {
        "@type": "sluice:WhatIf",
        "@version": "1.0",
        "ledger": where,
        "lanes": list(lanes),
        "policies": sorted(comparison.policies - {""}),
        "policy": policy,
        "assertions": comparison.counts.total(),
        "changed": len(comparison.changes),
        "counts": [{"old": old, "new": new, "assertions": count} for (old, new), count in _pairs(comparison)],
        "changes": [
            {
                "emission_id": row.emission_id,
                "attempt": row.attempt,
                "span_key": row.span_key,
                "arrived_at": row.arrived_at,
                "old": _decided(row.old),
                "new": _decided(row.new),
            }
            for row in comparison.changes
        ],
        "limits": LIMITS,
    }


def write_csv(comparison: Comparison, file: TextIO) -> None:
    """The assertions that changed; classes are separated by spaces."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_cells(row) for row in comparison.changes)


def lines(comparison: Comparison) -> Iterator[str]:
    """Plain lines: the counts, then each change."""
    yield summary(comparison)
    yield from _count_lines(comparison)
    yield from map(_change_line, comparison.changes)
    yield LIMITS


def _count_lines(comparison: Comparison) -> Iterator[str]:
    for (old, new), count in _pairs(comparison):
        yield f"  {count:>9}  {old}" + ("" if old == new else f" -> {new}")


def _change_line(row: Row) -> str:
    return f"{_name(row)}  {_said(row.old)} -> {_said(row.new)}"


def show(comparison: Comparison, console: Console) -> None:
    """Two tables on a terminal: old statuses down, new ones across; then what changed.

    A table that is wider than the terminal is told in the lines of a pipe instead.
    """
    olds = sorted({old for old, _ in comparison.counts})
    news = sorted({new for _, new in comparison.counts})
    if comparison.counts:
        matrix = Table("under the ledger's policy", *news, box=SIMPLE_HEAD, pad_edge=False)
        for old in olds:
            counts = [comparison.counts[old, new] for new in news]
            cells = [
                Text(f"{count:,}" if count else "", style="" if old == new else "bold", justify="right")
                for new, count in zip(news, counts, strict=True)
            ]
            matrix.add_row(_status(old), *cells)
        _fit(console, matrix, _count_lines(comparison))
    if comparison.changes:
        table = Table("assertion", "was", "would be", box=SIMPLE_HEAD, pad_edge=False)
        for row in comparison.changes[:SHOWN]:
            table.add_row(Text(_name(row)), _said_text(row.old), _said_text(row.new))
        _fit(console, table, map(_change_line, comparison.changes[:SHOWN]))
        if len(comparison.changes) > SHOWN:
            console.print(Text(f"and {len(comparison.changes) - SHOWN:,} more: --csv FILE has them all"))
    console.print(Text(summary(comparison), style="bold"))
    console.print(Text(LIMITS, style="dim"))


def _fit(console: Console, table: Table, plain: Iterable[str]) -> None:
    """A table whole, or else lines that the terminal folds: a heading or a span key cut short would be another one."""
    wide = console.options.update(width=UNBOUNDED)
    if Measurement.get(console, wide, table).maximum <= console.width:
        console.print(table)
        return
    for line in plain:
        console.print(Text(line), soft_wrap=True)


def summary(comparison: Comparison) -> str:
    """How many, and how many of them otherwise."""
    total, changed = comparison.counts.total(), len(comparison.changes)
    plural = "" if total == 1 else "s"
    return f"{total:,} assertion{plural}, of which {changed:,} would have been decided otherwise"


def _pairs(comparison: Comparison) -> list[tuple[tuple[str, str], int]]:
    return sorted(comparison.counts.items(), key=lambda item: (-item[1], item[0]))


def _decided(decided: Decided) -> dict[str, Any]:
    found: dict[str, Any] = {"status": decided.status}
    if decided.reason is not None:
        found["reason"] = decided.reason
    if decided.k:
        found |= {"k": decided.k, "classes": list(decided.classes)}
    return found


def _cells(row: Row) -> list[Any]:
    cells: list[Any] = [row.emission_id, row.attempt, row.span_key, row.arrived_at]
    for one in (row.old, row.new):
        cells += [one.status, one.reason or "", one.k or "", " ".join(one.classes)]
    return cells


def _name(row: Row) -> str:
    attempt = f" attempt {row.attempt}" if row.attempt else ""
    return escaped(f"{row.emission_id}#{row.span_key}{attempt}")


def _said(decided: Decided) -> str:
    parts = [decided.reason] if decided.reason not in (None, decided.status) else []
    if decided.k:
        classes = ", ".join(name.removeprefix("substrate.") for name in decided.classes)
        parts.append(f"{len(decided.classes)} of {decided.k}" + (f": {classes}" if classes else ""))
    return decided.status + (f" ({'; '.join(part for part in parts if part)})" if parts else "")


def _said_text(decided: Decided) -> Text:
    return Text(_said(decided), style=STYLES.get(decided.status, ""))


def _status(status: str) -> Text:
    return Text(status, style=STYLES.get(status, ""))
