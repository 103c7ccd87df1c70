"""Writes `codecs/data/unprintable.txt`: the characters that sentences show as an escape (`codecs.errors.printable`).

A dead letter's detail is such a sentence, and an audit compares it byte for byte: so what is escaped must not depend on
the Python that folds. The table is that of Unicode 14.0, which Python 3.11 has; every ledger that was folded with the
image has it. Characters that came later are escaped, and so is what nothing is drawn for (`data/invisible.txt`, and
blanks that are no white space). Run it with Python 3.11.
"""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path
from typing import Final

from sluice.codecs.unicode_text import UNSEEN

TARGET: Final = Path(__file__).resolve().parent.parent / "codecs" / "data" / "unprintable.txt"
VERSION: Final = "14.0.0"


def ranges() -> list[tuple[int, int]]:
    """The code points that are not printable by the interpreter's own tables, and those that nothing is drawn for:
    first and last of each range."""
    found: list[tuple[int, int]] = []
    for point in range(0x110000):
        if chr(point).isprintable() and chr(point) not in UNSEEN:
            continue
        if found and found[-1][1] == point - 1:
            found[-1] = (found[-1][0], point)
        else:
            found.append((point, point))
    return found


def text() -> str:
    """The file."""
    head = "# What is not printable or not seen (tools/make_unprintable.py): first and last code points of ranges.\n"
    lines = [f"{first:X}" if first == last else f"{first:X}-{last:X}" for first, last in ranges()]
    return head + f"# Unicode: {VERSION}\n" + "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    if unicodedata.unidata_version != VERSION:
        sys.exit(f"expected Python 3.11, whose tables are those of Unicode {VERSION}")
    TARGET.write_text(text(), "ascii")
