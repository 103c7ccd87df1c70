"""Every decision has a number, a page of one form, and a row in the list."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "decisions"
PAGES = sorted(FOLDER.glob("[0-9]*.md"))
MOST_BYTES = 5_000


def test_numbers_follow_upon_one_another():
    """From 1, none twice, none left out."""
    assert [page.name[:5] for page in PAGES] == [f"{number:04}-" for number in range(1, len(PAGES) + 1)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_decision_has_context_decision_and_consequences(page: Path):
    """In this order, on one page, under its number."""
    text = page.read_text("utf-8")
    assert text.startswith(f"# {int(page.name[:4])}. ")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"]
    assert len(text.encode()) <= MOST_BYTES


def test_the_list_names_each_with_its_title():
    """And no other."""
    listed = re.findall(r"^\| (\d+) \| \[(.*)\]\((.*)\) \|$", (FOLDER / "index.md").read_text("utf-8"), re.MULTILINE)
    titles = [page.read_text("utf-8").partition("\n")[0] for page in PAGES]
    assert [(f"# {number}. {title}", name) for number, title, name in listed] == [
        (title, page.name) for title, page in zip(titles, PAGES, strict=True)
    ]
