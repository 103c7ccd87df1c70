"""What the index takes from Ruby's syntax trees (docs/checks.md).

Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from .code_building import Builder
from .code_model import ANYTHING, CONSTANT, FUNCTION, METHOD, NO_KINDS, TYPE, VARIABLE, Role, Rule
from .code_values import parts_of, read

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_CHAIN: Final = 16
"""Names that one value is assigned to (`a = b = 1`)."""
_TYPE_MAKERS: Final = frozenset(("Struct", "Class", "Module", "Data"))
_ACCESSORS: Final = frozenset(("attr_accessor", "attr_reader", "attr_writer"))
_REQUIRE: Final = frozenset(("require", "require_relative", "load", "autoload"))
VARIABLES: Final = frozenset(("identifier", "constant", "instance_variable", "class_variable", "global_variable"))


def _type(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is None:
        return
    parts = [one for one in builder.code.text(name).split("::") if one]
    if not parts:
        return
    is_class = node.type == "class"
    around = (*builder.scope.path, *parts[:-1])
    body = node.child_by_field_name("body")
    kinds, maybe = (TYPE, NO_KINDS) if is_class else (NO_KINDS, TYPE)
    builder.add(Role.TYPE, parts[-1], node, kinds=kinds, maybe=maybe, body=body, inside=around)
    builder.open("type", parts[-1], inside=around)
    superclass = node.child_by_field_name("superclass")
    for one in superclass.named_children if superclass is not None else []:
        arguments = one.child_by_field_name("arguments") if one.type == "call" else None
        _may_define(builder, arguments)


def _may_define(builder: Builder, arguments: Node | None) -> None:
    """Symbols that a call in a class is given may be names of methods that it makes."""
    for one in arguments.named_children if arguments is not None else []:
        if one.type == "simple_symbol":
            builder.code.hidden.add(builder.code.text(one)[1:])


def _method(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is None:
        return
    in_type = builder.scope.sort == "type"
    body = node.child_by_field_name("body") or node
    own = builder.code.text(name)
    kinds, maybe = (METHOD, FUNCTION) if in_type else (FUNCTION, METHOD)
    builder.add(Role.FUNCTION, own, node, kinds=kinds, maybe=maybe, body=body)
    builder.open("function", own)
    _parameters(builder, node.child_by_field_name("parameters"))


def _parameters(builder: Builder, node: Node | None) -> None:
    for one in node.named_children if node is not None else []:
        name = one if one.type == "identifier" else one.child_by_field_name("name")
        if name is not None:
            builder.add(Role.PARAMETER, name, one, value=one.child_by_field_name("value"))


def _block(builder: Builder, node: Node) -> None:
    path = builder.objects.pop(node.id, None)
    if path is None:
        builder.open("hidden")
        _block_parameters(builder, node)
    else:
        builder.open("type", inside=path)


def _block_parameters(builder: Builder, node: Node) -> None:
    """Variables of a block: they are nobody's parameters, but they are no calls."""
    parameters = node.child_by_field_name("parameters")
    waiting = [] if parameters is None else list(parameters.named_children)
    while waiting:
        one = waiting.pop()
        if one.type == "identifier":
            builder.add(Role.LOCAL, one, one)
        else:
            waiting.extend(one.named_children)


def _bound(builder: Builder, node: Node) -> None:
    """`rescue … => e`, `for x in …` and `in [x, y]`."""
    waiting = [node.child_by_field_name("pattern") or node]
    while waiting:
        one = waiting.pop()
        if one.type == "identifier":
            builder.add(Role.LOCAL, one, node, value=node)
        else:
            waiting.extend(one.named_children)


def _begin(builder: Builder, node: Node) -> None:
    if any(one.type == "rescue" for one in node.named_children):
        builder.condition()


def _thawed(builder: Builder, value: Node | None) -> Node | None:
    """A value without `.freeze` behind it."""
    if value is not None and value.type == "call":
        method, receiver = value.child_by_field_name("method"), value.child_by_field_name("receiver")
        if receiver is not None and method is not None and builder.code.text(method) == "freeze":
            return receiver
    return value


def _assignment(builder: Builder, node: Node) -> None:
    left, value = node.child_by_field_name("left"), node.child_by_field_name("right")
    for _ in range(_MAX_CHAIN):
        if value is None or value.type != "assignment":
            break
        value = value.child_by_field_name("right")
    if left is None:
        return
    if left.type != "left_assignment_list":
        _target(builder, node, left, _thawed(builder, value))
        return
    values = parts_of(value) if value is not None and value.type in ("right_assignment_list", "array") else []
    targets = left.named_children
    plain = all(one.type in VARIABLES for one in targets) and not any("splat" in one.type for one in values)
    for place, one in enumerate(targets):
        _target(builder, node, one, values[place] if plain and len(values) == len(targets) else node)


def _target(builder: Builder, node: Node, left: Node, value: Node | None, *, conditional: bool = False) -> None:
    sort = left.type
    if value is not None and value.type == "hash":
        builder.object(value, builder.name(left))
    if sort == "constant":
        _constant(builder, node, left, value, (), conditional)
    elif sort == "scope_resolution":
        name, scope = left.child_by_field_name("name"), left.child_by_field_name("scope")
        if name is not None:
            around = () if scope is None else tuple(builder.code.text(scope).split("::"))
            _constant(builder, node, name, value, around, conditional)
    elif sort == "identifier":
        role = Role.LOCAL if builder.in_function else Role.VALUE
        builder.add(role, left, node, kinds=VARIABLE, maybe=_maybe(value), value=value, conditional=conditional)
    elif sort == "instance_variable" or (sort == "class_variable" and builder.in_function):
        _attribute(builder, node, left, value)
    elif sort in ("class_variable", "global_variable"):
        inside = () if sort == "global_variable" else None
        role = Role.WRITE if builder.in_function else Role.VALUE
        builder.add(role, left, node, kinds=VARIABLE, value=value, inside=inside, conditional=conditional)
    elif sort == "call":
        _sent(builder, node, left, value)


def _maybe(value: Node | None) -> frozenset[str]:
    return ANYTHING if value is not None and value.type in ("call", "lambda", "identifier", "constant") else CONSTANT


def _constant(
    builder: Builder, node: Node, name: Node, value: Node | None, around: tuple[str, ...], conditional: bool
) -> None:
    inside = (*builder.scope.path, *around)
    if value is not None and value.type == "lambda":
        builder.code.bodies.add((value.start_byte, value.end_byte))
        block = value.child_by_field_name("body")
        body = None if block is None else block.child_by_field_name("body")
        builder.add(Role.FUNCTION, name, node, kinds=CONSTANT, maybe=FUNCTION | METHOD, body=body, inside=inside)
        return
    makes_type = False
    if value is not None and value.type == "call":
        receiver, block = value.child_by_field_name("receiver"), value.child_by_field_name("block")
        makes_type = receiver is not None and builder.code.text(receiver) in _TYPE_MAKERS
        if makes_type:
            _may_define(builder, value.child_by_field_name("arguments"))
        if makes_type and block is not None:
            builder.objects[block.id] = (*inside, builder.name(name))
    builder.add(
        Role.VALUE,
        name,
        node,
        kinds=CONSTANT,
        maybe=TYPE if makes_type or _maybe(value) is ANYTHING else NO_KINDS,
        value=value,
        inside=inside,
        conditional=conditional,
    )


def _attribute(builder: Builder, node: Node, name: Node, value: Node | None) -> None:
    scope = builder.scope
    if scope.sort == "function" and len(scope.path) > 1 and value is not None:
        late = scope.path[-1] != "initialize"
        builder.add(Role.ATTRIBUTE, name, node, value=value, inside=scope.path[:-1], conditional=late)
    builder.add(Role.WRITE, name, node, value=value, receiver="@")


def _sent(builder: Builder, node: Node, left: Node, value: Node | None) -> None:
    """`a.b = 1`, which calls `b=` of `a`."""
    receiver, method = left.child_by_field_name("receiver"), left.child_by_field_name("method")
    if receiver is not None and method is not None:
        text = builder.code.text(receiver).rsplit(".", 1)[-1].rsplit("::", 1)[-1]
        builder.add(Role.WRITE, method, node, value=value, receiver=text)


def _operator(builder: Builder, node: Node) -> None:
    left, operator = node.child_by_field_name("left"), node.child_by_field_name("operator")
    if left is None or operator is None:
        return
    if builder.code.text(operator) == "||=" and left.type in ("constant", "global_variable"):
        _target(builder, node, left, node.child_by_field_name("right"), conditional=True)
    elif left.type == "call":
        _sent(builder, node, left, None)
    elif left.type in VARIABLES:
        receiver = "@" if left.type in ("instance_variable", "class_variable") else ""
        inside = () if left.type == "global_variable" else None
        builder.add(Role.WRITE, left, node, receiver=receiver, inside=inside)


def _hash(builder: Builder, node: Node) -> None:
    builder.open_object(node)


def _pair(builder: Builder, node: Node) -> None:
    key, value = node.child_by_field_name("key"), _thawed(builder, node.child_by_field_name("value"))
    if builder.scope.sort != "object" or key is None or value is None:
        return
    if key.type in ("hash_key_symbol", "simple_symbol"):
        name = builder.code.text(key).lstrip(":")
    else:
        found = read(builder.code, key) if key.type == "string" else None
        name = found.value if found is not None and isinstance(found.value, str) else ""
    if name:
        if value.type == "hash":
            builder.object(value, name)
        builder.add(Role.KEY, name, node, value=value)


def _call(builder: Builder, node: Node) -> None:
    method, arguments = node.child_by_field_name("method"), node.child_by_field_name("arguments")
    if method is None or arguments is None or node.child_by_field_name("receiver") is not None:
        return
    name = builder.code.text(method)
    if name in _REQUIRE and arguments.named_children:
        _require(builder, node, arguments.named_children[-1 if name == "autoload" else 0], name == "require_relative")
    elif name in _ACCESSORS:
        for one in arguments.named_children:
            if one.type == "simple_symbol":
                builder.add(Role.FUNCTION, builder.code.text(one)[1:], node, kinds=METHOD, maybe=FUNCTION | VARIABLE)
    elif name not in ("define_method", "alias_method"):
        if builder.scope.sort == "type":
            _may_define(builder, arguments)
    elif arguments.named_children:
        first = arguments.named_children[0]
        found = read(builder.code, first)
        if found is not None and isinstance(found.value, str):
            block = node.child_by_field_name("block")
            body = None if block is None else block.child_by_field_name("body")
            if block is not None:
                builder.code.bodies.add((block.start_byte, block.end_byte))
            builder.add(Role.FUNCTION, found.value, node, kinds=METHOD, maybe=FUNCTION, body=body)


def _require(builder: Builder, node: Node, argument: Node, relative: bool) -> None:
    found = read(builder.code, argument)
    if found is None or not isinstance(found.value, str):
        builder.code.opaque_imports = True
    else:
        builder.imports(node, (found.value, found.value.removesuffix(".rb")), relative=relative)


def _alias(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        builder.add(Role.FUNCTION, builder.code.text(name), node, kinds=METHOD, maybe=FUNCTION)


RULES: Final[Mapping[str, Rule]] = {
    "class": _type,
    "module": _type,
    "method": _method,
    "singleton_method": _method,
    "block": _block,
    "do_block": _block,
    "lambda": _block,
    "exception_variable": _bound,
    "for": _bound,
    "in_clause": _bound,
    "begin": _begin,
    "assignment": _assignment,
    "operator_assignment": _operator,
    "hash": _hash,
    "pair": _pair,
    "call": _call,
    "alias": _alias,
}
