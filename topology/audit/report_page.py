"""The report as one HTML page that needs nothing else: no script, no font, no picture from anywhere.

Everything that is not ours is escaped, and a policy in the page forbids whatever might have slipped through. Colours
follow the reader's light or dark setting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from ...codecs.errors import printable
from .divergences import MEANING, Divergence
from .models import LaneReport
from .ownership import COLUMNS as OWNER_COLUMNS
from .ownership import listed
from .plots import PLOT_STYLE, plots
from .report import COLUMNS, Report, lane_name, notes, row

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
