"""Makes the index of a parsed file: one walk over its tree, in which the rules of its language add what they find.

The walk goes by a query or a cursor and not by recursion, so that no depth of nesting can end it; it is linear in the
nodes. What stands in what is known from the scopes that rules open. Nothing here knows a language.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, Literal

from .code_model import (
    MAX_DEFINITIONS,
    MAX_PATH,
    NO_KINDS,
    Code,
    Definition,
    Grammar,
    Import,
    Kinds,
    Role,
    Rule,
    bare,
    lines_of,
)

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query

ScopeSort = Literal["module", "space", "type", "function", "object", "hidden"]


_SPREADS: Final = frozenset(("dictionary_splat", "spread_element", "hash_splat_argument"))


class Scope:
    """What a node stands in. A hidden one has no name: what is defined in it cannot be named from outside.

    Attributes:
        sort: see `ScopeSort`.
        path: its names.
        conditional: whether what is in it comes about under a condition, counted from the scope's own beginning.
        dead: whether nothing ever comes to it.
        outer_names: names that a function says are not its own (`global x`), with what they stand in.
        end: byte at which its node ends.
        overwritten: byte up to which what is in it may be overwritten by what follows, as by `**others`.
    """

    __slots__ = ("conditional", "dead", "end", "outer_names", "overwritten", "path", "sort")

    def __init__(
        self,
        sort: ScopeSort,
        path: tuple[str, ...],
        end: int,
        *,
        conditional: bool = False,
        dead: bool = False,
        outer_names: dict[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.sort: ScopeSort = sort
        self.path, self.end, self.conditional, self.dead = path, end, conditional, dead
        self.overwritten = 0
        self.outer_names: dict[str, tuple[str, ...]] = {} if outer_names is None else outer_names


class TooMuch(Exception):
    """The file defines more than is kept of one."""


class Builder:
    """Where the walk is, and what it has found.

    Attributes:
        code: what is being made.
        trail: the nodes around the current one, from the root, where the grammar says that its rules ask for them.
        scopes: those around the current node, the innermost last.
        wholes: by the id of a node that the walk has still to come to what counts as all of it.
    """

    def __init__(self, code: Code) -> None:
        self.code, self.grammar = code, code.grammar
        self.trail: list[Node] = []
        self.scopes = [Scope("module", (), len(code.data) + 1)]
        self.objects: dict[int, tuple[str, ...]] = {}
        self.wholes: dict[int, Node] = {}
        self.end = 0  # of the current node
        self._dead: list[tuple[int, int]] = []  # where the parts begin and end that are still to come and never run
        self.flag = False  # for a rule that tells a later one something, such as `#[cfg(…)]` of the item behind it

    def visit(self, node: Node, is_branch: bool, is_condition: bool, rule: Rule | None) -> None:
        """Takes in the next node that something is said of."""
        start, self.end = node.byte_range
        scopes, dead = self.scopes, self._dead
        while scopes[-1].end <= start:
            scopes.pop()
        while dead and dead[0][0] <= start:
            _, end = heappop(dead)
            if end > start:
                self._stretch(end, True)
        if is_branch:
            for one in unreached(self.code, self.grammar, node):
                heappush(dead, one.byte_range)
        if is_condition:
            self.condition()
        if rule is not None:
            rule(self, node)

    # ------------------------------------------------------------ what rules ask

    @property
    def scope(self) -> Scope:
        """The innermost scope."""
        return self.scopes[-1]

    @property
    def parent(self) -> Node | None:
        """The node around the current one; see `trail`."""
        return self.trail[-1] if self.trail else None

    @property
    def in_function(self) -> bool:
        """Whether what is defined here is local to a function."""
        for scope in reversed(self.scopes):
            if scope.sort in ("function", "hidden"):
                return True
            if scope.sort in ("type", "module", "space"):
                return False
        return False

    def name(self, node: Node) -> str:
        """The name that a node is."""
        return self.code.name(node)

    # ------------------------------------------------------------ what rules do

    def add(
        self,
        role: Role,
        name: str | Node,
        node: Node,
        *,
        kinds: Kinds = NO_KINDS,
        maybe: Kinds = NO_KINDS,
        body: Node | None = None,
        value: Node | None = None,
        conditional: bool = False,
        fixed: bool = False,
        receiver: str = "",
        inside: tuple[str, ...] | None = None,
    ) -> None:
        """Adds a definition.

        Args:
            name: as a node where it has a line of its own.
            inside: the names around it, where they are not those of the innermost scope.
            conditional: beyond what the scopes say.
            (the others): see `Definition`.
        """
        code, scope = self.code, self.scope
        if len(code.definitions) >= MAX_DEFINITIONS:
            raise TooMuch
        if isinstance(name, str):
            own, named = bare(name, self.grammar), node
        else:
            own, named = code.name(name), name
        if not own:
            return
        path = (scope.path if inside is None else inside) + (own,)
        definitions = code.definitions
        code.by_name.setdefault(own, []).append(len(definitions))
        definitions.append(
            Definition(
                path[-MAX_PATH:],
                role,
                kinds,
                maybe,
                node,
                named,
                body,
                value,
                conditional or scope.conditional or node.start_byte < scope.overwritten,
                scope.dead,
                fixed,
                receiver,
            )
        )

    def open(self, sort: ScopeSort, *names: str, inside: tuple[str, ...] | None = None) -> None:
        """Opens a scope that ends with the current node."""
        scope = self.scope
        path = (scope.path if inside is None else inside) + tuple(bare(name, self.grammar) for name in names)
        # What is conditional starts anew in a function: its body does not depend on whether the function is there.
        conditional = scope.conditional and sort not in ("function", "hidden")
        self.scopes.append(Scope(sort, path[-MAX_PATH:], self.end, conditional=conditional, dead=scope.dead))

    def condition(self) -> None:
        """Opens a stretch that ends with the current node and is run or compiled under a condition."""
        self._stretch(self.end, self.scope.dead)

    def _stretch(self, end: int, dead: bool) -> None:
        scope = self.scope
        self.scopes.append(
            Scope(scope.sort, scope.path, end, conditional=True, dead=dead, outer_names=scope.outer_names)
        )

    def object(self, node: Node, *names: str) -> None:
        """Says that a node, which the walk has still to come to, holds the keys of this name."""
        self.objects[node.id] = (self.scope.path + names)[-MAX_PATH:]

    def open_object(self, node: Node) -> None:
        """Opens the scope of an object; a hidden one where no name was given to it."""
        path = self.objects.pop(node.id, None)
        if path is None:
            self.open("hidden")
            return
        self.open("object", inside=path)
        spreads = [one.start_byte for one in node.named_children if one.type in _SPREADS]
        self.scope.overwritten = max(spreads, default=0)

    def imports(self, node: Node, names: Iterable[str], *, relative: bool = False, words: str = "") -> None:
        """Adds an import; its words are those of the node and `words`."""
        if len(self.code.imports) >= MAX_DEFINITIONS:
            raise TooMuch
        text = self.code.data[node.start_byte : node.end_byte].decode("utf-8", "replace")
        found = frozenset(words_of(f"{text} {words}"))
        extent = (node.start_byte, node.end_byte)
        self.code.imports.append(Import(tuple(names), found, relative, lines_of(node), extent, self.scope.dead))


def words_of(text: str) -> list[str]:
    """The words of a text that names modules."""
    return [word for word in "".join(one if one.isalnum() or one == "_" else " " for one in text).split() if word]


def index(code: Code, root: Node) -> None:
    """Fills in what a file defines and imports.

    Raises:
        TooMuch: it defines more than `MAX_DEFINITIONS`.
    """
    builder, grammar = Builder(code), code.grammar
    # What a node of a type asks for, by the type's number: the type's name would be made anew for each node.
    steps: dict[int, tuple[bool, bool, Rule | None]] = {}
    types = _types(grammar, code.data)
    for node in _every(root, types, builder.trail) if grammar.asks_around else _marked(code, root, types):
        number = node.kind_id
        step = steps.get(number)
        if step is None:
            sort = node.type
            step = steps[number] = sort in grammar.branches, sort in grammar.conditions, grammar.rules.get(sort)
        builder.visit(node, *step)


def _types(grammar: Grammar, data: bytes) -> frozenset[str]:
    """The types of nodes that something is said of, in this file."""
    never = [sort for sort, words in grammar.rare.items() if not any(word in data for word in words)]
    return grammar.marked.difference(never) if never else grammar.marked


def _marked(code: Code, root: Node, types: frozenset[str]) -> list[Node]:
    """The nodes of these types, in the order of the text, what is around others before them."""
    from tree_sitter import QueryCursor

    assert code.tree is not None, "what is indexed was parsed"
    # `captures` would give them in no order.
    return [found["node"][0] for _, found in QueryCursor(_query(code.tree.language, types)).matches(root)]


@lru_cache(maxsize=64)
def _query(language: Language, types: frozenset[str]) -> Query:
    """A query for all nodes of these types that are no mere words of the language, such as `class`."""
    from tree_sitter import Query

    there = [sort for sort in sorted(types) if language.id_for_node_kind(sort, True) is not None]
    return Query(language, f"[{' '.join(f'({sort})' for sort in there)}] @node")


def _every(root: Node, types: frozenset[str], trail: list[Node]) -> Iterator[Node]:
    """As `_marked`, by a walk over all nodes; while one is given, those around it stand in `trail`."""
    cursor = root.walk()
    to_child, to_sibling = cursor.goto_first_child, cursor.goto_next_sibling
    matters: dict[int, bool] = {}
    node = root
    while True:
        number = node.kind_id
        wanted = matters.get(number)
        if wanted is None:
            wanted = matters[number] = node.type in types
        if wanted:
            yield node
        if to_child():
            trail.append(node)
        else:
            while not to_sibling():
                if not cursor.goto_parent():
                    return
                trail.pop()
        here = cursor.node
        assert here is not None, "a cursor stands at a node"
        node = here


def unreached(code: Code, grammar: Grammar, node: Node) -> list[Node]:
    """The parts of a branch that are never run, where its condition is written as false."""
    condition_field, field = grammar.branches[node.type]
    condition = node.child_by_field_name(condition_field)
    if condition is None or code.text(condition).strip("() \t") not in grammar.never:
        return []
    if field:
        part = node.child_by_field_name(field)
        return [] if part is None else [part]
    # The preprocessor's: all that stands in it but the alternative.
    other = node.child_by_field_name("alternative")
    kept = {condition.id} | ({other.id} if other is not None else set[int]())
    return [child for child in node.children if child.id not in kept]
