"""What the modules of JavaScript and TypeScript take in and hand out (docs/checks.md). Nothing is decided here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .code_building import Builder
from .code_model import Role
from .code_values import read

if TYPE_CHECKING:
    from tree_sitter import Node

_WRAPPED: Final = frozenset(
    ("parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression")
)


def plain(node: Node | None) -> Node | None:
    """An expression without brackets and types around it."""
    while node is not None and node.type in _WRAPPED and node.named_children:
        node = node.named_children[0]
    return node


def frozen(node: Node | None, builder: Builder) -> Node | None:
    """An object as it is, or inside `Object.freeze(…)`."""
    node = plain(node)
    if node is not None and node.type == "call_expression":
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is not None and arguments is not None and builder.code.text(function) == "Object.freeze":
            return plain(arguments.named_children[0]) if arguments.named_children else node
    return node


def import_rule(builder: Builder, node: Node) -> None:
    """`import`, and `export` of what is defined elsewhere."""
    source = node.child_by_field_name("source")
    clause = next((one for one in node.named_children if one.type == "import_require_clause"), None)
    source = source or (clause.child_by_field_name("source") if clause is not None else None)
    if source is not None:
        _imported(builder, node, source)
    if node.type == "import_statement":
        for name in _import_names(node):
            builder.add(Role.IMPORTED, name, node)
        return
    for clause in node.named_children:
        for one in clause.named_children if clause.type in ("export_clause", "namespace_export") else []:
            # What is exported under another name, or from elsewhere, may be said to be defined here.
            name = one.child_by_field_name("alias") or one.child_by_field_name("name") or one
            builder.add(Role.DECLARED, name, node)
    value = frozen(node.child_by_field_name("value"), builder)
    if value is not None and value.type == "object":
        builder.object(value)


def _import_names(node: Node) -> list[Node]:
    names: list[Node] = []
    waiting = [one for one in node.named_children if one.type in ("import_clause", "import_require_clause")]
    while waiting and len(names) < 2_000:
        one = waiting.pop()
        if one.type == "identifier":
            names.append(one)
        elif one.type == "import_specifier":
            name = one.child_by_field_name("alias") or one.child_by_field_name("name")
            names.extend([name] if name is not None else [])
        elif one.type in ("import_clause", "named_imports", "namespace_import", "import_require_clause"):
            waiting.extend(one.named_children)
    return names


def _imported(builder: Builder, node: Node, source: Node) -> None:
    found = read(builder.code, source)
    if found is None or not isinstance(found.value, str):
        builder.code.opaque_imports = True
        return
    module = found.value
    builder.imports(node, (module, module.removeprefix("node:")), relative=module.startswith("."))


def call_rule(builder: Builder, node: Node) -> None:
    """`require("x")` and `import("x")`."""
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or arguments is None or function.type not in ("identifier", "import"):
        return
    if builder.code.text(function) in ("require", "import") and arguments.named_children:
        _imported(builder, node, arguments.named_children[0])
