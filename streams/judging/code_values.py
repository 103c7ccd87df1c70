"""Decides `defines`, `equals`, `compare`, `members`, `imports`, `extends`, `parameter`, `field` and `result` on the
index of a file (docs/checks.md).

A value counts where its name has one definition, and every other occurrence of the name provably only reads it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from .checks import Held, HeldReason, Value
from .code_bodies import is_closed, is_function
from .code_view import NOT_FOUND, View, ambiguous, tight
from .facts import operator_of
from .index import READS, Definition, Import, Role, value_of
from .values import compare, same, same_items

_VALUED: Final = frozenset(("value", "key", "attribute"))
_SHARP: Final = frozenset(("function", "type"))
_ALSO: Final = {"method": "function", "function": "method", "constant": "variable", "variable": "constant"}
Verifier = Callable[[View], Held]
OTHER_KINDS: Final = frozenset(("target", "section"))
_FOLDER: Final = re.compile(r"(^|/)(\.*|index(\.\w+)?)$")
"""A path that names a folder, or the file that stands for it."""
_SPACE: Final = re.compile(r"\s+")
_EXPRESSION: Final = re.compile(r"[^\w.]")
"""In a text that may be an expression, not only a word or a number."""


def verify_defines(view: View) -> Held:
    """Whether a definition of the symbol stands in the scope."""
    symbol, kind = view.check.text("symbol"), view.check.text("kind")
    parts = view.language.parts(symbol)
    if kind in OTHER_KINDS or not parts:
        return NOT_FOUND
    there = [
        one
        for one in view.found(symbol)
        if one.sort in ("function", "type", "space", "value") and "impl" not in one.kinds
    ]
    here = [one for one in there if view.holds(one)]
    for one in here:
        if not kind or kind in one.kinds or (kind == "constant" and _is_constant(view, one)):
            if view.is_broken(one) or view.index.broken(one.extent):
                return Held(None, "syntax-error", one.lines)
            return view.seen(one.at, one.lines)
    whole = view.whole
    if whole is not None:
        return whole
    name = parts[-1]
    if view.is_absent(name):
        return NOT_FOUND if is_made(view, parts) else Held(False, "differs")
    if (
        here
        and len(here) == len(there)
        and all(one.sort in _SHARP and _ALSO.get(kind) not in one.kinds for one in here)
    ):
        places = {one.at for one in here}
        if all(at in places or role in READS or role is Role.IMPORT for at, role in view.roles(name)):
            return view.refuted(here[0])
    return NOT_FOUND


def _is_constant(view: View, one: Definition) -> bool:
    """Whether a variable of a module is never changed, in a language that has no word for constants."""
    if not view.language.unmarked or "variable" not in one.kinds or len(one.path) != 1:
        return False
    return sum(each.path == one.path for each in view.index.definitions) == 1 and _is_kept(view, one)


def is_made(view: View, parts: tuple[str, ...]) -> bool:
    """Whether a definition may be there without being written: by the language, or by marks of a type or field."""
    if view.language.marking:
        owner = ".".join(parts[:-1])
        types = view.found(owner) if owner else view.index.scopes
        marked = any(one.sort == "value" and one.decorators for one in view.index.definitions)
        if marked or any(one.open and one.sort == "type" and one.body is not None for one in types):
            return True
    return view.index.generated or view.mentions(view.language.making) or _is_implicit(view, parts[-1])


# ---------------------------------------------------------------- values


def verify_equals(view: View) -> Held:
    """Whether the name has that value, or stands in that relation to it."""
    one = _valued(view, view.check.text("name"))
    if isinstance(one, Held):
        return one
    if not one[1]:
        return Held(None, "computed", one[0].lines, found=view.found_at(one[0].line))
    return _compared(view, one[0], value_of(one[1]))


def verify_members(view: View) -> Held:
    """Whether a literal list or mapping, or an enumeration, has exactly these items, keys or members."""
    wanted = view.check.value("items")
    if not isinstance(wanted, tuple):
        return Held(None, "incomparable")
    name = view.check.text("name")
    types = [one for one in view.found(name) if "enumeration" in one.kinds and view.touches(one)]
    if types:
        return _enumerated(view, types, wanted)
    one = _valued(view, name)
    if isinstance(one, Held):
        return one
    if not one[0].members:
        return Held(None, "computed", one[0].lines)
    return _same_items(view, one[0], wanted, value_of(one[0].members))


def _enumerated(view: View, types: list[Definition], wanted: tuple[Value, ...]) -> Held:
    if len(types) > 1:
        return ambiguous(types)
    one = types[0]
    if not view.source.whole:
        return Held(None, "not-whole", one.lines)
    if view.index.broken(one.extent):
        return Held(None, "syntax-error", one.lines)
    path = one.path
    inside = [each for each in view.index.definitions if each.path[:-1] == path and each.sort == "value"]
    names = tuple(each.name for each in inside if "member" in each.kinds)
    if len(names) != len(set(names)) or any(view.under(each.at).texts != view.under(one.at).texts for each in inside):
        return Held(None, "ambiguous", one.lines)
    if any(not isinstance(item, str) or not item.isidentifier() for item in wanted):
        return Held(None, "incomparable", one.lines)  # a member with its values is no name
    return _same_items(view, one, wanted, names)


def _same_items(view: View, one: Definition, wanted: tuple[Value, ...], there: Value) -> Held:
    assert isinstance(there, tuple), "members are a list"
    holds, whole = same_items(wanted, there), view.whole
    if holds:
        return view.seen(one.at, one.lines)
    if holds is None or one.open or one.decorators or whole is not None or view.under(one.at).texts:
        return whole or Held(None, "not-found", one.lines)
    return view.refuted(one)


def _valued(view: View, name: str) -> tuple[Definition, str] | Held:
    """The one definition of a name that has a value, which nothing in the file may change; and that value."""
    parts = view.language.parts(name)
    there = [one for one in view.found(name) if one.sort in _VALUED and view.holds(one)]
    owners = [one for one in view.found(".".join(parts[:-1])) if is_function(one)] if len(parts) > 1 else []
    if not there and len(owners) == 1:
        given = [each for each in owners[0].parameters if (each.name,) == parts[-1:]]
        if len(given) == 1 and not view.index.broken(owners[0].extent) and view.source.whole:
            return owners[0], given[0].literal
    if not there:
        return NOT_FOUND
    one = there[0]
    if len(there) > 1:
        return ambiguous(there)
    if not view.source.whole:
        return Held(None, "not-whole", one.lines)
    if view.index.errors:
        return Held(None, "syntax-error", one.lines)
    if any(each.path == one.path and each is not one for each in view.index.definitions):
        return ambiguous([each for each in view.index.definitions if each.path == one.path])
    if one.decorators:
        return one, ""  # they may put something else there
    return (one, one.literal) if _is_kept(view, one) else Held(None, "assigned-elsewhere", one.lines)


def _is_kept(view: View, one: Definition) -> bool:
    """Whether every occurrence of a value's name but its definition provably only reads it."""
    if one.decorators:
        return False
    if view.language.fixed and "constant" in one.kinds and not one.mutable:
        return True
    if view.mentions(view.language.changing):
        return False
    if one.fixed:
        return not any(role is Role.WRITE for _, role in view.roles(one.path[-1]))
    later = [each for each in view.index.imports if each.everything]
    if len(one.path) == 1 and any(each.extent[0] > one.at or view.around(each.extent[0]) for each in later):
        return False
    name, mutable = one.path[-1], one.mutable
    if one.sort == "key":
        holders = [each for each in view.index.definitions if each.path == one.path[:-1]]
        if len(holders) != 1 or not holders[0].members:
            return False
        mutable, one = True, holders[0]
        name = one.name
    reads = (Role.LOOK,) if mutable else (Role.READ, Role.LOOK)
    for at, role in view.roles(name):
        if at == one.at or role in reads or role in (Role.KEYWORD, Role.IMPORT):
            continue
        if role is Role.DEFINITION and any(each.at == at and each.path != one.path for each in view.index.definitions):
            continue
        if role is Role.BIND and view.function_around(at) is not None:
            continue
        return False
    return True


def _compared(view: View, one: Definition, there: Value) -> Held:
    check, under = view.check, view.under(one.at)
    declared = check.value("value")
    holds = same(declared, there) if check.name == "equals" else compare(operator_of(check), declared, there)
    if holds is False and isinstance(declared, str) and not isinstance(there, str) and _EXPRESSION.search(declared):
        holds = None  # the text may be the expression that makes the number
    if holds is None:
        return Held(None, "incomparable", one.lines, found=view.found_at(one.line))
    if holds:
        return Held(True, lines=one.lines, under=under.texts, narrowed=under.narrowed or bool(under.texts))
    local = len(view.language.parts(check.text("name"))) == 1 and any(
        role is Role.BIND for _, role in view.roles(one.path[-1])
    )
    if under.texts or local:  # a local variable of that name may be meant
        return Held(None, "ambiguous", one.lines, found=view.found_at(one.line), under=under.texts)
    return view.refuted(one)


# ---------------------------------------------------------------- imports and types


def verify_imports(view: View) -> Held:
    """Whether an import of the module stands in the scope."""
    language = view.language
    asked = view.check.text("module").strip().strip("\"'<>`").removesuffix(";")
    if not language.by_path:
        asked = asked.replace("::", ".").replace("/", ".") if "::" in asked else asked
    for one in view.index.imports:
        if asked in one.names or asked in _resolved(view, one):
            inside, at = view.inside, one.extent[0]
            fits = view.has_line(one.lines[0]) and (inside is None or inside.extent[0] <= at < inside.extent[1])
            if fits and not view.is_dead(at) and not view.index.broken(one.extent):
                return view.seen(at, one.lines)
    whole = view.whole
    if whole is not None:
        return whole
    last = re.split(r"[/\\]" if language.by_path else r"[./:\\]", asked.rstrip("/"))[-1]
    relative = any(one.relative for one in view.index.imports)
    if language.by_path:
        relative = any(one.relative and _FOLDER.search(name) for one in view.index.imports for name in one.names)
    everything = not language.by_path and any(one.everything for one in view.index.imports)
    unclear = relative or everything or view.mentions(language.dynamic) or not last or _is_implicit(view, asked)
    return NOT_FOUND if unclear or not view.is_absent(last) else Held(False, "differs")


def _resolved(view: View, one: Import) -> list[str]:
    """What a relative import of a dotted language comes to, counted from the root that the path is below."""
    if not one.relative or view.language.by_path:
        return []
    folders = tuple(view.source.path.split("/")[:-1])
    names: list[str] = []
    for name in one.names:
        plain = name.lstrip(".")
        up = len(name) - len(plain) - 1
        if 0 <= up < len(folders):  # what the root itself is called as a package is not known
            around = folders[: len(folders) - up]
            names.append(".".join((*around, plain) if plain else around))
    return names


def _is_implicit(view: View, name: str) -> bool:
    """Whether a name is there without being written, as the language makes it."""
    return bool(view.language.implicit) and re.fullmatch(view.language.implicit, name) is not None


def _is_type(one: Definition) -> bool:
    return one.sort == "type"


def verify_extends(view: View) -> Held:
    """Whether the type names that base; exactly false where all bases are in the file, and none is that one."""
    one = view.only(view.check.text("type"), _is_type)
    if isinstance(one, Held):
        return one
    wanted = view.language.parts(view.check.text("base"))
    spaces = [each for each in view.index.by_name[one.name] if each.sort == "space" and each.path == one.path]
    for each, base in [(holder, base) for holder in (one, *spaces) for base in holder.bases]:
        named = view.language.parts(base)
        if view.is_named_by(wanted, named) and not {*named} & {*view.index.macros}:
            return view.seen(each.at, each.lines)
    whole = view.whole
    if whole is not None:
        return whole
    language = view.language
    if not wanted or language.implements or wanted[-1] in language.roots or one.decorators or not is_closed(view, one):
        return NOT_FOUND
    if any(wanted[-1] == language.parts(base)[-1] for base in _bases(view, one)):
        return NOT_FOUND
    return view.refuted(one)


def _bases(view: View, one: Definition) -> Iterable[str]:
    """The bases of a type whose bases are all in the file, and theirs."""
    for base in one.bases:
        yield base
        for each in view.found(base):
            if each.sort == "type":
                yield from _bases(view, each)


def verify_parameter(view: View) -> Held:
    """Whether the function declares that parameter, with that default and that type where they are given."""
    one = view.only(view.check.text("symbol"), lambda one: one.sort in ("function", "declared"))
    if isinstance(one, Held):
        return one
    name = view.language.bare(view.check.text("name").lstrip("*"))
    given = [each for each in one.parameters if each.name == name]
    sure = view.whole is None and not one.decorators and not one.open
    if not given:
        closed = sure and not any(each.variadic for each in one.parameters)
        closed = closed and view.lacks((one.extent[0], (one.body or one.extent)[0]), name)
        return view.refuted(one) if closed else NOT_FOUND
    if len(given) > 1:
        return Held(None, "ambiguous", one.lines)
    each = given[0]
    held = _declared(view, one, each.line, each.type, sure, each.literal, each.default)
    # A default of `None` often stands for another one, which the body gives.
    given_later = held.holds is False and each.literal == "null" and view.check.value("default") is not None
    return Held(None, "computed", held.lines) if given_later else held


def verify_field(view: View) -> Held:
    """Whether the type declares that field, with that default and that type where they are given."""
    one = view.only(view.check.text("owner"), _is_type)
    if isinstance(one, Held):
        return one
    name = view.language.bare(view.check.text("name"))
    there = [each for each in view.index.definitions if each.path == (*one.path, name) and each.sort in _VALUED]
    there = [each for each in there if not view.is_dead(each.at)]
    sure = view.whole is None and not one.decorators and is_closed(view, one)
    if not there:
        closed = sure and view.is_absent(name) and not view.mentions(view.language.dynamic)
        return view.refuted(one) if closed else NOT_FOUND
    each, asked = there[0], [key for key, _ in view.check.named if key in ("default", "type")]
    typed = [each for each in there if each.type]
    if len(typed) == 1 and "default" not in asked:
        return _declared(view, typed[0], typed[0].line, typed[0].type, sure and len(there) == 1)
    if asked and len(there) > 1:
        return ambiguous(there)
    if len(there) > 1 or not _is_kept(view, each):
        return _declared(view, each, each.line, each.type, False)
    return _declared(view, each, each.line, each.type, sure, each.literal, each.value)


def verify_result(view: View) -> Held:
    """Whether the function declares that type of result."""
    one = view.only(view.check.text("symbol"), lambda one: one.sort in ("function", "declared"))
    if isinstance(one, Held):
        return one
    sure = view.whole is None and not one.decorators and not one.open
    return _typed(view, one, one.line, view.check.text("type"), one.result, sure)


def _declared(
    view: View,
    one: Definition,
    line: int,
    type_: str,
    sure: bool,
    literal: str = "",
    default: tuple[int, int] | None = None,
) -> Held:
    """What a parameter or field comes to, by its default and its type; both must hold where both are given."""
    asked = dict(view.check.named)
    results: list[Held] = []
    if "default" in asked:
        results.append(_defaulted(view, one, line, asked["default"], literal, default, sure))
    if "type" in asked:
        results.append(_typed(view, one, line, str(asked["type"]), type_, sure))
    refused = [each for each in results if not each.holds]
    if refused:
        return next((each for each in refused if each.holds is False), refused[0])
    return view.seen(one.at, (line, line))


def _defaulted(
    view: View, one: Definition, line: int, wanted: Value, literal: str, default: tuple[int, int] | None, sure: bool
) -> Held:
    if not literal:
        written = isinstance(wanted, str) and default is not None and tight(view.written(default)) == tight(wanted)
        return Held(True) if written else Held(None, "computed", one.lines, found=view.found_at(line))
    holds = same(wanted, value_of(literal))
    return Held(True) if holds else _other(view, one, line, holds is False and sure, "incomparable")


def _other(view: View, one: Definition, line: int, exact: bool, reason: HeldReason) -> Held:
    """A default or type that is another one: false where that is exact, and stands under no condition."""
    exact = exact and not view.under(one.at).texts
    return Held(False if exact else None, "differs" if exact else reason, (line, line), found=view.found_at(line))


def _typed(view: View, one: Definition, line: int, wanted: str, declared: str, sure: bool) -> Held:
    if not declared:
        return NOT_FOUND
    wanted, declared = _SPACE.sub("", wanted), _SPACE.sub("", declared).strip("\"'")
    if wanted == declared:
        return view.seen(one.at, (line, line))
    plain = view.language.plain_types
    return _other(view, one, line, sure and wanted in plain and declared in plain, "not-found")
