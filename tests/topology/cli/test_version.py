"""`sluice --version` says which version it is, and whether the compiled core is used."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata

import pytest
from click.testing import CliRunner

from sluice.codecs import compiled_core as codecs
from sluice.streams.adjudication import fold_layout as fold
from sluice.topology.cli import main, version_line

VERSION = metadata.version("sluice-verdicts")


def test_it_names_the_compiled_core_by_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the sources, which is that of the module, or it would not be used."""
    monkeypatch.setattr(codecs, "codecs", codecs)
    monkeypatch.setattr(fold, "core", fold)

    assert CliRunner().invoke(main, ["--version"]).stdout == f"sluice {VERSION}, compiled core {codecs.VERSION}\n"


def test_without_the_compiled_core_it_says_pure_python() -> None:
    """As with SLUICE_PURE=1."""
    done = subprocess.run(
        [sys.executable, "-c", "from sluice.topology.cli import main; main()", "--version"],
        env={**os.environ, "SLUICE_PURE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.stdout, done.stderr, done.returncode) == (f"sluice {VERSION}, pure Python\n", "", 0)


@pytest.mark.parametrize(("module", "name", "left"), [(codecs, "codecs", "fold"), (fold, "core", "codecs")])
def test_half_a_core_is_said_to_be_half(module: object, name: str, left: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken install must not look like a whole one."""
    monkeypatch.setattr(codecs, "codecs", codecs)
    monkeypatch.setattr(fold, "core", fold)
    monkeypatch.setattr(module, name, None)

    assert version_line() == f"sluice {VERSION}, compiled core {codecs.VERSION} for the {left} only"
