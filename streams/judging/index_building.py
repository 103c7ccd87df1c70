"""Makes the index of a file from what the queries of its language capture (queries/README.md; docs/checks.md).

The text is parsed whole, from its bytes. Work is bounded by bytes, by nodes and their depth, and by matches; what
is beyond a bound is `too-large`. Tree-sitter's own error recovery cannot be stopped here: what looks at files of
strangers builds their indexes in a child process with limits.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final, NamedTuple

from ...codecs.unicode_text import nfkc
from .index import (
    Branch,
    Call,
    Definition,
    Extent,
    FileIndex,
    Import,
    Parameter,
    Raise,
    Region,
    Return,
    Role,
    literal_of,
    packed_roles,
)
from .languages import Language, grammar_of, language_of
from .values import Reading, read

if TYPE_CHECKING:
    from tree_sitter import Node, Query, Tree

MAX_BYTES: Final = 1_200_000
MAX_DEPTH: Final = 500
"""Nodes inside one another."""
MAX_WORK: Final = 15_000_000
"""The depths of all nodes, added up: what a query takes grows with it. Ordinary files of 1 MB have 2.5 million."""
MAX_MATCHES: Final = 600_000
"""A generated table of 1 MB has some 300,000."""
_MAX_IN_PROGRESS: Final = 20_000
"""Matches that a query has begun and not ended, at one time."""
_MAX_ERRORS: Final = 4_000
"""What does not parse, and parts of one such node: a query's time is quadratic in them."""
_MAX_PATH: Final = 24
_MAX_NAME: Final = 500

_DEFINING: Final = ("function", "type", "space", "value", "key", "attribute")
_REGIONS: Final = ("loop", "case", "handler", "try", "with", "defer", "lambda", "compiled", "test", "dead", "yield")
SUBJECTS: Final = frozenset(
    (*_DEFINING, *_REGIONS, *["parameter", "table", "call", "import", "branch", "elif", "return", "raise", "tail"])
)
"""Captures that something is made of; a pattern has one of them at most."""
ROLES: Final[Mapping[str, Role]] = {
    **{role.name.lower(): role for role in (Role.READ, Role.LOOK, Role.BIND, Role.WRITE, Role.KEYWORD, Role.ALIAS)},
    "imported": Role.IMPORT,
}
_BESIDE: Final = ROLES.keys() | {"macro", "unsure", "makes"}
"""Captures that count without a subject, also where their pattern has one."""
_WORDS: Final = re.compile(r"[^\w.]")
_ARGUMENTS_OF_TYPES: Final = re.compile(r"[\[<](?!.*[>\]]\.).*", re.DOTALL)


def build_index(language: str, data: bytes) -> FileIndex:
    """The index of a file in a language of the list, from its bytes in UTF-8. Its `problem` says why there is none;
    never raises for any bytes."""
    known = language_of(language)
    grammar, query = grammar_of(language), _query(language)
    if grammar is None or query is None:
        return FileIndex(language, "no-grammar")
    data = data.removeprefix(b"\xef\xbb\xbf")
    if len(data) > MAX_BYTES:
        return FileIndex(language, "too-large")
    from tree_sitter import Parser

    tree = Parser(grammar).parse(data)
    return _Building(known, data, tree).index(query) or FileIndex(language, "too-large")


@cache
def _query(language: str) -> Query | None:
    """The query of a language; None where its grammar is not installed."""
    from tree_sitter import Query

    grammar = grammar_of(language)
    if grammar is None:
        return None
    folder = resources.files("sluice.streams.judging").joinpath("queries")
    parts = (folder.joinpath(f"{name}.scm").read_text("utf-8") for name in language_of(language).queries)
    return Query(grammar, "\n".join(parts))


class _Scope(NamedTuple):
    """A definition that others stand in."""

    extent: Extent
    path: tuple[str, ...]
    sort: str
    receiver: str
    enumeration: bool
    static: bool = False


_FILE: Final = _Scope((0, 0), (), "", "", False)


class _Subject:
    """What the patterns captured of one node, put together."""

    __slots__ = ("node", "pairs", "parts", "settings", "sort")

    def __init__(self, sort: str, node: Node) -> None:
        self.sort, self.node = sort, node
        self.parts: dict[str, list[Node]] = {}
        self.pairs: list[dict[str, list[Node]]] = []
        self.settings: dict[str, set[str]] = {}

    def add(self, captured: dict[str, list[Node]], settings: Mapping[str, str | None]) -> None:
        for name, nodes in captured.items():
            known = self.parts.setdefault(name, [])
            known.extend(node for node in nodes if node not in known[-1:])
        for name, value in settings.items():
            self.settings.setdefault(name, set()).add(value or "")
        if self.sort == "import":
            self.pairs.append(captured)

    def first(self, name: str) -> Node | None:
        """The first node that was captured as a part."""
        nodes = self.parts.get(name)
        return nodes[0] if nodes else None


class _Building:
    """One file while its index is made."""

    def __init__(self, language: Language, data: bytes, tree: Tree) -> None:
        self.language, self.root = language, tree.root_node
        self.reading = Reading(data, language.values, language.bounded)
        self.subjects: dict[tuple[str, int], _Subject] = {}
        self.by_sort: dict[str, list[_Subject]] = {}
        self.bare: dict[str, list[Node]] = {}
        self.roles: dict[int, Role] = {}
        self.regions: list[Region] = []
        self.macros: set[str] = set()
        self.decorations: set[int] = set()
        self.adorned: dict[int, Node] = {}
        self.adorning: dict[int, list[Node]] = {}

    def index(self, query: Query) -> FileIndex | None:
        """All of it; None where that is beyond a bound."""
        errors = _errors(self.root) if _is_bounded(self.root) else None
        if errors is None or not self._capture(query):
            return None
        self._adorn()
        self.macros = {self._text(node) for node in self.bare.get("macro", ())}
        unbroken = set(map(_extent, self.bare.get("unbroken", ())))
        errors = [*(one for one in errors if one not in unbroken), *map(_extent, self.bare.get("error", ()))]
        if self.macros & self.language.keywords:
            errors.append(_extent(self.root))
        definitions = self._definitions()
        replaced = (one for one in definitions if one.name in self.macros and "macro" not in one.kinds)
        errors.extend((one.at, one.at + 1) for one in replaced)  # a macro makes another name of it
        plain = {one.name for one in definitions if "macro" in one.kinds and one.literal}
        known = {one.name for one in definitions if one.sort != "value"}
        self.macros |= {self._text(node) for node in self.bare.get("unsure", ())} - known
        calls = tuple(self._calls([one for one in definitions if one.sort == "function"]))
        imports = tuple(self._imports())
        raises = tuple(self._raises())
        returns = tuple(self._returns())
        branches = tuple(self._branches())
        self._regions()
        docs = {_extent(node) for node in self.bare.get("doc", ())}
        texts = tuple(sorted(set(map(_extent, self.bare.get("string", ()))) - docs))
        comments = tuple(sorted({*map(_extent, self.bare.get("comment", ())), *docs}))
        for name, role in ROLES.items():
            for node in self.bare.get(name, ()):
                self._mark(node, role)
        roles = packed_roles(self.roles)
        package = self.bare.get("package", ())
        count = len(definitions) * 8 + len(calls) * 4 + len(branches) * 5 + len(texts) * 2 + len(comments) * 2
        return FileIndex(
            language=self.language.name,
            definitions=definitions,
            calls=calls,
            branches=branches,
            regions=tuple(sorted(self.regions, key=lambda one: one.extent)),
            returns=returns,
            raises=raises,
            imports=imports,
            package=self.language.parts(self._text(package[0])) if package else (),
            texts=texts,
            comments=comments,
            errors=tuple(errors),
            roles=roles,
            macros=tuple(sorted(self.macros - plain)),
            generated=bool(self.bare.get("makes")),
            weight=1_000 + len(roles) + 100 * count,
        )

    # ------------------------------------------------------------ captures

    def _capture(self, query: Query) -> bool:
        from tree_sitter import QueryCursor

        cursor = QueryCursor(query, match_limit=_MAX_IN_PROGRESS)
        matches = cursor.matches(self.root)
        if cursor.did_exceed_match_limit or len(matches) > MAX_MATCHES:
            return False
        settings = [query.pattern_settings(place) for place in range(query.pattern_count)]
        for pattern, captured in matches:
            bare = captured.keys()
            for name in captured:
                if name in SUBJECTS:
                    self._subject(name, captured, settings[pattern])
                    bare &= _BESIDE
                    break
            for name in bare:
                self.bare.setdefault(name, []).extend(captured[name])
        return True

    def _subject(self, sort: str, captured: dict[str, list[Node]], settings: Mapping[str, str | None]) -> None:
        node = captured[sort][0]
        known = self.subjects.get((sort, node.id))
        if known is None:
            known = self.subjects[sort, node.id] = _Subject(sort, node)
            self.by_sort.setdefault(sort, []).append(known)
        known.add(captured, settings)

    def _text(self, node: Node) -> str:
        return self.reading.text(node)

    def _name(self, node: Node) -> str:
        """A name as names are compared: in NFKC, without quotes and marks of its language."""
        if node.type in self.language.values and (found := read(self.reading, node)) and isinstance(found.value, str):
            return found.value[:_MAX_NAME]
        name = self._text(node)[:_MAX_NAME].lstrip(self.language.sigils or None)
        return name if name.isascii() else nfkc(name)

    def _at(self, node: Node) -> int:
        """The first byte of a name behind the marks of its language."""
        return node.start_byte + len(self._text(node)) - len(self._text(node).lstrip(self.language.sigils or None))

    def _mark(self, node: Node, role: Role) -> None:
        at = self._at(node)
        self.roles[at] = max(role, self.roles.get(at, role))

    # ------------------------------------------------------------ definitions

    def _definitions(self) -> tuple[Definition, ...]:
        self._adopt_keys()
        self.decorations = {node.id for node in self.bare.get("decoration", ())}
        imports = self.by_sort.get("import", ())
        given = {node.id for one in imports for part in ("name", "alias") for node in one.parts.get(part, ())}
        given |= {(node.named_children or [node])[-1].id for one in imports for node in _listed(one, "", "names")}
        wanted = [
            one
            for sort in _DEFINING
            for one in self.by_sort.get(sort, ())
            if one.first("name") is not None or sort in ("function", "type", "space")
        ]
        bodies = {node.id for one in wanted if one.first("name") is not None for node in one.parts.get("body", ())}
        wanted.sort(key=lambda one: (_whole(one)[0], -_whole(one)[1]))
        parameters = self._parameters([one for one in wanted if one.sort == "function"])
        around: list[_Scope] = []
        found: list[Definition] = []
        for one in wanted:
            whole = _whole(one)
            while around and around[-1].extent[1] <= whole[0]:
                around.pop()
            if one.first("name") is None or "unnamed" in one.settings:
                if one.node.id not in bodies or "block" not in one.settings:
                    around.append(self._nameless(one, whole, around[-1] if around else _FILE))
                continue
            made = None if self._is_other(one, around, given) else self._definition(one, whole, around, parameters)
            if made is None:
                continue
            if one.sort in ("function", "type", "space"):
                sort = "impl" if made.kinds & {"impl", "mixin"} and not made.open else one.sort
                static = one.sort == "function" and "static" in made.kinds
                around.append(_Scope(whole, made.path, sort, made.receiver, "enumeration" in made.kinds, static))
            found.append(made)
        found.sort(key=lambda one: (one.extent[0], one.at))
        return tuple(found)

    def _nameless(self, one: _Subject, whole: Extent, outer: _Scope) -> _Scope:
        """The scope that something without a name makes: a part of what is around it, or a thing of its own."""
        if one.sort == "space":
            return outer._replace(
                extent=whole,
                sort="function" if "apart" in one.settings else outer.sort,
                static="static" in one.settings or outer.static,
            )
        self.regions.append(Region("lambda", whole))
        return _Scope(whole, (*outer.path, f"<{whole[0]}>"), one.sort, "", False)

    def _adopt_keys(self) -> None:
        """Keys belong to the table that they stand in, where that has a name; others are left aside."""
        kept: list[_Subject] = []
        functions = {
            one.parts.get("whole", [one.node])[0].id: one
            for one in self.by_sort.get("function", ())
            if "keyed" in one.settings
        }
        for table in self.by_sort.get("table", ()):
            for child in table.node.named_children if "owner" in table.parts else ():
                key, function = self.subjects.get(("key", child.id)), functions.pop(child.id, None)
                for one in (key, function):
                    if one is not None:
                        one.parts["owner"] = table.parts["owner"]
                kept.extend([key] if key is not None else [])
        for one in functions.values():
            one.parts.pop("name", None)
        self.by_sort["key"] = kept

    def _is_other(self, one: _Subject, around: Sequence[_Scope], given: set[int]) -> bool:
        """Whether a value is defined already, as the function or type that it is given, or is imported."""
        if one.sort not in ("value", "key"):
            return False
        content = one.first("content")
        for sort in ("function", "type"):
            other = None if content is None else self.subjects.get((sort, content.id))
            if other is not None and other.first("name") is not None:
                return True
        return one.parts["name"][-1].id in given and not (around and around[-1].sort == "function")

    def _definition(
        self, one: _Subject, whole: Extent, around: Sequence[_Scope], parameters: Mapping[int, tuple[Parameter, ...]]
    ) -> Definition | None:
        named = one.parts["name"][-1]
        name = self._name(named)
        placed = around and "macro" not in one.settings.get("kind", ())  # a macro stands in nothing
        path, sort = (around[-1].path, around[-1].sort) if placed else ((), "")
        if one.sort == "attribute":
            holder = next((scope for scope in reversed(around) if scope.sort == "function"), None)
            source = one.first("from")
            own = (holder.receiver,) if holder is not None and holder.receiver else self.language.own
            if holder is None or len(holder.path) < 2 or holder is not around[-1] or holder.path[-1].startswith("<"):
                return None
            if "own" in one.settings and holder.static:
                return None
            if "own" not in one.settings and (source is None or self._text(source) not in own):
                return None
            path = holder.path[:-1]
        elif one.sort == "value" and sort == "function":
            if "static" not in one.settings:
                self._mark(named, Role.BIND)
                return None
        else:
            self._mark(named, Role.READ if "impl" in one.settings.get("kind", ()) else Role.DEFINITION)
        owner = one.first("owner")
        if owner is not None:
            owners = self.language.parts(_ARGUMENTS_OF_TYPES.sub("", self._text(owner)))
            path = (*path, *owners) if owners != path[-len(owners) :] else path
        if not name:
            return None
        method = one.sort == "function" and (sort in ("type", "impl") or owner is not None)
        kinds = {*one.settings.get("kind", ())} or {"variable" if one.sort == "value" else "field"}
        if one.sort == "function":
            kinds = {"method" if method else "function", *one.settings.get("kind", ())}
            kinds |= {"static"} if around and around[-1].static and sort != "function" else set()
        elif one.sort in ("type", "space", "key"):
            kinds = {one.sort, *one.settings.get("kind", ())}
        elif one.sort == "value" and sort == "type":
            kinds |= {"field", "member"} if around[-1].enumeration and "field" not in kinds else {"field"}
        decorators = self._decorators(one)
        words = {_WORDS.split(text.removeprefix("@"))[0].rpartition(".")[2] for text in decorators}
        static = "static" in one.settings or bool(words & self.language.static)
        declared = "declared" in one.settings or bool(words & self.language.declaring)
        receiver = one.first("receiver")
        bases = _listed(one, "base", "bases")
        body, content = one.first("body"), one.first("content")
        literal, mutable = self._literal(content, self._joined(one, "annotation"))
        return Definition(
            path=(*path, name)[-_MAX_PATH:],
            sort="declared" if declared else one.sort,
            kinds=frozenset(kinds),
            at=self._at(named),
            line=named.start_point.row + 1,
            lines=_lines(one.parts["whole"][0] if "whole" in one.parts else one.node),
            extent=whole,
            body=None if body is None or "bodiless" in one.settings else _extent(body),
            receiver="" if receiver is None or not method or static else self._name(receiver),
            parameters=parameters.get(one.node.id, ()),
            bases=tuple(_ARGUMENTS_OF_TYPES.sub("", self._squeezed(base)) for base in bases),
            open="open" in one.settings or any(base.type not in self.language.naming for base in bases),
            decorators=decorators,
            result=self._joined(one, "result"),
            type=self._joined(one, "annotation"),
            value=None if content is None else _extent(content),
            literal=literal,
            members=self._members(content),
            mutable=mutable,
            test="test" in one.settings,
            fixed="fixed" in one.settings,
        )

    def _adorn(self) -> None:
        """Which part of a row each decoration stands in front of, comments and others of its sort aside."""
        subjects = [one for sort in _REGIONS for one in self.by_sort.get(sort, ()) if "next" in one.settings]
        sorts = {node.type for node in (*self.bare.get("decoration", ()), *(one.node for one in subjects))}
        for row in self.bare.get("row", ()):
            part: Node | None = None
            for child in reversed(row.named_children):
                if child.type in sorts and part is not None:
                    self.adorned[child.id] = part
                    self.adorning.setdefault(part.id, []).append(child)
                elif "comment" not in child.type:
                    part = child

    def _decorators(self, one: _Subject) -> tuple[str, ...]:
        """The texts of what is captured as a decorator in the whole of a definition, in front of it, or as its part."""
        whole = one.first("whole")
        around = [*reversed(self.adorning.get(one.node.id, ())), *([] if whole is None else whole.named_children)]
        around = [node for node in around if node.id in self.decorations]
        return tuple(self._squeezed(node) for node in (*around, *_sorted(one, "decorator")))

    def _literal(self, content: Node | None, declared: str) -> tuple[str, bool]:
        if content is None:
            return "", False
        found, mutable = read(self.reading, content), content.type in self.language.mutable
        mutable = mutable and not self.language.frozen(self.reading, content)
        known = found is not None and self.language.fits(declared, found.value)
        return literal_of(found.value) if found is not None and known else "", mutable

    def _members(self, content: Node | None) -> str:
        found = None if content is None else self.language.members(self.reading, content)
        return "" if found is None else literal_of(found.value)

    def _parameters(self, functions: Sequence[_Subject]) -> dict[int, tuple[Parameter, ...]]:
        """The parameters of each function, by its node: they lie in the innermost one that begins before them."""
        found: dict[int, list[Parameter]] = {}
        starts = [one.node.start_byte for one in functions]
        for one in sorted(self.by_sort.get("parameter", ()), key=lambda one: one.node.start_byte):
            name = one.first("name")
            place = bisect_right(starts, one.node.start_byte) - 1
            while place >= 0 and functions[place].node.end_byte < one.node.end_byte:
                place -= 1
            if name is None or place < 0:
                continue
            self._mark(name, Role.BIND)
            content, declared = one.first("content"), self._joined(one, "annotation")
            found.setdefault(functions[place].node.id, []).append(
                Parameter(
                    name=self._name(name),
                    line=name.start_point.row + 1,
                    type=declared,
                    default=None if content is None else _extent(content),
                    literal=self._literal(content, declared)[0],
                    variadic="variadic" in one.settings,
                )
            )
        return {place: tuple(some) for place, some in found.items()}

    # ------------------------------------------------------------ the rest

    def _calls(self, functions: Sequence[Definition]) -> Iterable[Call]:
        subjects = self.by_sort.get("call", ())
        named = {node.id for one in subjects for node in one.parts.get("name", ()) if node.id != one.node.id}
        for one in sorted(subjects, key=lambda one: one.node.start_byte):
            if one.node.id in named:
                continue  # it is the name in a call
            name, source = one.first("name"), one.first("from")
            at = one.node.start_byte
            if name is not None:
                at = name.start_byte
                self._mark(name, Role.CALL)
            inside = [each for each in functions if "same" in one.settings and each.extent[0] <= at < each.extent[1]]
            if name is None and not inside:
                continue
            if name is not None and self._text(name) in self.macros:
                self.regions.extend(Region("lambda", _extent(node)) for node in _sorted(one, "arguments"))
            yield Call(
                name=inside[-1].name if name is None else self._name(name),
                receiver="" if source is None else self._squeezed(source) or "?",
                at=at,
                lines=_lines(one.node),
                extent=_extent(one.node),
                arguments=tuple(map(_extent, _listed(one, "argument", "arguments"))),
            )

    def _imports(self) -> Iterable[Import]:
        language = self.language
        for one in sorted(self.by_sort.get("import", ()), key=lambda one: one.node.start_byte):
            names: list[str] = []
            binds: list[str] = []
            for captured in one.pairs:
                module, name, alias = (self._part(captured, part) for part in ("module", "name", "alias"))
                module = module or next(iter(one.settings.get("module", ())), "")
                names.extend(language.imported(module, name))
                bound = alias or name or (language.binding(module) if "everything" not in one.settings else "")
                binds.extend([bound] if bound else [])
                if alias:
                    self._mark(captured["alias"][0], Role.ALIAS)
            for child in _listed(one, "", "names"):
                leaf = child if not child.named_child_count else child.named_children[-1]
                binds.append(self._name(leaf))
                self._mark(leaf, Role.IMPORT if leaf is child else Role.ALIAS)
            yield Import(
                names=tuple(dict.fromkeys(names)),
                binds=tuple(dict.fromkeys(binds)),
                relative="relative" in one.settings,
                lines=_lines(one.node),
                extent=_extent(one.node),
                everything="everything" in one.settings,
            )

    def _part(self, captured: Mapping[str, list[Node]], name: str) -> str:
        return ".".join("".join(self._name(node).split()) for node in captured.get(name, ()))

    def _raises(self) -> Iterable[Raise]:
        for one in sorted(self.by_sort.get("raise", ()), key=lambda one: one.node.start_byte):
            error = one.first("error")
            yield Raise("" if error is None else self._squeezed(error), _extent(one.node), _lines(one.node))

    def _returns(self) -> Iterable[Return]:
        subjects = [*self.by_sort.get("return", ()), *self.by_sort.get("tail", ())]
        for one in sorted(subjects, key=lambda one: one.node.start_byte):
            contents = [node for node in _sorted(one, "content") if "comment" not in node.type]
            value = one.node if one.sort == "tail" and not contents else contents[0] if contents else None
            yield Return(
                _extent(one.node), _lines(one.node), None if value is None else _extent(value), one.sort == "tail"
            )

    def _branches(self) -> Iterable[Branch]:
        leaving = {one.node.id for sort in ("return", "raise") for one in self.by_sort.get(sort, ())}
        ends = self._block_ends(leaving)
        blocks = {node.id for node in self.bare.get("block", ())}
        stops = {node.id for one in self.by_sort.get("branch", ()) for node in one.parts.get("else", ())}
        stops |= {one.node.id for one in self.by_sort.get("elif", ())}
        # The innermost ones first: an arm may leave because a branch at its end does.
        for one in sorted(self.by_sort.get("branch", ()), key=lambda one: (-one.node.start_byte, one.node.end_byte)):
            for child in one.node.named_children:
                more = self.subjects.get(("elif", child.id))
                for name, nodes in more.parts.items() if more is not None else ():
                    one.parts.setdefault(name, []).extend(nodes)
            conditions, arms = _sorted(one, "condition"), _sorted(one, "then")
            if not conditions or len(conditions) != len(arms):
                continue
            otherwise = one.first("else")
            ends_of = [_last(arm, stops) if "spread" in one.settings else arm for arm in arms]
            leaves = tuple(_leaves(arm, leaving, blocks) for arm in ends_of)
            if all(leaves) and otherwise is not None and _leaves(otherwise, leaving, blocks):
                leaving.add(one.node.id)
            end = ends.get(one.node.id)
            yield Branch(
                extent=_extent(one.node),
                conditions=tuple(map(_extent, conditions)),
                arms=tuple((arm.start_byte, last.end_byte) for arm, last in zip(arms, ends_of, strict=True)),
                leaves=leaves,
                otherwise=None if otherwise is None else _extent(otherwise),
                rest=None if end is None else (one.node.end_byte, end),
                turned="turned" in one.settings,
            )

    def _block_ends(self, leaving: set[int]) -> dict[int, int]:
        """Where the block of each statement ends, or a label lets others in.

        What stands behind a leaving statement, up to a label, is never reached.
        """
        leaves = leaving | {node.id for node in self.bare.get("leave", ())}
        hoisted = {node.id for node in self.bare.get("hoisted", ())}
        labels = hoisted | {node.id for node in self.bare.get("label", ())}
        starts = sorted(node.start_byte for node in self.bare.get("label", ()))
        ends: dict[int, int] = {}
        for block in self.bare.get("block", ()):
            dead = 0
            for child in block.named_children:
                label = bisect_right(starts, child.end_byte - 1)
                end = min([block.end_byte, *starts[label : label + 1]])
                ends[child.id] = ends[_unwrapped(child).id] = end
                if dead and child.id in labels:
                    self.regions.append(Region("dead", (dead, child.start_byte)))
                    dead = child.end_byte if child.id in hoisted else 0
                dead = dead or (child.end_byte if _unwrapped(child).id in leaves else 0)
            if dead and dead + 1 < block.end_byte:
                self.regions.append(Region("dead", (dead, block.end_byte)))
        return ends

    def _regions(self) -> None:
        for sort in _REGIONS:
            for one in self.by_sort.get(sort, ()):
                if "always" in one.settings:
                    continue
                header = _sorted(one, "header")
                extent = (header[0].start_byte, header[-1].end_byte) if header else None
                last = one.node.parent if "rest" in one.settings else self.adorned.get(one.node.id)
                end = one.node.end_byte if last is None else last.end_byte
                self.regions.append(Region(sort, (one.node.start_byte, end), extent))

    def _squeezed(self, node: Node) -> str:
        return "".join(self._text(node).split())

    def _joined(self, one: _Subject, part: str) -> str:
        return "".join(map(self._squeezed, _sorted(one, part)))


def _last(arm: Node, stops: set[int]) -> Node:
    """The last of the statements that begin with one, where no node holds all of them."""
    node = arm.next_named_sibling
    while node is not None and node.id not in stops:
        arm, node = (arm if "comment" in node.type else node), node.next_named_sibling
    return arm


def _leaves(arm: Node, leaving: set[int], blocks: set[int]) -> bool:
    node: Node | None = _unwrapped(arm)
    while node is not None and node.id not in leaving:
        if node.id not in blocks and not (node is arm and node.type.endswith("_clause")):
            return False
        node = next((_unwrapped(child) for child in reversed(node.named_children) if "comment" not in child.type), None)
    return node is not None


def _unwrapped(statement: Node) -> Node:
    """The expression that is all of a statement, else the statement."""
    inner = statement.named_children if statement.type == "expression_statement" else ()
    return inner[0] if len(inner) == 1 else statement


def _extent(node: Node) -> Extent:
    return node.start_byte, node.end_byte


def _whole(one: _Subject) -> Extent:
    return _extent(one.parts["whole"][0]) if "whole" in one.parts else _extent(one.node)


def _sorted(one: _Subject, part: str) -> list[Node]:
    """The nodes that were captured as a part, in the order of the file, each once."""
    return sorted({node.id: node for node in one.parts.get(part, ())}.values(), key=lambda node: node.start_byte)


def _listed(one: _Subject, part: str, parts: str) -> list[Node]:
    """The nodes that were captured one by one, or the parts of the node that was captured as their list."""
    inner = [child for node in _sorted(one, parts) for child in node.named_children]
    return [node for node in (*_sorted(one, part), *inner) if "comment" not in node.type]


def _lines(node: Node) -> tuple[int, int]:
    """First and last line of a node, from 1; a line feed at its end starts no line."""
    first, (last, column) = node.start_point.row + 1, node.end_point
    return first, max(first, last + (1 if column else 0))


def _is_bounded(root: Node) -> bool:
    """Whether the queries' work on a tree is bounded: it is as deep, and as large, as texts that people write are."""
    cursor = root.walk()
    down, along, up = cursor.goto_first_child, cursor.goto_next_sibling, cursor.goto_parent
    depth = work = 0
    while True:
        work += depth
        if down():
            depth += 1
            if depth > MAX_DEPTH:
                return False
            continue
        while not along():
            if not up():
                return work <= MAX_WORK
            depth -= 1


def _errors(root: Node) -> list[Extent] | None:
    """The extents of what does not parse: of text that no rule takes, and of tokens that are missing.

    None where it is too much for the queries.
    """
    found: list[Extent] = []
    if not root.has_error:
        return found
    cursor = root.walk()
    while True:
        node = cursor.node
        assert node is not None, "a cursor stands at a node"
        if node.is_error or node.is_missing:
            found.append(_extent(node))
            if max(node.child_count, len(found)) > _MAX_ERRORS:
                return None
        if node.has_error and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return found
