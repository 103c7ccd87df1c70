"""Reads the blocks of the documents, and runs them as a reader would: one page, one scratch folder, one shell.

What is to be done with a block stands in HTML comments over it, which no reader sees:

    <!-- file: NAME -->       the block is the file NAME
    <!-- terminal: NAME -->   its commands go on in a terminal of their own, until `stop` or the page's end
    <!-- stop: NAME -->       Ctrl-C in that terminal first
    <!-- soon -->             its output may take some seconds to be there
    <!-- exit: 1 -->          the exit status of its last command, where it is not 0
    <!-- not run: WHY -->     nobody runs it, and why
    <!-- run by: TEST -->     another test runs it
    <!-- example: FILE -->    the block is that file of the repository
    <!-- after: PAGE -->      the reader comes from that page, with everything that it left behind
    <!-- kafka -->            from here on the page needs a real Kafka
    <!-- kafka: topics -->    and takes it that the topics are there

A block of `console` has commands after `$ ` (and `> ` for their further lines), each followed by what it prints, both
streams together; `…` stands for anything in a line, and alone for any lines.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PATIENCE = 300.0
_PROGRESS = re.compile(r"^sluice: .*: \d+%, .*\n", re.MULTILINE)
"""What a command says while it works: on a slow machine only."""
_NOTE = re.compile(r"<!-- ?(.*?) ?-->")
NOTES = ("file", "terminal", "stop", "soon", "exit", "not run", "run by", "example", "after", "kafka")


class Step(NamedTuple):
    """A command, and what it prints; None where the page does not say."""

    command: str
    expected: str | None


class Block(NamedTuple):
    """A fenced block: where it stands, its language, its text, and the notes over it."""

    page: str
    line: int
    language: str
    text: str
    notes: dict[str, str]
    kafka: bool

    @property
    def steps(self) -> list[Step]:
        """The commands of a block of `console`."""
        found: list[Step] = []
        command: list[str] = []
        printed: list[str] = []

        def end() -> None:
            if command:
                found.append(Step("\n".join(command), "\n".join(printed) if printed else None))
            command.clear()
            printed.clear()

        for line in self.text.splitlines():
            if line.startswith("$ "):
                end()
                command.append(line[2:])
            elif line.startswith("> ") or line == ">":
                command.append(line[2:])
            else:
                printed.append(line)
        end()
        return found


def pages() -> list[Path]:
    """The pages whose commands are run."""
    return [DOCS / "tutorial.md", DOCS / "vetting.md", *sorted((DOCS / "howto").glob("*.md"))]


def blocks(page: Path) -> list[Block]:
    """Every fenced block of a page, in order."""
    found: list[Block] = []
    notes: dict[str, str] = {}
    kafka, fence, inside, start = False, "", [], 0
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        if fence:
            if line.strip() == "```":
                text = "\n".join(one.removeprefix(" " * (len(fence) - len(fence.lstrip()))) for one in inside)
                language = fence.strip().removeprefix("```").strip()
                found.append(Block(str(page.relative_to(ROOT)), start, language, text + "\n", notes, kafka))
                fence, inside, notes = "", [], {}
            else:
                inside.append(line)
        elif line.lstrip().startswith("```"):
            fence, start = line, number
        elif match := _NOTE.fullmatch(line.strip()):
            name, _, value = match[1].partition(": ")
            kafka = kafka or name == "kafka"
            notes[name] = value
        elif line.strip():
            notes = {}
    return found


def way_to(page: Path) -> list[Path]:
    """A page and those that its reader comes from, the first one first."""
    before = [block.notes["after"] for block in blocks(page) if "after" in block.notes]
    assert len(before) <= 1, f"{page}: a reader comes from one page"
    return [*(one for name in before for one in way_to(DOCS / name)), page]


def fits(expected: str, got: str) -> bool:
    """Whether what was printed is what a page shows."""
    parts: list[str] = []
    for line in expected.strip("\n").split("\n"):
        if line.strip() == "…":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(r"[^\n]*?".join(re.escape(one) for one in line.rstrip().split("…")) + r"[ \t]*\n")
    return re.fullmatch("".join(parts), got.strip("\n") + "\n") is not None


class Shell:
    """One reader's shell: folder and variables stay from one command to the next, terminals until they are stopped.

    Args:
        folder: where it begins; made if need be.
        alone: a PATH; with it nothing of the environment of the tests is there.
        variables: of the environment, beside PATH, HOME and their like; ours of `SLUICE_` are taken away. A prefix of
            topics is not seen in what is printed.
    """

    def __init__(self, folder: Path, alone: str | None = None, **variables: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._own = folder.parent / f".{folder.name}-shell"
        self._own.mkdir()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLUICE_", "GIT_"))}
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}" if alone is None else alone
        self._environment = (kept if alone is None else {}) | {"PATH": path, "HOME": str(folder), **variables}
        self._prefix = variables.get("SLUICE_TOPIC_PREFIX", "")
        self._environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "COLUMNS": "200"}
        (self._own / "pwd").write_text(str(folder))
        (self._own / "variables").write_text("")
        self._terminals: dict[str, tuple[subprocess.Popen[bytes], Path]] = {}

    @property
    def folder(self) -> Path:
        """Where the shell is now."""
        return Path((self._own / "pwd").read_text().strip())

    def run(self, command: str) -> tuple[int, str]:
        """Runs a command to its end; its exit status, and what it printed."""
        script = (
            f". {self._own}/variables\n{command}\n__ended=$?\n"
            f"pwd > {self._own}/pwd\nexport -p > {self._own}/variables\nexit $__ended\n"
        )
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE,
            check=False,
        )
        printed = _PROGRESS.sub("", done.stdout.decode())
        return done.returncode, printed.replace(self._prefix, "") if self._prefix else printed

    def start(self, name: str, command: str) -> None:
        """Runs a command in a terminal of its own."""
        log = self._own / f"{name}.log"
        with log.open("ab") as stream:
            process = subprocess.Popen(
                ["bash", "-c", f". {self._own}/variables\nexec {command}"],
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._terminals[name] = (process, log)

    def stop(self, name: str) -> None:
        """Ctrl-C in a terminal; its command ends in order."""
        process, log = self._terminals.pop(name)
        process.send_signal(signal.SIGINT)
        try:
            status = process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        assert status == 0, f"{name} ended with {status}:\n{log.read_text()[-2000:]}"

    def output(self) -> str:
        """The end of what each terminal says, for a failure."""
        return "".join(f"\n-- {name}:\n{log.read_text()[-2000:]}" for name, (_, log) in self._terminals.items())

    def close(self) -> None:
        """Ends every terminal, the last one first."""
        try:
            for name in reversed(list(self._terminals)):
                self.stop(name)
        finally:
            for process, _ in self._terminals.values():
                process.kill()
            shutil.rmtree(self._own)


def follow(shell: Shell, wanted: Iterator[Block]) -> None:
    """Does what a page says, block by block."""
    for block in wanted:
        where = f"{block.page}:{block.line}"
        if {"not run", "run by", "example"} & set(block.notes):
            continue
        if block.notes.get("kafka") == "topics":
            status, printed = shell.run("sluice topics create")
            assert status == 0, printed
        if "stop" in block.notes:
            shell.stop(block.notes["stop"])
        if "file" in block.notes:
            path = shell.folder / block.notes["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, "utf-8")
        elif block.language == "console" and "terminal" in block.notes:
            for step in block.steps:
                shell.start(block.notes["terminal"], step.command)
        elif block.language == "console":
            _do(shell, block, where)


def _do(shell: Shell, block: Block, where: str) -> None:
    steps = block.steps
    for step in steps:
        end = time.monotonic() + (PATIENCE if "soon" in block.notes else 0)
        while True:
            status, printed = shell.run(step.command)
            wanted = int(block.notes.get("exit", 0)) if step is steps[-1] else 0
            if status == wanted and (step.expected is None or fits(step.expected, printed)):
                break
            if time.monotonic() > end:
                shown = f"\n-- expected:\n{step.expected}" if step.expected else ""
                raise AssertionError(
                    f"{where}: `{step.command}` ended with {status}:\n{printed}{shown}{shell.output()}"
                )
            time.sleep(0.5)
