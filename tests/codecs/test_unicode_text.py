"""The Unicode steps: normalisation, look-alikes, invisible characters, scripts."""

import runpy
import sys
import unicodedata
from pathlib import Path

import confusable_homoglyphs.confusables as older
import pytest
import unicodedata2
from hypothesis import example, given
from hypothesis import strategies as st
from laws import replace_confusables
from mixed_words import has_mixed_words

from sluice.codecs import unicode_text as u

TRICKY = st.text(
    st.one_of(
        st.characters(codec="utf-8"),
        st.sampled_from("aeoрасо\u0301\u0308\u0338\u200b\u200d\u202e\ufe0f\U000e0041ﬁ＜‹ᐸ“”’–\u1100\u1161\u11a8"),
    ),
    max_size=40,
)


def test_the_tables_are_of_one_unicode_version():
    """Normalisation and look-alikes come from the same version of Unicode, newer than the interpreter's own."""
    assert u.UNICODE_VERSION == u.CONFUSABLES_VERSION == unicodedata2.unidata_version
    assert tuple(map(int, u.UNICODE_VERSION.split("."))) >= (18, 0, 0)


def test_nfkc_agrees_with_the_interpreter_where_it_can():
    """Unicode's stability policy: what the interpreter's tables know as well, normalises alike in both."""
    known = [chr(point) for point in range(0x110000) if unicodedata.category(chr(point)) not in ("Cn", "Cs")]
    assert len(known) > 100_000
    assert all(u.nfkc(character) == unicodedata.normalize("NFKC", character) for character in known)


@given(st.text(st.characters(codec="ascii")))
def test_ascii_is_left_alone(text):
    """No step touches ASCII: `1` looks like `l`, but both are what they are ([V §4])."""
    assert u.settle(text) is text
    assert u.find_confusables(text) == u.find_invisible(text) == u.scripts(text) == []
    assert u.suspects(text) == {}
    assert u.beyond_ascii(text) == ""
    assert not u.has_unexpected(text)


@pytest.mark.parametrize(
    ("character", "ascii_one"),
    [("а", "a"), ("о", "o"), ("ο", "o"), ("р", "p"), ("ѕ", "s"), ("’", "'"), ("–", "-"), ("ᐸ", "<"), ("\u2028", " ")],
)
def test_a_look_alike_gives_way_to_ascii(character, ascii_one):
    """A character whose prototype is one ASCII character is found with its place, and replaced."""
    assert replace_confusables(f"x{character}y") == (f"x{ascii_one}y", [(1, character, ascii_one)])


@pytest.mark.parametrize("character", ["“", "…", "é", "ß", "日", "😀"])
def test_a_character_without_one_ascii_prototype_stays(character):
    """No mapping, and a mapping to several characters, change nothing."""
    assert replace_confusables(character) == (character, [])


REMAPPED = {"ӏ": "l", "೦": "O", "০": "o", "୦": "o", "\U000114d0": "o", "\U000118c4": "y", "\U0001051c": None}
"""What a later Unicode gives another prototype than the second source's tables; None: no longer one of ASCII."""


def test_the_table_agrees_with_a_second_source():
    """confusable-homoglyphs carries older tables of the same data. Each of its mappings to ASCII is ours as well, but
    for characters that NFKC turns into others before anyone looks, and for seven that a later Unicode maps anew."""
    theirs = {
        character: {one["c"] for one in found if len(one["c"]) == 1 and one["c"].isascii()}
        for character, found in older.confusables_data.items()
        if len(character) == 1 and not character.isascii()
    }
    theirs = {character: to for character, to in theirs.items() if to and u.nfkc(character) == character}
    ours = {character: found[0][2] for character in theirs if (found := u.find_confusables(character))}
    assert len(theirs) > 400
    differing = {character: ours.get(character) for character, to in theirs.items() if ours.get(character) not in to}
    assert differing == REMAPPED


@pytest.mark.parametrize(("first", "last"), u.STRIPPED)
def test_invisible_characters_go(first, last):
    """Every character of every listed range is found with its place, and stripped; its neighbours are not."""
    for point in range(first, last + 1):
        assert u.strip_invisible(f"a{chr(point)}b") == ("ab", [(1, chr(point))])


def test_the_contracts_own_list_is_stripped():
    """[V §4.4] lists these."""
    listed = [*range(0x202A, 0x2030), 0x200D, 0x200C, 0x200B, 0x2060, 0x2062, 0x2063]
    listed += [*range(0xFE00, 0xFE10), *range(0xE0000, 0xE0080)]
    assert u.strip_invisible("".join(map(chr, listed)))[0] == ""


@given(st.characters(codec="utf-8"))
def test_nothing_else_is_stripped(character):
    """What is not in the list stays, a combining mark and a control as well."""
    listed = any(first <= ord(character) <= last for first, last in u.STRIPPED)
    assert (u.strip_invisible(character)[0] == "") == listed


MANY = st.text(st.sampled_from("ab расоеху\u200d\u202e\ufe0fﬁéЖ日😀𝐚’"), max_size=120)
"""Long enough for the ways of whole sentences of another script."""
FEW = st.text(st.sampled_from("abcdefgh ijkl" * 2 + "рр\u200d\u200dﬁé’😀"), max_size=60)
"""ASCII for the most part, and the same characters again and again."""
JOINING = st.text(st.sampled_from("aeо\u0301\u0338\u1100\u1161\u11a8\u200dﬁ’…゛か\u3099"), max_size=12)
"""Characters that become others beside one another."""


@given(TRICKY | MANY | FEW)
@example("aр aр aр aрaa")
@example("a\u202fb")
def test_suspects_are_all_that_gives_way(text):
    """Each at its place, in order, however many of the text they are, and nothing else."""
    among = u.suspects(text)
    listed = {chr(point) for first, last in u.STRIPPED for point in range(first, last + 1)}
    given_way = [place for place, one in enumerate(text) if one in listed or u.find_confusables(one)]
    assert list(among) == given_way
    assert all(text[place] == one for place, one in among.items())
    assert u.suspects(text, u.beyond_ascii(text)) == among


@given(TRICKY | MANY | FEW)
@example("a\u202fb")
def test_suspects_are_look_alikes_or_invisible(text):
    """One or the other, each with what takes its place; together they are what the single steps find."""
    among = u.suspects(text)
    alike, gone = u.look_alikes(among), u.invisible(among)
    assert not alike.keys() & gone.keys()
    assert alike.keys() | gone.keys() == set(among.values())
    assert u.give_way(text, alike) == replace_confusables(text)[0]
    stripped = u.strip_invisible(replace_confusables(text)[0])[0]
    assert u.replace_unknown(u.give_way(u.give_way(text, alike), gone)) == stripped


@given(TRICKY)
def test_what_is_beyond_ascii(text):
    """The characters outside ASCII in their order, a lone surrogate as well."""
    assert u.beyond_ascii(text) == "".join(one for one in text if one > "\x7f")
    assert u.beyond_ascii(f"\ud800{text}") == "\ud800" + u.beyond_ascii(text)


def test_many_different_characters_give_way_at_once():
    """A text may hold any number of them."""
    instead = {chr(0x400 + n): "x" for n in range(100)}
    assert u.give_way("".join(instead) + "Ж日a", {**instead, "日": ""}) == "x" * 101 + "a"


@given(TRICKY | MANY | FEW | JOINING)
@example("e\u0301 ﬁ")
@example("\u1100\u1161")
def test_normalising_alone_is_normalising_together(text):
    """To be given the characters outside ASCII makes NFKC faster and nothing else."""
    assert u.nfkc(text, u.beyond_ascii(text)) == unicodedata2.normalize("NFKC", text)


def test_no_loner_joins_what_stands_before_it():
    """Unicode composes two characters only where a decomposition says so, and reorders only what has a class."""
    every = [chr(point) for point in range(0x110000)]
    seconds = {
        chr(int(parts[1], 16))
        for one in every
        if len(parts := unicodedata2.decomposition(one).split()) == 2 and not parts[0].startswith("<")
    }
    seconds |= {chr(point) for point in (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))}  # Hangul, by arithmetic
    loners = {one for one in every if unicodedata2.category(one) in u._LONERS}
    assert len(seconds) > 100
    assert len(loners) > 10_000
    assert not loners & seconds
    assert not any(unicodedata2.combining(one) for one in loners)


@given(TRICKY)
def test_a_settled_text_is_settled(text):
    """Settling is idempotent, and its result is NFKC, without look-alikes and without invisible characters."""
    settled = u.settle(text)
    assert u.settle(settled) == settled
    assert u.nfkc(settled) == settled
    assert not u.find_confusables(settled)
    assert not u.find_invisible(settled)


@given(TRICKY | MANY | FEW | JOINING)
def test_settling_is_the_steps_one_by_one(text):
    """[V §7] steps 2 to 4 in their order, until nothing changes."""
    settled = u.settle(text)
    while True:
        normal = unicodedata2.normalize("NFKC", text)
        stripped = u.strip_invisible(replace_confusables(normal)[0])[0]
        if stripped == text:
            break
        text = stripped
    assert settled == text


def test_one_round_is_not_enough():
    """Without the joiner between them a letter and its accent compose."""
    assert u.settle("e\u200d\u0301") == "é"
    assert u.settle("\u1100\u200d\u1161") == "가"


@pytest.mark.parametrize(
    "text", ["It’s – well – “fine”", "naïve café", "×", "Diyarbakır", "a\u00a0b", "½ ≤ ∨", "日本語"]
)
def test_good_prose_holds_nothing_unexpected(text):
    """Typographic quotes, dashes, spaces, signs and Latin letters refuse nothing ([V §4])."""
    assert not u.has_unexpected(u.nfkc(text))


@pytest.mark.parametrize("text", ["pаypal", "Ορδινary", "ꓑay", "٠", "Россия"])
def test_letters_and_digits_of_another_script_are_unexpected(text):
    """A Cyrillic, Greek, Lisu letter or an Arabic digit that can be read as ASCII is unexpected [V §4.3]."""
    assert u.has_unexpected(text)


def test_scripts_are_named():
    """The scripts of the characters outside ASCII, sorted; Common and Inherited characters have none."""
    assert u.scripts("plain") == []
    assert u.scripts("Größe, Москва: αβγ – \u0301 😀") == ["Cyrillic", "Greek", "Latin"]


@given(TRICKY | MANY)
def test_each_character_has_its_script(text):
    """Long texts, whose first script goes at once, and short ones name what their characters have."""
    each = {u.script(one) for one in text if one > "\x7f"}
    assert u.scripts(text) == sorted(one for one in each if one)


def test_whole_sentences_of_another_script_are_named():
    """Also where the first character of them belongs to none."""
    assert u.scripts("Запись в журнале изменений сделана в тот же день. Größe") == ["Cyrillic", "Latin"]
    assert u.scripts("«Запись» в журнале изменений сделана в тот же день") == ["Cyrillic"]


def test_a_code_point_is_named_without_the_character():
    """Records name a character by its number, in the notation of the Unicode standard."""
    assert u.CODE_POINTS["\u202e"] == "U+202E"
    assert u.CODE_POINTS["\U000e0041"] == "U+E0041"
    assert u.CODE_POINTS["а"] == "U+0430"


def test_the_data_files_are_what_the_tool_writes(monkeypatch, capsys):
    """The committed tables are those of the installed package."""
    monkeypatch.setattr(sys, "argv", ["make_confusables.py", "--check"])
    tool = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "make_confusables.py"))
    assert tool["main"]() == 0
    assert "up to date" in capsys.readouterr().out


@pytest.mark.parametrize(
    "points",
    [
        *((0x034F,), (0x115F, 0x1160), (0x17B4, 0x17B5), range(0x180B, 0x1810), range(0x2060, 0x2070), (0x3164,)),
        *((0xFFA0,), range(0xFFF0, 0xFFF9), range(0x1BCA0, 0x1BCA4), range(0x1D173, 0x1D17B), range(0xE0000, 0xE1000)),
        range(0xFFF9, 0xFFFC),  # interlinear annotation
    ],
)
def test_every_default_ignorable_character_goes(points):
    """A whole instruction could be spelled with any two of them; Unicode has no reader show them."""
    hidden = "".join(map(chr, points))
    assert u.settle(f"a{hidden}b") == "ab"
    assert u.strip_invisible(u.nfkc(f"a{hidden}b"))[0] == "ab"


@pytest.mark.parametrize("point", [0xE000, 0xF8FF, 0xF0000, 0x10FFFD, 0xFDD0, 0xFDEF, 0xFFFE, 0x1FFFF, 0x10FFFF])
def test_what_only_the_initiated_read_becomes_a_replacement_character(point):
    """Private use and noncharacters."""
    assert u.settle(f"a{chr(point)}b") == "a\ufffdb"
    assert u.find_unknown(f"aa{chr(point)}") == [(2, chr(point))]
    assert u.replace_unknown(f"a{chr(point)}b") == "a\ufffdb"


def test_the_table_of_invisible_characters_is_up_to_date(monkeypatch, capsys):
    """tools/make_invisible.py gives what is in the repository."""
    monkeypatch.setattr(sys, "argv", ["make_invisible.py", "--check"])
    tool = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "make_invisible.py"))
    assert tool["main"]() == 0
    assert "up to date" in capsys.readouterr().out
    assert u.INVISIBLE_VERSION == u.UNICODE_VERSION


def test_no_mark_is_alphanumeric():
    """By the tables of this interpreter, which is how texts without marks are told."""
    assert not any(chr(p).isalnum() for p in range(0x110000) if u.unicodedata2.category(chr(p))[0] == "M")


def test_every_format_control_is_stripped():
    """General category Cf, as Unicode calls its format controls."""
    controls = [chr(point) for point in range(0x110000) if unicodedata2.category(chr(point)) == "Cf"]
    assert len(controls) > 160
    assert u.strip_invisible("".join(controls))[0] == u.settle("".join(controls)) == ""


@pytest.mark.parametrize(("count", "gone"), [(8, []), (9, [9]), (300, list(range(9, 301)))])
@pytest.mark.parametrize("mark", ["\u0301", "\u0489", "\u0e49", "\u0334"])
def test_eight_marks_in_a_row_stay(mark, count, gone):
    """Of more the first eight stay, behind each letter again."""
    assert u.limit_marks("x" + mark * count)[1] == gone
    assert u.limit_marks(("x" + mark * 8) * 50) == (("x" + mark * 8) * 50, [])
    assert u.settle("ж" + mark * count) == u.settle("ж" + mark * min(count, 8))


WORDS = [
    ("p\u0430yp\u0430l", "paypal"),  # Cyrillic in Latin
    ("\u0440\u0430yp\u0430l.com", "paypal.com"),
    ("CSV\u0444\u0430\u0439\u043b", "CSV\u0444a\u0439\u043b"),
    ("\u03b1x", "ax"),  # Greek beside Latin
    ("\u043f\u03bf", "\u043fo"),  # Greek in Cyrillic
    ("g\u0665\u0665gle", "google"),  # Arabic digits in Latin
    ("1\u09ea5", "185"),  # two kinds of digits
    ("G\u3007\u3007gle", "GOOgle"),  # nothing but look-alikes beside Latin
    ("a\u30ce", "a/"),
    ("passw\u3007\u0302rd", "passwO\u0302rd"),  # also with a mark on it
    ("he\u05d5\u05b0\u05d5o", "hel\u05b0lo"),
    ("he\u05d5\u05d5o", "hello"),  # a run of look-alikes of a script that may stand beside Latin
    ("f\u0647", "fo"),
    ("\u0570API\u05d5", "hAPIl"),  # of two such scripts
    ("a\u2028b\u2800c", "a b c"),  # blanks
    ("\u1438script\u1433", "<script>"),  # signs of a script are letters of it
]
STAYING = [
    "ρ = 0.9",
    "Москва",
    "API-интерфейс",
    "APIノード",
    "الـAPI",
    "APIها",
    "הAPI",
    "APIի",
    "APIს",
    "APIका",
    "ใช้APIของเรา",
    "Kafka는",
    "२०१",
    "८",
    "3×4",
    "‘x’ – y",
    "ı",
    "π2",
    "ф-x",
    "а",
]


@pytest.mark.parametrize(("text", "wanted"), WORDS)
def test_look_alikes_of_mixed_words_give_way(text, wanted):
    """UTS 39, 5.1: of several scripts, or of two kinds of digits."""
    places = u.look_alikes_of_words(text, u.suspects(text))
    assert "".join(places.get(place, one) for place, one in enumerate(text)) == wanted
    assert not u.look_alikes_of_words(wanted, u.suspects(wanted))


@pytest.mark.parametrize("text", STAYING)
def test_words_of_one_script_stay(text):
    """Whole words, single letters, signs, and what one language writes with Latin."""
    assert u.look_alikes_of_words(text, u.suspects(text)) == {}
    assert not has_mixed_words(text)


def test_a_long_word_takes_linear_time():
    """A word is looked at once, however many look-alikes it has."""
    text = "\u0430x" * 200_000
    assert len(u.look_alikes_of_words(text, u.suspects(text))) == 200_000
