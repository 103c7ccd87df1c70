"""Python, as checks on source code read it (docs/checks.md). Nothing is decided here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .code_model import Code, Found, Grammar, Role
from .code_python_rules import RULES
from .code_strings import PYTHON, decode
from .code_values import arithmetic, constant, inside, items, joined, number, read, signed, text_found

if TYPE_CHECKING:
    from tree_sitter import Node

_PYDANTIC: Final = frozenset(("Field", "pydantic.Field"))

_FIELDS: Final = frozenset(("field", "dataclasses.field", "attr.ib", "attr.field", "attrs.field", "attrib"))


def _statement(_: Code, node: Node, wanted: tuple[str, ...]) -> bool | None:
    """`type(x).y = 1` is parsed as an alias of a type, `print >>f, x` as a statement of Python 2: both may call."""
    return None if _STATEMENTS.get(node.type, ()) == wanted else False


_STATEMENTS: Final = {
    "type_alias_statement": ("type",),
    "print_statement": ("print",),
    "exec_statement": ("exec",),
}


# ---------------------------------------------------------------- values


def _string(code: Code, node: Node, _: int) -> Found | None:
    if any(child.type == "interpolation" for child in node.children) or len(node.children) < 2:
        return None
    opening, closing = node.children[0], node.children[-1]
    prefix = code.text(opening).rstrip("\"'").lower()
    if "b" in prefix or "t" in prefix:
        return None
    text = code.data[opening.end_byte : closing.start_byte].decode("utf-8", "surrogatepass").replace("\r\n", "\n")
    if "f" in prefix and ("{{" in text or "}}" in text):
        return None
    if "r" in prefix:
        return text_found(text)
    return None if "\\N" in text else text_found(decode(text, PYTHON))


def _call_value(code: Code, node: Node, depth: int) -> Found | None:
    """The default that a field of a class is declared with."""
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or arguments is None:
        return None
    name = code.text(function)
    if name not in _FIELDS and name not in _PYDANTIC:
        return None
    if _own(code, name):
        return None
    for one in arguments.named_children:
        key, value = one.child_by_field_name("name"), one.child_by_field_name("value")
        if one.type == "keyword_argument" and key is not None and value is not None and code.text(key) == "default":
            return read(code, value, depth + 1)
    if name in _PYDANTIC and arguments.named_children and arguments.named_children[0].type != "keyword_argument":
        return read(code, arguments.named_children[0], depth + 1)
    return None


def _own(code: Code, name: str) -> bool:
    """Whether the file itself defines a name, so that it is not the library's."""
    return any(code.definitions[place].role is not Role.IMPORTED for place in code.by_name.get(name, ()))


_CONDITIONS: Final = frozenset(
    ("if_statement", "try_statement", "while_statement", "for_statement", "match_statement", "conditional_expression")
)

PYTHON_GRAMMAR: Final = Grammar(
    rules=RULES,
    rare={"call": (b"import_module", b"__import__")},
    names=frozenset(("identifier",)),
    members={"attribute": ("object", "attribute")},
    wrappers={"parenthesized_expression": ""},
    calls={"call": "function"},
    call_hint=_statement,
    hinted_is_written=True,
    nested=frozenset(("function_definition", "class_definition")),
    anonymous=frozenset(("lambda",)),
    conditions=_CONDITIONS,
    branches={
        "if_statement": ("condition", "consequence"),
        "elif_clause": ("condition", "consequence"),
        "while_statement": ("condition", "body"),
    },
    never=frozenset(("False", "0", "None", '""', "''")),
    blocks=frozenset(("module", "block")),
    leaving=frozenset(("return_statement", "raise_statement", "break_statement", "continue_statement")),
    returns=frozenset(("return_statement",)),
    values={
        "integer": number(foreign="jJlL"),
        "float": number(foreign="jJ"),
        "string": _string,
        "concatenated_string": joined,
        "true": constant(True),
        "false": constant(False),
        "none": constant(None),
        "list": items,
        "tuple": items,
        "expression_list": items,
        "parenthesized_expression": inside(),
        "unary_operator": signed,
        "binary_operator": arithmetic,
        "call": _call_value,
    },
    folds_writes=False,
    bounded=False,
)
