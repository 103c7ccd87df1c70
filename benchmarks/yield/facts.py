"""Facts about a package that a sentence may state, each with the check that says it; found by the oracle's readers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from oracle import Package
from oracle_code import Definition
from oracle_values import Plain


class Fact(NamedTuple):
    """What a statement may say: what it is about, its check, and what the turns of phrase take."""

    kind: str
    path: str
    look: tuple[int, int]
    check: str
    said: dict[str, Any]


def word(text: str) -> str:
    """An argument as a check writes it."""
    return text if re.fullmatch(r"[A-Za-z0-9_.\-+/:$]+", text) else json.dumps(text, ensure_ascii=False)


def written(value: Any) -> str | None:
    """A value as a check writes it; None for one that no sentence would name."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.\-]*", value) and value not in ("true", "false", "null")
        named = 0 < len(value) <= 40 and value.isprintable() and any(map(str.isalnum, value))
        return (value if plain else json.dumps(value, ensure_ascii=False)) if named else None
    return f"{value}" if isinstance(value, int | float) or hasattr(value, "as_tuple") else None


def spoken(value: Any) -> str:
    """A value as a sentence writes it."""
    if isinstance(value, bool):
        return f"`{'true' if value else 'false'}`"
    return f"`{value}`" if isinstance(value, str) else f"{value}"


def values(one: Package, path: str) -> Iterator[Fact]:
    module = one.module(path)
    for name, value in module.values if module else ():
        text = written(value)
        alone = [key for key, _ in module.values].count(name) == 1
        if text is None or isinstance(value, float) or not alone or not re.fullmatch(r"[A-Za-z_][\w.]*", name):
            continue
        owner = one.definitions(path, name.rpartition(".")[0]) if "." in name else []
        line = _line_of(one, path, name.rpartition(".")[2], str(value), owner[0] if len(owner) == 1 else None)
        if line is None or len(owner) > 1:
            continue
        parameter = bool(owner) and owner[0].kind in ("function", "method")
        said = {"name": name, "value": spoken(value), "type": type(value), "line": line, "parameter": parameter}
        yield Fact("value", path, (line, line), f"equals({name}, {text}, path={word(path)})", said)


def _line_of(one: Package, path: str, name: str, value: str, within: Definition | None = None) -> int | None:
    """The only line, of a definition where one is given, that has both; None where there is not exactly one."""
    first, last = (within.first, within.last) if within is not None else (1, 1 << 30)
    found = [
        place
        for place, line in enumerate((one.text(path) or "").splitlines(), 1)
        if first <= place <= last
        and re.search(rf"(?<![\w.]){re.escape(name)}\b", line)
        and (value in line or (value in ("True", "False") and value.lower() in line))
    ]
    return found[0] if len(found) == 1 else None


def _bodies(one: Package, path: str) -> Iterator[Definition]:
    module = one.module(path)
    for found in module.definitions if module else ():
        alone = len(one.definitions(path, found.name)) == 1
        if found.kind in ("function", "method") and alone and re.fullmatch(r"[A-Za-z_][\w.]*", found.name):
            yield found


def calls(one: Package, path: str) -> Iterator[Fact]:
    for found in _bodies(one, path):
        for callee in sorted(found.calls):
            last = callee.rpartition(".")[2]
            plain = re.fullmatch(r"[A-Za-z_][\w.]*", callee) and "__" not in callee and callee.count(".") <= 2
            if len(last) < 5 or last in ("super", "isinstance", "format") or not plain:
                continue
            said = {"caller": found.name, "callee": callee, "line": found.first}
            check = f"calls({found.name}, {callee}, path={word(path)})"
            yield Fact("call", path, (found.first, found.last), check, said)


def definitions(one: Package, path: str) -> Iterator[Fact]:
    module = one.module(path)
    for found in module.definitions if module else ():
        if found.kind in ("constant", "variable") or len(one.definitions(path, found.name)) != 1 or "__" in found.name:
            continue
        kind = "class" if found.kind == "type" else found.kind
        if kind == "class" and path.rpartition(".")[2] in ("go", "rs", "h", "c"):
            kind = "type"
        said = {"name": found.name, "kind": kind, "line": found.first}
        yield Fact(
            "definition",
            path,
            (found.first, min(found.last, found.first + 20)),
            f"defines({found.name}, path={word(path)})",
            said,
        )


def keys(one: Package, path: str) -> Iterator[Fact]:
    document = one.document(path)
    for parts, value in document.keys if document else ():
        name, text = ".".join(parts), written(value)
        simple = re.fullmatch(r"[A-Za-z_][\w.-]*", name) is not None and ".." not in name and len(name) < 60
        if text is None or not simple or any(part.isdigit() or "." in part for part in parts) or value == "":
            continue
        if isinstance(value, Plain):
            text = word(str(value))
        line = _line_of(one, path, parts[-1], str(value))
        if line is None or len(document.values(name)) != 1:
            continue
        said = {"name": name, "value": spoken(value), "type": type(value)}
        yield Fact("config key", path, (line, line), f"equals({name}, {text}, path={word(path)})", said)


def imports(one: Package, path: str) -> Iterator[Fact]:
    module = one.module(path)
    text = one.text(path) or ""
    for name in sorted(module.imports if module else ()):
        line = next(
            (
                place
                for place, one_line in enumerate(text.splitlines(), 1)
                if name in one_line and re.search(r"import|include|using|use |from|\"", one_line)
            ),
            None,
        )
        absolute = re.fullmatch(r"[a-z][\w./-]*|System[\w.]*|[a-z]+\.[A-Za-z.]+", name)
        if (
            line is None
            or absolute is None
            or name.startswith("__")
            or (path.endswith(".py") and f"import {name}" not in text and f"from {name} import" not in text)
        ):
            continue
        if path.endswith(".rs"):
            continue
        yield Fact("import", path, (line, line), f"imports({word(name)}, path={word(path)})", {"module": name})


def returns(one: Package, path: str) -> Iterator[Fact]:
    """What functions return that return one thing only."""
    for found in _bodies(one, path):
        plain = " ".join(found.returns[0].split()) if len(found.returns) == 1 else ""
        balanced = all(plain.count(opening) == plain.count(closing) for opening, closing in ("()", "{}", "[]"))
        if 6 <= len(plain) <= 50 and balanced and not re.search(r"[`#\n]", found.returns[0]):
            said = {"name": found.name, "quote": plain}
            check = f"returns({found.name}, {word(plain)}, path={word(path)})"
            yield Fact("return", path, (found.first, found.last), check, said)


def sections(one: Package, path: str) -> Iterator[Fact]:
    document = one.document(path) if path.endswith(".md") else None
    for name in document.sections if document else ():
        line = next(
            (
                place
                for place, text in enumerate((one.text(path) or "").splitlines(), 1)
                if text.startswith("#") and name in text
            ),
            None,
        )
        if line is not None and re.fullmatch(r"[\w ,.()-]{4,50}", name) and document.sections.count(name) == 1:
            yield Fact(
                "section", path, (line, line), f"defines({word(name)}, section, path={word(path)})", {"name": name}
            )


def lines(one: Package, path: str) -> Iterator[Fact]:
    all_lines = [text.strip() for text in (one.text(path) or "").splitlines()] if one.module(path) else []
    for place, text in enumerate(all_lines, 1):
        if (
            12 <= len(text) <= 60
            and "`" not in text
            and re.match(r"[A-Za-z_].*[A-Za-z_)\];]\Z", text)
            and all_lines.count(text) == 1
        ):
            yield Fact(
                "line",
                path,
                (place, place),
                f"line({word(path)}, {place}, {word(text)})",
                {"line": place, "quote": text},
            )


def counts(one: Package, path: str) -> Iterator[Fact]:
    text = one.text(path) or "" if one.module(path) else ""
    for quote in sorted(set(re.findall(r"\b(?:raise|throw new|panic|return) [A-Za-z_]\w{4,}\b", text))):
        found = text.count(quote)
        if 2 <= found <= 12:
            line = text[: text.index(quote)].count("\n") + 1
            yield Fact(
                "count",
                path,
                (line, line),
                f"count({word(quote)}, =, {found}, path={word(path)})",
                {"quote": quote, "count": found},
            )


ABSENT = (
    "eval",
    "pickle",
    "telnetlib",
    "asyncio",
    "sqlite3",
    "subprocess",
    "setTimeout",
    "goto",
    "unsafe",
    "Reflection",
)


def absences(one: Package, path: str) -> Iterator[Fact]:
    if one.module(path) and len(one.text(path) or "") > 500:
        for name in ABSENT:
            yield Fact("absence", path, (1, 20), f"absent({name}, path={word(path)})", {"name": name})


FINDERS: dict[str, Callable[[Package, str], Iterator[Fact]]] = {
    "value": values, "call": calls, "definition": definitions, "config key": keys, "import": imports,
    "return": returns, "section": sections, "line": lines, "count": counts, "absence": absences,
}  # fmt: skip
