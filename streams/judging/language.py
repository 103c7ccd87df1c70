"""What the judge must know of a language besides what the queries capture (docs/checks.md)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ...codecs.unicode_text import nfkc
from . import values as literals
from . import values as string_escapes
from .checks import Value
from .prose_literals import tables
from .values import Found, Reader, Reading, read

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


def keys_of(reading: Reading, pairs: Sequence[Node]) -> Found | None:
    """The keys of the pairs of a literal mapping, where all are literals and none is there twice."""
    keys = [read(reading, key) for pair in pairs if (key := pair.child_by_field_name("key")) is not None]
    found = [key.value for key in keys if key is not None]
    return Found(tuple(found)) if len(found) == len(pairs) == len(set(map(repr, found))) else None


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
    members: Callable[[Reading, Node], Found | None] = lambda reading, node: None
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
    "items": literals.items,
    "joined": literals.joined,
    "signed": literals.signed,
    "arithmetic": literals.arithmetic,
}
_MAKERS: Final[Mapping[str, Callable[..., Reader]]] = {
    "number": literals.number,
    "quoted": literals.quoted,
    "inside": literals.inside,
    "constant": literals.constant,
    "words": literals.words,
}
_MEANT: Final[Mapping[str, Any]] = {**vars(string_escapes), "true": True, "false": False, "null": None}
"""What words of a reader's arguments stand for; any other one is a text."""


def row(name: str, **own: Callable[..., Any]) -> Language:
    """The row of a language.

    Args:
        name: of the language.
        own: its own functions: fields of `Language`, and readers of literals that its row names.
    """
    told = _told(name)
    readers = {node: _reader(written, own) for node, written in told.pop("values").items()}
    fields = {field: _field(field, value) for field, value in told.items()}
    if "fits" in told:
        fields["fits"] = literals.fitting(**told["fits"])
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


@cache
def load_grammar(package: str, entry: str = "language") -> Parsed | None:
    """A language's grammar; None where it is not installed.

    Args:
        package: the module that has it.
        entry: the function of that module that hands it out.
    """
    try:
        from tree_sitter import Language as Parsed

        grammar: object = getattr(import_module(package), entry)()
        return Parsed(grammar)
    except (ImportError, AttributeError, ValueError):  # the last one for a grammar of another version of tree-sitter
        return None
