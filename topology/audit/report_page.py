"""The report as one HTML page that needs nothing else: no script, no font, no picture from anywhere.

Bars over one axis of time for all lanes show what happened in each lane when.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final, NamedTuple

from ...codecs.errors import printable
from ...codecs.times import format_time
from .divergences import MEANING, Divergence
from .ownership import COLUMNS as OWNER_COLUMNS
from .ownership import listed
from .report import COLUMNS, ROWS, ActivityCounts, LaneReport, Report, Row, lane_name, notes, row

PLOT_STYLE: Final = """
.plot { display: grid; grid-template-columns: 10.5rem 1fr; column-gap: .5rem; }
.plot ul { list-style: none; margin: 0; padding: 0; font-size: 12px; }
.plot li { height: 40px; line-height: 1.3; overflow: hidden; } .plot li span { display: block; }
.plot svg { width: 100%; height: 160px; display: block; overflow: visible; }
.plot line { vector-effect: non-scaling-stroke; }
.axis { grid-column: 2; position: relative; height: 2.6em; font-size: 11px; color: var(--soft); }
.axis span { position: absolute; border-left: 1px solid var(--line); padding-left: 3px; white-space: pre; }
.axis span.late { transform: translateX(-100%); border-left: 0; border-right: 1px solid var(--line);
  padding: 0 3px 0 0; text-align: right; }
@media (max-width: 40rem) { .plot { grid-template-columns: 6.5rem 1fr; } .axis span:nth-child(even) { display: none; } }
"""
_WIDTH, _ROW, _BARS = 1000, 40, 32
_SECOND, _DAY = 1000, 86_400_000
_STEPS: Final = [
    *(seconds * _SECOND for seconds in (1, 2, 5, 10, 30, 60, 120, 300, 900, 1800, 3600, 7200, 21600, 43200)),
    *(days * _DAY for days in (1, 2, 7, 14, 30, 90, 365, 730, 3650)),
]
_MOST_TICKS: Final = 5
_LATE = 0.75
"""Words of a tick behind this share of the axis stand to its left, so that they stay on the page."""


class Axis(NamedTuple):
    """The stretch of time that all plots show, Unix ms; `end` lies behind `start`."""

    start: int
    end: int

    def share(self, time: int) -> float:
        """Where a time lies, from 0 to 1."""
        return (time - self.start) / (self.end - self.start)

    def ticks(self) -> Sequence[int]:
        """At most five round times, and never none."""
        length = self.end - self.start
        step = next((one for one in _STEPS if length <= one * _MOST_TICKS), _STEPS[-1])
        first = -(-self.start // step) * step
        return range(first, self.end, step)[:_MOST_TICKS] or [self.start]


def axis_of(lanes: Sequence[LaneReport]) -> Axis | None:
    """The axis that has room for every lane; None where no lane has anything."""
    shown = [lane.timeline for lane in lanes if lane.timeline.stretches]
    return Axis(min(one.start for one in shown), max(map(_end, shown))) if shown else None


def plots(lanes: Sequence[LaneReport]) -> Iterator[str]:
    """A plot of each lane: blocks, inputs, outputs and checkpoints; marks for divergences."""
    axis = axis_of(lanes)
    for lane in lanes:
        said, colour = ("diverges", "bad") if lane.divergences else ("holds", "good")
        yield f'<h3>Lane {lane_name(lane)}: <span class="{colour}">{said}</span></h3>'
        decided = ", ".join(f"{counts.expected:,} {topic}" for topic, counts in lane.topics.items())
        if axis is None or not lane.timeline.stretches:
            yield '<p class="soft">no blocks</p>'
        else:
            yield f'<p class="soft">{decided or "no outputs"}; each bar is {_length(lane.timeline.width)}</p>'
            yield from _plot(lane, axis)


def _end(timeline: ActivityCounts) -> int:
    return timeline.start + timeline.stretches * timeline.width


def _plot(lane: LaneReport, axis: Axis) -> Iterator[str]:
    timeline = lane.timeline
    label = f"lane {lane_name(lane)}: {', '.join(ROWS)} from {_when(axis.start)} to {_when(axis.end)}"
    yield '<div class="plot"><ul>'
    for name in ROWS:
        counts = timeline.counts[name]
        scale = f"at most {max(counts):,}" if any(counts) else ""
        yield f'<li>{name} {sum(counts):,}<span class="soft">{scale}</span></li>'
    height = len(ROWS) * _ROW
    yield f'</ul><svg viewBox="0 0 {_WIDTH} {height}" preserveAspectRatio="none" role="img" '
    yield f'aria-label="{label}">'
    for number, name in enumerate(ROWS):
        yield from _bars(timeline, axis, name, number * _ROW + _BARS)
    for one in lane.divergences:
        if axis.start <= one.time <= axis.end:
            x = _WIDTH * axis.share(one.time)
            yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height}" stroke="var(--bad)" stroke-width="1.5">'
            yield f"<title>{one.kind}, block {one.height}</title></line>"
    yield '</svg><div class="axis">'
    for time in axis.ticks():
        share = axis.share(time)
        late = ' class="late"' if share > _LATE else ""
        yield f'<span{late} style="left: {100 * share:.2f}%">{_tick(time)}</span>'
    yield "</div></div>"


def _bars(timeline: ActivityCounts, axis: Axis, name: Row, base: int) -> Iterator[str]:
    counts = timeline.counts[name]
    most = max(counts, default=0)
    wide = _WIDTH * timeline.width / (axis.end - axis.start)
    yield f'<line x1="0" x2="{_WIDTH}" y1="{base}" y2="{base}" stroke="var(--line)"/>'
    for place, count in enumerate(counts):
        if count:
            at, tall = timeline.start + place * timeline.width, max(1.5, _BARS * count / most)
            yield f'<rect x="{_WIDTH * axis.share(at):.1f}" y="{base - tall:.1f}" width="{max(wide * 0.9, 0.8):.1f}" '
            yield f'height="{tall:.1f}" fill="var(--{name})"><title>{count:,} {name}, {_when(at)}</title></rect>'


def _tick(time: int) -> str:
    """The time of day above the day."""
    day, _, clock = _when(time).rstrip("Z").partition("T")
    return f"{clock}\n{day}"


def _length(width: int) -> str:
    for unit, name in ((_DAY, "d"), (3_600_000, "h"), (60_000, "min")):
        if width >= unit:
            return f"{width / unit:.3g} {name}"
    return f"{width / _SECOND:.3g} s"


def _when(time: int) -> str:
    return format_time(max(0, time))


_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1c1c1e; --back: #fff; --soft: #6b6b70; --line: #d9d9de; --good: #1a7f4b;
  --bad: #b3261e; --blocks: #6b6b70; --inputs: #2a6fdb; --outputs: #1a7f4b; --checkpoints: #a05a00; }
@media (prefers-color-scheme: dark) { :root { --ink: #eaeaee; --back: #161618; --soft: #a0a0a8; --line: #3a3a40;
  --good: #5fd39a; --bad: #ff8a80; --blocks: #a0a0a8; --inputs: #7fb0ff; --outputs: #5fd39a; --checkpoints: #f0b060; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--back); margin: 2rem auto;
  max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } caption { text-align: left; color: var(--soft); }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
code { font: 13px/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
.good { color: var(--good); } .bad { color: var(--bad); } .soft { color: var(--soft); }
.wide { overflow-x: auto; } h1, p, li { overflow-wrap: anywhere; }
"""


def page(report: Report) -> str:
    """The whole page."""
    return "".join(_page(report))


def _text(value: object) -> str:
    return escape(printable(str(value)), quote=True)


def _page(report: Report) -> Iterator[str]:
    verdict = report.verdict
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    yield "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>Audit of {_text(report.ledger)}</title><style>{_STYLE}{PLOT_STYLE}</style></head><body><main>"
    yield f"<h1>Audit of <code>{_text(report.ledger)}</code></h1>"
    yield f'<p class="soft">{_text(report.where)}, application {_text(report.app_id)}, at {_text(report.at)}</p>'
    good = "good" if verdict.integrity == "holds" else "bad"
    yield f'<p><strong>Integrity:</strong> <span class="{good}">{verdict.integrity}</span></p>'
    colour = {"shown": "good", "not-shown": "soft", "broken": "bad"}[verdict.completeness]
    yield f'<p><strong>Completeness:</strong> <span class="{colour}">{verdict.completeness}</span>; '
    yield f"{_text(verdict.why)}</p>"
    if report.keys:
        keys = "".join(f"<li><code>{_text(key)}</code></li>" for key in report.keys)
        yield f"<p>Keys whose signatures were believed:</p><ul>{keys}</ul>"
    yield from _lanes(report.all_lanes)
    yield from _verdicts(report.lanes)
    yield from _owners(report.all_lanes)
    if said := "".join(f"<li>{_text(note)}</li>" for note in notes(report)):
        yield f"<ul>{said}</ul>"
    yield from _divergences(report.divergences)
    yield "<h2>Timeline</h2>"
    yield from plots(report.all_lanes)
    yield "</main></body></html>\n"


def _lanes(lanes: Sequence[LaneReport]) -> Iterator[str]:
    yield '<h2>Lanes</h2><div class="wide"><table><thead><tr>'
    yield "".join(f'<th scope="col" class="n">{_text(name)}</th>' for name in COLUMNS)
    yield "</tr></thead><tbody>"
    for lane in lanes:
        yield "<tr>" + "".join(f'<td class="n">{_text(cell)}</td>' for cell in row(lane)) + "</tr>"
    yield "</tbody></table></div>"


def _verdicts(lanes: Sequence[LaneReport]) -> Iterator[str]:
    """How many verdicts have which status, over all lanes; what is discarded has no record and is counted apart."""
    counts = Counter[str]()
    for lane in lanes:
        counts.update(lane.verdicts)
    total = sum(counts.values())
    yield "<h2>Verdicts</h2>"
    if not total:
        yield "<p>None in the blocks that were folded.</p>"
        return
    yield '<div class="wide"><table><caption>Records on <code>admitted</code> and <code>inadmissible</code></caption>'
    yield '<thead><tr><th scope="col">status</th><th scope="col" class="n">count</th><th scope="col" class="n">share'
    yield "</th></tr></thead><tbody>"
    for status, count in sorted(counts.items(), key=lambda one: (-one[1], one[0])):
        yield f'<tr><th scope="row">{_text(status)}</th><td class="n">{count:,}</td>'
        yield f'<td class="n">{count / total:.1%}</td></tr>'
    yield f'</tbody><tfoot><tr><th scope="row">all</th><td class="n">{total:,}</td><td></td></tr></tfoot></table></div>'
    if all(lane.counters for lane in lanes):
        discarded = sum(lane.counters.get("discarded", 0) for lane in lanes)
        yield f'<p class="soft">{discarded:,} more were discarded: they have no record there.</p>'


def _owners(lanes: Sequence[LaneReport]) -> Iterator[str]:
    if not any(lane.claims for lane in lanes):
        return
    yield '<h2>Who owned the lanes</h2><div class="wide"><table><thead><tr>'
    yield "".join(f'<th scope="col">{_text(name)}</th>' for name in ("lane", *OWNER_COLUMNS))
    yield "</tr></thead><tbody>"
    for lane in lanes:
        for cells in listed(lane.claims):
            yield "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in (lane_name(lane), *cells)) + "</tr>"
    yield "</tbody></table></div>"


def _divergences(found: Sequence[Divergence]) -> Iterator[str]:
    yield "<h2>Divergences</h2>"
    if not found:
        yield "<p>None.</p>"
        return
    heads = ("kind", "lane", "block", "place", "expected", "got", "what", "count")
    yield '<div class="wide"><table><thead><tr>' + "".join(f'<th scope="col">{head}</th>' for head in heads)
    yield "</tr></thead><tbody>"
    for one in found:
        follows = ", ".join(f"{count:,} {kind}" for kind, count in one.follows.items())
        what = f"{one.sentence}; follows from it: {follows}" if follows else one.sentence
        yield f'<tr><td><abbr title="{_text(MEANING[one.kind])}">{one.kind}</abbr></td>'
        yield f'<td class="n">{_lane(one)}</td>'
        yield f'<td class="n">{one.height if one.height >= 0 else ""}</td>'
        yield "".join(f"<td><code>{_text(cell)}</code></td>" for cell in (one.place, one.expected, one.got))
        yield f'<td>{_text(what)}</td><td class="n">{one.count:,}</td></tr>'
    yield "</tbody></table></div>"


def _lane(one: Divergence) -> str:
    name = str(one.lane) if one.lane >= 0 else ""
    return name if one.fold == "adjudicate" else f"{one.fold} {name}"
