"""Checks the prose of the repository: the length of paragraphs, and that every document named in it is there.

`make lint` runs it over every Markdown file; `--python FOLDER...` reads the docstrings and comments of modules instead.
It states what a program can check of CONTRIBUTING.md, "Prose", and looks at no spelling and no style.

In Markdown:

- A paragraph, a list item and a table cell have at most 120 words each. Fenced code and HTML comments do not count.
- A relative link leads to a file of the repository and, where it has a `#fragment`, to a heading of that file.
- A name that ends in `.md` is the name of a file of the repository, seen from the page's folder, from `docs/` or from
  the repository's root. Within back-ticks only a span that is nothing but such a name counts: `code` may need others.
- A back-ticked path that begins with a folder of the repository's root and ends in `.py` is there, with or without the
  name of a function behind a colon.

In Python the rules hold for docstrings, and those for names for comments as well; links are not looked at. Code in a
docstring (after `>>>`, or indented below `::`) does not count, and the entries of a list, a table or a section such as
`Args:` count as in Markdown.

Exit status: 0 when nothing was found or with `--report`, 1 otherwise.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
MOST_WORDS = 120
GENERATED = "docs/reference/"
"""Pages that `make reference` writes: their text is the modules' own, and `--python` reads it there."""

_FENCE = re.compile(r"^\s*(```+|~~~+)")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
_LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")
_CODE = re.compile(r"`+[^`]*`+")
_BAR = re.compile(r"(?<!\\)\|")
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:")
_DOCUMENT = re.compile(r"(?<![\w./{}<*~-])[\w./-]*\w\.md(?![\w/-])")
_MODULE = re.compile(r"((\w+)/[\w./-]+\.py)(?::[\w.]+)?")
_SECTION = re.compile(r"(Args|Arguments|Attributes|Returns|Raises|Yields|Note|Notes|Example|Examples):$")


class Paragraph(NamedTuple):
    """A paragraph, list item, table cell or heading: the line where it begins, and its text."""

    line: int
    text: str


class Fault(NamedTuple):
    """A rule that a place breaks."""

    path: Path
    line: int
    says: str

    def __str__(self) -> str:
        shown = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
        return f"{shown}:{self.line}: {self.says}"


def words(text: str) -> int:
    """How many words a paragraph has: what stands between spaces and holds a letter or a digit."""
    return sum(1 for one in text.split() if re.search(r"\w", one))


def _readable(source: str) -> list[str]:
    """The lines of a page with fenced code and HTML comments empty, so that line numbers stay."""
    lines: list[str] = []
    fence = ""
    for line in source.splitlines():
        mark = _FENCE.match(line)
        if fence:
            lines.append("")
            if mark and mark[1].startswith(fence) and not line.strip(" `~"):
                fence = ""
        elif mark:
            fence = mark[1]
            lines.append("")
        else:
            lines.append(line)
    text = re.sub(r"<!--.*?-->", lambda found: "\n" * found[0].count("\n"), "\n".join(lines), flags=re.DOTALL)
    return text.split("\n")


def _cells(row: str) -> list[str]:
    """The cells of a table's row; a bar within back-ticks or after a backslash ends none."""
    plain = _CODE.sub(lambda found: found[0].replace("|", "\0"), row.strip().strip("|"))
    return [cell.replace("\0", "|").strip() for cell in _BAR.split(plain)]


def paragraphs(lines: list[str], first: int = 1) -> Iterator[Paragraph]:
    """The paragraphs of lines of Markdown without code, in order.

    Args:
        lines: the text, one line each.
        first: the number of the first line.
    """
    start, held = first, list[str]()
    for number, line in enumerate([*lines, ""], first):
        bare = re.sub(r"^\s*(?:>\s?)+", "", line)
        row = bare.lstrip().startswith("|")
        if held and (not bare.strip() or row or _ITEM.match(bare) or _HEADING.match(bare) or bare.startswith("!!!")):
            yield Paragraph(start, " ".join(held))
            held = []
        if row:
            yield from (Paragraph(number, cell) for cell in _cells(bare) if cell.strip(" :-"))
        elif heading := _HEADING.match(bare):
            yield Paragraph(number, heading[2])
        elif bare.strip():
            if not held:
                start = number
            held.append(_ITEM.sub("", bare).strip())


def slugs(page: Path) -> set[str]:
    """The anchors that a forge gives the headings of a page."""
    found: set[str] = set()
    for line in _readable(page.read_text("utf-8")):
        if heading := _HEADING.match(line):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[2]).replace("`", "")
            slug = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
            found.add(next(one for one in _numbered(slug) if one not in found))
    return found


def _numbered(slug: str) -> Iterator[str]:
    """The anchors of headings of the same text: the first one's as it is, then with a number."""
    yield slug
    number = 0
    while True:
        number += 1
        yield f"{slug}-{number}"


def documents(text: str) -> list[str]:
    """The names of Markdown files in a paragraph: those in running text, and back-ticked ones that stand alone."""
    alone = [code.strip("`") for code in _CODE.findall(text)]
    running = _LINK.sub(" ", _CODE.sub(" ", text))
    return [name for name in alone if _DOCUMENT.fullmatch(name)] + _DOCUMENT.findall(running)


def modules(text: str, root: Path) -> list[str]:
    """The paths of Python modules that stand back-ticked in a paragraph and begin with a folder of the root."""
    spans = [_MODULE.fullmatch(code.strip("`")) for code in _CODE.findall(text)]
    return [found[1] for found in spans if found and (root / found[2]).is_dir()]


def _is_there(name: str, folder: Path, root: Path) -> bool:
    return any((base / name).is_file() for base in (folder, root / "docs", root))


def _of_paragraphs(path: Path, root: Path, found: Iterator[Paragraph]) -> Iterator[Fault]:
    for line, text in found:
        if (count := words(text)) > MOST_WORDS:
            yield Fault(path, line, f"a paragraph of {count} words, at most {MOST_WORDS}: {text[:50]}…")
        for name in documents(text):
            if not _is_there(name, path.parent, root):
                yield Fault(path, line, f"{name} is no document of this repository")
        for name in modules(text, root):
            if not (root / name).is_file() and not (path.parent / name).is_file():
                yield Fault(path, line, f"{name} is no module of this repository")


def of_markdown(page: Path, root: Path = ROOT) -> Iterator[Fault]:
    """What a page breaks.

    Args:
        page: the file.
        root: the repository's root.
    """
    lines = _readable(page.read_text("utf-8"))
    yield from _of_paragraphs(page, root, paragraphs(lines))
    for number, line in enumerate(lines, 1):
        for link in _LINK.findall(_CODE.sub("", line)):
            if _ELSEWHERE.match(link):
                continue
            path, _, anchor = unquote(link).partition("#")
            target = (page.parent / path).resolve() if path else page
            if not target.exists():
                yield Fault(page, number, f"the link {link} leads to no file")
            elif anchor and (target.suffix != ".md" or anchor not in slugs(target)):
                yield Fault(page, number, f"the link {link} leads to no heading")


def _of_docstring(text: str) -> list[str]:
    """A docstring's lines with code empty, and each entry of a section as a list item."""
    lines: list[str] = []
    code: int | None = None
    section: tuple[int, int] | None = None  # the indents of a section's name and of its entries
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if code is not None and line.strip() and indent <= code:
            code = None
        if not line.strip() or code is not None or line.lstrip().startswith(">>>"):
            lines.append("")
            continue
        if line.rstrip().endswith("::"):
            code = indent
        if section and indent <= section[0]:
            section = None
        if _SECTION.match(line.strip()):
            section = (indent, 0)
            lines.append("")
            continue
        if section and not section[1]:
            section = (section[0], indent)
        lines.append(f"- {line.strip()}" if section and indent == section[1] else line)
    return lines


def of_python(module: Path, root: Path = ROOT) -> Iterator[Fault]:
    """What the docstrings and comments of a module break; a string that stands alone below a name is a docstring too.

    Args:
        module: the file.
        root: the repository's root.
    """
    source = module.read_text("utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines = _of_docstring(node.value.value)
            yield from _of_paragraphs(module, root, paragraphs(lines, node.lineno))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            comment = [token.string.lstrip("#! ")]
            yield from _of_paragraphs(module, root, paragraphs(comment, token.start[0]))


def pages(root: Path = ROOT) -> list[Path]:
    """Every Markdown file that git tracks, or would track, without those that are generated."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    names = {name for name in listed.split("\0") if name and not name.startswith(GENERATED)}
    return sorted(path for name in names if (path := root / name).is_file())


def main(arguments: list[str] | None = None) -> int:
    """Prints each fault on a line of its own; the exit status."""
    parser = argparse.ArgumentParser(description="Check the prose of the repository.")
    parser.add_argument("files", nargs="*", type=Path, help="Markdown files; all of the repository without any")
    parser.add_argument("--python", nargs="+", type=Path, metavar="FOLDER", help="docstrings and comments instead")
    parser.add_argument("--report", action="store_true", help="exit with 0 whatever was found")
    given = parser.parse_args(arguments)
    faults: list[Fault] = []
    if given.python:
        modules = [one for path in given.python for one in ([path] if path.is_file() else sorted(path.rglob("*.py")))]
        faults = [fault for module in modules for fault in of_python(module.resolve())]
    else:
        found = [path.resolve() for path in given.files] or pages()
        faults = [fault for page in found for fault in of_markdown(page)]
    for fault in faults:
        print(fault)
    if faults:
        print(f"{len(faults)} faults", file=sys.stderr)
    return 1 if faults and not given.report else 0


if __name__ == "__main__":
    raise SystemExit(main())
