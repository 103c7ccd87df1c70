"""`sluice check` from the outside: files, folders and standard input; formats; exit statuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sluice.topology.cli import main

HEAD = "from sluice.streams.grounded import Grounded, agent, grounded_pure, tool\n"
BAD = HEAD + '@agent\ndef made_up(x: str) -> Grounded[str]:\n    return "x"\n'
LINE = (
    "ungrounded-return made_up is declared to return Grounded, but returns a literal; "
    'the retrieval is missing: no tool with data="grounded" feeds it'
)
NOTED = HEAD + "def show(doc: Grounded[str]) -> None:\n    print(doc)\n"


def run(*arguments: object, given: str | bytes = "") -> Result:
    return CliRunner().invoke(main, ["check", *map(str, arguments)], input=given)


def write(folder: Path, **files: str) -> None:
    """Files by their names; two underscores are a folder."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def test_a_finding_is_one_line_and_exit_status_1(tmp_path: Path):
    """`FILE:LINE:COL: RULE MESSAGE`, with columns from one."""
    write(tmp_path, bad=BAD)
    result = run(tmp_path / "bad.py")
    assert result.stdout == f"{tmp_path}/bad.py:4:5: {LINE}\n"
    assert (result.stderr, result.exit_code) == ("", 1)


def test_a_clean_file_says_nothing(tmp_path: Path):
    """No output, exit status 0."""
    write(tmp_path, clean="x = 1\n")
    result = run(tmp_path / "clean.py")
    assert (result.output, result.exit_code) == ("", 0)


def test_standard_input_is_a_file_too():
    """`-` is reported as `<stdin>`."""
    result = run("-", given=BAD)
    assert result.stdout == f"<stdin>:4:5: {LINE}\n"
    assert result.exit_code == 1


def test_files_of_a_package_are_found_from_inside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What they call one another may begin above the folder that one stands in; they are reported as they are given."""
    tools = HEAD + '@tool(data="pii")\ndef person(k: str) -> Grounded[str]:\n    return k\n'
    asks = HEAD + "from app.tools import person\n@agent\ndef ask(k: str) -> Grounded[str]:\n    return person(k)\n"
    write(tmp_path, app__tools=tools, app__asks=asks, app__other__x="")
    monkeypatch.chdir(tmp_path / "app" / "other")
    result = run("../asks.py", "../tools.py")
    assert result.stdout.startswith("../asks.py:5:5: ungrounded-return ")
    assert result.exit_code == 1


def test_folders_are_gone_through(tmp_path: Path):
    """In order, with what is below them, but not what is hidden or no Python; a file named twice is checked once."""
    write(tmp_path, b=BAD, a__deep__c=BAD, **{".hidden__d": BAD, "__pycache____e": BAD})
    (tmp_path / "notes.txt").write_text(BAD)
    result = run(tmp_path, tmp_path / "b.py")
    assert [line.partition(":")[0] for line in result.stdout.splitlines()] == [
        f"{tmp_path}/a/deep/c.py",
        f"{tmp_path}/b.py",
    ]


def test_files_are_checked_together(tmp_path: Path):
    """An import among them is followed."""
    write(tmp_path, lib=HEAD + '@tool(data="pii")\ndef get(x: str) -> Grounded[str]: return x\n')
    write(tmp_path, main=HEAD + "from lib import get\n@agent\ndef a(x: str) -> Grounded[str]:\n    return get(x)\n")
    assert run(tmp_path / "main.py").exit_code == 0
    assert run(tmp_path / "main.py", tmp_path / "lib.py").exit_code == 1


def test_nothing_is_imported_or_run(tmp_path: Path):
    """A source that would leave a trace leaves none."""
    trace = tmp_path / "trace"
    write(tmp_path, evil=HEAD + f"open({str(trace)!r}, 'w').close()\nraise SystemExit(7)\n")
    assert run(tmp_path / "evil.py").exit_code == 0
    assert not trace.exists()
    assert "evil" not in sys.modules


@pytest.mark.parametrize(
    ("name", "raw", "why"),
    [
        ("missing.py", None, "No such file or directory"),
        ("latin.py", b"x = '\xff'\n", "its encoding is not what it declares, or not UTF-8"),
        ("coding.py", b"# coding: klingon\n", "its encoding is not what it declares, or not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_sentence_and_exit_status_2(
    tmp_path: Path, name: str, raw: bytes | None, why: str
):
    """The others are checked all the same."""
    if raw is not None:
        (tmp_path / name).write_bytes(raw)
    write(tmp_path, bad=BAD)
    result = run(tmp_path / name, tmp_path / "bad.py")
    assert result.stderr == (f"sluice: cannot read '{tmp_path / name}': {why}; name Python sources, folders or -\n")
    assert "ungrounded-return" in result.stdout
    assert result.exit_code == 2


def test_a_file_that_is_not_python_is_reported_and_exit_status_2(tmp_path: Path):
    """As a line of its own with the place, and a sentence; the others are checked all the same."""
    write(tmp_path, broken="def f(:\n    pass\n", bad=BAD)
    result = run(tmp_path / "broken.py", tmp_path / "bad.py")
    first, second = result.stdout.splitlines()
    assert first == f"{tmp_path}/broken.py:1:7: error this is not Python: invalid syntax"
    assert "ungrounded-return" in second
    assert result.stderr == f"sluice: cannot check {tmp_path}/broken.py:1:7: this is not Python: invalid syntax\n"
    assert result.exit_code == 2


def test_what_is_nested_too_deeply_is_reported_without_a_traceback(tmp_path: Path):
    """A hundred thousand dots in a row are an error line like any other."""
    write(tmp_path, deep=HEAD + "x = a" + ".b" * 100_000 + "\n")
    result = run(tmp_path / "deep.py")
    assert "nested too deeply" in result.stderr
    assert "Traceback" not in result.output
    assert result.exit_code == 2


def test_a_few_thousand_levels_are_not_too_deep(tmp_path: Path):
    """The checker has a stack of its own."""
    write(tmp_path, deep=HEAD + "x = a" + ".b" * 2_000 + "\n")
    result = run(tmp_path / "deep.py")
    assert (result.output, result.exit_code) == ("", 0)


def test_without_files_the_usage_is_wrong():
    """Exit status 2."""
    assert run().exit_code == 2


def test_verbose_lists_the_sites_that_fail_nothing(tmp_path: Path):
    """Outside `@grounded_pure` they are notes, and the exit status stays 0."""
    write(tmp_path, noted=NOTED)
    assert run(tmp_path).output == ""
    result = run("--verbose", tmp_path)
    assert result.stdout.startswith(f"{tmp_path}/noted.py:3:11: coercion note: ")
    assert result.exit_code == 0


def test_json_is_one_object_a_line(tmp_path: Path):
    """Errors, findings and, with --verbose, notes; each with its severity."""
    write(tmp_path, bad=BAD, broken="(", noted=NOTED)
    result = run("--format", "json", "-v", tmp_path)
    values = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(one["rule"], one["severity"]) for one in values] == [
        ("error", "error"),
        ("ungrounded-return", "error"),
        ("coercion", "note"),
    ]
    assert (values[1]["line"], values[1]["column"], values[1]["section"]) == (4, 5, "C §2")


def test_sarif_is_one_document(tmp_path: Path):
    """Whatever is found, nothing included; the exit status is as ever."""
    write(tmp_path, bad=BAD)
    result = run("--format", "sarif", tmp_path)
    value = json.loads(result.stdout)
    assert value["version"] == "2.1.0"
    assert [one["ruleId"] for one in value["runs"][0]["results"]] == ["ungrounded-return"]
    assert result.exit_code == 1
    assert json.loads(run("--format", "sarif", "-", given="x = 1\n").stdout)["runs"][0]["results"] == []


def test_line_ends_and_byte_order_marks_are_as_python_takes_them(tmp_path: Path):
    """Windows line ends and a byte order mark move no line."""
    (tmp_path / "windows.py").write_bytes(b"\xef\xbb\xbf" + BAD.replace("\n", "\r\n").encode())
    assert run(tmp_path).stdout.startswith(f"{tmp_path}/windows.py:4:5: ")


def test_the_help_has_an_example():
    """As every command's (docs/reference/commands.md)."""
    result = run("--help")
    assert "sluice check agents/" in result.stdout
    assert result.exit_code == 0


def test_a_folder_without_sources_has_not_been_checked(tmp_path: Path) -> None:
    """Exit status 2: a check in CI of the wrong folder must not pass."""
    (tmp_path / "notes.txt").write_text("x")
    result = CliRunner().invoke(main, ["check", str(tmp_path)])
    assert result.exit_code == 2
    assert "there is no Python source in it" in result.stderr
