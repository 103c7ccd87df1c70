"""The piece of a file that is looked at, and its text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.topology.observers.file_contents import Piece, cut, text_of


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
