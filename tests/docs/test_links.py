"""Every link within the documents leads somewhere, headings included; no network is asked."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml
from pages import DOCS, ROOT

DOCUMENTS = sorted({*DOCS.rglob("*.md"), *ROOT.glob("*.md"), *(ROOT / "examples").rglob("*.md")})
_FENCE = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!\!)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")
_CODE = re.compile(r"`[^`\n]*`")


def text_of(page: Path) -> str:
    """A page with its fenced blocks empty."""
    return _FENCE.sub("```", page.read_text("utf-8"))


def links(page: Path) -> list[str]:
    """Where a page leads to, other sites left out."""
    found = _LINK.findall(_CODE.sub("", text_of(page)))
    return [link for link in found if not re.match(r"[a-z][a-z0-9+.-]*:", link)]


def site_slug(heading: str) -> str:
    """The anchor that the site gives a heading (Python-Markdown's toc)."""
    plain = unicodedata.normalize("NFKD", heading).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def hub_slug(heading: str) -> str:
    """The anchor that a forge gives it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def headings(page: Path) -> list[str]:
    """A page's headings as they are read: without code marks and links' targets."""
    found = re.findall(r"^#{1,6} +(.*?) *#*$", text_of(page), re.MULTILINE)
    return [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "") for heading in found]


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path):
    """To a file of this repository, and to a heading of it under the anchor that both site and forge give it."""
    for link in links(page):
        path, _, anchor = unquote(link).partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if anchor:
            assert anchor in [site_slug(heading) for heading in headings(target)], link
            assert anchor in [hub_slug(heading) for heading in headings(target)], link


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_a_page_of_the_site_leads_to_pages_of_the_site(page: Path):
    """What lies beside the site is named, not linked: there, the link would lead nowhere."""
    for link in links(page):
        path = unquote(link).partition("#")[0]
        assert (page.parent / path).resolve().is_relative_to(DOCS), link


def test_every_page_is_in_the_navigation():
    """And what is in the navigation is there."""
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))

    def named(value: object) -> list[str]:
        if isinstance(value, str):
            return [value]
        below = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
        return [name for one in below for name in named(one)]

    names = named(site["nav"])
    assert len(names) == len(set(names))
    assert set(names) == {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_lists_and_tables_are_seen_as_such_by_the_site(page: Path):
    """The site's Markdown wants an empty line, or a heading, before a list or a table; a forge does not."""
    before = ""
    for line in text_of(page).splitlines():
        item = re.match(r"(-|\d+\.) \S", line)
        row = line.startswith("| ")
        inside = re.match(r"\s*(-|\d+\.) |\s{2,}\S", before)
        if item and before.strip() and not inside:
            assert before.startswith("#"), line
        if row and before.strip() and not before.startswith("|"):
            assert before.startswith("#"), line
        before = line


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_no_code_in_a_table_has_a_bar(page: Path):
    """Escaped, the site shows the backslash; not escaped, a forge ends the cell."""
    rows = [line for line in text_of(page).splitlines() if line.startswith("|")]
    assert [row for row in rows if any("|" in code for code in _CODE.findall(row))] == []
