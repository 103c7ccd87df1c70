"""`sluice check`: what the static checker finds in Python sources (docs/reference/commands.md, docs/check.md). Nothing
is run.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import tokenize
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from ...codecs.errors import printable
from ..settings.files import open_plain
from .standard_streams import say, write_document

if TYPE_CHECKING:
    from ...streams.checker import Finding, Report, Source

STACK_BYTES = 256 << 20
"""Python's parser recurses in C: on the usual 8 MB a source nested a few thousand deep would end the process."""
RECURSION_LIMIT = 20_000
"""Of the checker's own thread: deeper nesting is told as an error."""
SKIPPED = frozenset({"__pycache__", "node_modules"})
"""Folders that are not gone into, beside those whose name begins with a dot."""


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(allow_dash=True), metavar="FILES...")
@click.option("--format", "form", type=click.Choice(["text", "json", "sarif"]), default="text", show_default=True)
@click.option("--verbose", "-v", is_flag=True, help="List the sites outside @grounded_pure too; they fail nothing.")
def check(files: tuple[str, ...], form: str, verbose: bool) -> None:
    """Prove before anything runs that grounded values stay grounded: Python sources in, a line for each finding out.

    FILES are files, folders (gone through for *.py) and - for standard input. They are checked together, and may
    import one another; none of them is imported or run. `# sluice: ignore[rule]` on its line silences a finding.
    Exit status 0: nothing found, 1: findings, 2: a file that cannot be read or is not Python; the others are checked.

    \b
    Example:
      sluice check agents/ tools.py
      sluice check --format sarif src > check.sarif
    """
    unread: list[tuple[str, str]] = []
    report = _in_a_deep_thread(list(_sources(files, unread)))
    _write(report, form, verbose)
    for name, why in unread:
        say(f"cannot read {printable(repr(name))}: {why}; name Python sources, folders or -")
    for one in report.errors:
        say(f"cannot check {printable(f'{one.path}:{one.line}:{one.column}: {one.message}')}")
    if unread or report.errors:
        sys.exit(2)
    if report.findings:
        sys.exit(1)


def _sources(files: tuple[str, ...], unread: list[tuple[str, str]]) -> Iterator[Source]:
    from ...streams.checker import Source

    seen: set[str] = set()
    for name in files:
        for one in _named(name, unread):
            if one in seen:
                continue
            seen.add(one)
            try:
                with nullcontext(sys.stdin.buffer) if one == "-" else open_plain(one) as file:
                    raw = file.read()
                path = "<stdin>" if one == "-" else one
                yield Source(path, _decoded(raw), os.path.abspath(path))
            except OSError as error:
                unread.append((one, error.strerror or str(error)))
            except (SyntaxError, UnicodeDecodeError, LookupError):
                unread.append((one, "its encoding is not what it declares, or not UTF-8"))


def _named(name: str, unread: list[tuple[str, str]]) -> list[str]:
    if name == "-" or not Path(name).is_dir():
        return [name]
    try:
        found = [str(path) for path in _below(Path(name))]
    except OSError as error:
        unread.append((name, error.strerror or str(error)))
        return []
    if not found:
        unread.append((name, "there is no Python source in it"))
    return found


def _below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name in SKIPPED:
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _below(path)
        elif path.suffix == ".py" and path.is_file():
            yield path


def _decoded(raw: bytes) -> str:
    """A source's text, by its own declaration of its encoding (PEP 263); line ends as Python counts them."""
    encoding, _ = tokenize.detect_encoding(BytesIO(raw).readline)
    return raw.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")


def _in_a_deep_thread(sources: list[Source]) -> Report:
    from ...streams.checker import check as checked

    def run() -> Report:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(RECURSION_LIMIT)
        collects = gc.isenabled()
        gc.disable()  # syntax trees are large, and no garbage until the end: the collector took a quarter of the time
        try:
            return checked(sources)
        finally:
            sys.setrecursionlimit(limit)
            if collects:
                gc.enable()

    before = threading.stack_size(STACK_BYTES)
    try:
        with ThreadPoolExecutor(1, "check") as pool:
            return pool.submit(run).result()
    finally:
        threading.stack_size(before)


def _write(report: Report, form: str, verbose: bool) -> None:
    from ...streams.checker import as_json, as_sarif
    from ..settings.process import version

    if form == "sarif":
        value = as_sarif(report, version(), verbose)
        write_document(value)
        return
    found: list[Finding] = sorted([*report.findings, *report.notes]) if verbose else report.findings
    for one in [*report.errors, *found]:
        click.echo(msgspec.json.encode(as_json(one)).decode() if form == "json" else one.text())
