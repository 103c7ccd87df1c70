"""Writes `codecs/data/invisible.txt`: the characters that no reader sees, which are stripped, and those that no reader
knows, which U+FFFD replaces ([V §4.4], docs/security.md).

Run it after an upgrade of unicodedata2 (`.venv/bin/python tools/make_invisible.py`), look at the difference, and commit
both. `--check` only says whether the file is what the installed tables give.

Format characters come from the installed tables, by their category. The rest of Default_Ignorable_Code_Point is
declared here, because the tables do not carry that property: it is derived as Unicode's DerivedCoreProperties derives
it (format characters and variation selectors and Other_Default_Ignorable_Code_Point). Its exceptions are format
characters as well (signs around digits, interlinear annotation, the layout of hieroglyphs), in a row of their own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import unicodedata2

TARGET: Final = Path(__file__).resolve().parent.parent / "codecs" / "data" / "invisible.txt"
Range = tuple[int, int]
CONTRACT: Final[tuple[Range, ...]] = (
    *((0x202A, 0x202F), (0x200B, 0x200D), (0x2060, 0x2060), (0x2062, 0x2063)),
    *((0xFE00, 0xFE0F), (0xE0000, 0xE007F)),
)
"""What [V §4.4] lists."""
NOT_IGNORABLE: Final[tuple[Range, ...]] = (
    *((0x0600, 0x0605), (0x06DD, 0x06DD), (0x070F, 0x070F), (0x0890, 0x0891), (0x08E2, 0x08E2)),
    *((0x110BD, 0x110BD), (0x110CD, 0x110CD)),  # Prepended_Concatenation_Mark: signs around digits
    *((0xFFF9, 0xFFFB), (0x13430, 0x1343F)),  # interlinear annotation, layout of Egyptian hieroglyphs
)
"""Format characters that are not Default_Ignorable_Code_Point: fonts without their script show nothing of them."""
SELECTORS: Final[tuple[Range, ...]] = ((0x180B, 0x180D), (0x180F, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
"""Variation_Selector."""
IGNORABLE: Final[tuple[Range, ...]] = (
    *((0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x2065, 0x2065), (0x3164, 0x3164), (0xFFA0, 0xFFA0)),
    *((0xFFF0, 0xFFF8), (0xE0000, 0xE0FFF)),
)
"""Other_Default_Ignorable_Code_Point, and all of the block that is ignorable as a whole."""
PRIVATE: Final[tuple[Range, ...]] = ((0xE000, 0xF8FF), (0xF0000, 0xFFFFF), (0x100000, 0x10FFFF))
"""Private use, with the noncharacters at the end of its planes: only who agreed on them knows what they say."""
NONCHARACTERS: Final[tuple[Range, ...]] = (
    (0xFDD0, 0xFDEF),
    *((plane << 16 | 0xFFFE, plane << 16 | 0xFFFF) for plane in range(15)),
)


def points_of(ranges: Iterable[Range]) -> set[int]:
    return {point for first, last in ranges for point in range(first, last + 1)}


def format_characters() -> set[int]:
    """General category Cf, by the installed tables."""
    return {point for point in range(0x110000) if unicodedata2.category(chr(point)) == "Cf"}


def rows() -> list[tuple[str, set[int]]]:
    """Why a character gives way, and the characters; each stands in the first row that has it."""
    formats = format_characters()
    ignorable = (formats - points_of(NOT_IGNORABLE)) | points_of((*SELECTORS, *IGNORABLE))
    given = [
        ("contract", points_of(CONTRACT)),
        ("default-ignorable", ignorable),
        ("format", formats - ignorable),
        ("replaced", points_of((*PRIVATE, *NONCHARACTERS))),
    ]
    seen: set[int] = set()
    found: list[tuple[str, set[int]]] = []
    for why, points in given:
        found.append((why, points - seen))
        seen |= points
    return found


def ranges_of(points: set[int]) -> list[str]:
    """`061C` or `2066-206F`, in order."""
    found: list[str] = []
    start = last = -1
    for point in [*sorted(points), 0x110001]:
        if point != last + 1 or start < 0:
            if start >= 0:
                found.append(f"{start:04X}" if start == last else f"{start:04X}-{last:04X}")
            start = point
        last = point
    return found


def table() -> str:
    head = (
        "# Characters that are stripped because nobody sees them, and those that U+FFFD replaces\n"
        f"# Unicode: {unicodedata2.unidata_version}\n"
        "# Licence: Unicode-3.0 (UNICODE-LICENSE.txt)\n"
        "# Source: the categories of unicodedata2 and the ranges declared in tools/make_invisible.py\n"
        "# why\tranges\n"
    )
    return head + "".join(f"{why}\t{' '.join(ranges_of(points))}\n" for why, points in rows())


def main() -> int:
    wanted = table()
    if "--check" in sys.argv[1:]:
        same = TARGET.is_file() and TARGET.read_text("ascii") == wanted
        print("up to date" if same else f"{TARGET.name} is not what the installed tables give")
        return 0 if same else 1
    TARGET.write_text(wanted, "ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
