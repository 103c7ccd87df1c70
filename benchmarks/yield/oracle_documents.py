"""Documents as the oracle reads them: JSON, TOML, YAML, INI, Makefiles, and the headings of Markdown."""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from typing import Any, NamedTuple

import yaml
from oracle_values import Plain


class Document(NamedTuple):
    """One file.

    Attributes:
        keys: every key by its parts, with what it holds: a literal, a list, or `...` for a table.
        sections: headings and tables.
        targets: of a Makefile.
    """

    keys: list[tuple[tuple[str, ...], Any]]
    sections: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()

    def values(self, name: str) -> list[Any]:
        """What a key holds: `a.b`, a JSON Pointer, or the last parts of its name."""
        if name.startswith("/"):
            parts = tuple(one.replace("~1", "/").replace("~0", "~") for one in name[1:].split("/"))
            return [value for key, value in self.keys if key == parts]
        whole = [value for key, value in self.keys if ".".join(key) == name]
        return whole or [value for key, value in self.keys if ".".join(key).endswith("." + name)]

    def defines(self, name: str, kind: str | None) -> bool | None:
        """Whether there is a section or a target of that name."""
        if kind == "section":
            return name in self.sections
        if kind == "target":
            return name in self.targets
        return None if kind else name in (*self.sections, *self.targets) or bool(self.values(name))


def read(path: str, text: str) -> Document | None:
    """What a document holds; None for another format, or where it cannot be read."""
    name = path.rpartition("/")[2]
    ending = name.rpartition(".")[2]
    try:
        if ending == "json":
            return _tables(json.loads(text))
        if ending in ("toml", "lock") and name != "package-lock.json":
            return _tables(tomllib.loads(text)) if name != "yarn.lock" else None
        if ending in ("yml", "yaml"):
            return _tables(yaml.safe_load(text))
        if ending in ("ini", "cfg"):
            return _ini(text)
        if name == "Makefile" or ending == "mk":
            return _makefile(text)
        if ending == "md":
            return Document([], tuple(_headings(text)))
    except (ValueError, yaml.YAMLError, configparser.Error):
        return None
    return None


def _tables(value: Any) -> Document:
    keys: list[tuple[tuple[str, ...], Any]] = []

    def walk(value: Any, path: tuple[str, ...]) -> None:
        if isinstance(value, dict):
            pairs = [(str(key), inner) for key, inner in value.items()]
            keys.append((path, ...))
        elif isinstance(value, list):
            pairs = [(str(place), inner) for place, inner in enumerate(value)]
            keys.append((path, value))
        else:
            keys.append((path, value))
            return
        for key, inner in pairs:
            walk(inner, (*path, key))

    walk(value, ())
    return Document(keys, tuple(".".join(path) for path, inner in keys if inner is ... and path))


def _ini(text: str) -> Document:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    keys = [((name, key), Plain(value.strip())) for name in parser.sections() for key, value in parser.items(name)]
    return Document(list[tuple[tuple[str, ...], Any]](keys), tuple(parser.sections()))


def _makefile(text: str) -> Document:
    found = re.findall(r"^([A-Za-z_]\w*)[ \t]*[:?]?=[ \t]*(.*?)[ \t]*$", text, re.MULTILINE)
    targets = [
        one
        for line in re.findall(r"^([\w.%/ -]+?)[ \t]*:(?!=)", text, re.MULTILINE)
        for one in line.split()
        if not one.startswith(".")
    ]
    return Document([((name,), Plain(value)) for name, value in found], (), tuple(targets))


def _headings(text: str) -> list[str]:
    fenced = False
    found: list[str] = []
    for line in text.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        heading = None if fenced else re.match(r" {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$", line)
        if heading:
            found.append(heading[1])
    return found
