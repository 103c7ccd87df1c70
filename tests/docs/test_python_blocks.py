"""Every block of Python in the README and in the pages beside the guides runs as it stands there.

A block with prompts is a session, and gives what the page shows. Any other one is a program: it runs with the names
that its page says a reader has. The guides' programs are files of their pages (tests/support/pages.py).
"""

from __future__ import annotations

import doctest
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from pages import DOCS, ROOT

from sluice.codecs.decode import decode_emission
from sluice.codecs.records import AgentHandoff, Emission, PromptTransform, Retrieval
from sluice.streams.checker import Source, check

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = {
    path.relative_to(ROOT).as_posix(): BLOCK.findall(path.read_text("utf-8"))
    for path in (ROOT / "README.md", *sorted(DOCS.glob("*.md")))
}
ELSEWHERE = {"docs/adapters.md": "tests/adapters_real/test_adapters_page.py"}
"""Pages whose programs need the frameworks that they are about, and what runs them there."""
SESSIONS = [page for page, blocks in PAGES.items() if any(block.startswith(">>> ") for block in blocks)]
PROGRAMS = [
    (page, block)
    for page, blocks in PAGES.items()
    for block in blocks
    if not block.startswith(">>> ") and page not in ELSEWHERE
]
REPLY = SimpleNamespace(text="It says “one change”.", tokens=4)
NAMES: dict[str, dict[str, Any]] = {
    "docs/grounded.md": {"store": {"changes.md": "one change"}, "call_model": lambda *_: REPLY, "msgspec": msgspec},
}
"""What a reader of the page has."""


def test_programs_elsewhere_are_run_there() -> None:
    """By a test that reads the page."""
    for page, test in ELSEWHERE.items():
        assert Path(page).name in (ROOT / test).read_text("utf-8")


@pytest.mark.parametrize("page", SESSIONS)
def test_a_session_gives_what_the_page_shows(page: str) -> None:
    """From the top, as a reader would type it in."""
    test = doctest.DocTestParser().get_doctest((ROOT / page).read_text("utf-8"), {}, page, page, 0)
    said: list[str] = []
    failed, tried = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert tried >= sum(block.startswith(">>> ") for block in PAGES[page])
    assert not failed, "".join(said)


@pytest.mark.parametrize(("page", "program"), PROGRAMS, ids=[page for page, _ in PROGRAMS])
def test_a_program_runs(
    page: str,
    program: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In a folder with nothing in it, and does what its page says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    names = dict(NAMES.get(page, {}))
    if page != "docs/check.md":
        exec(compile(program, page, "exec"), names)
    DOES[page](program, names, capsys.readouterr().out)


def _is_grounded(_: str, names: dict[str, Any], printed: str) -> None:
    """README: the value of the agent has the document's retrieval, and is printed."""
    found = names["research"]("limits.md")
    assert [type(step) for step in found.chain] == [Retrieval, PromptTransform, AgentHandoff]
    assert printed == f"{found.retrievals()[0].source}\n"


def _is_emitted(_: str, names: dict[str, Any], printed: str) -> None:
    """docs/grounded.md: the record has the whole chain, and what may be quoted."""
    read = decode_emission(names["line"])
    assert isinstance(read, Emission)
    (one,) = read.assertions or []
    assert (one.grounded, one.confidence, read.contexts) == (True, 0.9, {"ctx-1": "one change"})
    assert [type(step) for step in one.chain or []] == [Retrieval, PromptTransform, AgentHandoff]


def _has_the_findings(program: str, *_: object) -> None:
    """docs/check.md: each comment names the rule of the finding on its line, and no other line has any."""
    prelude = (
        "from sluice.streams.grounded import Grounded, agent, grounded_pure, prompt, tool\n"
        "@tool(data='grounded')\ndef fetch_doc(key: str) -> str: return key\n"
        "@prompt(confidence=0.7)\ndef guess(doc: str) -> Grounded[str]: return doc\n"
    )
    report = check([Source("page.py", prelude + program)])
    first = prelude.count("\n")
    wanted = {number: rule for number, line in enumerate(program.splitlines(), first + 1)
              for rule in re.findall(r"# ([a-z-]+):", line)}  # fmt: skip
    assert {one.line: one.rule for one in report.findings} == wanted
    assert len(report.findings) == len(wanted) > 5


def _shows_nothing(_: str, names: dict[str, Any], printed: str) -> None:
    """docs/transcripts.md: there is no session in an empty home."""
    assert (names["path"], printed) == (None, "")


DOES: dict[str, Callable[[str, dict[str, Any], str], None]] = {
    "README.md": _is_grounded,
    "docs/grounded.md": _is_emitted,
    "docs/check.md": _has_the_findings,
    "docs/transcripts.md": _shows_nothing,
}
