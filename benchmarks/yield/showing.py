"""What a run found, for people: tables for a terminal, Markdown for a page, and a plot (SVG)."""

from __future__ import annotations

import html
from collections.abc import Sequence

from bounds import Rate
from cases import SETTINGS
from figures import Figures, Goal
from mutations import DESCRIPTIONS, TYPES
from rich.table import Table

NAMES = {"bare": "annotations alone", "derived": "as a recorder derives them", "attached": "checks attached"}
BEFORE = "the rule of before"
COLOURS = {"whole": "#0b6e4f", "part": "#8fc1ae", "before": "#b3541e"}
WIDTH, LEFT, BAR, GAP = 880, 250, 16, 8


def recall_rows(found: Figures) -> list[list[str]]:
    """Recall of true statements by kind: in part or whole, and whole, in each setting."""
    kinds = sorted(found.recall["attached"], key=lambda kind: -found.recall["attached"][kind][0].cases)
    rows = [
        [kind, str(found.recall["attached"][kind][0].cases)]
        + [
            f"{_percent(part)} / {_percent(whole)}"
            for setting in SETTINGS
            for part, whole in (found.recall[setting][kind],)
        ]
        for kind in kinds
    ]
    total = [_both(found, name) for name in ("bare", "derived", "with_checks")]
    rows.append(["all", str(found.rates["recall_with_checks"].cases), *total])
    before = [_percent(found.before[f"recall {setting}"]) for setting in SETTINGS]
    return [*rows, [BEFORE, "", *before]]


def false_rows(found: Figures) -> list[list[str]]:
    """False prose by type: admitted as whole, with the bound; in part while it still says so; and by the old rule."""
    rows: list[list[str]] = []
    for name in ("false", *TYPES):
        cells = [DESCRIPTIONS.get(name, "false statements, near misses")]
        for setting in (*SETTINGS, "padded"):
            whole, part, _ = found.false[setting][name]
            cells.append(f"{_count(whole)} ({whole.bound:.1%}), {_count(part)} of {whole.cases}")
        rows.append([*cells, _percent(found.before[name])])
    return rows


RECALL_HEAD = ["true statements", "cases", *(NAMES[setting] for setting in SETTINGS)]
FALSE_HEAD = ["false prose", *(NAMES[setting] for setting in SETTINGS), "wider locators", BEFORE]


def tables(found: Figures, held: Sequence[Goal]) -> list[Table]:
    """For a terminal."""
    recall = _table("Admitted of true statements: at all / as whole", RECALL_HEAD, recall_rows(found))
    false = _table(
        "Admitted of false prose: whole (95 % bound), part that still says it, of cases", FALSE_HEAD, false_rows(found)
    )
    reasons = _table("Why a look bore nothing out, of true statements not admitted", ["setting", "reasons"], [
        [NAMES[setting], ", ".join(f"{reason} {count}" for reason, count in found.absent[setting].most_common(6))]
        for setting in SETTINGS
    ])  # fmt: skip
    goals = _table(
        "Goals",
        ["", "wanted", "measured", "met"],
        [[one.name, one.wanted, one.said, "yes" if one.met else "NO"] for one in held],
    )
    return [recall, false, reasons, goals]


def markdown(found: Figures, held: Sequence[Goal], subtitle: str) -> str:
    """For a page."""
    parts = [subtitle, _lines(RECALL_HEAD, recall_rows(found)), _lines(FALSE_HEAD, false_rows(found))]
    parts.append(
        _lines(
            ["", "wanted", "measured", "met"],
            [[one.name, one.wanted, one.said, "yes" if one.met else "no"] for one in held],
        )
    )
    return "\n\n".join(parts)


def svg(found: Figures, subtitle: str) -> str:
    """Bars: what is admitted of the true in each setting, and of the false by type, beside the rule of before."""
    bars: list[tuple[str, list[tuple[str, float]]]] = []
    for setting, name in (("bare", "bare"), ("derived", "derived"), ("attached", "with_checks")):
        old, part, whole = (
            found.before[f"recall {setting}"],
            found.rates[f"recall_{name}"],
            found.rates[f"whole_{name}"],
        )
        bars.append((f"true: {NAMES[setting]}", [("before", old.value), ("part", part.value), ("whole", whole.value)]))
    for name in ("false", *TYPES):
        whole = max(found.false[setting][name][0].value for setting in SETTINGS)
        part = max(found.false[setting][name][1].value for setting in SETTINGS)
        bars.append(
            (
                f"false: {DESCRIPTIONS.get(name, 'near misses')}",
                [("before", found.before[name].value), ("part", part), ("whole", whole)],
            )
        )
    height = 92 + len(bars) * (3 * BAR // 2 + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="12" role="img">',
        "<title>What is admitted, of true and of false statements</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        '<text x="12" y="22" font-size="16" font-weight="bold">Admitted</text>',
        f'<text x="12" y="42" fill="#555555">{html.escape(subtitle)}</text>',
    ]
    for place, (name, label) in enumerate(
        (("before", BEFORE), ("part", "in part, or still saying the false thing in part"), ("whole", "as whole"))
    ):
        x = LEFT + place * 150 + (place > 1) * 160
        parts.append(f'<rect x="{x}" y="54" width="12" height="12" fill="{COLOURS[name]}"/>')
        parts.append(f'<text x="{x + 18}" y="64">{html.escape(label)}</text>')
    top = 84
    for label, values in bars:
        parts.append(f'<text x="{LEFT - 8}" y="{top + BAR}" text-anchor="end">{html.escape(label)}</text>')
        for place, (name, value) in enumerate(values):
            long = round(value * (WIDTH - LEFT - 70))
            y = top + place * BAR // 2
            parts.append(
                f'<rect x="{LEFT}" y="{y}" width="{max(long, 1)}" height="{BAR // 2 - 1}" fill="{COLOURS[name]}"/>'
            )
            parts.append(f'<text x="{LEFT + long + 5}" y="{y + 7}" font-size="8" fill="#333333">{value:.1%}</text>')
        top += 3 * BAR // 2 + GAP
    return "\n".join([*parts, "</svg>", ""])


def _both(found: Figures, name: str) -> str:
    return f"{_percent(found.rates[f'recall_{name}'])} / {_percent(found.rates[f'whole_{name}'])}"


def _percent(rate: Rate) -> str:
    return f"{rate.value:.0%}" if rate.cases else "-"


def _count(rate: Rate) -> str:
    return str(round(rate.value * rate.cases))


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    made = Table(title=title)
    for place, name in enumerate(head):
        made.add_column(name, justify="right" if place else "left")
    for row in rows:
        made.add_row(*row)
    return made


def _lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    made = [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
    return "\n".join([*made, *(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows)])
