"""Outlines C and C++ files by libclang: `python clang_oracle.py ROOT FOLDER < paths` (README.md).

FOLDER holds the package `clang`. Compilers' own headers are not there, so what needs them stays unresolved, and is left
out.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, sys.argv[2])
from clang.cindex import Cursor, CursorKind, Index, TranslationUnit

K = CursorKind
FUNCTIONS = (K.FUNCTION_DECL, K.CXX_METHOD)
TYPES = (K.CLASS_DECL, K.STRUCT_DECL)
SPACES = (K.NAMESPACE, K.LINKAGE_SPEC, K.UNEXPOSED_DECL)
NESTED = (K.LAMBDA_EXPR, *TYPES, K.UNION_DECL)
LITERAL = re.compile(r"\d{1,9}|0[xX][0-9a-fA-F]{1,7}|\"[^\"\\]{0,60}\"")


class Outline:
    """One file's."""

    def __init__(self, root: str, path: str) -> None:
        file = Path(root, path)
        self.data = file.read_bytes()
        language = "c" if path.endswith(".c") else "c++"
        folders = {str(one.parent) for one in Path(root).rglob("*.h")} | {root}
        arguments = [
            "-x",
            language,
            *(f"-I{one}" for one in sorted(folders)),
            f"-std={'c11' if language == 'c' else 'c++14'}",
        ]
        options = TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
        self.unit = Index.create().parse(str(file), args=arguments, options=options)
        self.here = [
            one for one in self.unit.cursor.get_children() if one.location.file and one.location.file.name == str(file)
        ]
        self.macros = {one.spelling for one in self.here if one.kind in (K.MACRO_DEFINITION, K.MACRO_INSTANTIATION)}
        self.expanded = [
            (one.extent.start.offset, one.extent.end.offset) for one in self.here if one.kind == K.MACRO_INSTANTIATION
        ]
        self.functions = {one.spelling for one in self.flat(self.here) if one.kind == K.FUNCTION_DECL}
        self.conditional = self.regions()
        self.made: dict[str, Any] = {"path": path, "imports": [], "definitions": [], "values": []}
        for one in self.here:
            if one.kind == K.INCLUSION_DIRECTIVE and not self.under(one):
                self.made["imports"].append(one.spelling)
            if one.kind == K.MACRO_DEFINITION:
                self.macro(one)
        self.values_seen: Counter[str] = Counter()
        self.level(self.here)

    def flat(self, nodes: list[Cursor]) -> Iterator[Cursor]:
        """The declarations of a file and of its namespaces."""
        for one in nodes:
            yield one
            if one.kind in SPACES:
                yield from self.flat(list(one.get_children()))

    def regions(self) -> set[int]:
        """The lines inside of `#if`, but for a header's guard."""
        lines, open_, found = self.data.decode("latin-1").splitlines(), [], set()
        guard = next((at for at, one in enumerate(lines) if re.match(r"\s*#\s*if", one)), -1)
        for at, one in enumerate(lines):
            if re.match(r"\s*#\s*if", one):
                is_guard = (
                    at == guard
                    and re.match(r"\s*#\s*ifndef", one)
                    and at + 1 < len(lines)
                    and "define" in lines[at + 1]
                )
                open_.append(bool(not is_guard))
            elif re.match(r"\s*#\s*endif", one) and open_:
                open_.pop()
            if any(open_):
                found.add(at + 1)
        return found

    def under(self, node: Cursor) -> bool:
        return bool(self.conditional & set(range(node.extent.start.line, node.extent.end.line + 1)))

    def source(self, node: Cursor) -> str | None:
        start, end = node.extent.start.offset, node.extent.end.offset
        text = self.data[start:end].decode("latin-1")
        within = any(first < end and start < last for first, last in self.expanded)
        return text if text and "\n" not in text and not within else None

    def macro(self, node: Cursor) -> None:
        tokens = [one.spelling for one in node.get_tokens()]
        once = len(re.findall(rb"#\s*(?:define|undef)\s+%s\b" % node.spelling.encode(), self.data)) == 1
        if len(tokens) == 2 and once and not self.under(node):
            self.value(node.spelling, tokens[1])

    def value(self, symbol: str, text: str | None) -> None:
        if text is not None and LITERAL.fullmatch(text) and not re.match(r"0\d", text):
            read = text[1:-1] if text.startswith('"') else int(text, 0)
            self.made["values"].append({"symbol": symbol, "value": read})

    def level(self, nodes: list[Cursor]) -> None:
        for one in nodes:
            if one.kind in SPACES:
                self.level(list(one.get_children()))
            elif one.kind in FUNCTIONS and one.is_definition() and not self.under(one):
                self.function(one)
            elif one.kind in TYPES and one.is_definition() and one.spelling.isidentifier() and not self.under(one):
                self.type(one)
            elif (
                one.kind == K.ENUM_DECL and one.is_definition() and one.spelling.isidentifier() and not self.under(one)
            ):
                self.add(one, one.spelling, "type")
                items = [item.spelling for item in one.get_children() if item.kind == K.ENUM_CONSTANT_DECL]
                self.made["values"].append({"symbol": one.spelling, "members": items})
            elif one.kind == K.VAR_DECL and one.type.spelling in ("const int", "const bool") and not self.under(one):
                *_, last = [*one.get_children(), None, None][:1] or [None]
                self.value(one.spelling, self.source(last) if last is not None else None)

    def add(self, node: Cursor, symbol: str, kind: str, **more: Any) -> None:
        lines = [node.extent.start.line, node.extent.end.line]
        self.made["definitions"].append({"symbol": symbol, "kind": kind, "lines": lines, **more})

    def type(self, node: Cursor) -> None:
        bases = [
            one.type.spelling.rpartition("::")[2] for one in node.get_children() if one.kind == K.CXX_BASE_SPECIFIER
        ]
        fields = [
            {"name": one.spelling, "type": self.declared(one)}
            for one in node.get_children()
            if one.kind == K.FIELD_DECL and one.spelling
        ]
        whole = all("<" not in one for one in bases)
        self.add(
            node, node.spelling, "type", bases=[one for one in bases if "<" not in one], whole=whole, fields=fields
        )
        for one in node.get_children():
            if one.kind == K.CXX_METHOD and one.is_definition():
                self.function(one)

    def declared(self, node: Cursor) -> str | None:
        """The type's text where the declaration is TYPE NAME on one line; libclang's own guess (int) is not used."""
        text = self.source(node)
        match = re.fullmatch(rf"((?:\w+ )*\w+) {re.escape(node.spelling)}", text or "")
        return match[1] if match else None

    def own(self, node: Cursor) -> Iterator[Cursor]:
        for one in node.get_children():
            if one.kind not in NESTED:
                yield one
                yield from self.own(one)

    def function(self, node: Cursor) -> None:
        owner = node.semantic_parent.spelling if node.kind == K.CXX_METHOD else ""
        body = next((one for one in node.get_children() if one.kind == K.COMPOUND_STMT), None)
        if body is None or node.spelling.startswith("operator"):
            return
        calls, uses, raises, returned = set(), set(), set(), []
        local = {one.spelling for one in self.own(node) if one.kind in (K.VAR_DECL, K.PARM_DECL)}
        caught = any(one.kind == K.CXX_TRY_STMT for one in self.own(body))
        for one in self.own(body):
            if one.kind == K.RETURN_STMT:
                returned.append(one)
            if one.kind == K.CXX_THROW_EXPR and not caught:
                match = re.fullmatch(r"throw (\w+)\(.*\)", self.source(one) or "")
                raises |= {match[1]} if match else set()
            target = one.referenced if one.kind == K.CALL_EXPR else None
            name, text = one.spelling, self.data[one.extent.start.offset : one.extent.end.offset].decode("latin-1")
            if (
                target is None
                or not name
                or name in self.macros
                or any(first <= one.extent.start.offset < last for first, last in self.expanded)
            ):
                continue
            is_plain, is_own = (
                re.match(rf"{before}{re.escape(name)}\s*\(", text) for before in ("", r"(this\s*->\s*)?")
            )
            if target.kind == K.FUNCTION_DECL and is_plain and name in self.functions and name not in local:
                calls.add(name)
                uses.add(name)
            if target.kind == K.CXX_METHOD and owner and is_own and target.semantic_parent == node.semantic_parent:
                calls.add(f"{owner}.{name}")
        statements = list(body.get_children())
        returns = None
        if len(returned) == 1 and returned[0] == statements[-1]:
            text = self.source(statements[-1])
            returns = text.removeprefix("return").strip() if text else None
        branches, steps = [], []
        for one in statements:
            parts = list(one.get_children())
            if one.kind == K.CALL_EXPR and self.source(one):
                steps.append(self.source(one))
            if one.kind == K.IF_STMT and len(parts) == 2:
                inner = list(parts[1].get_children()) if parts[1].kind == K.COMPOUND_STMT else [parts[1]]
                condition, effect = self.source(parts[0]), self.source(inner[0]) if len(inner) == 1 else None
                if (
                    condition
                    and effect
                    and re.fullmatch(r"[\w.>-]+( [!=<>]=? \w+)?", condition)
                    and inner[0].kind == K.CALL_EXPR
                ):
                    branches.append([condition, effect])
        parameters = [
            {"name": one.spelling, "type": self.declared(one)} for one in node.get_arguments() if one.spelling
        ]
        before = self.data[node.extent.start.offset : node.location.offset].decode("latin-1").strip()
        result = before if re.fullmatch(r"\w+", before) else None
        symbol, kind = (f"{owner}.{node.spelling}", "method") if owner else (node.spelling, "function")
        more = {"calls": sorted(calls), "uses": sorted(uses), "raises": sorted(raises), "returns": returns}
        self.add(node, symbol, kind, parameters=parameters, result=result, steps=steps, branches=branches, **more)


if __name__ == "__main__":
    for line in sys.stdin.read().splitlines():
        print(json.dumps(Outline(sys.argv[1], line).made))
