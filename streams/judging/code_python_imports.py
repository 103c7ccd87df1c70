"""What the modules of Python take in (docs/checks.md): `import a.b` names `a` and `a.b`. Nothing is decided here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .code_building import Builder
from .code_model import EVERYTHING, MAX_TEXT, Role
from .code_values import parts_of

if TYPE_CHECKING:
    from tree_sitter import Node


def import_rule(builder: Builder, node: Node) -> None:
    """`import a.b as c`."""
    names: list[str] = []
    for one in node.children_by_field_name("name"):
        path, bound = _imported(builder, one)
        names.extend(_prefixes(path))
        builder.add(Role.IMPORTED, bound or path.split(".")[0], node)
    builder.imports(node, names)


def from_rule(builder: Builder, node: Node) -> None:
    """`from a.b import c`; a relative one stays relative, since the file does not know where it is."""
    module = node.child_by_field_name("module_name")
    if module is None:
        return
    base = "".join(builder.code.text(module).split())
    names = _prefixes(base)
    for one in node.children_by_field_name("name"):
        path, bound = _imported(builder, one)
        names.append(f"{base}{path}" if base.endswith(".") else f"{base}.{path}")
        builder.add(Role.IMPORTED, bound or path, node)
    if any(one.type == "wildcard_import" for one in node.named_children):
        builder.add(Role.IMPORTED, EVERYTHING, node)
    builder.imports(node, names, relative=base.startswith("."))


def future_rule(builder: Builder, node: Node) -> None:
    """`from __future__ import annotations`."""
    builder.imports(node, ["__future__", *(f"__future__.{_imported(builder, one)[0]}" for one in parts_of(node))])


def _imported(builder: Builder, node: Node) -> tuple[str, str]:
    """What is imported, and the name it gets here; empty where that is its own."""
    if node.type != "aliased_import":
        return "".join(builder.code.text(node).split()), ""
    name, alias = node.child_by_field_name("name"), node.child_by_field_name("alias")
    path = "" if name is None else "".join(builder.code.text(name).split())
    return path, "" if alias is None else builder.name(alias)


def _prefixes(path: str) -> list[str]:
    """A dotted path and those above it; a relative one stands for itself alone."""
    if path.startswith("."):
        return [path]
    parts = path.split(".")[:32]
    return [".".join(parts[: place + 1]) for place in range(len(parts))]


def call_rule(builder: Builder, node: Node) -> None:
    """`importlib.import_module("a.b")` and `__import__("a")`: no import by syntax, but who asks for it may mean it."""
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or arguments is None:
        return
    if builder.code.text(function).rsplit(".", 1)[-1] not in ("import_module", "__import__"):
        return
    if node.end_byte - node.start_byte > MAX_TEXT:
        builder.code.opaque_imports = True
    else:
        builder.imports(node, [])
