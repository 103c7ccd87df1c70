"""How far a command has come in reading the ledger: a bar on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Tell = Callable[[int, int, int], None]
"""Told an offset, the first one and the end."""


@contextmanager
def reading(what: str) -> Iterator[Tell]:
    """A bar on standard error while the ledger is read; also the moment between two blocks, for the collector."""
    from ..settings.memory import Collector

    collector = Collector()
    collector.start()
    try:
        with _bar(what) as tell:

            def callback(offset: int, first: int, end: int) -> None:
                collector.between_blocks()
                tell(offset, first, end)

            yield callback
    finally:
        collector.stop()


@contextmanager
def _bar(what: str) -> Iterator[Tell]:
    if not sys.stderr.isatty():
        yield lambda offset, first, end: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda offset, first, end: bar.update(task, completed=offset + 1 - first, total=max(1, end - first))
