"""What happened in each lane when, as HTML: bars over one axis of time for all lanes, so that they can be compared.

Words stand in the page and only bars in the pictures, which stretch with the page: so they can be read on a phone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ...codecs.times import format_time
from .activity import ROWS, ActivityCounts, Row
from .models import LaneReport
from .report import lane_name

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
