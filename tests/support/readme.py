"""How each line of the README's shell blocks is held to what it says: run by whom, and with what for its examples.

A line that is not here fails a test: whoever writes one says here how it is run.
"""

from __future__ import annotations

import re

from pages import ROOT, blocks

README = ROOT / "README.md"

ELSEWHERE = {
    "make demo": "the gate runs it from a clean clone",
    "make test": "is what runs this",
    "pip install sluice-verdicts": "tests/packaging/test_wheels.py installs the wheel",
    "sluice broker run": "tests/integration/test_broker.py; here the tests bring a broker",
}
"""Lines that are run by something else, by how they begin."""
TERMINALS = (
    "sluice worker",
    "sluice observe",
    "sluice consume --follow",
    "sluice mcp --transport http",
    "sluice serve",
)
"""What goes on until Ctrl-C."""
STATUS = {"sluice produce examples/emissions.jsonl": 1}
"""The examples have lines that are no records; `produce` answers those, and says so at the end."""


def lines() -> list[str]:
    """The command lines of the README's blocks without a language, those after `$ ` left out; comments cut off."""
    shell = [block for block in blocks(README) if not block.language and not block.text.startswith("$ ")]
    return [re.sub(r"\s+# .*", "", line) for block in shell for line in block.text.splitlines() if line.strip()]


def run_it() -> list[str]:
    """The lines of the section «Run it»: a reader's first steps on a real Kafka."""
    _, _, rest = README.read_text("utf-8").partition("\n## Run it\n```\n")
    return [re.sub(r"\s+# .*", "", line) for line in rest.partition("```")[0].splitlines()]


def is_elsewhere(line: str) -> bool:
    """Whether something else runs a line."""
    return any(line.startswith(start) for start in ELSEWHERE)
