"""What a run found, for people: the table, the plot (SVG), and the measured part of `docs/capacity.md`."""

from __future__ import annotations

import html
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from latency import LINGER_MS, TICK_SECONDS
from measuring import Result
from ratios import Goal
from rich.console import Console
from rich.table import Table

COLUMNS = ("inputs/s", "CPU us/input", "broker us/input", "peak MB", "seconds", "guarantee", "complete")
BAR, GAP, LEFT, WIDTH = 22, 10, 250, 880
COLOURS = {"sluice": "#0b6e4f", "kafka_streams": "#b3541e"}
OTHERS = "#7a869a"
BEGIN, END = "<!-- measured: {} -->", "<!-- end -->"


def cells(result: Result) -> list[str]:
    """A result's line of the table, without its name; one cell where it failed."""
    if result.failed:
        return [f"not run: {result.failed}"]
    faults = [
        f"{count:,} {word}"
        for count, word in ((result.missing, "missing"), (result.doubled, "doubled"), (result.foreign, "foreign"))
        if count
    ]
    return [
        f"{result.inputs_per_second:,}",
        f"{result.cpu_us_per_input:.1f}",
        f"{result.broker_cpu_us_per_input:.1f}",
        f"{result.peak_mb:,}",
        f"{result.seconds:.2f}",
        result.guarantees,
        ", ".join(faults) or "yes",
    ]


def output() -> Console:
    """Standard output; a pipe is as wide as the table needs."""
    return Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=140)


def table(results: Mapping[str, Result]) -> Table:
    """For a terminal."""
    made = Table(title="One run, one machine, one Kafka, the same input")
    made.add_column("", no_wrap=True)
    for column in COLUMNS:
        made.add_column(column, justify="left" if column in ("guarantee", "complete") else "right")
    failed: list[str] = []
    for name, result in results.items():
        if result.failed:
            failed.append(f"{name}: {cells(result)[0]}")
            made.add_row(name, "not run")
        else:
            made.add_row(name, *cells(result))
    made.caption = "\n".join(failed) or None
    return made


def markdown(results: Mapping[str, Result]) -> str:
    """For a page."""
    lines = [f"| | {' | '.join(COLUMNS)} |", f"| --- |{' ---: |' * 5} --- | --- |"]
    for name, result in results.items():
        row = cells(result)
        padded = row + [""] * (len(COLUMNS) - len(row))
        lines.append(f"| {name} | {' | '.join(one.replace('|', '/') for one in padded)} |")
    return "\n".join(lines)


def goals_markdown(goals: Sequence[Goal]) -> str:
    """The goals beside what was measured."""
    lines = ["| | wanted | measured | met |", "| --- | ---: | ---: | --- |"]
    for goal in goals:
        figure = "not measured" if goal.figure is None else f"{goal.figure:g}"
        met = {True: "yes", False: "no", None: "not known"}[goal.met]
        lines.append(f"| {goal.name} | {goal.wanted} | {figure} | {met} |")
    return "\n".join(lines)


def svg(results: Mapping[str, Result], subtitle: str) -> str:
    """Bars of inputs a second, one a contestant, with the CPU an input behind each."""
    most = max((result.inputs_per_second for result in results.values()), default=0) or 1
    height = 64 + len(results) * (BAR + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="13" role="img">',
        "<title>Inputs a second</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        '<text x="12" y="22" font-size="16" font-weight="bold">Inputs a second</text>',
        f'<text x="12" y="42" fill="#555555">{html.escape(subtitle)}</text>',
    ]
    for place, (name, result) in enumerate(results.items()):
        top = 56 + place * (BAR + GAP)
        long = max(1, round(result.inputs_per_second / most * (WIDTH - LEFT - 230)))
        colour = COLOURS.get(result.family, OTHERS)
        said = cells(result)[0]
        if not result.failed:
            said += f" · {result.cpu_us_per_input:.1f} us CPU" + ("" if result.complete else " · incomplete")
            parts.append(f'<rect x="{LEFT}" y="{top}" width="{long}" height="{BAR}" fill="{colour}"/>')
        else:
            long, said = 0, said[:80]
        middle = top + BAR - 6
        parts.append(f'<text x="{LEFT - 8}" y="{middle}" text-anchor="end">{html.escape(name)}</text>')
        parts.append(f'<text x="{LEFT + long + 6}" y="{middle}" fill="#333333">{html.escape(said)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def turns_of(latency: Mapping[str, Any]) -> str:
    """Of which turns that was the middle one."""
    warm, turns = latency["warm_turns"], latency["turns"]
    others = "; ".join(f"{turn['p50']} and {turn['p99']}" for turn in turns[warm:])
    return f"That is the middle one of the {len(turns) - warm} turns that count (p50 and p99: {others})."


def beside_markdown(document: Mapping[str, Any]) -> list[str]:
    """The table of latencies under the same load; empty where none was measured."""
    found = document.get("latency_beside") or []
    if not found:
        return []
    rows = [
        f"| {one['inputs_per_second']:,} | {one['contestant']} | {one['p50']} | {one['p99']} | "
        f"{one['achieved_inputs_per_second']:,} | {one['lost']} |"
        for one in found
    ]
    heads = "| inputs/s | | p50 ms | p99 ms | sent inputs/s | not come in time |"
    return [
        "Latency under the same load, in turn:",
        "\n".join([heads, "| ---: | --- | ---: | ---: | ---: | ---: |", *rows]),
    ]


def with_section(text: str, name: str, content: str) -> str:
    """The page with what stands between the marks of a section replaced.

    Raises:
        ValueError: the page has no such section.
    """
    begin = BEGIN.format(name)
    before, found, rest = text.partition(begin + "\n")
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise ValueError(f"the page has no section {begin} … {END}")
    return f"{before}{begin}\n{content.strip()}\n{END}{after}"


def write_section(page: Path, name: str, content: str) -> None:
    """`with_section`, on a file."""
    page.write_text(with_section(page.read_text("utf-8"), name, content), "utf-8")


def peers_section(document: Mapping[str, Any], results: Mapping[str, Result], goals: Sequence[Goal]) -> str:
    """What `docs/capacity.md` says about a run."""
    where = (
        f"{document['at']}, Python {document['python']}, {document['cores']} cores, load {document['load']} at the "
        f"beginning; {document['emissions']:,} emissions, {document['partitions']} partitions."
    )
    latency = document.get("latency_ms") or {}
    latencies = (
        f"Latency from produce to read_committed consume at {latency['inputs_per_second']:,} inputs/s, sent "
        f"every {TICK_SECONDS * 1000:g} ms by a producer that lingers for {LINGER_MS} ms (Kafka's default): p50 "
        f"{latency['p50']} ms, p90 {latency['p90']} ms, p99 {latency['p99']} ms, at most {latency['most']} ms. "
        f"{turns_of(latency)}"
        if latency.get("p50") is not None
        else "Latency was not measured."
    )
    whole = document["ratios"].get("audit_command_over_live")
    audit = (
        [] if whole is None else [f"From its call on, start-up included, the audit is {whole} times as fast as live."]
    )
    return "\n\n".join([where, markdown(results), goals_markdown(goals), *audit, latencies, *beside_markdown(document)])
