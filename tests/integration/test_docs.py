"""The pages whose commands need a real Kafka, from their first line to their last, and the README's own blocks."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pages import PATIENCE, ROOT, Shell, blocks, follow, pages, way_to
from readme import STATUS, TERMINALS, is_elsewhere, lines, run_it

pytestmark = pytest.mark.long

KAFKA = [page for page in pages() if any(block.kafka for block in blocks(page))]


@pytest.fixture
def shell(kafka: str, prefix: str, tmp_path: Path) -> Iterator[Shell]:
    """A reader's shell with a broker, and topics and groups of its own."""
    one = Shell(tmp_path / "reader", SLUICE_BROKER=kafka, SLUICE_TOPIC_PREFIX=prefix, SLUICE_APP_ID=prefix.strip("."))
    yield one
    one.close()


@pytest.mark.parametrize("page", KAFKA, ids=lambda page: page.stem)
def test_what_a_page_says_holds_on_a_real_kafka(page: Path, shell: Shell):
    """Block by block, with the workers and observers that it starts, behind the pages that its reader comes from."""
    follow(shell, (block for one in way_to(page) for block in blocks(one)))


def until(shell: Shell, command: str, wanted: int = 0) -> str:
    """What a command prints once it ends with the status that is wanted."""
    end = time.monotonic() + PATIENCE
    while True:
        status, printed = shell.run(command)
        if status == wanted:
            return printed
        # 2 is wrong usage: no waiting makes that right.
        patience = 0 if status == 2 else end - time.monotonic()
        assert patience > 0, f"`{command}` ended with {status}:\n{printed}{shell.output()}"
        time.sleep(0.5)


def test_what_the_readme_says_runs(shell: Shell):
    """Every line of its blocks, in a repository of the examples, with what was really admitted in place of em-7f3a."""
    repository_of_examples(shell)
    (shell.folder / "stricter.toml").write_text("[admissibility]\nk = { internal = 3, external = 3 }\n")
    until(shell, "export SLUICE_KEY_FILE=signing.key SLUICE_CHECKPOINT_INTERVAL=1")
    every = [line for line in lines() if not is_elsewhere(line)]
    keys = [line for line in every if line.startswith("sluice key new")]
    for line in keys:  # before the workers, which sign with it
        until(shell, line)
    key = until(shell, "sluice key show signing.key").strip()
    admitted: dict[str, object] = {}
    for number, line in enumerate(line for line in every if line not in keys):
        if line.startswith(TERMINALS):
            shell.start(f"terminal-{number}", line)
            continue
        if "em-7f3a" in line and not admitted:
            admitted = first_admitted(shell)
            chars = admitted["span"]["chars"]  # type: ignore[index]
        if admitted:
            line = line.replace("c:0-43", f"c:{chars[0]}-{chars[1]}").replace("em-7f3a", str(admitted["emission_id"]))
        until(shell, line.replace("sluice/prod+…", key), STATUS.get(line, 0))


def test_run_it_gives_every_verdict_while_one_waits(shell: Shell):
    """Its lines in their order: the worker's policy has a horizon that a reader sits out, and discards nothing."""
    repository_of_examples(shell)
    steps = run_it()
    assert steps[0].startswith("sluice broker run")
    for number, line in enumerate(steps[1:]):
        if line.startswith(TERMINALS):
            shell.start(f"terminal-{number}", line)
        else:
            until(shell, line, STATUS.get(line, 0))
    wanted = {
        "admitted": {"admitted"},
        "inadmissible": {"contradicted", "below-floor", "rejected", "unannotated", "unverified-inference"},
    }
    end = time.monotonic() + PATIENCE
    for topic, statuses in wanted.items():
        while not statuses <= {json.loads(one)["status"] for one in consumed(shell, topic)}:
            assert time.monotonic() < end, shell.told()
            time.sleep(0.5)
    assert until(shell, "sluice consume --current") != ""


def consumed(shell: Shell, topic: str) -> list[str]:
    """The records of a topic."""
    return [line for line in until(shell, f"sluice consume {topic} --json").splitlines() if line.startswith("{")]


def repository_of_examples(shell: Shell) -> None:
    """Makes the shell's folder a repository that the examples speak of."""
    shutil.copytree(ROOT / "examples", shell.folder / "examples")
    for name in ("LICENSE", "Makefile", "pyproject.toml"):  # what some of the examples speak of
        shutil.copyfile(ROOT / name, shell.folder / name)
    until(shell, "git init --quiet && git add .")
    until(shell, "git -c user.name=a -c user.email=a@example.org commit -qm x")


def first_admitted(shell: Shell) -> dict[str, object]:
    """The first record that is admitted by its characters."""
    end = time.monotonic() + PATIENCE
    while True:
        for line in until(shell, "sluice consume --json").splitlines():
            record = json.loads(line)
            if record["status"] == "admitted" and "chars" in record["span"]:
                return record
        assert time.monotonic() < end, shell.output()
        time.sleep(0.5)
