"""Unicode's own data against normalisation and look-alikes [V §4.2, §4.3]: NormalizationTest, and the confusables.

The data stand packed in `corpus/unicode/`, from other packages than those that the code takes its tables from, so that
they judge the code and not themselves. One test goes over thousands of lines, tells how many of them hold
(`tools/conformance_report.py` adds them up by category), and names the first that does not.
"""

import gzip
from pathlib import Path

import confusable_homoglyphs.confusables as older
import pytest
import unicodedata2

from sluice.codecs import unicode_text
from sluice.streams.sanitise import Trace, clean

pytestmark = pytest.mark.slow

DATA = Path(__file__).parent / "corpus" / "unicode"
INVISIBLE = frozenset(chr(point) for first, last in unicode_text.STRIPPED for point in range(first, last + 1))


def lines_of(name):
    """The Unicode version of a packed file, and its lines without the comments."""
    lines = gzip.decompress((DATA / name).read_bytes()).decode("ascii").split("\n")
    version = next(line.removeprefix("# Unicode: ") for line in lines if line.startswith("# Unicode: "))
    return version, [line for line in lines if line and not line.startswith("#")]


def text_of(code_points):
    return "".join(chr(int(one, 16)) for one in code_points.split())


def shown(text):
    return " ".join(f"{ord(character):04X}" for character in text)


def load_normalisation():
    """The version, and for each part of the test its lines: five columns, source, NFC, NFD, NFKC, NFKD."""
    version, lines = lines_of("normalization.txt.gz")
    parts = {}
    for line in lines:
        if line.startswith("@"):
            part = parts.setdefault(line[1:], [])
            continue
        columns = [text_of(column) for column in line.split(";")]
        columns += [""] * (5 - len(columns))
        part.append([column or columns[0] for column in columns])
    return version, parts


def load_confusables():
    """The version, and the prototype of each character that can be taken for another text."""
    version, lines = lines_of("confusables.txt.gz")
    return version, {text_of(source): text_of(to) for source, _, to in (line.partition(";") for line in lines)}


NORMALISATION_VERSION, PARTS = load_normalisation()
CONFUSABLES_VERSION, PROTOTYPES = load_confusables()
LOOK_ALIKES = {
    character: to for character, to in PROTOTYPES.items() if not character.isascii() and len(to) == 1 and to.isascii()
}
"""What [V §4.3] replaces: a character outside ASCII that can be taken for one of ASCII."""
GROUPS = {
    "for one ASCII character": list(LOOK_ALIKES),
    "for something else": [one for one in PROTOTYPES if not one.isascii() and one not in LOOK_ALIKES],
    "ASCII itself": [one for one in PROTOTYPES if one.isascii()],
}


REMAPPED = {"\u04cf", "\u09e6", "\u0b66", "\u0ce6", "\U0001051c", "\U000114d0", "\U000118c4"}
"""What a later Unicode gives another prototype than the tables of confusable-homoglyphs do."""


@pytest.fixture
def tell(record_property):
    """`tell(category, cases, wrong)`: counts the cases for the report, and fails with the first that is wrong."""

    def count(category, cases, wrong):
        record_property("category", category)
        record_property("cases", cases)
        record_property("passed", max(0, cases - len(wrong)))
        assert cases
        assert not wrong, f"{len(wrong)} of {cases} differ; the first: {wrong[0]}"

    return count


def cleaned(text, confusables):
    trace = Trace()
    return clean(text, "f", 2000, confusables, trace), trace


def settled(text):
    """[V §4.2] to [V §4.4] by the data of this folder, again until nothing changes; and what gave way, in order."""
    found = []
    while True:
        text = unicodedata2.normalize("NFKC", text)
        found += [
            {"field": "f", "position": place, "character": f"U+{ord(one):04X}", "replacement": LOOK_ALIKES[one]}
            for place, one in enumerate(text)
            if one in LOOK_ALIKES
        ]
        after = "".join(LOOK_ALIKES.get(one, one) for one in text)
        after = "".join(one for one in after if one not in INVISIBLE)
        if after == text:
            return text, found
        text = after


def test_the_data_are_of_the_version_that_the_code_uses():
    """Normalisation, look-alikes and the data that judge them are of one version of Unicode."""
    assert NORMALISATION_VERSION == unicode_text.UNICODE_VERSION
    assert CONFUSABLES_VERSION == unicode_text.CONFUSABLES_VERSION
    assert [len(part) for part in PARTS.values()] == [46, 17_154, 2_004, 194, 735, 38]
    assert [len(group) for group in GROUPS.values()] == [1_857, 4_847, 8]


# ---------------------------------------------------------------- normalisation


@pytest.mark.parametrize("part", PARTS)
def test_nfkc_is_as_unicode_says(part, tell):
    """The fourth column is the NFKC of all five, on every line."""
    wrong = [
        f"{part}, {shown(columns[0])}: NFKC of column {number} is {shown(given)}, not {shown(columns[3])}"
        for columns in PARTS[part]
        for number, column in enumerate(columns, 1)
        if (given := unicode_text.nfkc(column)) != columns[3]
    ]
    tell("unicode-normalisation", 5 * len(PARTS[part]), wrong)


def test_what_part_1_does_not_list_is_left_alone(tell):
    """Every other code point is its own NFKC, unassigned ones as well; but for surrogates, which are no characters."""
    listed = {columns[0] for columns in PARTS["Part1"]}
    others = [one for point in range(0x110000) if not 0xD800 <= point < 0xE000 and (one := chr(point)) not in listed]
    wrong = [f"{shown(one)} becomes {shown(unicode_text.nfkc(one))}" for one in others if unicode_text.nfkc(one) != one]
    tell("unicode-unlisted", len(others), wrong)


@pytest.mark.parametrize("part", PARTS)
def test_cleaning_gives_nfkc(part, tell):
    """With look-alikes left in place, a clean text is the fourth column, but for the fillers that nobody sees; that
    NFKC changed something is recorded."""
    wrong = []
    for columns in PARTS[part]:
        wanted = "".join(one for one in columns[3] if one not in INVISIBLE)
        for column in dict.fromkeys(columns):
            result, trace = cleaned(column, "flag")
            recorded = trace.normalised == ([] if column == columns[3] else ["f"])
            if result != wanted or not recorded:
                wrong.append(f"{part}, {shown(column)} becomes {shown(result)}, recorded as {trace.normalised}")
    tell("unicode-normalisation", sum(len(set(columns)) for columns in PARTS[part]), wrong)


@pytest.mark.parametrize("part", PARTS)
def test_cleaning_gives_nfkc_when_look_alikes_are_replaced_as_well(part, tell):
    """A replacement can bring what composes together: the result is NFKC, and what the data give step by step."""
    wrong = []
    for columns in PARTS[part]:
        result, trace = cleaned(columns[0], "replace")
        wanted, found = settled(columns[0])
        if result != wanted or trace.confusables_replaced != found or unicode_text.nfkc(result) != result:
            wrong.append(f"{part}, {shown(columns[0])} becomes {shown(result)}, not {shown(wanted)}")
    tell("unicode-normalisation", len(PARTS[part]), wrong)


# ---------------------------------------------------------------- look-alikes


def test_the_packaged_table_is_that_of_another_package(tell):
    """Character by character: what can be taken for one of ASCII, and for which; and nothing else."""
    wrong = [
        f"{shown(one)} is {ours!r}, not {LOOK_ALIKES.get(one)!r}"
        for one in map(chr, range(0x80, 0x110000))
        if (ours := {c: to for _, c, to in unicode_text.find_confusables(one)}.get(one)) != LOOK_ALIKES.get(one)
    ]
    tell("unicode-confusables", len(LOOK_ALIKES), wrong)


def test_the_three_sources_agree():
    """The older table of confusable-homoglyphs differs from ours only where it differs from the newer data too, and
    those are the characters that a later Unicode maps anew."""
    theirs = {
        one: {entry["c"] for entry in entries if len(entry["c"]) == 1 and entry["c"].isascii()}
        for one, entries in older.confusables_data.items()
        if len(one) == 1 and not one.isascii() and unicode_text.nfkc(one) == one
    }
    theirs = {one: to for one, to in theirs.items() if to}
    assert len([one for one in theirs if one in LOOK_ALIKES]) > 400
    ours = {one: to for text in theirs for _, one, to in unicode_text.find_confusables(text)}
    differing = {one for one, to in theirs.items() if LOOK_ALIKES.get(one) not in to}
    assert (
        {one for one, to in theirs.items() if ours.get(one) not in to} == differing == set("ӏ೦০୦\U000114d0\U000118c4𐔜")
    )


@pytest.mark.parametrize("group", GROUPS)
def test_look_alikes_of_ascii_give_way_and_others_stay(group, tell):
    """Each character of the data, between two letters: what comes out, and one entry for each that gave way."""
    wrong = []
    for one in GROUPS[group]:
        text = f"x{one}z"
        result, trace = cleaned(text, "replace")
        wanted, found = (text, []) if one.isascii() else settled(text)
        if result != wanted or trace.confusables_replaced != found or trace.confusables_present:
            wrong.append(f"{shown(one)} becomes {result!a}, not {wanted!a}; recorded: {trace.confusables_replaced}")
        elif one in LOOK_ALIKES and unicode_text.nfkc(one) == one and result != f"x{LOOK_ALIKES[one]}z":
            wrong.append(f"{shown(one)} becomes {result!a}, not {LOOK_ALIKES[one]!a}")
    tell("unicode-confusables", len(GROUPS[group]), wrong)


@pytest.mark.parametrize("group", GROUPS)
def test_look_alikes_are_reported_of_where_they_stay(group, tell):
    """Under `flag` each stays, as NFKC leaves it, and the record is marked if one is left for ASCII."""
    wrong = []
    for one in GROUPS[group]:
        result, trace = cleaned(f"x{one}z", "flag")
        wanted = "".join(char for char in unicode_text.nfkc(f"x{one}z") if char not in INVISIBLE)
        present = any(char in LOOK_ALIKES for char in wanted)
        if (result, trace.confusables_present, trace.confusables_replaced) != (wanted, present, []):
            wrong.append(f"{shown(one)} becomes {result!a}, marked: {trace.confusables_present}")
    tell("unicode-confusables", len(GROUPS[group]), wrong)
