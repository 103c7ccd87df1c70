"""From bytes to a piece and its text, and what is kept of files."""

from __future__ import annotations

import re
import time
import unicodedata

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.judging.checks import Check, Source, parse_check
from sluice.streams.judging.documents import parse_document
from sluice.streams.judging.facts import find_quote, flat
from sluice.streams.judging.verify import parse_code
from sluice.topology.observers.file_contents import Contents, Everything, File, Piece, cut, text_of
from sluice.topology.observers.kept_looks import Bounded, State
from sluice.topology.observers.parsing import Parsed, ParsingProcess


def chunked(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


@given(
    st.binary(max_size=60).map(lambda data: data.replace(b"\r", b"\n").replace(b"\xfe", b"").replace(b"\xff", b"")),
    st.integers(1, 12),
    st.integers(0, 12),
    st.integers(1, 9),
)
def test_lines_are_cut_as_splitting_the_whole_would(data: bytes, first: int, more: int, size: int):
    """However the file arrives in chunks, the lines are those between line feeds, ends included."""
    last = first + more
    whole = [line + b"\n" for line in data.split(b"\n")]
    whole[-1] = whole[-1].removesuffix(b"\n")
    if not whole[-1]:
        whole.pop()
    piece = cut(chunked(data, size), (first, last))
    assert piece.data == b"".join(whole[first - 1 : last])


@given(st.binary(max_size=60), st.integers(1, 9))
def test_a_whole_file_is_its_bytes(data: bytes, size: int):
    """Without lines nothing is left out."""
    assert cut(chunked(data, size), None).data == data


def test_no_more_is_read_than_the_lines_need():
    """The first lines of a huge file cost no more than a few chunks."""
    taken = []

    def chunks():
        for _ in range(1000):
            taken.append(1)
            yield b"line\n" * 100

    assert cut(chunks(), (3, 5)).data == b"line\n" * 3
    assert len(taken) == 1


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-8-sig"])
def test_a_byte_order_mark_is_believed(encoding: str):
    """UTF-16 and UTF-32 are cut into lines as text, and read for sure."""
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    data = mark + "eins\nzwei ਊ\ndrei\n".encode(encoding)
    piece = cut([data], (2, 2))
    assert text_of(piece) == ("zwei ਊ\n", True)
    assert text_of(cut([data], None)) == ("eins\nzwei ਊ\ndrei\n", True)
    assert cut([data], (4, 9)).data == b""


def test_bytes_that_are_no_utf8_are_guessed():
    """Windows-1252 is assumed where UTF-8 does not hold, and the guess is told."""
    assert text_of(Piece("Müller".encode("latin-1"), None)) == ("Müller", False)
    assert text_of(Piece(b"\x93so\x94", None)) == ("“so”", False)
    assert text_of(Piece("Müller".encode(), None)) == ("Müller", True)


def test_bytes_with_a_nul_are_no_text():
    """Binary data is not read, whatever mark it begins with."""
    assert text_of(Piece(b"\x7fELF\0\0", None)) is None
    assert text_of(Piece(b"\xff\xfe\x00\xd8\x00\x00", "utf-16-le")) is None


OLD: State = (1, 1, 1, 1, 1)


def everything(*contents: bytes) -> Everything:
    files = [(f"f{number}", File(content)) for number, content in enumerate(contents)]
    return Everything(files, True, None, [path for path, _ in files])


@given(st.text(st.characters(codec="utf-8"), max_size=80), st.text("abcXYZ_é\u200b\uff21ﬁ", min_size=1, max_size=4))
def test_a_quick_look_never_rules_out_what_a_check_would_find(text: str, word: str):
    """Every file in which a word stands, in any of the forms in which it counts, is among those that are verified."""
    needle = flat(word)
    if not needle or " " in needle:
        return
    for encoding in ("utf-8", "utf-16", "utf-8-sig"):
        file = File(text.encode(encoding))
        decoded = file.text
        if decoded is not None and find_quote(needle, flat(decoded.text)):
            assert everything(file.data).holding(needle)


def test_names_stand_by_themselves():
    """A word inside of another one is not it."""
    alone = (b"x.retries", b"retries", b"'retries'", "é retries é".encode())
    for content, expected in ((b"max_retries = 5", False), (b"retries2", False), *((one, True) for one in alone)):
        assert File(content).may_name("retries") is expected, content


def test_a_binary_file_holds_no_words_but_perhaps_a_name():
    """In one or two bytes for a character."""
    found = everything(b"\0NAME", "\0NAME".encode("utf-16-le"), b"\0")
    assert found.holding("NAME") == []
    assert found.may_hide("NAME")
    assert not found.may_hide("OTHER")


def test_other_letters_may_hide_in_a_file_of_an_unknown_encoding():
    """ASCII is the same in all of them."""
    latin = everything("größe".encode("latin-1"))
    assert latin.may_hide("größe")
    assert latin.may_hide("日本")
    assert not latin.may_hide("size")
    assert not everything("größe".encode(), b"x").may_hide("日本")


def test_a_source_is_whole_where_its_encoding_is_known_or_does_not_matter():
    """A guess will do for ASCII that is counted, not for anything that a reader of syntax would have to know."""
    file = File("x = 'é'".encode("latin-1"))
    for text, whole in (("absent(y)", True), ("count(x, =, 1)", True), ('count("é", =, 1)', False),
                        ("equals(x, 1)", False), ("contains(x)", False)):  # fmt: skip
        check = parse_check(text)
        assert isinstance(check, Check)
        source = file.source("a.txt", check)
        assert source is not None
        assert source.whole is whole, text
    assert File(b"\0").source("a.txt") is None
    assert re.fullmatch("sha256:[0-9a-f]{64}", file.digest)


def test_what_is_young_is_not_kept():
    """Another write in the same instant would leave the same times."""
    contents = Contents(10_000)
    now = time.time_ns()
    contents.keep_on_disk("/r", "young", (now, now, 1, 1, 1), File(b"x"))
    assert contents.on_disk("/r", "young", (now, now, 1, 1, 1)) is None
    contents.keep_on_disk("/r", "old", OLD, File(b"x"))
    assert contents.on_disk("/r", "old", OLD) is not None
    assert contents.on_disk("/r", "old", (2, 1, 1, 1, 1)) is None
    assert contents.on_disk("/other", "old", OLD) is None
    assert [one is not None for one in contents.all_on_disk("/r", [("old", OLD), ("young", OLD)])] == [True, False]


def test_what_is_kept_is_bounded():
    """By bytes and by number; what was asked for last stays longest; what would fill most of the room is not kept."""
    kept = Bounded[int](3, 100)
    for number in range(4):
        kept.put(number, 30, number)
        kept.get(0)
    assert [kept.get(number) for number in range(4)] == [0, None, 2, 3]
    assert kept.get_many([0, 1, 3]) == [0, None, 3]
    kept.put("large", 51, 1)
    assert kept.get("large") is None
    kept.put(0, 40, 7)
    assert [kept.get(key) for key in (0, 2, 3)] == [7, 2, 3]
    kept.put("x", 45, 1)
    assert [kept.get(key) for key in (0, 2, 3, "x")] == [None, None, 3, 1]


@pytest.fixture
def parses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that are parsed."""
    done: list[str] = []

    def ask(self: ParsingProcess, kind: str, name: str, text: bytes) -> bytes | None:
        done.append(name)
        source = Source(name, text.decode())
        return msgspec.msgpack.encode(parse_code(source) if kind == "code" else parse_document(source))

    monkeypatch.setattr(ParsingProcess, "ask", ask)
    return done


def source(path: str, content: bytes = b"x = 1\n") -> Source:
    found = File(content).source(path)
    assert found is not None
    return found


def test_what_was_parsed_is_kept_by_the_bytes_and_the_name(parses: list[str]):
    """The same bytes in another language are another file."""
    parsed = Parsed(1_000_000)
    for _ in range(3):
        for path in ("a.py", "b/c.py", "a.ini", "a.txt"):
            parsed.code(source(path))
            parsed.document(source(path))
    assert parses == ["a.py", "a.ini"]
    parsed.code(source("a.py", b"x = 2\n"))
    parsed.code(Source("a.py", "x = 3\n"))  # of bytes that are not known
    parsed.code(Source("a.py", "x = 3\n"))
    parsed.code(source("a.py")._replace(text="x = 4\n"))  # other characters of the same bytes
    assert len(parses) == 5


def test_what_was_parsed_is_bounded(parses: list[str]):
    """By the setting; 0 keeps nothing."""
    parsed = Parsed(0)
    for _ in range(2):
        parsed.code(source("a.py"))
    assert len(parses) == 2
    small = Parsed(400_000)
    sources = [source("a.py", b"x = 1\n" * 20 + b"# %d\n" % number) for number in range(200)]
    for parsed_once in sources:
        small.code(parsed_once)
    assert len(parses) == 202
    small.code(sources[-1])
    assert len(parses) == 202
    small.code(sources[0])
    assert len(parses) == 203


def test_digits_of_another_script_are_normalised_alike():
    """What a search looks through is NFKC, as the checks are."""
    file = File("ＬＩＭＩＴ = ４２\n".encode())
    assert file.searchable is not None
    assert b"LIMIT = 42" in file.searchable
    assert unicodedata.normalize("NFKC", "ＬＩＭＩＴ") == "LIMIT"
