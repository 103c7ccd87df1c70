"""What Unicode lets a stranger do to a text, undone: normalisation, look-alikes, invisible characters, scripts.

Pure functions over one text, each one step of [V §4.2–4.4], used by the sanitiser and by the canonical hash [V §7].
Nothing here decides whether a text is acceptable, and nothing is recorded: a caller that needs a trace gets positions.
The tables are `unicodedata2`'s and those in `data/` (see tools/make_confusables.py), never the interpreter's own:
what a text becomes must not depend on the Python that reads it.

ASCII is left alone throughout ([V §4]): every function returns an ASCII text at once.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, cast

import unicodedata2 as _unicodedata2  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

unicodedata2: Any = _unicodedata2

# unicodedata2 has no types of its own; these are all that is used of it.
UNICODE_VERSION: Final = cast(str, unicodedata2.unidata_version)
_normalize = cast("Callable[[str, str], str]", unicodedata2.normalize)
_category = cast("Callable[[str], str]", unicodedata2.category)
_name = cast("Callable[[str, str], str]", unicodedata2.name)


def _rows(name: str) -> tuple[str, list[list[str]]]:
    """The Unicode version of a data file, and its rows."""
    lines = resources.files("sluice.codecs").joinpath("data", name).read_text("ascii").splitlines()
    version = next(line.removeprefix("# Unicode: ") for line in lines if line.startswith("# Unicode: "))
    return version, [line.split("\t") for line in lines if not line.startswith("#")]


def _load_confusables() -> tuple[str, dict[str, str]]:
    version, rows = _rows("confusables.txt")
    return version, {chr(int(source, 16)): chr(int(to, 16)) for to, sources in rows for source in sources.split()}


CONFUSABLES_VERSION, ASCII_OF = _load_confusables()
"""The version of the table, and what can be taken for a character of ASCII, each with that character [V §4.3]."""

Range = tuple[int, int]


def _load_invisible() -> tuple[str, tuple[Range, ...], tuple[Range, ...]]:
    """The version of the table, what is stripped, and what is replaced (tools/make_invisible.py)."""
    version, rows = _rows("invisible.txt")
    stripped: list[Range] = []
    replaced: list[Range] = []
    for why, ranges in rows:
        for one in ranges.split():
            first, _, last = one.partition("-")
            (replaced if why == "replaced" else stripped).append((int(first, 16), int(last or first, 16)))
    return version, tuple(sorted(stripped)), tuple(sorted(replaced))


INVISIBLE_VERSION, STRIPPED, REPLACED = _load_invisible()
"""The Unicode version of the table; the code points that are stripped, first and last of each range; and those that
only who agreed on them can read (private use, noncharacters), which U+FFFD replaces ([V §4.4], docs/security.md)."""
MAX_MARKS: Final = 8
"""So many combining marks stand in a row. No language needs more than four; a hundred cover the lines around them."""
_EMOJI: Final = "\ufe0f"
_KEYCAP: Final = "\u20e3"
BLANK: Final = "\u2800\U00016fe4\U0001d159"
"""Printable by their category and no default ignorables, but drawn as nothing: a Braille cell without dots, a filler,
a null notehead. They stay in a text, and whatever shows it to people writes them out."""
UNKNOWN: Final = "\ufffd"
"""What takes the place of a character of private use, and of a noncharacter."""


def _character_class(ranges: tuple[Range, ...]) -> str:
    """The inside of a character class; ranges, because a class of single characters searches several times slower."""
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


def _joined(points: list[int]) -> tuple[Range, ...]:
    found: list[Range] = []
    for point in sorted(points):
        if found and found[-1][1] == point - 1:
            found[-1] = (found[-1][0], point)
        else:
            found.append((point, point))
    return tuple(found)


def _characters(ranges: tuple[Range, ...]) -> frozenset[str]:
    return frozenset(chr(point) for first, last in ranges for point in range(first, last + 1))


_STRIPPED: Final = _characters(STRIPPED)
"""What [V §4.4] takes out."""
UNSEEN: Final = _STRIPPED | frozenset(BLANK)
"""What is drawn as nothing, or not by itself."""
_INSTEAD: Final[dict[str, str]] = {**dict.fromkeys(sorted(_STRIPPED), ""), **ASCII_OF}
"""What takes the place of each character that gives way: an ASCII one, or nothing."""
# Ranges, and beyond the BMP any character: as single ones they would cost every ordinary character 0.5 us.
_LOW: Final = _joined([ord(one) for one in _INSTEAD if one <= "\uffff"])
_SUSPECT: Final = re.compile(f"[{_character_class((*_LOW, (0x10000, 0x10FFFF)))}]")
"""Finds what gives way, and more."""
_UNKNOWN: Final = re.compile(f"[{_character_class(REPLACED)}]")


class _Names(dict[str, str]):
    """Names of characters, made when they are asked for; few are kept, and strangers choose none of these."""

    def __missing__(self, character: str) -> str:
        return f"U+{ord(character):04X}"


CODE_POINTS: Final = _Names({character: f"U+{ord(character):04X}" for character in (*_STRIPPED, *ASCII_OF)})
"""`U+202E`: how a record names a character that must not stand in it."""

_ASCII_BYTES: Final = bytes(range(0x80))
_FEW: Final = 32
"""Different characters up to which one pass over the text for each beats one step for every character of it."""


def beyond_ascii(text: str) -> str:
    """The characters outside ASCII, in order: all that the steps look for is among them, and most texts have few."""
    if text.isascii():
        return ""
    raw = text.encode("utf-8", "surrogatepass")
    return raw.translate(None, _ASCII_BYTES).decode("utf-8", "surrogatepass")


def nfkc(text: str, others: str | None = None) -> str:
    """Normalization Form KC of Unicode `UNICODE_VERSION` [V §4.2]. `others` is the text's `beyond_ascii`: a few
    characters that never join their neighbours are then normalised alone, which is faster."""
    if text.isascii():
        return text
    if others is None or len(others) > _FEW:
        return _normalize("NFKC", text)
    instead: dict[str, str] = {}
    for character in others:
        normal = _alone(character)
        if normal is None:
            return _normalize("NFKC", text)
        if normal != character:
            instead[character] = normal
    return give_way(text, instead)


_LONERS: Final = frozenset(
    {"Lu", "Ll", "Lt", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So"}
    | {"Zs", "Zl", "Zp", "Cf"}
)
"""General categories none of whose characters is ever reordered, or composed with what stands before it (tested)."""


@lru_cache(4096)
def _alone(character: str) -> str | None:
    """NFKC of a character that is the same whatever stands beside it, loners and ASCII; None where it may not be."""
    if _category(character) not in _LONERS:
        return None
    normal = _normalize("NFKC", character)
    return normal if normal == character or normal.isascii() else None


def suspects(text: str, others: str | None = None) -> dict[int, str]:
    """Every look-alike and every invisible character by its position, in order. `others` as for `nfkc`."""
    others = beyond_ascii(text) if others is None else others
    if not _SUSPECT.search(others):
        return {}
    instead = _INSTEAD
    if len(others) * 2 > len(text):  # a sentence of another script: 10 us for 165 characters instead of 13
        return {position: character for position, character in enumerate(text) if character in instead}
    found: dict[int, str] = {}
    position = -1
    for character in others:
        if character in instead:
            position = text.find(character, position + 1)
            found[position] = character
    return found


def look_alikes(among: dict[int, str]) -> dict[str, str]:
    """Those of the `suspects` that can be taken for a character of ASCII, each with that character [V §4.3]."""
    to = ASCII_OF
    return {character: to[character] for character in set(among.values()) if character in to}


def invisible(among: dict[int, str]) -> dict[str, str]:
    """Those of the `suspects` that are never shown, each with the nothing that takes its place [V §4.4]."""
    return {character: "" for character in set(among.values()) if character not in ASCII_OF}


def give_way(text: str, instead: dict[str, str]) -> str:
    """The text with something of ASCII, or nothing, in place of some characters; their order does not matter."""
    if len(instead) > _FEW:
        return "".join([instead.get(character, character) for character in text])
    for character, replacement in instead.items():
        text = text.replace(character, replacement)
    return text


def limit_marks(text: str, others: str | None = None) -> tuple[str, list[int]]:
    """The text with at most `MAX_MARKS` combining marks in a row, and the positions of those that went. `others` as for
    `nfkc`."""
    others = beyond_ascii(text) if others is None else others
    if len(others) <= MAX_MARKS or others.isalnum():  # no mark is alphanumeric, by the tables of any interpreter
        return text, []
    marks = {character for character in set(others) if _is_mark(character)}
    if not marks or _longest_run(others, marks) <= MAX_MARKS:
        return text, []
    gone: list[int] = []
    run = 0
    for position, character in enumerate(text):
        run = run + 1 if character in marks else 0
        if run > MAX_MARKS:
            gone.append(position)
    past = set(gone)
    return "".join([character for position, character in enumerate(text) if position not in past]), gone


def _longest_run(others: str, marks: set[str]) -> int:
    longest = run = 0
    for character in others:
        if character in marks:
            run += 1
            if run > longest:
                longest = run
        else:
            run = 0
    return longest


@lru_cache(4096)
def _is_mark(character: str) -> bool:
    return _category(character)[0] == "M"


def find_confusables(text: str) -> list[tuple[int, str, str]]:
    """Position, character and ASCII look-alike of each character that can be taken for one of ASCII [V §4.3]."""
    to = ASCII_OF
    return [(position, character, to[character]) for position, character in suspects(text).items() if character in to]


def find_invisible(text: str) -> list[tuple[int, str]]:
    """Position and character of everything in `STRIPPED` and `REPLACED` [V §4.4]."""
    found = [(position, character) for position, character in suspects(text).items() if character in _STRIPPED]
    return sorted(found + find_unknown(text))


def strip_invisible(text: str) -> tuple[str, list[tuple[int, str]]]:
    """The text without the characters of `STRIPPED`, with U+FFFD for those of `REPLACED`, and what `find_invisible`
    found."""
    found = find_invisible(text)
    return give_way(text, {character: UNKNOWN if _UNKNOWN.match(character) else "" for _, character in found}), found


def find_unknown(text: str) -> list[tuple[int, str]]:
    """Position and character of everything in `REPLACED`: nothing that is said with these is said to everybody."""
    return [] if text.isascii() else [(found.start(), found[0]) for found in _UNKNOWN.finditer(text)]


def replace_unknown(text: str) -> str:
    """The text with U+FFFD for each character of `REPLACED`."""
    return text if text.isascii() else _UNKNOWN.sub(UNKNOWN, text)


def category_of(character: str) -> str:
    """The General_Category of a character, by our tables and not the interpreter's."""
    return _category(character)


def name_of(character: str) -> str:
    """The name of a character by our tables; empty where it has none."""
    return _name(character, "")


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
    others = beyond_ascii(text)
    found: set[str | None] = set()
    if len(others) > _FEW:
        # A whole sentence of another script: 1 us for all of its letters, instead of 7 for each one.
        first = script(others[0])
        if first is not None:
            found.add(first)
            others = _letters(first).sub("", others)
    found.update(map(script, set(others)))
    found.discard(None)
    return sorted(cast("set[str]", found))


@cache
def _letters(name: str) -> re.Pattern[str]:
    """Runs of characters of one script."""
    inside = [
        f"\\U{first:08x}-\\U{last:08x}"
        for first, last, one in zip(_SCRIPT_FIRST, _SCRIPT_LAST, _SCRIPT_NAME, strict=True)
        if one == name
    ]
    return re.compile(f"[{''.join(inside)}]+")


# ---------------------------------------------------------------- words

_FAMILIES: Final = (
    frozenset({"Latin", "Han", "Hiragana", "Katakana"}),
    frozenset({"Latin", "Han", "Bopomofo"}),
    frozenset({"Latin", "Han", "Hangul"}),
)
"""Scripts that stand in one word without mixing it (UTS 39, 5.2, «Highly Restrictive»)."""
_BESIDE_LATIN: Final = frozenset(
    {
        *("Arabic", "Armenian", "Bengali", "Devanagari", "Ethiopic", "Georgian", "Gujarati", "Gurmukhi", "Hebrew"),
        *("Kannada", "Khmer", "Lao", "Malayalam", "Myanmar", "Oriya", "Sinhala", "Tamil", "Telugu", "Thaana", "Thai"),
        "Tibetan",
    }
)
"""Scripts that stand in one word with Latin and no third one: languages put their endings behind a Latin name (UTS 39,
5.2, «Moderately Restrictive», which excepts Greek and Cyrillic)."""


def look_alikes_of_words(text: str, among: dict[int, str]) -> dict[int, str]:
    """Those look-alikes among the `suspects` of a text in NFKC that make a word what it is not, each place with its
    ASCII character.

    A word is a run of letters, marks and digits. In a word of several scripts (UTS 39, 5.1) or of two kinds of digits
    every look-alike gives way. A word of one script stays, and a single letter of another script is one. Scripts that
    languages write with Latin (`_FAMILIES`, `_BESIDE_LATIN`) mix no word; of these a run gives way that holds nothing
    but look-alikes, whatever marks stand on them, and touches a Latin letter. Signs stay; blanks become one of ASCII,
    and so does the slash of `½`.
    """
    given: dict[int, str] = {}
    end = 0
    if not _LATIN.search(text) and len(scripts(text)) < 2 and not any(map(_is_digit, set(among.values()))):
        # A sentence of one script: a third of what its words take.
        return {
            position: ASCII_OF[character]
            for position, character in among.items()
            if character == FRACTION_SLASH or ASCII_OF.get(character) == " "
        }
    for position, character in among.items():
        if position < end or character not in ASCII_OF:
            continue
        if not _is_of_word(character):
            if ASCII_OF[character] == " " or character == FRACTION_SLASH:
                given[position] = ASCII_OF[character]
            continue
        start, last = position, position + 1
        while start > end and _is_of_word(text[start - 1]):
            start -= 1
        while last < len(text) and _is_of_word(text[last]):
            last += 1
        end = last
        word = text[start:last]
        for offset in _mixed(word) if len(word) <= _LONG_WORD else _mixed.__wrapped__(word):
            given[start + offset] = ASCII_OF[word[offset]]
    return given


FRACTION_SLASH: Final = "\u2044"
"""What NFKC puts between the digits of `½`."""
_LONG_WORD: Final = 64


_LATIN: Final = re.compile(r"[A-Za-z]")


@lru_cache(4096)
def _is_digit(character: str) -> bool:
    return _category(character) == "Nd"


@lru_cache(8192)
def _is_of_word(character: str) -> bool:
    return character.isalnum() if character.isascii() else _category(character)[0] in "LMN"


@lru_cache(4096)
def _mixed(word: str) -> tuple[int, ...]:
    """The places of a word's look-alikes that give way."""
    systems: set[str] = set()
    digits: set[int] = set()
    for character in set(word):
        if character.isascii():
            systems.update(("Latin",) if character.isalpha() else ())
            digits.update((ord("0"),) if character.isdecimal() else ())
        elif _category(character) == "Nd":
            digits.add(ord(character) - unicodedata2.decimal(character))
            systems.add(script(character) or "Arabic")  # its digits are of no script, as several write them
        elif (name := script(character)) is not None:
            systems.add(name)
    if len(digits) < 2 and len(systems) < 2:
        return ()
    places = [place for place, character in enumerate(word) if character in ASCII_OF]
    pair = len(systems) == 2 and "Latin" in systems and not systems.isdisjoint(_BESIDE_LATIN)
    if len(digits) > 1 or not (pair or any(systems <= family for family in _FAMILIES)):
        return tuple(places)
    return tuple(place for run in _foreign_runs(word) for place in run if word[place] in ASCII_OF)


_JOINED: Final = re.compile("[\u0647\u06be\u06c1](?=[\u0620-\u064a\u0671-\u06d3])")
"""A heh that is joined to the next letter looks like nothing of ASCII: `APIها`."""


def _foreign_runs(word: str) -> list[range]:
    """The runs without Latin that touch a Latin letter and hold nothing but look-alikes, and marks on them."""
    found: list[range] = []
    start = 0
    for place in range(len(word) + 1):
        if place < len(word) and not _is_latin(word[place]):
            continue
        touches = place < len(word) or start > 0
        run = word[start:place]
        if run and touches and all(one in ASCII_OF or _is_mark(one) for one in run) and not _JOINED.search(run):
            found.append(range(start, place))
        start = place + 1
    return found


def _is_latin(character: str) -> bool:
    return character.isalpha() if character.isascii() else script(character) == "Latin"


# ---------------------------------------------------------------- unexpected

# [V §4.3] rejects a confusable that maps to an *unexpected* character: a letter or a digit of another script, which
# no typesetter puts into a Latin word. Quotes, dashes, spaces and signs stand in all good prose.
_UNEXPECTED = frozenset(
    character for character in ASCII_OF if _category(character)[0] in "LN" and script(character) not in (None, "Latin")
)


def has_unexpected(text: str) -> bool:
    """Whether a letter or digit of another script stands there that can be taken for an ASCII character."""
    return not text.isascii() and not _UNEXPECTED.isdisjoint(text)


def settle(text: str) -> str:
    """Steps 2 to 4 of [V §7] until nothing changes, and no more marks in a row than `MAX_MARKS`.

    Once is not enough: without a joiner, a letter and its accent stand together and compose.
    """
    if text.isascii():
        return text
    text = replace_unknown(text)  # normalising makes no such character, and leaves it alone
    text = nfkc(text, beyond_ascii(text))
    # Without the places, which nobody asks for here: 12 us for 165 characters of Russian instead of 16.
    while among := set(_SUSPECT.findall(beyond_ascii(text))):
        instead = {character: _INSTEAD[character] for character in among if character in _INSTEAD}
        normal = nfkc(give_way(text, instead))
        if normal == text:
            break
        text = normal
    return limit_marks(text)[0]


def shown(text: str, shows: Callable[[str], bool]) -> Iterator[bool]:
    """Whether each character of a text is shown to a person, where `shows` says so of one that stands alone.

    Of combining marks in a row the first `MAX_MARKS` are, and none at the beginning, where they would go on with the
    letter of the text before. The one variation selector behind an emoji is.
    """
    kind, marks = "M", MAX_MARKS
    for at, character in enumerate(text):
        before, kind = kind, _category(character)
        marks = marks + 1 if kind[0] == "M" else 0
        is_emoji = character == _EMOJI and (before[0] == "S" or text[at + 1 : at + 2] == _KEYCAP)
        yield is_emoji or (marks <= MAX_MARKS and shows(character))
