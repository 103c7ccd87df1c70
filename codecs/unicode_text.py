"""What Unicode lets a stranger do to a text, undone: normalisation, look-alikes, invisible characters, scripts.

Pure functions over one text, each one step of [V §4.2–4.4], used by the sanitiser and by the canonical hash [V §7].
Nothing here decides whether a text is acceptable, and nothing is recorded: whoever needs a trace gets positions.
The tables are `unicodedata2`'s and those in `data/` (see tools/make_confusables.py), never the interpreter's own:
what a text becomes must not depend on the Python that reads it.

ASCII is left alone throughout (sanitation.md 4): every function returns an ASCII text at once.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, cast

import unicodedata2 as _unicodedata2  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from collections.abc import Callable

unicodedata2: Any = _unicodedata2

# unicodedata2 has no types of its own; these are all that is used of it.
UNICODE_VERSION: Final = cast(str, unicodedata2.unidata_version)
_normalize = cast("Callable[[str, str], str]", unicodedata2.normalize)
_category = cast("Callable[[str], str]", unicodedata2.category)


def _rows(name: str) -> tuple[str, list[list[str]]]:
    """The Unicode version of a data file, and its rows."""
    lines = resources.files("sluice.codecs").joinpath("data", name).read_text("ascii").splitlines()
    version = next(line.removeprefix("# Unicode: ") for line in lines if line.startswith("# Unicode: "))
    return version, [line.split("\t") for line in lines if not line.startswith("#")]


def _load_confusables() -> tuple[str, dict[str, str]]:
    version, rows = _rows("confusables.txt")
    return version, {chr(int(source, 16)): chr(int(to, 16)) for to, sources in rows for source in sources.split()}


CONFUSABLES_VERSION, _ASCII_OF = _load_confusables()

STRIPPED: Final = (
    *((0x202A, 0x202F), (0x200B, 0x200D), (0x2060, 0x2060), (0x2062, 0x2063)),  # listed in [V §4.4]
    *((0xFE00, 0xFE0F), (0xE0000, 0xE007F)),
    # The same attack with newer code points (sanitation.md 5).
    *((0x2066, 0x2069), (0x200E, 0x200F), (0x061C, 0x061C), (0xFEFF, 0xFEFF), (0x00AD, 0x00AD), (0x2061, 0x2061)),
    *((0x2064, 0x2064), (0x180E, 0x180E), (0xE0100, 0xE01EF)),
)
"""The code points that are never shown, first and last of each range."""


def _ranges(code_points: list[int]) -> str:
    """The inside of a character class; ranges, because a class of single characters searches several times slower."""
    parts: list[str] = []
    start = last = code_points[0]
    for point in [*code_points[1:], 0x110000]:
        if point != last + 1:
            parts.append(f"\\U{start:08x}-\\U{last:08x}")
            start = point
        last = point
    return "".join(parts)


_STRIPPED_CLASS = "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in STRIPPED)
_BMP_CONFUSABLES = _ranges(sorted(ord(character) for character in _ASCII_OF if character <= "\uffff"))
_STRIP = re.compile(f"[{_STRIPPED_CLASS}]")
# One class for «something may have to be done»: a text that it does not find has no look-alike and nothing invisible.
# Beyond the BMP any character is suspect: as single ranges they would cost every ordinary character 0.5 us.
_SUSPECT = re.compile(f"[{_BMP_CONFUSABLES}{_STRIPPED_CLASS}\U00010000-\U0010ffff]")
_CONFUSABLE = re.compile(f"[{_BMP_CONFUSABLES}\U00010000-\U0010ffff]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


@lru_cache(4096)
def code_point(character: str) -> str:
    """`U+202E`: how a record names a character that must not stand in it."""
    return f"U+{ord(character):04X}"


def nfkc(text: str) -> str:
    """Normalization Form KC of Unicode `UNICODE_VERSION` [V §4.2]."""
    return text if text.isascii() else _normalize("NFKC", text)


def is_suspect(text: str) -> bool:
    """False only where `find_confusables` and `find_invisible` would both find nothing; much cheaper than either."""
    return not text.isascii() and _SUSPECT.search(text) is not None


def find_confusables(text: str) -> list[tuple[int, str, str]]:
    """Position, character and ASCII look-alike of each character that can be taken for one of ASCII [V §4.3]."""
    if text.isascii():
        return []
    to = _ASCII_OF
    return [
        (match.start(), character, to[character])
        for match in _CONFUSABLE.finditer(text)
        if (character := match[0]) in to
    ]


def replace_confusables(text: str) -> tuple[str, list[tuple[int, str, str]]]:
    """The text with ASCII in place of its look-alikes, and what `find_confusables` found."""
    found = find_confusables(text)
    if not found:
        return text, found
    if len(found) * 8 > len(text):  # a whole sentence of another script: slices would cost five times as much
        characters = list(text)
        for position, _, replacement in found:
            characters[position] = replacement
        return "".join(characters), found
    pieces: list[str] = []
    end = 0
    for position, _, replacement in found:
        pieces += (text[end:position], replacement)
        end = position + 1
    pieces.append(text[end:])
    return "".join(pieces), found


def find_invisible(text: str) -> list[tuple[int, str]]:
    """Position and character of everything in `STRIPPED` [V §4.4]."""
    return [] if text.isascii() else [(match.start(), match[0]) for match in _STRIP.finditer(text)]


def strip_invisible(text: str) -> tuple[str, list[tuple[int, str]]]:
    """The text without the characters of `STRIPPED`, and what `find_invisible` found."""
    found = find_invisible(text)
    if not found:
        return text, found
    pieces: list[str] = []
    end = 0
    for position, _ in found:
        pieces.append(text[end:position])
        end = position + 1
    pieces.append(text[end:])
    return "".join(pieces), found


# ---------------------------------------------------------------- scripts


def _load_scripts() -> tuple[list[int], list[int], list[str]]:
    _, rows = _rows("scripts.txt")
    spans: list[tuple[int, int, str]] = []
    for name, ranges in rows:
        for one in ranges.split():
            first, _, last = one.partition("-")
            spans.append((int(first, 16), int(last or first, 16), name))
    spans.sort()
    return [span[0] for span in spans], [span[1] for span in spans], [span[2] for span in spans]


_SCRIPT_FIRST, _SCRIPT_LAST, _SCRIPT_NAME = _load_scripts()
_script_cache: dict[str, str | None] = {}


def script(character: str) -> str | None:
    """The Script property of a character outside ASCII; None for Common, Inherited and unassigned ones."""
    try:
        return _script_cache[character]
    except KeyError:
        pass
    point = ord(character)
    place = bisect_right(_SCRIPT_FIRST, point) - 1
    found = _SCRIPT_NAME[place] if place >= 0 and point <= _SCRIPT_LAST[place] else None
    if len(_script_cache) < 8192:  # bounded: strangers choose the characters
        _script_cache[character] = found
    return found


def scripts(text: str) -> list[str]:
    """The scripts of the characters outside ASCII, sorted; nothing for ASCII text."""
    if text.isascii():
        return []
    found = {script(character) for character in set(_NOT_ASCII.findall(text))}
    found.discard(None)
    return sorted(name for name in found if name)


# ---------------------------------------------------------------- unexpected

# [V §4.3] rejects a confusable that maps to an *unexpected* character: a letter or a digit of another script, which
# no typesetter puts into a Latin word. Quotes, dashes, spaces and signs stand in all good prose.
_UNEXPECTED = frozenset(
    character for character in _ASCII_OF if _category(character)[0] in "LN" and script(character) not in (None, "Latin")
)


def has_unexpected(text: str) -> bool:
    """Whether a letter or digit of another script stands there that can be taken for an ASCII character."""
    return not text.isascii() and not _UNEXPECTED.isdisjoint(text)


def settle(text: str) -> str:
    """Steps 2 to 4 of [V §7] until nothing changes: what two texts that look alike have in common.

    Once is not enough: without a joiner, a letter and its accent stand together and compose.
    """
    if text.isascii():
        return text
    text = nfkc(text)
    if not is_suspect(text):
        return text
    while True:
        text = strip_invisible(replace_confusables(text)[0])[0]
        normal = nfkc(text)
        if normal == text:
            return text
        text = normal
