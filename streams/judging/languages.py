"""The languages that checks by syntax speak of: what the judge must know of each besides what the queries capture, how
its literals are read, and how a file's language is known (docs/checks.md).

A grammar's package is loaded when the first file of its language is parsed; one that is not installed is no error here,
but the reason `no-grammar` of every check on such a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ...codecs.unicode_text import nfkc
from . import values
from .checks import Value
from .prose_literals import tables
from .values import (
    ESCAPES,
    LiteralValue,
    Reader,
    Reading,
    Text,
    decode,
    is_short,
    items,
    listed,
    number,
    parts_of,
    quoted,
    read,
    text_found,
    value_of_text,
)

if TYPE_CHECKING:
    from tree_sitter import Language as Parsed
    from tree_sitter import Node

_PARTS: Final = re.compile(r"::|->|[.#]")
_ARGUMENTS: Final = re.compile(r"\([^()]*\)$")
_RECEIVER: Final = re.compile(r"^\(?[*&]?([^()*&]+)\)?")
_GENERIC: Final = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")
_MAX_PARTS: Final = 12


def dotted(module: str, name: str) -> Iterable[str]:
    """What `from MODULE import NAME` imports, as checks name it: each module on the way, and the name in the last."""
    if module.startswith("."):
        yield module
        if name:
            yield f"{module}{name}" if module.endswith(".") else f"{module}.{name}"
        return
    parts = module.split(".")[:32]
    yield from (".".join(parts[: place + 1]) for place in range(len(parts)))
    if name:
        yield f"{module}.{name}"


def as_path(module: str, name: str) -> Iterable[str]:
    """What an import by path imports: the path as it stands there."""
    yield module


def keys_of(reading: Reading, pairs: Sequence[Node]) -> LiteralValue | None:
    """The keys of the pairs of a literal mapping, where all are literals and none is there twice."""
    keys = [read(reading, key) for pair in pairs if (key := pair.child_by_field_name("key")) is not None]
    found = [key.value for key in keys if key is not None]
    return LiteralValue(tuple(found)) if len(found) == len(pairs) == len(set(map(repr, found))) else None


def unbound(module: str) -> str:
    """The name that an import introduces where it introduces none."""
    return ""


class Language(NamedTuple):
    """One row: of `data/languages.toml`, with the functions of the language's own module.

    Attributes:
        name: what it is called here.
        package: the module that has its grammar.
        endings: of file names; the letter case counts where both are listed, and nowhere else.
        names: of whole files.
        entry: the function of that module that hands the grammar out.
        queries: the files under `queries/`, without their ending, that are read as one query.
        values: how a literal is read, by node type.
        mutable: node types of literals whose items can be changed where they stand.
        frozen: whether a literal of such a type cannot be changed after all.
        bounded: whole numbers wrap around at some size.
        fits: whether a value stays what it is written as under a declared type.
        members: reads the items or keys of a whole literal list, set or mapping.
        naming: node types of a base that is a name; any other one may be anything.
        separators: whether a symbol of this language has parts.
        sigils: marks in front of a name that are none of it (`@x`, `$x`, `#x`).
        own: words for a method's own instance or type (`this`).
        static: decorators that take a method's own instance away.
        declaring: decorators that make a definition a mere declaration.
        parent: texts of a receiver that means the base (`super()`).
        bare_members: a method calls another one of its own type by the plain name.
        ambient: plain names that mean one thing in every file that makes nothing else of them, as a regular expression.
        tails: marks that the last character of a name may be.
        making: names through which code may make or replace methods that are not written as such.
        roots: types that every type has as a base without saying so.
        implicit: names that the language calls by itself, as a regular expression for the whole name.
        dynamic: names through which code may reach another by a name that is computed.
        changing: the same, where it may also change what that one is worth.
        plain_types: the language's own names of types, which mean nothing else.
        keywords: words that mean something else where a macro has one of them as its name.
        errors: where errors are returned, so that returning one counts as raising it: what the declared result of such
            a function has in it, as a regular expression.
        apart: what is called behind a receiver is always a method: no field, and nothing that can be changed.
        fixed: what is defined as a constant keeps what it is worth.
        unmarked: no word of the language makes a constant; what is never changed is one.
        implements: what a type extends is told by `impl` blocks, in any file.
        negations: how a condition is turned, as prefixes.
        conjunctions: what joins conditions that must all be met.
        imported: what an import of a module and a name imports, as checks name it.
        binding: the name that an import of a module introduces where no other is given.
        modules: a file is a module, so that its name may stand in front of what is defined there.
        marking: marks of a type or field may define others that are not written.
        refutes: a check may be exactly false by syntax; else it is only ever proved by what is there.
        by_path: modules are named as paths, so that only the file itself knows what they are.
    """

    name: str
    package: str
    endings: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    entry: str = "language"
    queries: tuple[str, ...] = ()
    values: Mapping[str, Reader] = {}
    mutable: frozenset[str] = frozenset()
    frozen: Callable[[Reading, Node], bool] = lambda reading, node: False
    bounded: bool = True
    fits: Callable[[str, Value], bool] = lambda declared, value: True
    members: Callable[[Reading, Node], LiteralValue | None] = lambda reading, node: None
    naming: frozenset[str] = frozenset()
    separators: bool = True
    sigils: str = ""
    own: tuple[str, ...] = ("this",)
    static: frozenset[str] = frozenset()
    declaring: frozenset[str] = frozenset()
    parent: frozenset[str] = frozenset(("super",))
    bare_members: bool = False
    ambient: str = r"(?!)"
    tails: str = ""
    making: frozenset[str] = frozenset()
    roots: frozenset[str] = frozenset()
    implicit: str = ""
    dynamic: frozenset[str] = frozenset()
    changing: frozenset[str] = frozenset()
    plain_types: frozenset[str] = frozenset()
    keywords: frozenset[str] = frozenset()
    errors: str = ""
    apart: bool = False
    fixed: bool = False
    unmarked: bool = False
    implements: bool = False
    negations: tuple[str, ...] = ("!",)
    conjunctions: tuple[str, ...] = ("&&",)
    imported: Callable[[str, str], Iterable[str]] = dotted
    binding: Callable[[str], str] = lambda module: module.split(".")[0]
    by_path: bool = False
    modules: bool = True
    marking: bool = False
    refutes: bool = True

    def bare(self, name: str) -> str:
        """A name as names are compared: in NFKC, and without the marks of its language."""
        name = name.strip(self.sigils) if self.sigils else name
        return name if name.isascii() else nfkc(name)

    def parts(self, symbol: str) -> tuple[str, ...]:
        """The components of a symbol of a check; empty where it has none that a definition could have.

        `Type.method`, `Type::method`, `Type#method` and `(*Type).method` are one symbol; arguments are left aside.
        """
        text = symbol.strip()
        text = _ARGUMENTS.sub("", text) if not text.startswith("(") or text.endswith("()") else text
        if not self.separators:
            return (self.bare(text),) if text else ()
        if "operator" not in text:
            text = _GENERIC.sub("", text)
        receiver = _RECEIVER.match(text)
        if text.startswith(("(", "*", "&")) and receiver is not None:
            text = receiver[1] + text[receiver.end() :]
        return tuple(part for part in map(self.bare, _PARTS.split(text)) if part)[:_MAX_PARTS]


_ROWS: Final[dict[str, dict[str, Any]]] = tables("languages")
_READERS: Final[Mapping[str, Reader]] = {
    reader.__name__: reader for reader in (items, values.joined, values.signed, values.arithmetic)
}
_MAKERS: Final[Mapping[str, Callable[..., Reader]]] = {
    maker.__name__: maker for maker in (number, quoted, values.inside, values.constant, values.words)
}
_MEANT: Final[Mapping[str, Any]] = {**ESCAPES, "true": True, "false": False, "null": None}
"""What words of a reader's arguments stand for; any other one is a text."""


def row(name: str, **own: Callable[..., Any]) -> Language:
    """The row of a language, with its own functions: fields of `Language`, and readers that its row names."""
    told = _told(name)
    readers = {node: _reader(written, own) for node, written in told.pop("values").items()}
    fields = {field: _field(field, value) for field, value in told.items()}
    if "fits" in told:
        fields["fits"] = values.fitting(**told["fits"])
    fields |= {field: function for field, function in own.items() if field in Language._fields}
    return Language(name, values=readers, **fields)


def _told(name: str) -> dict[str, Any]:
    """What the table tells of a language, with what it has of another that it is like; `values` by node type."""
    told = dict(_ROWS[name])
    base: dict[str, Any] = _told(told.pop("like")) if "like" in told else {"values": {}}
    values = {node: written for written, nodes in told.get("values", {}).items() for node in nodes.split()}
    return {**base, **told, "values": {**base["values"], **values}}


def _field(name: str, value: Any) -> Any:
    default: Any = Language._field_defaults.get(name)
    if name == "implicit":
        return "|".join(value.split())
    if not isinstance(default, (tuple, frozenset)):
        return value
    words: list[str] = value.split() if isinstance(value, str) else value
    return tuple(words) if isinstance(default, tuple) else frozenset(words)


def _reader(written: str, own: Mapping[str, Reader]) -> Reader:
    name, *arguments = written.split()
    if not arguments and (known := own.get(name) or _READERS.get(name)):
        return known
    keyed = dict(one.split("=", 1) for one in arguments if "=" in one)
    plain = [_MEANT.get(one, one) for one in arguments if "=" not in one]
    return _MAKERS[name](*plain, **{key: _MEANT.get(value, value) for key, value in keyed.items()})


# ---------------------------------------------------------------- C and C++

_C_QUALIFIERS: Final = re.compile(r"^(?:constexpr|const|inline)+|(?<=\*)const")
_C_INTEGERS: Final = (
    "8 signedchar int8_t uint8_t unsignedchar\n16 short int16_t uint16_t unsignedshort\n32 int signed long int32_t "
    "ssize_t ptrdiff_t uint32_t unsigned unsignedint unsignedlong size_t\n64 longlong int64_t uint64_t unsignedlonglong"
)
"""Types of whole numbers by the bits that they have on every machine: a `long` has 32 at least."""
_C_BITS: Final = {name: int(line[:2]) for line in _C_INTEGERS.split("\n") for name in line.split()[1:]}
_C_SINGLE: Final = re.compile(
    "number_literal|string_literal|concatenated_string|parenthesized_expression|unary_.*|null"
)
"""What a macro may stand for so that what stands around it cannot take it apart."""


def _c_fits(declared: str, value: Value) -> bool:
    """Whether a value stays what is written under a declared type, which is without white space."""
    fixed, plain = "const" in declared, _C_QUALIFIERS.sub("", declared.replace("std::", ""))
    if plain in ("", "auto"):
        return not isinstance(value, tuple)
    if plain.endswith("[]"):
        if isinstance(value, tuple):
            return all(_c_fits(declared[:-2], item) for item in value)
        return fixed and plain == "char[]" and isinstance(value, str)
    if plain.endswith("*"):
        return value is None or (plain == "char*" and isinstance(value, str))
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        return value in (True, False) and plain in ("bool", "_Bool")
    if plain in ("float", "double"):
        return len(Decimal(value).as_tuple().digits) <= (6 if plain == "float" else 15)
    unsigned = plain.startswith(("u", "size_t"))
    bits = 7 if plain == "char" else _C_BITS.get(plain, 0) - (not unsigned)
    return isinstance(value, int) and bits > 0 and (0 if unsigned or bits == 7 else -(2**bits)) <= value < 2**bits


def _c_macro(code: Reading, node: Node, depth: int) -> LiteralValue | None:
    """What stands behind the name of a macro, where it is a literal on its own or in brackets."""
    from tree_sitter import Parser

    data = re.sub(rb"\\\r?\n", b" ", b"int x = " + code.text(node).encode("utf-8", "surrogatepass") + b"\n;")
    root = Parser(grammar_of("c") or grammar_of("cpp")).parse(data).root_node
    declared = root.named_children[0].child_by_field_name("declarator")
    value = None if declared is None else declared.child_by_field_name("value")
    if root.has_error or root.named_child_count != 1 or value is None or not _C_SINGLE.fullmatch(value.type):
        return None
    return read(Reading(data, code.values, code.bounded), value, depth + 1)


def _c_raw(code: Reading, node: Node, _: int) -> LiteralValue | None:
    match = re.fullmatch(r'(?s)R"([^()\\\s]{0,16})\((.*)\)\1"', code.text(node))
    return None if match is None else text_found(match[2])


def _c_library(code: Reading, node: Node, _: int) -> LiteralValue | None:
    return text_found(code.text(node)[1:-1])


def _c_members(code: Reading, node: Node) -> LiteralValue | None:
    return items(code, node, 1) if node.type == "initializer_list" else None


C, CPP = (
    row(name, library=_c_library, raw=_c_raw, macro=_c_macro, fits=_c_fits, members=_c_members, imported=as_path)
    for name in ("c", "cpp")
)


# ---------------------------------------------------------------- Go

_GO_LISTS: Final = frozenset(("slice_type", "implicit_length_array_type"))
_GO_VERSION: Final = re.compile(r"v[0-9]+")
_GO_SIZED: Final = frozenset(f"{sign}int{size}" for sign in ("", "u") for size in ("", "8", "16", "32", "64"))
_GO_INTEGERS: Final = _GO_SIZED | {"byte", "rune", "uintptr"}
_GO_EXACT: Final = {"string": str, "bool": bool, "error": type(None)}


def _go_fits(declared: str, value: Value) -> bool:
    """A whole number that its type cannot hold does not compile; a fraction may be rounded, and a type may be any."""
    if not declared:
        return True
    if declared in _GO_EXACT:
        return isinstance(value, _GO_EXACT[declared])
    if declared in _GO_INTEGERS:
        return isinstance(value, int) and not isinstance(value, bool)
    if declared == "float64":
        return isinstance(value, Decimal) or (isinstance(value, int) and abs(value) < 2**53)
    return isinstance(value, tuple) and declared.startswith("[]")


def _go_raw(code: Reading, node: Node, _: int) -> LiteralValue | None:
    return text_found(code.text(node)[1:-1].replace("\r", ""))


def _go_list(code: Reading, node: Node, depth: int) -> LiteralValue | None:
    """`[]string{"a", "b"}`; with keys it is none."""
    sort, body = node.child_by_field_name("type"), node.child_by_field_name("body")
    if sort is None or body is None or sort.type not in _GO_LISTS:
        return None
    parts = parts_of(body)
    if any(part.type != "literal_element" or len(part.named_children) != 1 for part in parts):
        return None
    return listed(code, [part.named_children[0] for part in parts], depth)


def _go_members(code: Reading, node: Node) -> LiteralValue | None:
    """The items of a list; the keys of a mapping, where all are literals."""
    sort, body = node.child_by_field_name("type"), node.child_by_field_name("body")
    if sort is None or body is None or sort.type != "map_type":
        return _go_list(code, node, 1) if node.type == "composite_literal" else None
    keys: list[Value] = []
    for part in parts_of(body):
        key = part.child_by_field_name("key")
        found = None if key is None or not key.named_children else read(code, key.named_children[0], 1)
        if found is None:
            return None
        keys.append(found.value)
    return LiteralValue(tuple(keys)) if len(keys) == len(set(map(repr, keys))) else None


def _go_binding(module: str) -> str:
    """The last part of the path, but a version: the usual name of a package, which its own files tell."""
    *before, last = module.split("/")
    return before[-1] if before and _GO_VERSION.fullmatch(last) else last


GO: Final = row(
    "go", raw=_go_raw, list=_go_list, fits=_go_fits, members=_go_members, imported=as_path, binding=_go_binding
)


# ---------------------------------------------------------------- Java

_JAVA_DECIMAL: Final = number("[lL]", radix_suffix="[lL]", zero="octal")
_JAVA_FRACTION: Final = number("[fFdD]")
_JAVA_MARK: Final = re.compile(r"\\u+00(?:0[ad]|22|27|5c)", re.IGNORECASE)
_JAVA_LISTED: Final = frozenset(("List.of", "Set.of", "Arrays.asList", "ImmutableList.of", "ImmutableSet.of"))
_JAVA_QUOTED: Final = quoted(ESCAPES["JAVA"], '"', foreign=("string_interpolation",))


def _java_number(code: Reading, node: Node, depth: int) -> LiteralValue | None:
    """A number, where it has that value as an `int`, `long`, `float` or `double`."""
    text, whole = code.text(node), "integer" in node.type
    found = (_JAVA_DECIMAL if whole else _JAVA_FRACTION)(code, node, depth)
    if found is None or not isinstance(found.value, (int, Decimal)):
        return None
    keeps = found.value < 2 ** (63 if text[-1] in "lL" else 31) if whole else text[-1] not in "fF"
    return found if keeps or (not whole and is_short(found.value)) else None


def _java_string(code: Reading, node: Node, depth: int) -> LiteralValue | None:
    """A string on one line; one with a quote that is written by its number may end before its end."""
    text = code.text(node)
    return None if text.startswith('"""') or _JAVA_MARK.search(text) else _JAVA_QUOTED(code, node, depth)


def _java_members(code: Reading, node: Node) -> LiteralValue | None:
    """The items of an array, list or set."""
    arguments = node.child_by_field_name("arguments")
    holder = node.parent.parent if node.parent is not None and node.type == "array_initializer" else node
    declared = holder.child_by_field_name("type") if holder is not None else None
    if node.type == "method_invocation" and arguments is not None:
        return items(code, arguments, 1) if "".join(code.text(node).partition("(")[0].split()) in _JAVA_LISTED else None
    made = node.child_by_field_name("value") if node.type == "array_creation_expression" else node
    found = items(code, made, 1) if made is not None and made.type == "array_initializer" else None
    if found is None or declared is None or not isinstance(found.value, tuple):
        return None
    return found if JAVA.fits(code.text(declared).removesuffix("[]") + "[]", found.value) else None


def _java_imported(module: str, name: str) -> Iterable[str]:
    """An import as it stands there, and the package that it is from."""
    yield module
    package, _, last = module.rpartition(".")
    if last[:1].isupper() and package.rpartition(".")[2].islower():
        yield package


def _java_last(module: str) -> str:
    return module.rpartition(".")[2]


JAVA: Final = row(
    "java", number=_java_number, string=_java_string, members=_java_members, imported=_java_imported, binding=_java_last
)


# ---------------------------------------------------------------- Python

_PYTHON_FIELDS: Final = frozenset(("field", "dataclasses.field", "attr.ib", "attr.field", "attrs.field", "attrib"))
_PYTHON_PYDANTIC: Final = frozenset(("Field", "pydantic.Field"))
_PYTHON_COLLECTING: Final = frozenset(("frozenset", "set", "tuple", "list"))
_PYTHON_CONTAINERS: Final = frozenset(("list", "tuple", "set"))


def _python_string(code: Reading, node: Node, _: int) -> LiteralValue | None:
    if any(child.type == "interpolation" for child in node.children) or len(node.children) < 2:
        return None
    opening, closing = node.children[0], node.children[-1]
    prefix = code.text(opening).rstrip("\"'").lower()
    if "b" in prefix or "t" in prefix:
        return None
    text = code.data[opening.end_byte : closing.start_byte].decode("utf-8", "replace").replace("\r\n", "\n")
    if "f" in prefix and ("{{" in text or "}}" in text):
        return None
    if "r" in prefix:
        return text_found(text)
    return text_found(decode(text, ESCAPES["PYTHON"]))


def _python_field(code: Reading, node: Node, depth: int) -> LiteralValue | None:
    """The default that a field of a class is declared with: `field(default=3)`, `Field(3)`."""
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    name = "" if function is None else code.text(function)
    if arguments is None or name not in _PYTHON_FIELDS | _PYTHON_PYDANTIC:
        return None
    for argument in arguments.named_children:
        key, value = argument.child_by_field_name("name"), argument.child_by_field_name("value")
        if key is not None and value is not None and code.text(key) == "default":
            return read(code, value, depth + 1)
    first = arguments.named_children[0] if arguments.named_children else None
    return read(code, first, depth + 1) if name in _PYTHON_PYDANTIC and first is not None else None


def _python_members(code: Reading, node: Node) -> LiteralValue | None:
    """The items of a list, set or tuple, or of a call that makes one of a list; the keys of a mapping."""
    if node.type in _PYTHON_CONTAINERS:
        return items(code, node, 1)
    if node.type == "dictionary":
        return keys_of(code, parts_of(node))
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or arguments is None or code.text(function) not in _PYTHON_COLLECTING:
        return None
    given = parts_of(arguments)
    return items(code, given[0], 1) if len(given) == 1 and given[0].type in _PYTHON_CONTAINERS else None


PYTHON: Final = row("python", string=_python_string, field=_python_field, members=_python_members)


# ---------------------------------------------------------------- Ruby

_RUBY_FROZEN: Final = re.compile(rb"(?:#[^\n]*\n)*?#(?: *-\*-)? *frozen[_-]string[_-]literal: *true\b", re.IGNORECASE)
"""The comment at the top of a file that makes every string in it one that cannot be changed."""
_RUBY_COLLECTIONS: Final = frozenset(("array", "string_array", "symbol_array"))


def _ruby_string(code: Reading, node: Node, _: int) -> LiteralValue | None:
    children = node.children
    if len(children) < 2 or any(one.type == "interpolation" for one in children):
        return None
    opening = code.text(children[0])
    text = code.data[children[0].end_byte : children[-1].start_byte].decode("utf-8", "surrogatepass")
    once = opening == "'" or opening.startswith("%q")
    if once and opening != "'" and "\\" in text:
        return None
    return text_found(decode(text.replace("\r\n", "\n"), ESCAPES["QUOTED_ONCE"] if once else ESCAPES["RUBY"]))


def _ruby_symbol(code: Reading, node: Node, _: int) -> LiteralValue | None:
    return text_found(code.text(node).lstrip(":"))


def _ruby_words(code: Reading, node: Node, _: int) -> LiteralValue | None:
    """`%w[a b]` and `%i[a b]`."""
    texts = [code.text(one) for one in node.named_children]
    return None if any("\\" in text or "#{" in text for text in texts) else LiteralValue(tuple(texts))


def _ruby_thawed(code: Reading, node: Node) -> Node | None:
    """What `.freeze` is called on; None for any other call."""
    method, receiver = node.child_by_field_name("method"), node.child_by_field_name("receiver")
    return receiver if node.type == "call" and method is not None and code.text(method) == "freeze" else None


def _ruby_frozen(code: Reading, node: Node, depth: int) -> LiteralValue | None:
    return None if (receiver := _ruby_thawed(code, node)) is None else read(code, receiver, depth + 1)


def _ruby_is_fixed(code: Reading, node: Node, depth: int = 0) -> bool:
    """Whether nothing can change what a literal is, nor what is in it."""
    thawed, found = _ruby_thawed(code, node), read(code, node)
    frozen = _RUBY_FROZEN.match(code.data) is not None
    plain = found is not None and not isinstance(found.value, (str, tuple))
    if plain or node.type == "simple_symbol" or (frozen and node.type == "string"):
        return True
    if thawed is None or depth > 2:
        return False
    if thawed.type in ("string", "symbol_array") or (frozen and thawed.type == "string_array"):
        return True
    inner = [child.child_by_field_name("value") or child for child in parts_of(thawed)]
    return thawed.type in ("array", "hash") and all(_ruby_is_fixed(code, each, depth + 1) for each in inner)


def _ruby_members(code: Reading, node: Node) -> LiteralValue | None:
    """The items of an array, the keys of a hash."""
    given = _ruby_thawed(code, node) or node
    if given.type != "hash":
        return read(code, given) if given.type in _RUBY_COLLECTIONS else None
    return keys_of(code, parts_of(given))


RUBY: Final = row(
    "ruby",
    string=_ruby_string,
    symbol=_ruby_symbol,
    list=_ruby_words,
    frozen_call=_ruby_frozen,
    frozen=_ruby_is_fixed,
    members=_ruby_members,
    imported=as_path,
    binding=unbound,
)


# ---------------------------------------------------------------- Rust

_RUST_RANGES: Final = {
    f"{sign}{size}": (-(2 ** (bits - 1)), 2 ** (bits - 1)) if sign == "i" else (0, 2**bits)
    for size, bits in {"8": 8, "16": 16, "32": 32, "64": 64, "128": 128, "size": 64}.items()
    for sign in "iu"
}
_RUST_TEXTS: Final = frozenset(("&str", "&'staticstr"))


def _rust_fits(declared: str, value: Value) -> bool:
    """Another type may be any: an alias of a narrow one, for example."""
    if isinstance(value, bool):
        return declared == "bool"
    if isinstance(value, int):
        low, high = _RUST_RANGES.get(declared, (-(2**53), 2**53) if declared == "f64" else (0, 0))
        return low <= value < high
    if isinstance(value, str):
        return declared in _RUST_TEXTS or declared == "char"
    if isinstance(value, Decimal):
        return declared == "f64"
    return not isinstance(value, tuple) or declared.startswith(("[", "&[", "&'static[", "("))


def _rust_raw(code: Reading, node: Node, _: int) -> LiteralValue | None:
    text = code.text(node)
    if not text.startswith("r"):
        return None
    marks = len(text) - len(text[1:].lstrip("#")) - 1
    return text_found(text[2 + marks : -1 - marks])


def _rust_array(code: Reading, node: Node, depth: int) -> LiteralValue | None:
    """`[1, 2]`; `[0; 9]` repeats, and an attribute may leave an item out."""
    if node.child_by_field_name("length") is not None or any(part.type == "attribute_item" for part in node.children):
        return None
    return items(code, node, depth)


def _rust_members(code: Reading, node: Node) -> LiteralValue | None:
    inner = node.child_by_field_name("value") if node.type == "reference_expression" else node
    return _rust_array(code, inner, 1) if inner is not None and inner.type == "array_expression" else None


def _rust_imported(module: str, name: str) -> Iterable[str]:
    return dotted(module.removeprefix("::").replace("::", "."), name)


def _rust_binding(module: str) -> str:
    return module.replace("::", ".").rpartition(".")[2]


RUST: Final = row(
    "rust",
    raw=_rust_raw,
    array=_rust_array,
    fits=_rust_fits,
    members=_rust_members,
    imported=_rust_imported,
    binding=_rust_binding,
)


# ---------------------------------------------------------------- JavaScript and TypeScript

_SCRIPT_PLAIN: Final = number("n", radix_suffix="n", zero="octal")
_SCRIPT_TYPED: Final = ("as_expression", "satisfies_expression")
_SCRIPT_NAME: Final = re.compile(r"[A-Za-z_$][\w$]*\Z")


def _script_number(code: Reading, node: Node, depth: int) -> LiteralValue | None:
    found = _SCRIPT_PLAIN(code, node, depth)
    if found is None or (isinstance(found.value, int) and abs(found.value) > 2**53 and code.text(node)[-1] != "n"):
        return None
    return found


def _script_list(code: Reading, node: Node, depth: int) -> LiteralValue | None:
    """An array; one with holes is none."""
    marks = [child.type for child in node.children if child.type != "comment"]
    holes = any(one in ("[", ",") and other == "," for one, other in pairwise(marks))
    return None if holes else listed(code, parts_of(node), depth)


def _script_given(code: Reading, node: Node, names: tuple[str, ...]) -> Node | None:
    """The only argument of a call of one of these functions."""
    function = node.child_by_field_name("function") or node.child_by_field_name("constructor")
    arguments = node.child_by_field_name("arguments")
    called = function is not None and arguments is not None and code.text(function) in names
    given = parts_of(arguments) if called and arguments is not None else []
    return given[0] if len(given) == 1 else None


def _script_wrapped(code: Reading, node: Node, depth: int) -> LiteralValue | None:
    """What stands in brackets, with a type, or in `Object.freeze(…)`."""
    frozen = node.type == "call_expression"
    given = _script_given(code, node, ("Object.freeze",)) if frozen else next(iter(parts_of(node)), None)
    return None if given is None else read(code, given, depth + 1)


def _script_members(code: Reading, node: Node) -> LiteralValue | None:
    """The items of an array, or of a set that is made from one; the keys of an object."""
    given = _script_given(code, node, ("Object.freeze", "Set")) or node
    while given.type in (*_SCRIPT_TYPED, "parenthesized_expression") and given.named_children:
        given = given.named_children[0]
    if given.type == "array":
        return _script_list(code, given, 1)
    if given.type != "object":
        return None
    keys: list[str] = []
    for child in parts_of(given):
        key = child.child_by_field_name("key") or child.child_by_field_name("name") or child
        name = read(code, key) if key.type == "string" else LiteralValue(code.text(key))
        plain = key.type in ("string", "property_identifier", "shorthand_property_identifier")
        if not plain or name is None or not isinstance(name.value, str) or not _SCRIPT_NAME.match(name.value):
            return None
        keys.append(name.value)
    return LiteralValue(tuple(keys)) if len(keys) == len(set(keys)) and "__proto__" not in keys else None


def _script_imported(module: str, name: str) -> Iterable[str]:
    return (module, module.removeprefix("node:")) if module else ()


SCRIPTS: Final = tuple(
    row(
        name,
        number=_script_number,
        template=quoted(ESCAPES["SCRIPT"], "`", foreign=("template_substitution",)),
        list=_script_list,
        wrapped=_script_wrapped,
        members=_script_members,
        imported=_script_imported,
        binding=unbound,
    )
    for name in ("javascript", "typescript", "tsx")
)


# ---------------------------------------------------------------- C#
# No second reader of C# measures this one, so its checks are only ever proved by what is there.


def _sharp_string(code: Reading, node: Node, depth: int) -> LiteralValue | None:
    return None if code.text(node)[-1:] != '"' else quoted(ESCAPES["SHARP"])(code, node, depth)


def _sharp_verbatim(code: Reading, node: Node, _: int) -> LiteralValue | None:
    text = code.text(node)
    return text_found(text[2:-1].replace('""', '"')) if text.startswith('@"') and text.endswith('"') else None


def _sharp_raw(code: Reading, node: Node, _: int) -> LiteralValue | None:
    content = [child for child in node.children if child.type == "raw_string_content"]
    text = code.text(content[0]) if len(content) == 1 else "\n"
    return None if "\n" in text or code.text(node)[-1:] != '"' else text_found(text)


def _sharp_created(code: Reading, node: Node, depth: int) -> LiteralValue | None:
    """`new[] { 1 }` and `new int[] { 1 }`."""
    parts = [child for child in parts_of(node) if child.type == "initializer_expression"]
    return items(code, parts[0], depth + 1) if len(parts) == 1 else None


_SHARP_LISTS: Final = ("initializer_expression", "array_creation_expression", "implicit_array_creation_expression")


def _sharp_members(code: Reading, node: Node) -> LiteralValue | None:
    """The items of an array, where they stay what they are under its declared type."""
    holder = node.parent.parent if node.parent is not None else None
    declared = None if holder is None else holder.child_by_field_name("type")
    found = read(code, node) if node.type in _SHARP_LISTS else None
    return (
        found if found is not None and declared is not None and SHARP.fits(code.text(declared), found.value) else None
    )


SHARP: Final = row(
    "c-sharp",
    string=_sharp_string,
    verbatim=_sharp_verbatim,
    raw=_sharp_raw,
    created=_sharp_created,
    members=_sharp_members,
    imported=as_path,
)


# ---------------------------------------------------------------- shell scripts, read as bash
# All that a shell assigns is text, which compares as text or as a number. `${X:-value}` says the default of `X`.

_SHELL_PATTERNS: Final = frozenset("*?[]{}~\\")


def _shell_word(code: Reading, node: Node, _: int) -> LiteralValue | None:
    text = code.text(node)
    return None if not text or _SHELL_PATTERNS.intersection(text) else LiteralValue(value_of_text(text))


def _shell_raw(code: Reading, node: Node, _: int) -> LiteralValue | None:
    text = code.text(node)
    return LiteralValue(Text(text[1:-1])) if len(text) > 1 else None


def _shell_string(code: Reading, node: Node, depth: int) -> LiteralValue | None:
    if any(one.type != "string_content" for one in node.named_children):
        return None
    text = decode(code.text(node)[1:-1], ESCAPES["SHELL"])
    return None if text is None else LiteralValue(Text(text))


def _shell_members(code: Reading, node: Node) -> LiteralValue | None:
    return items(code, node, 0) if node.type == "array" else None


def _shell_fits(declared: str, value: Value) -> bool:
    return not declared  # a flag that changes what the value is worth


SHELL: Final = row(
    "shell",
    word=_shell_word,
    raw=_shell_raw,
    string=_shell_string,
    fits=_shell_fits,
    members=_shell_members,
    imported=as_path,
    binding=unbound,
)


# ---------------------------------------------------------------- the list of languages


_LANGUAGES: Final[Mapping[str, Language]] = {
    row.name: row for row in (C, CPP, GO, JAVA, PYTHON, RUBY, RUST, *SCRIPTS, SHARP, SHELL)
}
_BY_ENDING: Final[Mapping[str, Language]] = {end: row for row in _LANGUAGES.values() for end in row.endings}
_BY_NAME: Final[Mapping[str, Language]] = {name: row for row in _LANGUAGES.values() for name in row.names}


def language_of(name: str) -> Language:
    """A listed language by its name."""
    return _LANGUAGES[name]


_MORE: Final[Mapping[str, str]] = {".h": "cpp"}
"""Endings of two languages: the second where the first does not parse without errors."""


def languages_of(path: str) -> tuple[Language, ...]:
    """The languages that a file may be in, the likeliest first; none where its name tells none of the listed ones."""
    name = path.rsplit("/", 1)[-1]
    if name in _BY_NAME:
        return (_BY_NAME[name],)
    stem, dot, ending = name.rpartition(".")
    language = _BY_ENDING.get(f".{ending}") or _BY_ENDING.get(f".{ending.lower()}")
    if not dot or not stem or language is None:
        return ()
    other = _MORE.get(f".{ending}")
    return (language,) if other is None else (language, _LANGUAGES[other])


@cache
def grammar_of(name: str) -> Parsed | None:
    """A listed language's grammar; None where it is not installed."""
    language = _LANGUAGES[name]
    try:
        from tree_sitter import Language as Parsed

        grammar: object = getattr(import_module(language.package), language.entry)()
        return Parsed(grammar)
    except (ImportError, AttributeError, ValueError):  # the last one for a grammar of another version of tree-sitter
        return None
