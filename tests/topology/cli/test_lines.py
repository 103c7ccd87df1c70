"""Filters answer every line, keep the order, and go on after a bad one (docs/reference/commands.md)."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.errors import Fault, UsageError
from sluice.topology.cli import standard_streams
from sluice.topology.cli.standard_streams import files_argument, read_lines, run_filter, run_filter_many


@click.command()
@files_argument
def echo(files: tuple[str, ...]) -> None:
    """A filter that answers with the line, and refuses those that say `bad`."""
    run_filter(files, lambda line: Fault("schema", "it is bad") if line == b"bad" else {"line": line.decode()})


def run(*arguments: str, given: bytes = b"") -> Result:
    return CliRunner().invoke(echo, arguments, input=given)


def answers(result: Result) -> list[Any]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_every_line_is_answered_in_order_on_a_line_of_its_own() -> None:
    """One JSON line in, one JSON line out."""
    result = run(given=b"a\nb\nc\n")

    assert answers(result) == [{"line": "a"}, {"line": "b"}, {"line": "c"}]
    assert result.exit_code == 0


def test_a_bad_line_is_answered_by_its_number_and_reason_and_the_run_goes_on() -> None:
    """The exit status tells at the end that there was one."""
    result = run(given=b"a\nbad\nc\n")

    assert answers(result) == [
        {"line": "a"},
        {"line": 2, "error": {"reason": "schema", "detail": "it is bad"}},
        {"line": "c"},
    ]
    assert result.exit_code == 1


def test_empty_lines_are_passed_over_and_counted() -> None:
    """A line's number is the one that an editor shows."""
    result = run(given=b"\n  \na\r\n\nbad\n")

    assert answers(result) == [{"line": "a"}, {"line": 5, "error": {"reason": "schema", "detail": "it is bad"}}]


def test_a_last_line_without_an_end_is_a_line() -> None:
    """As editors and `printf` leave it."""
    assert answers(run(given=b"a\nb")) == [{"line": "a"}, {"line": "b"}]


def test_no_input_is_no_answer() -> None:
    """And nothing wrong."""
    result = run()

    assert (result.stdout, result.exit_code) == ("", 0)


def test_files_are_read_one_after_the_other_and_a_dash_is_standard_input(tmp_path: Path) -> None:
    """Lines are counted over all of them."""
    (tmp_path / "one").write_bytes(b"1\n2\n")
    (tmp_path / "two").write_bytes(b"bad\n")

    result = run(str(tmp_path / "one"), "-", str(tmp_path / "two"), given=b"between\n")

    assert answers(result) == [
        {"line": "1"},
        {"line": "2"},
        {"line": "between"},
        {"line": 4, "error": {"reason": "schema", "detail": "it is bad"}},
    ]


@pytest.mark.parametrize(("name", "part"), [("missing", "cannot read"), (".", "Is a directory")])
def test_a_file_that_cannot_be_read_is_wrong_usage(tmp_path: Path, name: str, part: str) -> None:
    """One sentence that names it."""
    with pytest.raises(UsageError, match=part) as caught:
        list(read_lines((str(tmp_path / name),)))

    assert str(tmp_path) in str(caught.value)


def test_a_line_that_is_too_long_is_refused_without_being_held_and_the_next_one_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The bound itself is allowed; the rest of a longer line is skipped up to its end."""
    monkeypatch.setattr(standard_streams, "MAX_LINE", 10)
    given = b"x" * 10 + b"\n" + b"y" * 11 + b"\n" + b"z" * 35 + b"\nlast\n"

    result = run(given=given)

    refused = {"reason": "oversize", "detail": "the line is longer than 10 bytes"}
    assert answers(result) == [
        {"line": "x" * 10},
        {"line": 2, "error": refused},
        {"line": 3, "error": refused},
        {"line": "last"},
    ]
    assert result.exit_code == 1


def test_a_too_long_last_line_without_an_end_is_refused_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of the file ends the line."""
    monkeypatch.setattr(standard_streams, "MAX_LINE", 10)

    assert [answer["line"] for answer in answers(run(given=b"ok\n" + b"z" * 30))] == ["ok", 2]


def test_a_filter_may_answer_a_line_with_many_and_have_more_at_the_end() -> None:
    """A fold says nothing to some lines and several things to others."""

    @click.command()
    @files_argument
    def repeat(files: tuple[str, ...]) -> None:
        run_filter_many(files, lambda line: [int(line)] * int(line), lambda: ["end", "of it"])

    result = CliRunner().invoke(repeat, input=b"2\n0\n1\n")

    assert answers(result) == [2, 2, 1, "end", "of it"]


def test_the_end_is_reported_after_bad_lines_as_well() -> None:
    """The run goes on to its end, and exits with 1."""

    @click.command()
    @files_argument
    def refuse(files: tuple[str, ...]) -> None:
        run_filter_many(files, lambda line: [Fault("schema", "no")], lambda: ["end"])

    result = CliRunner().invoke(refuse, input=b"x\n")

    assert answers(result)[-1] == "end"
    assert result.exit_code == 1


def test_an_answer_is_out_before_the_next_line_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever feeds the filter line by line gets each answer at once."""
    written = io.BytesIO()
    seen: list[bytes] = []

    class Feed(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            seen.append(written.getvalue())
            return super().readline(size)

    class Stream:
        def __init__(self, buffer: io.BytesIO) -> None:
            self.buffer = buffer

    monkeypatch.setattr(sys, "stdin", Stream(Feed(b"1\n2\n")))
    monkeypatch.setattr(sys, "stdout", Stream(written))

    run_filter((), lambda line: int(line))

    assert seen == [b"", b"1\n", b"1\n2\n"]


@given(st.lists(st.binary(max_size=12).filter(lambda line: b"\n" not in line and b"\r" not in line), max_size=8))
def test_there_is_one_answer_for_every_line_that_says_something(given: list[bytes]) -> None:
    """Whatever bytes stand in it."""
    numbered = [(number, line.strip()) for number, line in enumerate(given, 1) if line.strip()]
    runner = CliRunner()

    @click.command()
    @files_argument
    def count(files: tuple[str, ...]) -> None:
        run_filter(files, lambda line: {"octets": len(line)})

    result = runner.invoke(count, input=b"\n".join(given) + b"\n")

    assert answers(result) == [{"octets": len(line)} for _, line in numbered]
