"""C and C++, as checks on source code read them (judging.md). Nothing is decided here.

Macros are not expanded. What stands between `#if` and `#endif` is there under a condition, but for the guard around a
whole header; what stands under `#if 0` is not there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from .code_building import Builder, words_of
from .code_model import (
    CALLABLE,
    CONSTANT,
    FUNCTION,
    METHOD,
    NAMED_VALUE,
    NO_KINDS,
    TYPE,
    VARIABLE,
    Code,
    Found,
    Grammar,
    Kinds,
    Role,
)
from .code_parsing import parse_bytes
from .code_strings import C, decode
from .code_values import arithmetic, constant, inside, items, joined, number, read, signed, text_found
from .code_walk import ends_with

if TYPE_CHECKING:
    from tree_sitter import Node

_GENERIC: Final = re.compile(r"<[^<>]*>")
_MAX_TOKENS: Final = 5_000
_MAX_MACRO: Final = 2_000


class _Declared(NamedTuple):
    """What a declarator declares."""

    name: Node
    around: tuple[str, ...]
    text: str
    parameters: Node | None
    is_function: bool
    is_pointer: bool
    size: Node | None  # of an array that says it
    is_array: bool


def _declared(builder: Builder, node: Node | None) -> _Declared | None:
    """The name in a declarator, whatever pointers, brackets and parameters stand around it."""
    is_function, parameters = False, None
    is_pointer = is_array = False
    size: Node | None = None
    for _ in range(32):
        if node is None:
            return None
        sort = node.type
        if sort == "function_declarator":
            is_function, parameters = True, node.child_by_field_name("parameters")
        elif sort == "array_declarator":
            is_function, is_array, size = False, True, node.child_by_field_name("size")
        elif sort in ("pointer_declarator", "reference_declarator"):
            is_function, is_pointer = False, True
        elif sort in _NAMES:
            parts = _parts(builder.code.text(node))
            if not parts:
                return None
            return _Declared(node, parts[:-1], parts[-1], parameters, is_function, is_pointer, size, is_array)
        elif not sort.endswith("_declarator"):
            return None
        inner = node.child_by_field_name("declarator")
        node = inner if inner is not None else (node.named_children[-1] if node.named_children else None)
    return None


_NAMES: Final = frozenset(
    (
        "identifier",
        "field_identifier",
        "type_identifier",
        "qualified_identifier",
        "destructor_name",
        "operator_name",
        "operator_cast",
        "template_function",
    )
)


def _parts(text: str) -> tuple[str, ...]:
    """`a::B<T>::c` as components."""
    text = "".join(text.split())
    if "operator" not in text:
        for _ in range(4):
            text = _GENERIC.sub("", text)
    return tuple(one for one in text.split("::") if one)


def _whole(builder: Builder, node: Node) -> Node:
    around = builder.parent
    return around if around is not None and around.type == "template_declaration" else node


def _function(builder: Builder, node: Node) -> None:
    declared = _declared(builder, node.child_by_field_name("declarator"))
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
    declared: _Declared,
    node: Node,
    inside: tuple[str, ...],
    kinds: Kinds,
    maybe: Kinds,
    body: Node | None,
) -> None:
    name = declared.name if declared.name.type in ("identifier", "field_identifier") else declared.text
    builder.add(role, name, node, kinds=kinds, maybe=maybe, body=body, inside=inside)


def _function_kinds(builder: Builder, declared: _Declared) -> tuple[Kinds, Kinds]:
    if declared.around:  # whether `A` of `A::b` is a class or a namespace is told elsewhere
        return NO_KINDS, CALLABLE
    return (METHOD, FUNCTION) if builder.scope.sort == "type" else (FUNCTION, NO_KINDS)


def _parameters(builder: Builder, node: Node | None) -> None:
    for one in node.named_children if node is not None else []:
        declared = _declared(builder, one.child_by_field_name("declarator"))
        if declared is not None:
            value = one.child_by_field_name("default_value")
            builder.add(Role.PARAMETER, declared.text, one, value=value)


def _declaration(builder: Builder, node: Node) -> None:
    """A declaration, or a field of a structure."""
    words = {builder.code.text(one) for one in node.children if one.type in _SPECIFIERS}
    fields = [node.field_name_for_child(place) for place in range(node.child_count)]
    children = node.children
    many = fields.count("declarator") > 1
    for place, field in enumerate(fields):
        if field != "declarator":
            continue
        declarator, value = children[place], None
        if declarator.type == "init_declarator":
            value = declarator.child_by_field_name("value")
        elif place + 2 < len(fields) and "default_value" in fields[place + 1 : place + 3]:
            value = children[fields.index("default_value", place)]
        declared = _declared(builder, declarator)
        if declared is not None:
            _declare(builder, declarator if many else node, declared, value, words)


_SPECIFIERS: Final = frozenset(("storage_class_specifier", "type_qualifier"))


def _declare(builder: Builder, node: Node, declared: _Declared, value: Node | None, words: set[str]) -> None:
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
    builder.add(role, name, node, kinds=kinds, maybe=maybe, value=value, inside=inside, fixed=fixed)


def _is_list(builder: Builder, declared: _Declared, value: Node) -> bool:
    """Whether what is in braces is a list of just as many items; `int x{5}` is no list, `int x[9]{5}` a longer one."""
    count = sum(one.type != "comment" for one in value.named_children)
    if declared.size is not None:
        return builder.code.text(declared.size) == str(count)
    return declared.is_array or count > 1


def _typedef(builder: Builder, node: Node) -> None:
    sort = node.child_by_field_name("type")
    for one in node.children_by_field_name("declarator"):
        declared = _declared(builder, one)
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
        return
    if name is None:
        builder.open("type", inside=given)
        return
    parts = _parts(builder.code.text(name))
    if parts:
        inside = (*builder.scope.path, *parts[:-1])
        builder.add(Role.TYPE, parts[-1], _whole(builder, node), kinds=TYPE, body=body, inside=inside)
        builder.open("type", parts[-1], inside=inside)


def _alias(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        builder.add(Role.TYPE, name, node, kinds=TYPE)


def _using(builder: Builder, node: Node) -> None:
    parts = _parts(builder.code.text(node.named_children[-1])) if node.named_children else ()
    if parts:
        builder.add(Role.IMPORTED, parts[-1], node)


def _namespace(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    parts = () if name is None else _parts(builder.code.text(name))
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
    if directive is None or argument is None or builder.code.text(directive).replace(" ", "") != "#undef":
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
    if builder.in_function:
        return
    waiting, left = [node], _MAX_TOKENS
    while waiting and left:
        left -= 1
        one = waiting.pop()
        if one.type in ("identifier", "type_identifier"):
            builder.code.hidden.add(builder.name(one))
        waiting.extend(one.named_children)


def _assigned(builder: Builder, node: Node) -> None:
    left = node.child_by_field_name("left") or node.child_by_field_name("argument")
    if left is None:
        return
    value = node.child_by_field_name("right")
    if left.type == "identifier":
        builder.add(Role.WRITE, left, node, value=value)
    elif left.type == "field_expression":
        holder, name = left.child_by_field_name("argument"), left.child_by_field_name("field")
        if holder is not None and name is not None:
            receiver = re.split(r"\.|->|::", builder.code.text(holder)[-200:])[-1]
            builder.add(Role.WRITE, name, node, value=value, receiver=receiver)


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


def _anonymous(builder: Builder, _: Node) -> None:
    builder.open("hidden")


def _constructed(code: Code, node: Node, wanted: tuple[str, ...]) -> bool | None:
    """`Foo x(1);` and `Foo{1}`: whether they call what is called `Foo` is not told by syntax."""
    if node.type not in ("declaration", "compound_literal_expression"):
        return False
    sort = node.child_by_field_name("type")
    return None if sort is not None and ends_with(code, sort, wanted) else False


# ---------------------------------------------------------------- values


def _string(code: Code, node: Node, _: int) -> Found | None:
    text = code.text(node)
    opening = text.find('"')
    if text[:opening] not in ("", "u8", "u", "U", "L") or len(text) < opening + 2 or not text.endswith('"'):
        return None
    return text_found(decode(text[opening + 1 : -1].replace("\r\n", "\n"), C))


def _raw_string(code: Code, node: Node, _: int) -> Found | None:
    content = [one for one in node.named_children if one.type == "raw_string_content"]
    text = code.text(node)
    return text_found(code.text(content[0])) if len(content) == 1 and text[:2] == 'R"' else None


def _macro(code: Code, node: Node, depth: int) -> Found | None:
    """What a macro stands for, read as the expression that it is; operators only in brackets."""
    text = code.text(node).replace("\\\r\n", " ").replace("\\\n", " ").strip()
    if not text or len(text) > _MAX_MACRO or code.tree is None:
        return None
    data = f"int x = {text}\n;".encode("utf-8", "surrogatepass")
    tree = parse_bytes(code.tree.language, data)
    root = None if tree is None else tree.root_node
    if root is None or root.has_error or root.named_child_count != 1 + _comments(root):
        return None
    declarator = root.named_children[0].child_by_field_name("declarator")
    value = None if declarator is None else declarator.child_by_field_name("value")
    if value is None or value.type in ("binary_expression", "comma_expression"):
        return None
    written = Code(code.language, code.grammar, data)
    return read(written, value, depth + 1)


def _comments(node: Node) -> int:
    return sum(one.type == "comment" for one in node.named_children)


_TYPES: Final = ("struct_specifier", "class_specifier", "union_specifier", "enum_specifier")

C_GRAMMAR: Final = Grammar(
    rules={
        "function_definition": _function,
        "declaration": _declaration,
        "field_declaration": _declaration,
        "type_definition": _typedef,
        **dict.fromkeys(_TYPES, _type),
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
        "assignment_expression": _assigned,
        "update_expression": _assigned,
        "initializer_list": _initializer,
        "initializer_pair": _designated,
        "lambda_expression": _anonymous,
    },
    names=frozenset(
        (
            "identifier",
            "type_identifier",
            "field_identifier",
            "namespace_identifier",
            "primitive_type",
            "this",
            "destructor_name",
            "operator_name",
        )
    ),
    members={"field_expression": ("argument", "field"), "qualified_identifier": ("scope", "name")},
    wrappers={
        "parenthesized_expression": "",
        "pointer_expression": "argument",
        "template_function": "name",
        "template_method": "name",
        "template_type": "name",
        "dependent_name": "",
        "type_descriptor": "type",
    },
    calls={"call_expression": "function", "new_expression": "type"},
    call_hint=_constructed,
    nested=frozenset(("function_definition", *_TYPES)),
    anonymous=frozenset(("lambda_expression",)),
    conditions=frozenset(
        (
            "if_statement",
            "switch_statement",
            "while_statement",
            "do_statement",
            "for_statement",
            "for_range_loop",
            "try_statement",
            "conditional_expression",
            "preproc_if",
            "preproc_elif",
            "preproc_elifdef",
            "preproc_else",
        )
    ),
    branches={
        "if_statement": ("condition", "consequence"),
        "while_statement": ("condition", "body"),
        "preproc_if": ("condition", ""),
        "preproc_elif": ("condition", ""),
    },
    never=frozenset(("0", "false", "FALSE")),
    blocks=frozenset(("compound_statement",)),
    leaving=frozenset(
        ("return_statement", "break_statement", "continue_statement", "goto_statement", "throw_statement")
    ),
    labels=frozenset(("labeled_statement", "case_statement")),
    returns=frozenset(("return_statement",)),
    values={
        "number_literal": number(
            "(?:[uU](?:[lL]{1,2}|[zZ])?|[lL]{1,2}[uU]?|[zZ][uU]?|[fF])",
            radix_suffix="(?:[uU](?:[lL]{1,2}|[zZ])?|[lL]{1,2}[uU]?|[zZ][uU]?)",
            octal=True,
            separator="'",
        ),
        "string_literal": _string,
        "raw_string_literal": _raw_string,
        "concatenated_string": joined,
        "true": constant(True),
        "false": constant(False),
        "null": constant(None),
        "nullptr": constant(None),
        "parenthesized_expression": inside(),
        "unary_expression": signed,
        "binary_expression": arithmetic,
        "initializer_list": items,
        "preproc_arg": _macro,
    },
    import_form="path",
)
