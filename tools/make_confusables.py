"""Writes `codecs/data/`: the confusables [V §4.3] and the scripts, from the tables that `glyphguard` carries.

Run it after an upgrade of glyphguard (`.venv/bin/python tools/make_confusables.py`), look at the difference, and
commit both. `--check` only says whether the files are what the installed package gives.

Of the confusables only what the contract asks for is kept: a character outside ASCII whose prototype is one ASCII
character (sanitation.md 4). The Unicode licence wants its notice beside the data: it is written there as well.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from importlib.metadata import distribution
from pathlib import Path

from glyphguard._data import ucd

TARGET = Path(__file__).resolve().parent.parent / "codecs" / "data"


def header(what: str, columns: str) -> str:
    version = distribution("glyphguard").version
    return (
        f"# {what}\n# Unicode: {ucd.UNICODE_VERSION}\n# Licence: Unicode-3.0 (UNICODE-LICENSE.txt)\n"
        f"# Source: the Unicode data in glyphguard {version}, by tools/make_confusables.py\n# {columns}\n"
    )


def confusables() -> str:
    """One line an ASCII character: its code point, then those of the characters that can be taken for it."""
    sources: dict[int, list[int]] = defaultdict(list)
    for source, target in zip(ucd.CONFUSABLE_SOURCES, ucd.CONFUSABLE_TARGETS, strict=True):
        if source > 0x7F and len(target) == 1 and target[0] <= 0x7F:
            sources[target[0]].append(source)
    lines = [f"{target:02X}\t{' '.join(f'{s:04X}' for s in sorted(sources[target]))}\n" for target in sorted(sources)]
    return header("Characters that can be taken for one ASCII character", "ASCII\tcharacters") + "".join(lines)


def scripts() -> str:
    """One line a script: its name, then the ranges that have it; what is Common or Inherited belongs to none."""
    ends = (*ucd.SCRIPT_STARTS[1:], 0x110000)
    ranges: dict[str, list[str]] = defaultdict(list)
    for start, end, value in zip(ucd.SCRIPT_STARTS, ends, ucd.SCRIPT_VALUES, strict=True):
        name = ucd.SCRIPT_NAMES[value]
        if name not in ("Common", "Inherited", "Unknown") and end > 0x80:
            start = max(start, 0x80)
            ranges[name].append(f"{start:04X}" if end - start == 1 else f"{start:04X}-{end - 1:04X}")
    lines = [f"{name}\t{' '.join(ranges[name])}\n" for name in sorted(ranges)]
    return header("Scripts of the characters outside ASCII", "script\tranges") + "".join(lines)


def licence() -> str:
    """The Unicode licence, as glyphguard's notice quotes it."""
    files = distribution("glyphguard").files or []
    notice = next(file for file in files if file.name == "NOTICE").read_text()
    return notice[notice.index("UNICODE LICENSE V3") :].rstrip() + "\n"


def main() -> int:
    wanted = {"confusables.txt": confusables(), "scripts.txt": scripts(), "UNICODE-LICENSE.txt": licence()}
    if "--check" in sys.argv[1:]:
        old = [name for name, text in wanted.items() if (TARGET / name).read_text() != text]
        print("\n".join(f"{name} is not what the installed tables give" for name in old) or "up to date")
        return 1 if old else 0
    TARGET.mkdir(exist_ok=True)
    for name, text in wanted.items():
        (TARGET / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
