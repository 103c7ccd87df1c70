"""What a run tells while it runs: a bar on a terminal, plain lines otherwise; both to standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

EVERY_SECONDS = 15.0
"""How often a plain line says how far it is."""


class Board:
    """Lines with the seconds since the beginning, and one status that is shown anew; a context manager."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._began, self._reported_at = time.monotonic(), 0.0
        self._bar: Progress | None = None
        if self._console.is_terminal:
            columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._task = self._bar.add_task("starting", total=None)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def tell(self, line: str) -> None:
        """Says what happened."""
        text = f"{self.seconds:6.1f} s  {line}"
        if self._bar is not None:
            self._console.print(text, markup=False, highlight=False)
        else:
            print(text, file=sys.stderr, flush=True)

    def show(self, done: float, status: Callable[[], str]) -> None:
        """Shows how far it is, from 0 to 1, and what there is."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=1.0, description=status())
        elif time.monotonic() - self._reported_at > EVERY_SECONDS:
            self._reported_at = time.monotonic()
            self.tell(status())

    def __enter__(self) -> Board:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
