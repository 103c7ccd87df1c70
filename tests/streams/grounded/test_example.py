"""The example in examples/grounded, whole: from a question to a record that is admitted with its chain."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sluice.codecs.decode import decode_emission
from sluice.codecs.records import Emission
from sluice.streams.grounded import CitationViolation

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "examples" / "grounded" / "docs_agent.py"
QUESTIONS = ["What is a watermark?", "What does the horizon mean?"]


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    """The names of the script."""
    return runpy.run_path(str(SCRIPT))


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A git checkout with the documents as they stand in this tree."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "docs", folder / "docs")
    for name in ("README.md", "ARCHITECTURE.md"):
        shutil.copyfile(ROOT / name, folder / name)
    who = {f"GIT_{role}_{what}": "a@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "Add the documents"]):
        subprocess.run(["git", *command], cwd=folder, env={**os.environ, **who, **alone}, check=True, timeout=30)
    return folder


def test_every_answer_is_admitted_with_its_whole_chain(example: dict[str, Any], checkout: Path) -> None:
    """The agent's own steps, a retrieval for each kind of evidence, and the hand-off from the emitter
    (docs/reference/records.md).
    """
    made = example["emission_of"](str(checkout), QUESTIONS)

    records = example["decide"](str(checkout), made)

    assert [record["status"] for record in records] == ["admitted", "admitted"]
    for record in records:
        chain = record["_untrusted_text"]["chain"]
        assert [step["step"] for step in chain] == [
            "retrieval", "prompt-transform", "agent-handoff", "retrieval", "retrieval", "agent-handoff",
        ]  # fmt: skip
        assert chain[0]["source"].startswith("docs/glossary.md:")
        assert [step["source"] for step in chain[3:5]] == ["substrate.code.read", "substrate.grep"]
        assert chain[5]["agent_name"] == "docs-agent"
        assert (record["grounded"], record["confidence"], record["data"]) == (True, 0.8, ["grounded"])


def test_the_script_writes_an_emission(checkout: Path) -> None:
    """One line of JSON that a lane reads; the same id each time."""
    written = [
        subprocess.run(
            [sys.executable, SCRIPT, "--emission", *QUESTIONS],
            cwd=checkout,
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for _ in range(2)
    ]

    read = [decode_emission(one) for one in written]
    assert all(isinstance(one, Emission) for one in read)
    assert len({one.emission_id for one in read if isinstance(one, Emission)}) == 1
    assert [len(msgspec.json.decode(one)["assertions"]) for one in written] == [2, 2]


def test_an_answer_that_quotes_what_is_not_there_comes_to_nothing(
    example: dict[str, Any], checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that invents a quote is found out before anything is emitted [C §4]."""
    passage = example["search"](str(checkout), QUESTIONS[0])

    monkeypatch.setitem(example["answer"].__wrapped__.__globals__, "best_part", lambda passage, question: "invented")

    with pytest.raises(CitationViolation, match="invented"):
        example["answer"](passage, "What?")
