"""Behaviour stays: ledgers, audits, explanations, proofs and snapshots as they were before the code was rearranged.

`data/` was made by `make.py` at the commit before the first file was moved. Whoever means to change behaviour makes it
anew and says so in the commit.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent
DATA = HERE / "data"


@pytest.fixture(scope="module")
def make() -> ModuleType:
    spec = importlib.util.spec_from_file_location("golden_make", HERE / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["three-lanes", "stories"])
def test_ledgers_and_outputs_are_the_same_bytes(make: ModuleType, tmp_path: Path, name: str):
    """The same inputs make the same blocks, outputs and checkpoints."""
    make.write_exports(tmp_path)

    expected = {path.name: path.read_bytes() for path in (DATA / name).iterdir()}
    assert len(expected) > 2
    assert {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} == expected


def test_audits_explanations_and_proofs_say_the_same(make: ModuleType, tmp_path: Path):
    """Made from the kept exports, by the commands."""
    reported = make.answers(DATA, tmp_path)

    assert len(reported) >= 10
    for name, text in reported.items():
        assert text == (DATA / name).read_text("utf-8"), name


def test_snapshots_hold_the_same_bytes(make: ModuleType):
    """After each block of the story."""
    assert make.snapshots() == (DATA / "snapshots.txt").read_text("utf-8")


def test_commands_print_the_same(make: ModuleType):
    """Filters, schemas and instructions, for fixed inputs. A line that differs names the command."""
    assert make.commands().splitlines() == (DATA / "commands.txt").read_text("utf-8").splitlines()
