"""The pictures of the console: one of each page at each size, and small. `make screenshots` draws them."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import make_screenshots
import pytest

ROOT = Path(__file__).resolve().parents[2]


async def test_the_pictures_show_the_pages_as_they_are():
    """Drawn from the HTML, style sheet and script of now; fonts differ from machine to machine, so pixels are not
    compared. `make screenshots` draws them anew."""
    stored = json.loads(make_screenshots.HASHES.read_text())

    assert stored == await make_screenshots.hashes()
    assert stored.keys() == make_screenshots.PAGES.keys()


async def test_a_page_that_was_changed_is_named(monkeypatch, tmp_path):
    """`--check` ends with 1 and says which."""
    stored = json.loads(make_screenshots.HASHES.read_text())
    (tmp_path / "screenshots.json").write_text(json.dumps({**stored, "queue": "0"}))
    monkeypatch.setattr(make_screenshots, "HASHES", tmp_path / "screenshots.json")

    with pytest.raises(SystemExit, match="not current: queue; run `make screenshots`"):
        await make_screenshots.check()


@pytest.mark.parametrize("size", make_screenshots.WIDTHS)
def test_every_page_has_a_picture_at_both_sizes(size: str):
    """As PNG, of the size that it was drawn at; shown in docs/serving.md."""
    page = (ROOT / "docs" / "serving.md").read_text("utf-8")
    for name in make_screenshots.PAGES:
        file = make_screenshots.picture(name, size)
        assert struct.unpack(">II", file.read_bytes()[16:24]) == make_screenshots.WIDTHS[size]
        assert f"images/{file.name}" in page


def test_the_pictures_are_small():
    """A checkout is not made of pictures."""
    assert sum(file.stat().st_size for file in make_screenshots.IMAGES.glob("console-*.png")) < 2_000_000
