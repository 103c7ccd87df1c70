"""A vetting as one self-contained HTML page: no script, nothing loaded from elsewhere, all text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .vetted_assertions import Verdict
from .vetting_view import checked_lines, headings, one_line, summary, why

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1c1c1c;
  background: #fff; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; }
.statement { border-left: 4px solid #999; margin: 1rem 0; padding: .25rem 1rem; }
.admitted { border-color: #1a7f37; } .contradicted, .rejected { border-color: #b42318; }
.below-floor, .unverified-inference { border-color: #9a6700; } .status { font-weight: 600; }
ul { margin: .25rem 0; padding-left: 1.25rem; color: #444; font-size: .9rem; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) { body { color: #e6e6e6; background: #161616; } ul { color: #b8b8b8; } }
"""


def page(verdicts: Sequence[Verdict], title: str) -> str:
    """The page.

    Args:
        verdicts: in the order of the answer.
        title: what was vetted; escaped here.
    """
    body = "\n".join(
        (f"<h2>{escape(above)}</h2>\n" if above else "") + "\n".join(map(_statement, several))
        for above, several in headings(verdicts)
    )
    told = "\n".join(f"<p>{escape(line)}</p>" for line in reversed(summary(verdicts)))
    heading = escape(one_line(title))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Vetting of {heading}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>Vetting of {heading}</h1>
{told}
{body}
</body>
</html>
"""


def _statement(verdict: Verdict) -> str:
    checked, where = checked_lines(verdict)
    reason = f" ({why(verdict)})" if why(verdict) else ""
    items = "".join(f"<li>{escape(line)}</li>" for line in [*(f"checked: {one}" for one in checked), *where])
    below = f"<ul>{items}</ul>" if items else ""
    status = escape(verdict.status)
    said = escape(one_line(verdict.shown))
    return (
        f'<section class="statement {status}">'
        f'<p><span class="status">{escape(verdict.label)}</span>{escape(reason)}: {said}</p>{below}</section>'
    )
