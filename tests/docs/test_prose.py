"""`tools/check_prose.py` finds what it says it finds, and finds nothing in the Markdown of this repository."""

from __future__ import annotations

from pathlib import Path

import check_prose
import pytest

ROOT = check_prose.ROOT
LONG = " ".join(["word"] * 121)
AT_MOST = " ".join(["word"] * 120)


def faults(folder: Path, text: str, name: str = "page.md") -> list[str]:
    """What is found in a page of this text, without its path."""
    page = folder / name
    page.write_text(text, "utf-8")
    return [f"{fault.line}: {fault.says}" for fault in check_prose.of_markdown(page, folder)]


def python_faults(folder: Path, text: str) -> list[str]:
    """What is found in a module of this text, without its path."""
    module = folder / "module.py"
    module.write_text(text, "utf-8")
    return [f"{fault.line}: {fault.says}" for fault in check_prose.of_python(module, folder)]


@pytest.mark.parametrize("page", check_prose.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_the_pages_of_this_repository_keep_the_rules(page: Path):
    """`make lint` asks the same."""
    assert list(map(str, check_prose.of_markdown(page))) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"First.\n\n{LONG}\n", 3),
        (f"First.\n\n- short\n- {LONG}\n", 4),
        (f"1. short\n2. {LONG}\n", 2),
        (f"| a | b |\n| --- | --- |\n| c | {LONG} |\n", 3),
        (f"> {LONG}\n", 1),
        ("\n".join(LONG.split()), 1),
        (f"```\n{AT_MOST}\n```\n\n{LONG}", 5),
    ],
)
def test_a_long_paragraph_is_named_with_its_line(tmp_path: Path, text: str, line: int):
    """Running text, items, cells and quotations, on one line or on many."""
    (found,) = faults(tmp_path, text)
    assert found.startswith(f"{line}: a paragraph of 121 words, at most 120: word")


@pytest.mark.parametrize(
    "text",
    [
        AT_MOST,
        f"- {AT_MOST}\n- {AT_MOST}\n",
        f"| {AT_MOST} | {AT_MOST} |\n",
        f"# A heading\n{AT_MOST}\n## Another\n{AT_MOST}\n",
        f"```\n{LONG}\n```\n",
        f"  ```\n  {LONG}\n  ```\n",
        f"<!-- {LONG} -->\n",
        f"<!-- {LONG}\n{LONG} -->\n{AT_MOST}\n",
        AT_MOST + " - – / ·",
    ],
)
def test_what_is_short_enough_is_no_fault(tmp_path: Path, text: str):
    """Each item, cell and paragraph counts alone; code and comments do not count, nor do lone signs."""
    assert faults(tmp_path, text) == []


def test_a_bar_within_code_ends_no_cell(tmp_path: Path):
    """Otherwise a long cell could pass as two."""
    half = " ".join(["word"] * 60)
    assert faults(tmp_path, f"| {half} `a | b` {half} |\n")


def test_a_link_leads_to_a_file_and_a_heading(tmp_path: Path):
    """Relative to the page; other sites are not asked."""
    (tmp_path / "there.md").write_text("# One `two` [three](x.md)\n## Same\n## Same\n```\n# no heading\n```\n", "utf-8")
    (tmp_path / "figure.svg").write_text("", "utf-8")
    good = [
        "there.md",
        "there.md#one-two-three",
        "there.md#same-1",
        "#here",
        "figure.svg",
        "https://example.org/a.md#b",
    ]
    bad = ["gone.md", "there.md#gone", "there.md#no-heading", "#gone", "figure.svg#x", "gone/"]
    assert faults(tmp_path, "# Here\n" + "".join(f"[a]({link})\n" for link in good)) == []
    found = faults(tmp_path, "# Here\n" + "".join(f"[a]({link})\n" for link in bad))
    assert found == [
        "2: the link gone.md leads to no file",
        "3: the link there.md#gone leads to no heading",
        "4: the link there.md#no-heading leads to no heading",
        "5: the link #gone leads to no heading",
        "6: the link figure.svg#x leads to no heading",
        "7: the link gone/ leads to no file",
    ]


def test_a_link_in_code_is_no_link(tmp_path: Path):
    """It is shown to a reader, not followed."""
    assert faults(tmp_path, "`[a](gone.md)`\n```\n[a](gone.md)\n```\n") == []


def test_a_named_document_is_in_the_repository(tmp_path: Path):
    """Seen from the page, from docs/ or from the root; code that is more than a name is not looked at."""
    (tmp_path / "docs").mkdir()
    for name in ("docs/guide.md", "NOTES.md"):
        (tmp_path / name).write_text("# A\n", "utf-8")
    text = "`guide.md`, `docs/guide.md`, NOTES.md; `missing(gone.md)`, `*.md`, [a](https://example.org/gone.md)\n"
    assert faults(tmp_path, text, "docs/page.md") == []
    assert faults(tmp_path, "See `gone.md`.\n\nBut a/gone.md (notes.md) too.\n") == [
        "1: gone.md is no document of this repository",
        "3: a/gone.md is no document of this repository",
        "3: notes.md is no document of this repository",
    ]


def test_a_named_module_is_in_the_repository(tmp_path: Path):
    """Where the path begins with a folder of the repository; code that shows somebody else's may name what it likes."""
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "fold.py").write_text("", "utf-8")
    assert (
        faults(tmp_path, "`core/fold.py`, `core/fold.py:fold`, `other/gone.py`, `contains(a, path=core/gone.py)`\n")
        == []
    )
    assert faults(tmp_path, "`core/gone.py` and `core/gone.py:Fold.a`\n") == [
        "1: core/gone.py is no module of this repository",
        "1: core/gone.py is no module of this repository",
    ]


def test_docstrings_are_read_as_pages_are(tmp_path: Path):
    """Of modules, classes, functions and values; comments for the names of documents."""
    text = (
        f'"""Head.\n\n{LONG}\n"""\n\nX = 1\n"""{LONG}"""\n\n\ndef f():\n    """See gone.md."""\n    # as in gone.md\n'
    )
    assert [one.split(" of ")[0] for one in python_faults(tmp_path, text)] == [
        "3: a paragraph",
        "7: a paragraph",
        "11: gone.md is no document",
        "12: gone.md is no document",
    ]


def test_entries_of_a_section_count_alone(tmp_path: Path):
    """So do code and tables; a string that is a value is no docstring."""
    text = (
        f'def f():\n    """Head.\n\n    Args:\n        one: {AT_MOST[5:]}\n        two: {AT_MOST[5:]}\n'
        f"    Returns:\n        {AT_MOST}\n\n    So::\n\n        {LONG}\n\n    >>> {LONG}\n"
        f'    """\n    return "{LONG}"\n'
    )
    assert python_faults(tmp_path, text) == []
    (found,) = python_faults(tmp_path, text.replace("two: ", "two: word "))
    assert found.startswith("6: ")


def test_the_status_says_whether_something_was_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """A report ends with 0 all the same."""
    page, module = tmp_path / "page.md", tmp_path / "module.py"
    page.write_text(LONG, "utf-8")
    module.write_text(f'"""{LONG}"""\n', "utf-8")
    assert check_prose.main([str(page)]) == 1
    assert "page.md:1: a paragraph of 121 words" in capsys.readouterr().out
    assert check_prose.main(["--python", str(tmp_path)]) == 1
    assert check_prose.main(["--report", "--python", str(tmp_path)]) == 0
    assert "module.py:1: a paragraph of 121 words" in capsys.readouterr().out
    page.write_text("Short.", "utf-8")
    assert check_prose.main([str(page)]) == 0
