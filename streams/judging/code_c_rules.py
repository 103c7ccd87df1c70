"""What the index takes from the trees of C and C++ (docs/checks.md).

Declarators are unwrapped to the name that they declare. Nothing is decided here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from .code_building import Builder, words_of
from .code_c_declarators import Declared, declared_by, parts_of_name
from .code_model import (
    CALLABLE,
    CONSTANT,
    FUNCTION,
    METHOD,
    NAMED_VALUE,
    NO_KINDS,
    TYPE,
    VARIABLE,
    Kinds,
    Role,
    Rule,
)
from .code_rules import assigned, hidden

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_TOKENS: Final = 5_000
_MAX_MACRO: Final = 2_000


def _whole(builder: Builder, node: Node) -> Node:
    around = builder.parent
    return around if around is not None and around.type == "template_declaration" else node


def _function(builder: Builder, node: Node) -> None:
    declared = declared_by(builder, node.child_by_field_name("declarator"))
    if declared is None or not declared.is_function:
        builder.open("hidden")
        return
    body = node.child_by_field_name("body")
    kinds, maybe = _function_kinds(builder, declared)
    inside = (*builder.scope.path, *declared.around)
    role = Role.FUNCTION if body is not None else Role.DECLARED
    _add(builder, role, declared, _whole(builder, node), inside, kinds, maybe, body)
    builder.open("function", declared.text, inside=inside)
    _parameters(builder, declared.parameters)


def _add(
    builder: Builder,
    role: Role,
    declared: Declared,
    node: Node,
    inside: tuple[str, ...],
    kinds: Kinds,
    maybe: Kinds,
    body: Node | None,
) -> None:
    name = declared.name if declared.name.type in ("identifier", "field_identifier") else declared.text
    builder.add(role, name, node, kinds=kinds, maybe=maybe, body=body, inside=inside)


def _function_kinds(builder: Builder, declared: Declared) -> tuple[Kinds, Kinds]:
    if declared.around:  # whether `A` of `A::b` is a class or a namespace is told elsewhere
        return NO_KINDS, CALLABLE
    return (METHOD, FUNCTION) if builder.scope.sort == "type" else (FUNCTION, NO_KINDS)


def _parameters(builder: Builder, node: Node | None) -> None:
    for one in node.named_children if node is not None else []:
        declared = declared_by(builder, one.child_by_field_name("declarator"))
        if declared is not None:
            value = one.child_by_field_name("default_value")
            builder.add(Role.PARAMETER, declared.text, one, value=value)


def _declaration(builder: Builder, node: Node) -> None:
    """A declaration, or a field of a structure."""
    parts = _fields(node)
    words = {builder.code.text(one) for _, one in parts if one.type in _SPECIFIERS}
    many = sum(field == "declarator" for field, _ in parts) > 1
    for place, (field, declarator) in enumerate(parts):
        if field != "declarator":
            continue
        if declarator.type == "init_declarator":
            value = declarator.child_by_field_name("value")
        else:  # `x = 1` and `x{1}` of a field
            value = next((one for name, one in parts[place + 1 : place + 3] if name == "default_value"), None)
        declared = declared_by(builder, declarator)
        if declared is not None:
            _declare(builder, declarator if many else node, declared, value, words)


def _fields(node: Node) -> list[tuple[str | None, Node]]:
    """The children of a node with the names of their fields, in one pass."""
    found: list[tuple[str | None, Node]] = []
    cursor = node.walk()
    more = cursor.goto_first_child()
    while more:
        one = cursor.node
        assert one is not None, "a cursor stands at a node"
        found.append((cursor.field_name, one))
        more = cursor.goto_next_sibling()
    return found


_SPECIFIERS: Final = frozenset(("storage_class_specifier", "type_qualifier"))


def _declare(builder: Builder, node: Node, declared: Declared, value: Node | None, words: set[str]) -> None:
    inside = (*builder.scope.path, *declared.around)
    if declared.is_function:
        kinds, maybe = _function_kinds(builder, declared)
        # `Foo x(y);` in a function may as well declare a variable.
        role = Role.LOCAL if builder.in_function else Role.DECLARED
        _add(builder, role, declared, _whole(builder, node), inside, kinds, maybe, None)
        if role is Role.DECLARED:
            outer = builder.scope
            builder.open("function", declared.text, inside=inside)
            _parameters(builder, declared.parameters)
            assert builder.scope is not outer, "the scope of the parameters is open"
        return
    if value is not None and value.type == "initializer_list":
        builder.object(value, declared.text)
        value = value if _is_list(builder, declared, value) else node
    const = bool(words & {"const", "constexpr", "constinit"})
    name = declared.name if declared.name.type in ("identifier", "field_identifier") else declared.text
    fixed = const and value is not None and (not declared.is_pointer or "constexpr" in words)
    if builder.in_function and builder.scope.sort != "type":
        builder.add(Role.LOCAL, name, node, value=value, fixed=fixed)
        return
    role = Role.DECLARED if "extern" in words and value is None else Role.VALUE
    kinds = CONSTANT if const else VARIABLE
    maybe = NAMED_VALUE if const or declared.text.isupper() else NO_KINDS
    body = None
    if value is not None and value.type == "lambda_expression":
        maybe, body = maybe | FUNCTION, value.child_by_field_name("body")
        builder.code.bodies.add((value.start_byte, value.end_byte))
    builder.add(role, name, node, kinds=kinds, maybe=maybe, value=value, body=body, inside=inside, fixed=fixed)


def _is_list(builder: Builder, declared: Declared, value: Node) -> bool:
    """Whether what is in braces is a list of just as many items; `int x{5}` is no list, `int x[9]{5}` a longer one."""
    count = sum(one.type != "comment" for one in value.named_children)
    if declared.size is not None:
        return builder.code.text(declared.size) == str(count)
    return declared.is_array or count > 1


def _typedef(builder: Builder, node: Node) -> None:
    sort = node.child_by_field_name("type")
    for one in node.children_by_field_name("declarator"):
        declared = declared_by(builder, one)
        if declared is None:
            continue
        own = sort is not None and sort.child_by_field_name("body") is not None
        body = sort.child_by_field_name("body") if own and sort is not None else None
        named = sort.child_by_field_name("name") if sort is not None else None
        if not (named is not None and builder.name(named) == declared.text):
            builder.add(Role.TYPE, declared.text, node, kinds=TYPE, body=body)
        if own and sort is not None and named is None:
            builder.objects[sort.id] = (*builder.scope.path, declared.text)


def _type(builder: Builder, node: Node) -> None:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    given = builder.objects.pop(node.id, None)
    if body is None:
        around = builder.parent
        if name is not None and around is not None and around.type in ("translation_unit", "declaration_list"):
            builder.add(Role.DECLARED, name, node, kinds=TYPE)
        return
    if name is None:
        builder.open("type", inside=given)
        return
    parts = parts_of_name(builder.code.text(name))
    if parts:
        inside = (*builder.scope.path, *parts[:-1])
        builder.add(Role.TYPE, parts[-1], _whole(builder, node), kinds=TYPE, body=body, inside=inside)
        builder.open("type", parts[-1], inside=inside)


def _alias(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        builder.add(Role.TYPE, name, node, kinds=TYPE)


def _using(builder: Builder, node: Node) -> None:
    parts = parts_of_name(builder.code.text(node.named_children[-1])) if node.named_children else ()
    if parts:
        builder.add(Role.IMPORTED, parts[-1], node)


def _namespace(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    parts = () if name is None else parts_of_name(builder.code.text(name))
    if parts:
        body = node.child_by_field_name("body")
        builder.add(Role.SPACE, parts[-1], node, body=body, inside=(*builder.scope.path, *parts[:-1]))
    builder.open("space", *parts)


def _enumerator(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        value = node.child_by_field_name("value") or node
        builder.add(Role.VALUE, name, node, kinds=CONSTANT, maybe=VARIABLE, value=value, fixed=True)


def _define(builder: Builder, node: Node) -> None:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None:
        return
    if node.type == "preproc_def":
        builder.add(Role.VALUE, name, node, kinds=CONSTANT, maybe=VARIABLE, value=value, inside=(), fixed=True)
        return
    builder.add(Role.FUNCTION, name, node, maybe=FUNCTION | CONSTANT, inside=())
    if value is not None:  # what it expands to may define anything
        builder.code.hidden.update(words_of(builder.code.text(value)[:_MAX_MACRO]))


def _directive(builder: Builder, node: Node) -> None:
    directive, argument = node.child_by_field_name("directive"), node.child_by_field_name("argument")
    word = "" if directive is None else builder.code.text(directive).replace(" ", "")
    if word.startswith(("#include", "#import")):
        builder.code.opaque_imports = True
    if argument is None or word != "#undef":
        return
    name = builder.code.text(argument).split()
    if name:
        # To have been defined until here is not to be worth anything from here on: as good as another definition.
        builder.add(Role.IMPORTED, name[0], node, inside=())


def _ifdef(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is None or not _is_guard(builder, node, name):
        builder.condition()


def _is_guard(builder: Builder, node: Node, name: Node) -> bool:
    """Whether it is the guard that keeps a header from being read twice."""
    if len(builder.trail) != 1 or builder.code.text(node.children[0]).replace(" ", "") != "#ifndef":
        return False
    behind = [one for one in node.named_children if one.start_byte > name.start_byte and "comment" not in one.type]
    if not behind or behind[0].type != "preproc_def" or node.child_by_field_name("alternative") is not None:
        return False
    defined = behind[0].child_by_field_name("name")
    same = defined is not None and builder.code.text(defined) == builder.code.text(name)
    return same and behind[0].child_by_field_name("value") is None


def _include(builder: Builder, node: Node) -> None:
    path = node.child_by_field_name("path")
    text = "" if path is None else builder.code.text(path)
    if text[:1] not in ('"', "<"):
        builder.code.opaque_imports = True
    else:
        builder.imports(node, (text.strip('"<>'),), relative=text[0] == '"')


def _statement(builder: Builder, node: Node) -> None:
    """What stands outside of a function and looks like a call is a macro, which may define what it is given."""
    around = builder.parent
    if builder.in_function or (around is not None and around.type == "compound_statement"):
        return
    waiting, left = [node], _MAX_TOKENS
    while waiting and left:
        left -= 1
        one = waiting.pop()
        if one.type in ("identifier", "type_identifier"):
            builder.code.hidden.add(builder.name(one))
        waiting.extend(one.named_children)


def _receiver(holder: str) -> str:
    return re.split(r"\.|->|::", holder[-200:])[-1]


def _address(builder: Builder, node: Node) -> None:
    """`&x`: whoever gets it may change `x`."""
    argument = node.child_by_field_name("argument")
    if argument is not None and argument.type == "identifier" and node.children[0].type == "&":
        builder.add(Role.WRITE, argument, node)


def _initializer(builder: Builder, node: Node) -> None:
    builder.open_object(node)


def _designated(builder: Builder, node: Node) -> None:
    """`.timeout = 30` of a structure."""
    designators, value = node.children_by_field_name("designator"), node.child_by_field_name("value")
    if builder.scope.sort != "object" or value is None or len(designators) != 1:
        return
    if designators[0].type != "field_designator" or not designators[0].named_children:
        return
    name = builder.name(designators[0].named_children[0])
    if value.type == "initializer_list":
        builder.object(value, name)
    builder.add(Role.KEY, name, node, value=value)


TYPES: Final = ("struct_specifier", "class_specifier", "union_specifier", "enum_specifier")

_WRITES: Final = assigned("field_expression", "argument", "field", operand="argument", receiver=_receiver)
RULES: Final[Mapping[str, Rule]] = {
    "function_definition": _function,
    "declaration": _declaration,
    "field_declaration": _declaration,
    "type_definition": _typedef,
    **dict.fromkeys(TYPES, _type),
    "alias_declaration": _alias,
    "concept_definition": _alias,
    "using_declaration": _using,
    "namespace_definition": _namespace,
    "enumerator": _enumerator,
    "preproc_def": _define,
    "preproc_function_def": _define,
    "preproc_call": _directive,
    "preproc_ifdef": _ifdef,
    "preproc_include": _include,
    "expression_statement": _statement,
    "assignment_expression": _WRITES,
    "update_expression": _WRITES,
    "pointer_expression": _address,
    "initializer_list": _initializer,
    "initializer_pair": _designated,
    "lambda_expression": hidden,
}
