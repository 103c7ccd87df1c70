"""The pictures of the console: one of each page at each size, and small. `make screenshots` draws them."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import make_screenshots
import pytest

ROOT = Path(__file__).resolve().parents[2]


async def test_every_page_that_is_drawn_is_there():
    """Each of them answers, and has a hash beside its pictures."""
    found = await make_screenshots.hashes()

    assert found.keys() == make_screenshots.PAGES.keys() == json.loads(make_screenshots.HASHES.read_text()).keys()


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
