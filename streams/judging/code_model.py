"""What is kept of a parsed file of source code, and what a language has to say for it to be read (docs/checks.md).

`Code` is made once for a content and may be kept by its hash: the syntax tree, and an index of what is defined where.
`Grammar` is one language as data: which nodes define, call, return and write what. Nothing here decides a check.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from ...codecs.unicode_text import nfkc
from .checks import Value
from .results import HeldReason

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

MAX_DEFINITIONS: Final = 60_000
"""More of them, and the file is `too-large`. Generated tables of a megabyte have some 30,000."""
MAX_TEXT: Final = 8_000
"""Bytes of a text that is compared: a check has 2,000 characters at most. Larger ones would be read over and over where
they are nested, at a quadratic cost."""
MAX_PATH: Final = 24
"""Names inside one another that a qualified name keeps; more are cut off at its beginning."""

_NODE_BYTES: Final = 120
_DEFINITION_BYTES: Final = 800
_IMPORT_BYTES: Final = 600
"""What one takes in memory: measured, 85 to 118 bytes for each node of the tree."""


class Role(IntEnum):
    """What a name is where it stands."""

    FUNCTION = 1
    TYPE = 2
    SPACE = 3  # a namespace or module
    VALUE = 4  # a constant, variable, field or member of an enumeration, outside of functions
    KEY = 5  # a key of an object, map or structure that a name is given
    ATTRIBUTE = 6  # of an instance, as `self.x = 1` gives it
    PARAMETER = 7
    LOCAL = 8
    DECLARED = 9  # told to be somewhere, but not defined: a prototype, `extern`, an overload's signature
    IMPORTED = 10
    WRITE = 11  # changes what a name is worth: `x += 1`, `del x`, `o.x = 1`, `for x in …`


EVERYTHING: Final = "*"
"""The name of what an import of everything brings."""
DEFINING: Final = frozenset((Role.FUNCTION, Role.TYPE, Role.SPACE, Role.VALUE))

Kinds = frozenset[str]
NO_KINDS: Final[Kinds] = frozenset()
FUNCTION: Final[Kinds] = frozenset(("function",))
METHOD: Final[Kinds] = frozenset(("method",))
TYPE: Final[Kinds] = frozenset(("type",))
CONSTANT: Final[Kinds] = frozenset(("constant",))
VARIABLE: Final[Kinds] = frozenset(("variable",))
CALLABLE: Final[Kinds] = FUNCTION | METHOD
NAMED_VALUE: Final[Kinds] = CONSTANT | VARIABLE
ANYTHING: Final[Kinds] = CALLABLE | NAMED_VALUE | TYPE


class Definition(NamedTuple):
    """One place where a name is defined, declared or written.

    Attributes:
        path: the names it stands in, and its own last.
        role: what the name is here.
        kinds: those of `SYMBOL_KINDS` that it is.
        maybe: those that it may be called; any other one it is not.
        node: all of it, decorators included.
        named: its name, or `node` where that has no place of its own.
        body: what it does when it is called, or what stands in a type.
        value: what it is given, where something is.
        conditional: whether it comes about, or stays, depends on something.
        dead: it stands where nothing ever comes to, as under `if False`.
        fixed: nothing can be assigned to it later.
        receiver: for a WRITE, what stands before the dot; empty for a plain name.
    """

    path: tuple[str, ...]
    role: Role
    kinds: Kinds
    maybe: Kinds
    node: Node
    named: Node
    body: Node | None
    value: Node | None
    conditional: bool
    dead: bool
    fixed: bool
    receiver: str

    @property
    def name(self) -> str:
        """The name without what it stands in."""
        return self.path[-1]

    @property
    def lines(self) -> tuple[int, int]:
        """First and last line of all of it, from 1."""
        return lines_of(self.node)

    @property
    def line(self) -> int:
        """Where its name stands."""
        return self.named.start_point.row + 1


class Import(NamedTuple):
    """One import.

    Attributes:
        names: what it imports, each as a check may name it.
        words: every word of it, so that what only resembles it is not said to be missing.
        relative: its names start from where the file is.
        lines: first and last line.
        extent: where its bytes begin and end.
        dead: it stands where nothing ever comes to.
    """

    names: tuple[str, ...]
    words: frozenset[str]
    relative: bool
    lines: tuple[int, int]
    extent: tuple[int, int]
    dead: bool


Rule = Callable[[Any, "Node"], None]


class Found(NamedTuple):
    """The value of a literal. Where None is said instead of one, it is computed: nobody has written it down."""

    value: Value


Hint = Callable[["Code", "Node", tuple[str, ...]], bool | None]
"""Whether a node is a call of the names beyond what `calls` says; None where that cannot be told."""


def no_hint(_: Code, __: Node, ___: tuple[str, ...]) -> bool | None:
    """The hint of a language that has no other calls or mentions."""
    return False


def _never_inline(_: Code, __: Node) -> bool:
    return False


@dataclass(frozen=True, kw_only=True)
class Grammar:
    """One language: its node types, by what they mean.

    Attributes:
        rules: what the index takes from a node, by its type.
        rare: types whose rule takes nothing from a file that has none of these words.
        asks_around: a rule asks what stands around a node (`Builder.trail`); then every node is walked.
        members: types that are `a.b`, with the fields of both sides.
        wrappers: types that mean what is inside them, with its field; the first named child where that is empty.
        names: leaves that are names.
        calls: types that call, with the field of what is called; the node itself where that is empty.
        call_hint: what else may be a call.
        hinted_is_written: whatever `call_hint` tells has the name that is called written in it.
        use_hint: what else may be a mention.
        nested: types that are a definition of their own inside a body.
        anonymous: functions without a name, which are left out too but may well be run.
        inline: whether one of `anonymous` is run where it stands, as the block of a loop is; asked with its parent.
        conditions: types whose inside is run or compiled under a condition, or more than once.
        branches: those with a condition that may be written as false, with its field and the field of what it governs.
        never: conditions that are never met.
        blocks: types whose statements follow one another.
        leaving: statements behind which nothing of their block is reached.
        labels: statements that something may jump to.
        returns: types of statements that return.
        tail: the last expression of a body is what it returns.
        no_tail: statements that are no expression.
        return_command: the command that returns, where it is none of `returns`.
        values: how a literal is read, by node type.
        separators: whether a symbol of this language has parts.
        sigils: marks that say what sort of name it is and are none of it (`@x`, `$x`, `#x`).
        import_form: how modules are named: with dots, or as paths.
        folds_writes: an assignment to a plain name in a function is to the outer name, unless the name is local.
        bounded: whole numbers wrap around at some size.
    """

    rules: Mapping[str, Rule]
    names: frozenset[str]
    values: Mapping[str, Callable[[Code, Node, int], Found | None]]
    rare: Mapping[str, tuple[bytes, ...]] = field(default_factory=dict[str, tuple[bytes, ...]])
    asks_around: bool = False
    members: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    wrappers: Mapping[str, str] = field(default_factory=dict[str, str])
    calls: Mapping[str, str] = field(default_factory=dict[str, str])
    call_hint: Hint = no_hint
    hinted_is_written: bool = False
    use_hint: Hint = no_hint
    nested: frozenset[str] = frozenset()
    anonymous: frozenset[str] = frozenset()
    inline: Callable[[Code, Node], bool] = _never_inline
    conditions: frozenset[str] = frozenset()
    branches: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    never: frozenset[str] = frozenset(("false",))
    blocks: frozenset[str] = frozenset()
    leaving: frozenset[str] = frozenset()
    labels: frozenset[str] = frozenset()
    returns: frozenset[str] = frozenset()
    tail: bool = False
    no_tail: frozenset[str] = frozenset()
    return_command: str = ""
    separators: bool = True
    sigils: str = ""
    import_form: Literal["dotted", "path"] = "dotted"
    folds_writes: bool = True
    bounded: bool = True

    @cached_property
    def marked(self) -> frozenset[str]:
        """The types of nodes that the index has to come to."""
        return frozenset((*self.rules, *self.conditions, *self.branches))


class Code:
    """A parsed file of source code. Nothing of it changes once it is made.

    Attributes:
        language: its name.
        grammar: how it is read.
        data: the text in UTF-8, without a byte order mark.
        problem: why it cannot be read; then it has nothing else.
        tree: its syntax tree, which the nodes of definitions belong to.
        errors: byte extents of what does not parse, in order.
        definitions: in the order of the file.
        by_name: their places by their last name.
        imports: in the order of the file.
        package: the names of the package that the file says it belongs to.
        hidden: names that stand where the grammar cannot tell what they are, such as in the arguments of a macro.
        bodies: byte extents of functions that have a name but are written without one.
        opaque_imports: it imports something that is not written down as a literal.
        weight: bytes of memory it takes, roughly.
    """

    __slots__ = (
        "bodies",
        "by_name",
        "data",
        "definitions",
        "errors",
        "grammar",
        "hidden",
        "imports",
        "language",
        "opaque_imports",
        "package",
        "problem",
        "tree",
        "weight",
    )

    def __init__(self, language: str, grammar: Grammar, data: bytes, problem: HeldReason | None = None) -> None:
        self.language, self.grammar, self.data = language, grammar, data
        self.problem: HeldReason | None = problem
        self.tree: Tree | None = None
        self.errors: list[tuple[int, int]] = []
        self.definitions: list[Definition] = []
        self.by_name: dict[str, list[int]] = {}
        self.imports: list[Import] = []
        self.package: tuple[str, ...] = ()
        self.hidden: set[str] = set()
        self.bodies: set[tuple[int, int]] = set()
        self.opaque_imports = False
        self.weight = 500

    def weigh(self) -> None:
        """Sets `weight` once all is there."""
        nodes = self.tree.root_node.descendant_count if self.tree is not None else 0
        index = len(self.definitions) * _DEFINITION_BYTES + len(self.imports) * _IMPORT_BYTES
        self.weight = 500 + len(self.data) + nodes * _NODE_BYTES + index

    def text(self, node: Node) -> str:
        """The text of a node, as it stands there; empty for one that is larger than anything a check could name."""
        start, end = node.start_byte, node.end_byte
        return "" if end - start > MAX_TEXT else self.data[start:end].decode("utf-8", "surrogatepass")

    def name(self, node: Node) -> str:
        """The text of a node that is a name, as names are compared."""
        return bare(self.text(node), self.grammar)

    def touched(self, start: int, end: int) -> bool:
        """Whether something that does not parse lies in these bytes, next to them on a line, or they in it."""
        # They are in order, and none lies in another: the last one that begins before the end is the nearest.
        place = bisect_right(self.errors, (end + self._blanks(end), len(self.data) + 1)) - 1
        if place < 0:
            return False
        last = self.errors[place][1]
        return last + self._blanks(last) >= start

    def _blanks(self, at: int) -> int:
        """How many spaces and tabs stand there."""
        behind = self.data[at : at + 200]
        return len(behind) - len(behind.lstrip(b" \t"))


def bare(name: str, grammar: Grammar) -> str:
    """A name as names are compared: in NFKC, and without the marks that say of what sort it is."""
    name = name.lstrip(grammar.sigils) if grammar.sigils else name
    return name if name.isascii() else nfkc(name)


def lines_of(node: Node) -> tuple[int, int]:
    """First and last line of a node, from 1; a line feed at its end starts no line."""
    first, (last, column) = node.start_point.row + 1, node.end_point
    return first, max(first, last + (1 if column else 0))
