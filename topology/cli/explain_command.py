"""`sluice explain`: the story of an emission's assertions, from the ledger."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ...codecs.errors import UsageError
from ...codecs.spans import parse_span_key
from ..settings.clock import now_ms
from ..settings.settings import Settings
from . import bars
from .options import broker, broker_settings, topic_prefix
from .standard_streams import present, write_lines

if TYPE_CHECKING:
    from ..explain.explanation import Explanation


@click.command()
@click.argument("emission")
@click.argument("span", required=False)
@click.option("--offline", metavar="DIR", help="Read an export (`sluice audit --export DIR`) instead of a broker.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object, sluice:Explanation.")
@broker
@topic_prefix
@click.pass_obj
def explain(
    obj: dict[str, Any], emission: str, span: str | None, offline: str | None, as_json: bool, **flags: Any
) -> None:
    """Tells what became of EMISSION, or of its assertions with one SPAN key, and why.

    What was claimed, what was seen when and by whom, what counted and what did not, what was missing, every verdict,
    until when it held. All of it comes from the ledger of the emission's lane, which is folded again from its
    beginning; only whether something holds *now* is by this machine's clock. A key of the output topics will do as well
    (em-1#c:0-43). An input under another key is in that key's lane, and not part of the story.

    \b
    Example:
      sluice explain em-7f3a
      sluice explain em-7f3a c:0-43 --offline march/ --json
    """
    emission, span = _named(emission, span)
    settings = broker_settings(obj, flags)
    explanation = asyncio.run(_explanation(settings, emission, span, None if offline is None else Path(offline)))
    _print(explanation, as_json)


def _named(emission: str, span: str | None) -> tuple[str, str | None]:
    """The emission id and the span key, of which the former may hold the latter as a Kafka key does.

    Raises:
        UsageError: the span is none.
    """
    emission, _, named = emission.partition("#")
    span = span or named or None
    if span is not None and parse_span_key(span) is None:
        raise UsageError("not a span key", path="SPAN", expected="one such as c:0-43, t:name:3-9 or p:/a/b", got=span)
    return emission, span


async def _explanation(settings: Settings, emission: str, span: str | None, folder: Path | None) -> Explanation:
    from ..explain.explain import explain
    from ..ledger.log_reader import open_logs

    with bars.reading(f"folding the lane of {emission}") as tell:
        async with open_logs(settings, folder) as logs:
            return await explain(logs, emission, span, now_ms(), tell)


def _print(explanation: Explanation, as_json: bool) -> None:
    from ..explain import explanation_view
    from ..terminal import showing

    if as_json:
        write_lines([showing.escaped(msgspec.json.encode(explanation).decode())])
    else:
        present(partial(explanation_view.show, explanation), explanation_view.lines(explanation))
