"""The door to documents: JSON, TOML, YAML, the INI family, Makefiles and Markdown, for checks by key and heading.

`parse_document` tells the format by the file's name and parses the whole text, `verify_document` decides `defines`,
`equals` and `compare`, `document_extents` says which lines a key, section, target or heading has, for `in`. Values are
compared by `values.py`. Nothing is executed, expanded or fetched; a text that its parser does not take, or that is too
large, leaves every check undecided. Never raises.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from .checks import Check
from .doc_env import parse_env, parse_properties
from .doc_ini import CONF, EDITORCONFIG, GIT, INI, Dialect, parse_ini
from .doc_json import parse_json, tree_of_value
from .doc_keys import extents, verify_keys
from .doc_make import Makefile, parse_make
from .doc_make_checks import make_extents, verify_make
from .doc_markdown import Outline, markdown_extents, parse_markdown, verify_markdown
from .doc_toml import parse_toml
from .doc_tree import Tree, Unreadable
from .doc_yaml import parse_yaml
from .results import Held, HeldReason, Source

Format = Literal["json", "toml", "yaml", "ini", "conf", "editorconfig", "git", "env", "properties", "make", "markdown"]

MAX_TEXT: Final = 4_000_000
"""Characters of a document; Markdown has a bound of its own."""
_LEAST_WEIGHT: Final = 1_000

_BY_ENDING: Final[Mapping[str, Format]] = {
    "json": "json",
    "toml": "toml",
    "yaml": "yaml",
    "yml": "yaml",
    "ini": "ini",
    "cfg": "ini",
    "conf": "conf",
    "properties": "properties",
    "env": "env",
    "editorconfig": "editorconfig",
    "mk": "make",
    "md": "markdown",
    "markdown": "markdown",
}
_BY_NAME: Final[Mapping[str, Format]] = {
    "makefile": "make",
    "gnumakefile": "make",
    "cargo.lock": "toml",
    "poetry.lock": "toml",
    "uv.lock": "toml",
    "pdm.lock": "toml",
    "pylock.toml": "toml",
    "pipfile": "toml",
    "pipfile.lock": "json",
    "composer.lock": "json",
    ".editorconfig": "editorconfig",
    ".env": "env",
    ".flake8": "ini",
    ".pylintrc": "ini",
    ".coveragerc": "ini",
    ".pypirc": "ini",
    ".gitconfig": "git",
    ".gitmodules": "git",
}
_ENV: Final = re.compile(r"\.env\.[\w-]+")
_DIALECTS: Final[Mapping[str, Dialect]] = {"ini": INI, "conf": CONF, "editorconfig": EDITORCONFIG, "git": GIT}


class Document(msgspec.Struct, frozen=True):
    """A parsed document.

    Attributes:
        format: which it is.
        body: what stands in it; None where it could not be read.
        problem: why it could not be read.
        weight: about how many bytes it takes, for a cache.
        complete: all of it was understood.
    """

    format: Format
    body: Tree | Makefile | Outline | None
    problem: HeldReason | None
    weight: int
    complete: bool


def format_of(path: str) -> Format | None:
    """The format of a file by its name; None for any other."""
    name = path.rpartition("/")[2].lower()
    if name in _BY_NAME:
        return _BY_NAME[name]
    if _ENV.fullmatch(name):
        return "env"
    return _BY_ENDING.get(name.rpartition(".")[2]) if "." in name else None


def parse_document(source: Source) -> Document | None:
    """Parses a file of one of the formats.

    Args:
        source: the whole text of the file; its `lines` do not matter here.

    Returns:
        The document; None where the name is that of no format, or the text of a `.conf` file is none of the INI family.
    """
    known = format_of(source.path)
    if known is None:
        return None
    try:
        body = _read(known, source.text)
    except Unreadable as problem:
        if known == "conf" and problem.reason == "syntax-error":
            return None
        return Document(known, None, problem.reason, _LEAST_WEIGHT, False)
    complete = body.complete if isinstance(body, Makefile) else True
    return Document(known, body, None, _LEAST_WEIGHT + body.weight(source.text), complete)


def _read(known: Format, original: str) -> Tree | Makefile | Outline:
    if len(original) > MAX_TEXT:
        raise Unreadable("too-large")
    original = original.removeprefix("\ufeff")
    if "\0" in original:
        raise Unreadable("syntax-error")
    text = original.replace("\r\n", "\n")
    if known == "json":
        return parse_json(text)
    if known == "toml":
        return parse_toml(text, original)
    if known == "yaml":
        return parse_yaml(text)
    if "\r" in text:
        raise Unreadable("syntax-error")  # a line end to some readers, and not to those that count lines
    if known == "env":
        return parse_env(text)
    if known == "properties":
        return parse_properties(text)
    if known == "make":
        return parse_make(text)
    if known == "markdown":
        return parse_markdown(text)
    return parse_ini(text, _DIALECTS[known])


def verify_document(check: Check, document: Document, source: Source) -> Held:
    """Whether a check holds in a document.

    Args:
        check: `defines`, `equals` or `compare`; its `not` is left to the caller. `in` names an enclosing key, section,
            target or heading.
        document: what `parse_document` made of the source.
        source: the file; only what begins in its `lines` counts.

    Returns:
        What it comes to. `equals` and `compare` are exactly false where the name is there with another value, `defines`
        where nothing of that name is in the file.
    """
    if check.name not in ("defines", "equals", "compare"):
        return Held(None, "unlisted-language")
    body = document.body
    if body is None:
        return Held(None, document.problem or "syntax-error")
    if isinstance(body, Tree):
        held = verify_keys(check, body, source.lines)
    elif isinstance(body, Makefile):
        held = verify_make(check, body, source.lines)
    else:
        held = verify_markdown(check, body, source.lines)
    return held if source.whole else _of_a_part(check, held, source.text)


def _of_a_part(check: Check, held: Held, text: str) -> Held:
    """What a check comes to where the text may go on: only that something is defined, and not in its last line."""
    if held.holds is None:
        return held
    if check.name == "defines" and held.holds and held.lines is not None and held.lines[0] <= text.count("\n"):
        return held
    return Held(None, "not-whole")


def document_extents(document: Document, name: str) -> list[tuple[int, int]]:
    """First and last line, from 1, of each key, section, target or heading of that name; empty where there is none."""
    body = document.body
    if body is None:
        return []
    if isinstance(body, Tree):
        return extents(body, name)
    return make_extents(body, name) if isinstance(body, Makefile) else markdown_extents(body, name)


def verify_json_value(check: Check, value: Any, path: str = "") -> Held:
    """Whether a check holds in a JSON value that was decoded already, such as a tool's structured result.

    Args:
        check: `defines`, `equals` or `compare`, with keys as `a.b` or a JSON Pointer; its `not` is left to the caller.
        value: dictionaries, lists, texts, numbers, booleans and None.
        path: what the value is known as, for the result.
    """
    if check.name not in ("defines", "equals", "compare"):
        return Held(None, "unlisted-language")
    if check.lines is not None:
        return Held(None, "not-found")  # a value has no lines
    try:
        held = verify_keys(check, tree_of_value(value), None)
    except Unreadable as problem:
        held = Held(None, problem.reason)
    return held._replace(path=path or None)
