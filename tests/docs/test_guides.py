"""The guides share ids: what a guide looks for, it sends itself, or the guide does that its reader comes from.

tests/integration/test_docs.py follows the guides in this order on a real Kafka.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import DOCS, ROOT, blocks, pages, way_to

from sluice.codecs.decode import decode_emission
from sluice.codecs.records import Emission
from sluice.topology.kafka.input_records import Prepared, prepare

NAMED = re.compile(r"\bem-[a-z0-9]+(?![\w-])")
SHARED = re.compile(r"\bem-7f3[a-f]\b")
"""Ids that one page sends and others speak of."""
KEY = re.compile(r"\b(em-7f3[a-f])#(c:\d+-\d+)")
_IDS = re.compile(r'"emission_id": "([^"?]+)"')
DRAFT = re.compile(r'Draft\("(em-[\w-]+)"[^)]*\)\.say\(\s*"([^"]+)"')


def guides() -> list[Path]:
    return [page for page in pages() if page.stem not in ("index", "vetting")]


def sent_by(page: Path) -> dict[str, str]:
    """The ids that a page sends, each with its text; of a line of JSON that is the line, of a program its draft."""
    found: dict[str, str] = {}
    for block in blocks(page):
        if block.language == "json":
            lines = [line for line in block.text.splitlines() if '"text"' in line]
            found |= {one: line for line in lines for one in _IDS.findall(line)}
        elif block.language == "python":
            found |= dict.fromkeys(_IDS.findall(block.text), "") | dict(DRAFT.findall(block.text))
    return found


@pytest.mark.parametrize("page", guides(), ids=lambda page: page.stem)
def test_every_id_that_a_guide_names_is_one_that_was_sent(page: Path):
    """By itself, or on the way to it, or it says where: by a link to the page that sends it."""
    text = page.read_text("utf-8")
    linked = [(page.parent / name).resolve() for name in re.findall(r"\]\(([\w./-]+\.md)", text)]
    known = {one for other in (*way_to(page), *(path for path in linked if path in guides())) for one in sent_by(other)}
    assert set(NAMED.findall(text)) <= known


def test_a_shared_id_is_sent_by_one_guide_alone():
    """Else the second text under it would be a conflict."""
    senders = {one: [page.name for page in guides() if one in sent_by(page)] for one in sorted(
        {one for page in DOCS.rglob("*.md") for one in SHARED.findall(page.read_text("utf-8"))})}  # fmt: skip
    assert len(senders) >= 5
    assert {one: names for one, names in senders.items() if len(names) != 1} == {}


def test_spans_that_others_name_are_those_that_were_sent():
    """In the README, in the reference of proofs, in the other guides."""
    (text,) = (sent_by(page)["em-7f3a"] for page in guides() if "em-7f3a" in sent_by(page))
    named = {key for page in (ROOT / "README.md", *DOCS.rglob("*.md")) for key in KEY.findall(page.read_text("utf-8"))}
    assert named == {("em-7f3a", f"c:0-{len(text)}")}


def test_a_review_is_of_an_assertion_that_was_sent():
    """Its span is one of the emission's."""
    page = DOCS / "howto" / "review.md"
    lines = [
        line
        for one in way_to(page)
        for block in blocks(one)
        if block.language == "json"
        for line in block.text.splitlines()
    ]
    (review,) = (line for line in lines if '"decision"' in line)
    (sent,) = (line for line in lines if '"em-7f3b"' in line and '"text"' in line)
    prepared = prepare(sent.encode(), "emissions", 1_795_248_000_000)
    assert isinstance(prepared, Prepared)
    emission = decode_emission(prepared.value)
    assert isinstance(emission, Emission)
    spans = [one.span.chars for one in emission.assertions or () if one.span is not None]
    assert [f'"chars": [{start}, {end}]' in review for start, end in (one for one in spans if one)] == [True]


def test_readers_come_from_pages_that_are_there():
    """And never in a circle."""
    ways = {page.stem: [one.stem for one in way_to(page)] for page in guides()}
    assert ways["consume"] == ["tutorial", "produce", "consume"]
    assert ways["review"] == ["tutorial", "produce", "review"]
