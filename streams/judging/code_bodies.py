"""Decides the checks on what stands in a body, on the index of a file (docs/checks.md): `calls`, `uses`, `reaches`,
`returns`, `raises`, `when`, `unless` and `before`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from .checks import Held
from .code_view import View, tight
from .facts import NOT_FOUND, flat
from .index import READS, Branch, Call, Definition, Extent, Role

MAX_HOPS: Final = 6
_MAX_VISITED: Final = 500
_MAX_BASES: Final = 12
_BEFORE: Final = re.compile(rb"([A-Za-z_$@][\w$@]*(?:\(\))?(?:(?:\.|->|::)[\w$]+)*)\s*(?:\?\.|\.|->|::)\s*$")
_BOUND: Final = frozenset(("static", "rebound"))
"""Kinds of methods whose own instance is another thing: the type, or what a parameter says."""
_INERT: Final = frozenset((Role.DEFINITION, Role.IMPORT, Role.CALL))


def verify_calls(view: View, one: Definition) -> Held:
    """Whether the body of the caller calls the callee."""
    callee, argument = view.check.text("callee"), view.check.text("argument")
    parts = view.language.parts(callee)
    if _has_arguments(callee):
        return _expressed(view, one, callee, parts, _ENDS) if not argument else NOT_FOUND
    if _MACRO.fullmatch(callee) and "!" not in view.language.tails:
        # What else a macro is made of is not known, so that it is never exactly false.
        opened = [f"{callee}({argument}"] if argument else [callee + mark for mark in "([{"]
        held = [_expressed(view, one, text, (), _ENDS if argument else _ANYTHING) for text in opened]
        return next((each for each in held if each.holds), held[0])
    for call in _calls(view, one, parts):
        if view.has_line(call.lines[0]) and (not argument or _takes(view, call, argument)):
            return view.seen(call.at, call.lines, one)
    held = _missing(view, one, parts)
    # «`f` calls `g`» may mean that it does so by way of others.
    return NOT_FOUND if held.holds is False and verify_reaches(view, one).holds else held


_MAX_PIECES: Final = 200
_PIECE: Final = re.compile(r"\"[^\"]*\"|'[^']*'|\w+|[^\w\s]")
_OPENS: Final = re.compile(rb"(?:[(\[{,;:]|\A|\n|[^=!<>]=|=>|\b(?:return|if|while|in|yield|throw|raise))\s*\Z")
_CLOSES: Final = re.compile(rb"[ \t]*(?:[)\]},;:{\n]|\Z)")
_ENDS: Final = re.compile(rb"[ \t]*(?:[)\],;}\n]|\Z)")
"""The same behind a call: a method that is defined goes on."""
_ANYTHING: Final = re.compile(rb"")
_MACRO: Final = re.compile(r"[\w:]+!")
_NAMED: Final = re.compile(r"^[@$:#]*[^\W\d][\w$]*[?!=]?$")


def verify_uses(view: View, one: Definition) -> Held:
    """Whether the body of the user mentions the name."""
    used = view.check.text("used")
    parts = view.language.parts(used)
    if not parts or not _NAMED.search(parts[-1]) or _has_arguments(used):
        held = _expressed(view, one, used, parts, _ENDS if _has_arguments(used) else _CLOSES)
        return held if held.holds is not None else _stated(view, one, used) or held
    for at in view.occurrences(parts[-1], one.body):
        own = view.is_other(at)
        if view.is_cut(at, parts[-1]) or (own and used[:1] not in ("@", "$")):
            continue
        if view.index.role(at) in READS and view.is_direct(one, at) and view.has_line(view.line(at)):
            match = _BEFORE.search(view.data, max(0, at - 200), at)
            receiver = match[1].decode("utf-8", "replace") if match else "" if not _is_member(view, at) else "?"
            receiver = "?" if receiver == "new" else receiver  # a variable
            # Where a method needs no receiver, the plain name in a call is a method, and any other one is not.
            called = view.language.bare_members and not view.language.making and view.index.role(at) is Role.CALL
            alone = len(parts) == 1 and (own or _is_global(view, at))
            if alone or _means(view, one, receiver, parts, mention=not called):
                return view.seen(at, (view.line(at), view.line(at)), one)
    return _missing(view, one, parts)


def _has_arguments(symbol: str) -> bool:
    """Whether a symbol is written as a call with arguments, which are then a part of what is asked about."""
    return symbol.rstrip().endswith(")") and not symbol.startswith("(") and re.search(r"\(\s*\)$", symbol) is None


def _expressed(view: View, one: Definition, text: str, parts: tuple[str, ...], closes: re.Pattern[bytes]) -> Held:
    """Whether an expression stands in the body, before what `closes` matches; false only where the name in it that is
    called (`parts`, if any) is nowhere."""
    pieces = _PIECE.findall(flat(text))
    if not one.body or not 0 < len(pieces) <= _MAX_PIECES:
        return NOT_FOUND
    pattern = rb"\s*".join(re.escape(piece.encode("utf-8", "replace")) for piece in pieces)
    for match in re.compile(pattern).finditer(view.data, *one.body):
        at, end = match.span()
        alone = _OPENS.search(view.data, max(0, at - 40), at) and closes.match(view.data, end)
        line = view.line(at)
        if alone and not view.is_text(at) and view.is_direct(one, at) and view.has_line(line):
            return view.seen(at, (line, view.line(end - 1)), one)
    named = bool(parts) and _NAMED.search(parts[-1]) is not None
    return _missing(view, one, parts) if named else NOT_FOUND


def _stated(view: View, one: Definition, text: str) -> Held | None:
    """What shows that a number or a string stands in the body as it is written, or that a string there has that text;
    never exactly false."""
    wanted = tight(text)
    if not one.body or not wanted:
        return None
    if _NUMBER.fullmatch(wanted):
        pattern = rb"(?<![\w.\x80-\xff])" + re.escape(wanted.encode()) + rb"(?![\w\x80-\xff]|\.\w)"
        for match in re.compile(pattern).finditer(view.data, *one.body):
            negative = view.data[max(0, match.start() - 40) : match.start()].rstrip().endswith(b"-")
            if not negative and not view.is_text(match.start()) and view.is_direct(one, match.start()):
                return _shown(view, one, match.start())
        return None
    for extent in view.index.texts:
        if not view.is_direct(one, extent[0]) or view.is_comment(extent[0]):
            continue
        written = view.written(extent)
        content = _STRING.sub(r"\2", written)
        if flat(text) in (written, content) or (_PROSE.fullmatch(text) and re.search(_apart(flat(text)), content)):
            return _shown(view, one, extent[0])
    return None


_NUMBER: Final = re.compile(r"0[xXoObB][\da-fA-F_]+|\d[\d_]*(?:\.\d+)?")
_STRING: Final = re.compile(r"^\w{0,3}#*(\"{3}|'{3}|[\"'`])(.*)\1#*$", re.DOTALL)
_PROSE: Final = re.compile(r"[^\W\d]+(?: [^\W\d]+){2,}")
"""Three words or more: a part of a message. Less may be code that a string holds."""


def _apart(text: str) -> str:
    return rf"(?<!\w){re.escape(text)}(?!\w)"


def _shown(view: View, one: Definition, at: int) -> Held | None:
    line = view.line(at)
    return view.seen(at, (line, line), one) if view.has_line(line) else None


def verify_reaches(view: View, start: Definition) -> Held:
    """Whether a chain of calls leads from the caller to the callee; never exactly false."""
    goal = view.language.parts(view.check.text("callee"))
    functions = [one for one in view.index.definitions if is_function(one) and not view.is_dead(one.at)]
    counts = Counter(one.path for one in functions)
    named: dict[str, list[Definition]] = {}
    for one in functions if len(functions) <= _MAX_VISITED else ():
        if counts[one.path] == 1:
            named.setdefault(one.name, []).append(one)
    waiting: list[tuple[Definition, tuple[tuple[str, Call], ...]]] = [(start, ())]
    seen = {start.path}
    for one, hops in waiting:
        name = ".".join(one.path)
        hit = next(iter(_calls(view, one, goal)), None)
        if hit is not None:
            chain = (*hops, (name, hit))
            under = [view.under(call.at) for _, call in chain]
            return Held(
                True,
                lines=chain[0][1].lines,
                under=tuple(text for each in under for text in each.texts),
                narrowed=any(each.narrowed for each in under),
                chain=tuple(f"{caller} calls {call.name} (line {call.lines[0]})" for caller, call in chain),
            )
        if len(hops) + 1 >= MAX_HOPS or len(seen) > _MAX_VISITED:
            continue
        for call in view.index.calls:
            if not (one.extent[0] <= call.at < one.extent[1]):
                continue
            for target in named.get(call.name, ()):
                if target.path not in seen and call in _calls(view, one, target.path):
                    seen.add(target.path)
                    waiting.append((target, (*hops, (name, call))))
    return NOT_FOUND


def is_function(one: Definition) -> bool:
    """Whether a definition has a body that is run when it is called."""
    return one.sort == "function" and one.body is not None


def has_body(one: Definition) -> bool:
    """Whether a definition is a function or a type, with what it does or has."""
    return one.body is not None and one.sort in ("function", "type")


def _calls(view: View, one: Definition, parts: tuple[str, ...]) -> Iterator[Call]:
    """The calls in a body, nested functions left out, that provably are of what the parts name."""
    for call in view.index.calls_of.get(parts[-1], ()) if parts else ():
        variable = call.receiver == "new" and _is_member(view, call.at)
        receiver = "?" if variable else call.receiver
        if view.is_direct(one, call.at) and _means(view, one, receiver, parts, mention=False):
            yield call


def _takes(view: View, call: Call, argument: str) -> bool:
    """Whether a call has that argument, or those arguments in a row, with commas between them."""
    wanted = tight(argument)
    written = [tight(view.written(extent)) for extent in call.arguments]
    runs = range(1, wanted.count(",") + 2)
    return any(",".join(written[at : at + size]) == wanted for size in runs for at in range(len(written)))


# ---------------------------------------------------------------- what a name means


def _means(view: View, one: Definition, receiver: str, parts: tuple[str, ...], *, mention: bool) -> bool:
    """Whether a name behind a receiver (empty for a plain name) is provably what the parts say. A `mention` may be of
    any definition, a call only of what can be called."""
    name = parts[-1]
    own = (one.receiver,) if one.receiver else view.language.own
    if len(parts) > 1 and view.mentions(view.language.making):
        return False
    if receiver in ("", "new") and _is_bound(view, one, name, parts):
        return True
    if not receiver:
        plain = len(parts) == 1 and ((mention and _is_plain(view, one, name)) or _is_ambient(view, one, name))
        return plain or ((len(parts) > 1 or not view.language.making) and _is_sibling(view, one, parts, mention))
    if len(parts) == 1:
        if receiver == "new":
            return mention and _is_plain(view, one, name)
        return mention and (_is_only_member(view, name) or (receiver in own and _is_free(view, one, name)))
    owner = _type_of(view, one)
    if receiver in view.language.parent:
        target = None if owner is None else _inherited(view, owner, name, mention)
    elif receiver in own:
        if owner is None or (one.receiver and not _is_kept(view, one)):
            return False
        target = _member(view, owner, name, mention)
        if target is not None and target.sort == "function" and target.kinds & _BOUND != one.kinds & _BOUND:
            return False
    else:
        target = _of_type(view, one, receiver, name, mention)
        if target is None:
            return _is_imported(view, one, receiver, parts)
        if view.language.making and "static" not in target.kinds:
            return False
    if target is None or not ((view.language.apart and not mention) or view.is_steady(name, None)):
        return False
    return _is_named(view, target, parts, mention)


def _is_only_member(view: View, name: str) -> bool:
    """Whether a name is nothing in the file but a member of something: no variable, parameter, function or import."""
    there = {each.at for each in view.index.by_name.get(name, ()) if len(each.path) > 1}
    bound = any(name in each.binds for each in view.index.imports)
    return not bound and all(at in there or _is_member(view, at) for at, _ in view.roles(name) if not view.is_text(at))


def _is_free(view: View, one: Definition, name: str) -> bool:
    """Whether a plain name means nothing in a method: no definition around it, no import and no variable of its own."""
    there = [each.path for each in view.index.by_name.get(name, ())]
    around = any(len(path) < len(one.path) and path[:-1] == one.path[: len(path) - 1] for path in there)
    bound = any(name in each.binds for each in view.index.imports)
    inner = [at for at, role in view.roles(name) if role in (Role.BIND, Role.WRITE) and not _is_member(view, at)]
    return not (around or bound or any(one.extent[0] <= at < one.extent[1] for at in inner))


def _is_named(view: View, target: Definition, parts: tuple[str, ...], mention: bool) -> bool:
    """Whether a member is the one that a symbol names: of that type, or inherited by it."""
    if any(target.path == each.path for each in view.found(".".join(parts))):
        return True
    types = [each for each in view.found(".".join(parts[:-1])) if each.sort == "type"]
    inherited = _member(view, types[0], parts[-1], mention) if len(types) == 1 else None
    return inherited is not None and inherited.path == target.path


def _is_bound(view: View, one: Definition, name: str, parts: tuple[str, ...]) -> bool:
    """Whether a plain name is one that the file binds by definition or import, and binds to nothing else."""
    bound = [each for each in view.index.by_name.get(name, ()) if each.path[:-1] == _seen(view, one, each)]
    outer = [each for each in bound if each.sort != "type" and each.path[: len(one.path)] != one.path]
    if view.language.bare_members and "method" in one.kinds and (outer or view.language.making):
        owner = _type_of(view, one)
        if owner is None or not is_closed(view, owner) or _member(view, owner, name, True) is not None:
            return False  # a member of that name would come first
    imported = [each for each in view.index.imports if name in each.binds and _reaches(view, one, each.extent[0])]
    if len(parts) > 1 and (imported or any(each.path[-len(parts) :] != parts for each in bound)):
        return False
    if len({each.path for each in bound}) > 1 and any(each.sort == "type" for each in bound):
        return False
    if (not imported and not bound) or any(each.sort not in ("function", "type", "declared") for each in bound):
        return False
    return view.is_steady(name, one)


def _is_ambient(view: View, one: Definition, name: str) -> bool:
    """Whether a plain name means the one thing that it means in every file, or what stands around a function."""
    if not re.fullmatch(view.language.ambient, name):
        return False
    there = view.index.by_name.get(name, ())
    return (
        len(there) < 2
        and all(one.path[: len(each.path) - 1] == each.path[:-1] for each in there)
        and (view.is_steady(name, one))
    )


def _seen(view: View, one: Definition, other: Definition) -> tuple[str, ...]:
    """The path that a definition must stand in to be seen by its plain name in a function."""
    around = other.path[:-1]
    holder = view.around(other.extent[0] - 1) if around else None
    if around and around == one.path[: len(around)] and holder is None and "method" not in other.kinds:
        return around  # a namespace
    if around and around == one.path[: len(around)] and holder is not None and holder.sort == "function":
        return around
    return ()


def _reaches(view: View, one: Definition, at: int) -> bool:
    """Whether what is bound at a byte is seen in a function."""
    holder = view.around(at)
    return holder is None or (
        holder.sort == "function" and holder.extent[0] <= one.extent[0] and one.extent[1] <= holder.extent[1]
    )


def _is_plain(view: View, one: Definition, name: str) -> bool:
    """Whether a plain name means one thing in a function: its own, or that of the file."""
    inner = any(role in (Role.BIND, Role.WRITE) for at, role in view.roles(name) if one.extent[0] <= at < one.extent[1])
    outer = any(each.path == (name,) for each in view.index.definitions)
    return inner != outer and (inner or view.is_steady(name, one))


def _is_sibling(view: View, one: Definition, parts: tuple[str, ...], mention: bool) -> bool:
    """Whether a plain name means a member of the own type: only where the language needs no receiver for that."""
    owner = _type_of(view, one) if view.language.bare_members else None
    target = None if owner is None else _member(view, owner, parts[-1], mention)
    hiding = ((parts[-1],), (*one.path, parts[-1]))
    if target is None or any(each.path in hiding for each in view.index.by_name[parts[-1]]):
        return False
    if view.language.making:
        if target.sort == "function" and target.kinds & _BOUND != one.kinds & _BOUND:
            return False
    elif (mention and target.sort != "value") or target.type.rpartition(".")[2] == parts[-1]:
        return False  # the type of that name may be meant
    return view.is_steady(parts[-1], one) and _is_named(view, target, parts, mention)


def _type_of(view: View, one: Definition) -> Definition | None:
    """The type whose method a function is."""
    if "method" not in one.kinds:
        return None
    types = [
        each for each in view.index.by_name.get(one.path[-2], ()) if each.sort == "type" and each.path == one.path[:-1]
    ]
    if not types:  # it stands in another file: of its members only those that are here are known
        return replace(one, path=one.path[:-1], sort="type", bases=(), open=True)
    return types[0] if len(types) == 1 and not view.index.broken(types[0].extent) else None


def _is_kept(view: View, one: Definition) -> bool:
    """Whether the receiver variable of a method means its own instance in all of the body."""
    body = one.body or one.extent
    return all(view.index.role(at) in READS for at in view.occurrences(one.receiver, body) if not view.is_text(at))


def _member(view: View, owner: Definition, name: str, mention: bool, depth: int = 0) -> Definition | None:
    """The definition of a member that a type has, of its own or from a base in the file."""
    path = (*owner.path, name)
    own = [each for each in view.index.by_name.get(name, ()) if each.path == path and not view.is_dead(each.at)]
    if view.language.apart and not mention:
        own = [each for each in own if each.sort == "function"]
    if own:
        if len({view.data[each.at - 1 : each.at] == b"#" for each in own}) > 1:
            return None  # `#name` and `name` are two
        fits = mention or all(each.sort in ("function", "declared") for each in own)
        if view.language.making and len({"static" in each.kinds for each in own if each.sort == "function"}) > 1:
            return None  # one of the type, and one of its instances
        return own[0] if fits else None
    return _inherited(view, owner, name, mention, depth)


def _inherited(view: View, owner: Definition, name: str, mention: bool, depth: int = 0) -> Definition | None:
    """The same, of the bases alone: the first that has it, where all before it are in the file."""
    if owner.open or depth > _MAX_BASES:
        return None
    for base in owner.bases:
        known = _base(view, base)
        if known is None:
            return None
        member = _member(view, known, name, mention, depth + 1)
        if member is not None or not is_closed(view, known):
            return member
    return None


def is_closed(view: View, owner: Definition, depth: int = 0) -> bool:
    """Whether all bases of a type are in the file, and theirs."""
    if owner.open or depth > _MAX_BASES:
        return False
    for base in owner.bases:
        if base in view.language.roots:
            continue
        known = _base(view, base)
        if known is None or not is_closed(view, known, depth + 1):
            return False
    return True


def _base(view: View, text: str) -> Definition | None:
    """The type of the file that a base provably names."""
    there = view.found(text)
    types = [each for each in there if each.sort == "type"]
    root = view.language.parts(text)[:1]
    if any(each.path == one.path and each.sort in ("value", "function") for one in types for each in there):
        return None  # the name may be given to another thing
    if len(types) != 1 or any(root[0] in each.binds for each in view.index.imports):
        return None
    return types[0] if view.is_steady(root[0], types[0]) else None


def _of_type(view: View, one: Definition, receiver: str, name: str, mention: bool) -> Definition | None:
    """The member of a type of the file that is named itself."""
    parts = view.language.parts(receiver)
    there = [each for each in view.found(receiver) if each.sort in ("type", "space")] if parts else []
    types = [each for each in there if each.sort == "type"] or there[:1]
    if len(types) != 1 or any(each.path != types[0].path for each in there) or not view.is_steady(parts[0], one):
        return None
    if any(each.sort == "value" for each in view.index.by_name.get(parts[0], ())):
        return None
    return _member(view, types[0], name, mention)


def _is_imported(view: View, one: Definition, receiver: str, parts: tuple[str, ...]) -> bool:
    """Whether the receiver is written as the check has it, and begins with an imported name or a value of the file."""
    if view.language.parts(receiver) != parts[:-1]:
        return False
    root = parts[0]
    bound = any(root in each.binds and _reaches(view, one, each.extent[0]) for each in view.index.imports)
    bound = bound or re.fullmatch(view.language.ambient, root) is not None
    sorts = [each.sort for each in view.index.by_name.get(root, ()) if each.path == (root,)]
    return view.is_steady(root, one) and (sorts == ["value"] if sorts else bound)


def _is_global(view: View, at: int) -> bool:
    """Whether a name is a variable of a language whose variables are those of the whole program."""
    return not view.language.separators and view.index.role(at) is Role.LOOK


def _is_member(view: View, at: int) -> bool:
    return view.data[max(0, at - 40) : at].rstrip().endswith((b".", b"->", b"::"))


# ---------------------------------------------------------------- what is not there


def _missing(view: View, one: Definition, parts: tuple[str, ...]) -> Held:
    """Exactly false where the name is provably not meant in the body; else undecided."""
    if not parts or view.check.text("argument"):
        return NOT_FOUND
    whole, name = view.whole, parts[-1]
    if whole is not None:
        return whole
    if re.fullmatch(view.language.implicit or r"(?!)", name):
        return NOT_FOUND
    if len(parts) > 1 and parts[-2] == name:
        return NOT_FOUND  # a constructor
    if view.mentions(view.index.macros, one.body):
        return NOT_FOUND  # what it is replaced by may name anything
    if view.is_absent(name):
        return view.refuted(one)
    if not view.lacks(one.extent, name) or view.mentions(view.language.dynamic, one.body):
        return NOT_FOUND
    if any(call.name == "[" and one.extent[0] <= call.at < one.extent[1] for call in view.index.calls):
        return NOT_FOUND  # what is called there is computed
    others = list(view.index.by_name.get(name, ()))
    if any(each.sort not in ("function", "declared") or each.decorators for each in others):
        return NOT_FOUND
    return view.refuted(one) if all(role in _INERT for _, role in view.roles(name)) else NOT_FOUND


_TURNED: Final = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "===": "!==", "!==": "==="}
_WORD_TURNED: Final = {" is not ": " is ", " is ": " is not ", " not in ": " in ", " in ": " not in "}
_COMPARISON: Final = re.compile(r"(?<![=!<>\-])(===|!==|==|!=|<=|>=|<|>)(?![=<>])")
_QUOTED: Final = re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`")
_WAITS: Final = frozenset(("defer", "lambda", "handler", "case", "loop"))
_MAX_HITS: Final = 40


def verify_returns(view: View, one: Definition) -> Held:
    """Whether the function returns that expression: at every return, or under the conditions that are told."""
    if one.result and tight(one.result) == tight(view.check.text("quote")) and view.has_line(one.line):
        return view.seen(one.at, (one.line, one.line))  # «returns `Result<u32, E>`»
    if any(view.is_direct(one, each.extent[0]) for each in view.index.regions if each.sort == "yield"):
        return NOT_FOUND
    if view.mentions(view.index.macros, one.body):
        return NOT_FOUND  # what it is replaced by may return
    wanted = _forms(view.check.text("quote"))
    returns = [each for each in view.index.returns if view.is_direct(one, each.extent[0])]
    hits = [each for each in returns if each.value is not None and _forms(view.written(each.value)) & wanted]
    hits = [each for each in hits if view.has_line(each.lines[0])]
    if not hits:
        return NOT_FOUND
    for hit in hits:
        if len(hits) == len(returns) and not view.under(hit.extent[0], one).texts:
            return view.seen(hit.extent[0], hit.lines, one, flow=True)
    held = view.seen(hits[0].extent[0], hits[0].lines, one, flow=True)
    return held if held.under else Held(None, "ambiguous", hits[0].lines)


def _forms(text: str) -> frozenset[str]:
    """An expression as it is compared: tight, and without the brackets around all of it."""
    plain = tight(text)
    return frozenset((plain, _unwrapped(plain)))


def _unwrapped(text: str) -> str:
    while text.startswith("(") and text.endswith(")") and _closes(text) == len(text) - 1:
        text = text[1:-1].strip()
    return text


def _closes(text: str) -> int:
    depth = 0
    for place, mark in enumerate(text):
        depth += (mark in "([{") - (mark in ")]}")
        if not depth:
            return place
    return -1


def verify_raises(view: View, one: Definition) -> Held:
    """Whether the function raises that error itself; undecided where it may be caught there."""
    parts = view.language.parts(view.check.text("error"))
    if view.language.errors and not re.search(view.language.errors, one.result):
        return NOT_FOUND
    caught = False
    for each in view.index.raises:
        at = each.extent[0]
        named = view.language.parts(each.error)
        if not view.is_named_by(parts, named) or not view.is_direct(one, at) or not view.has_line(each.lines[0]):
            continue
        if {"try", "with"} & set(view.sorts_around(one, at).values()):
            caught = True
            continue
        if not view.is_steady(named[0], one) or {*named} & {*view.index.macros}:
            continue
        return view.seen(at, each.lines, one, flow=True)
    return Held(None, "ambiguous", one.lines) if caught else NOT_FOUND


# ---------------------------------------------------------------- conditions


def verify_when(view: View, one: Definition) -> Held:
    """Whether the effect stands where the condition is met (`when`), or where it is not (`unless`)."""
    condition, met = view.check.text("condition"), view.check.name == "when"
    effects = _code_quotes(view, one, view.check.text("effect"))
    for branch in view.index.branches:
        if not view.is_direct(one, branch.extent[0]):
            continue
        for extent, rest in _arms(view, one, branch, condition, met):
            for start, end in effects:
                if extent[0] <= start and end <= extent[1] and view.is_direct(one, start):
                    line = view.line(start)
                    if view.has_line(line):
                        under = view.under(start, one, flow=True)
                        others = tuple(text for text in (*under.texts, *rest) if not _is_same(text, condition, view))
                        return Held(True, lines=(line, view.line(end - 1)), under=others, narrowed=under.narrowed)
    return NOT_FOUND


def _arms(view: View, one: Definition, branch: Branch, condition: str, met: bool) -> list[tuple[Extent, list[str]]]:
    """The extents in which the condition is met, or is not, with the conjuncts that are met there as well."""
    found: list[tuple[Extent, list[str]]] = []
    for place, extent in enumerate(branch.conditions):
        written = view.written(extent)
        whole = _polarity(view, written, condition)
        parts = _conjuncts(view, written)
        inside = (
            whole
            if whole is not None
            else next((sign for part in parts if (sign := _polarity(view, part, condition)) is not None), None)
        )
        if inside is not None and (inside != branch.turned) == met and (whole is not None or not branch.turned):
            found.append((branch.arms[place], [part for part in parts if _polarity(view, part, condition) is None]))
        if whole is None or (whole != branch.turned) == met:
            continue
        later = [*branch.arms[place + 1 :], *([branch.otherwise] if branch.otherwise is not None else [])]
        found.extend((arm, []) for arm in later)
        if branch.leaves[place] and branch.rest is not None and _is_straight(view, one, branch):
            found.append((branch.rest, []))
    return found


def _is_straight(view: View, one: Definition, branch: Branch) -> bool:
    """Whether neither a loop nor a `try` of the same body lies around a branch."""
    return not {"loop", "try", "handler", "with"} & set(view.sorts_around(one, branch.extent[0]).values())


def _polarity(view: View, written: str, condition: str) -> bool | None:
    """True where a text says the condition, False where it says its opposite, None where it says something else."""
    text, wanted = _unwrapped(flat(written)), _unwrapped(flat(condition))
    if tight(text) == tight(wanted):
        return True
    return False if tight(text) in _opposites(view, wanted) or tight(wanted) in _opposites(view, text) else None


def _is_same(text: str, condition: str, view: View) -> bool:
    inner = text[5:-1] if text.startswith("not (") and text.endswith(")") else text
    return _polarity(view, inner, condition) is not None


def _opposites(view: View, text: str) -> set[str]:
    """What a condition is when it is turned: without or with a negation, or with the other comparison."""
    found: set[str] = set()
    blank = _QUOTED.sub(lambda match: "_" * len(match[0]), text)
    compound = any(mark in f" {blank} " for mark in (" and ", " or ", "&&", "||"))
    for negation in view.language.negations:
        if text.startswith(negation):
            inner = text[len(negation) :].strip()
            if not compound or _unwrapped(inner) != inner:
                found.add(tight(_unwrapped(inner)))
        found.add(tight(f"{negation}({text})"))
        if not compound:
            found.add(tight(f"{negation}{text}"))
    if compound or any(text.startswith(negation) for negation in view.language.negations):
        return found
    marks = list(_COMPARISON.finditer(blank))
    words = [word for word in _WORD_TURNED if word in blank]
    if len(marks) == 1 and not words:
        mark = marks[0]
        found.add(tight(f"{text[: mark.start()]}{_TURNED[mark[1]]}{text[mark.end() :]}"))
    elif words and not marks and blank.count(" is ") + blank.count(" in ") <= 1:
        found.add(tight(text.replace(words[0], _WORD_TURNED[words[0]], 1)))
    return found


def _conjuncts(view: View, written: str) -> list[str]:
    """The parts of a condition that must all be met; itself where it has none."""
    text = _unwrapped(flat(written))
    parts, depth, start, place = list[str](), 0, 0, 0
    blank = _QUOTED.sub(lambda match: "_" * len(match[0]), text)
    if re.search(r"\bor\b|\|\|", re.sub(r"\([^()]*\)", "", blank)) or "?" in blank or " if " in blank:
        return [text]
    while place < len(blank):
        depth += (blank[place] in "([{") - (blank[place] in ")]}")
        mark = next((one for one in view.language.conjunctions if not depth and blank.startswith(one, place)), None)
        if mark is None:
            place += 1
            continue
        parts.append(text[start:place].strip())
        start = place = place + len(mark)
    return [*parts, text[start:].strip()]


# ---------------------------------------------------------------- order


def verify_before(view: View, one: Definition) -> Held:
    """Whether the only occurrence of one piece of code in a body stands before the only one of another."""
    hits: list[tuple[int, int]] = []
    for name in ("a", "b"):
        there = _code_quotes(view, one, view.check.text(name))
        if len(there) != 1:
            return Held(None, "ambiguous", one.lines) if there else NOT_FOUND
        hits.append(there[0])
    (start, end), (other, last) = hits
    if not view.is_direct(one, start) or not view.is_direct(one, other):
        return NOT_FOUND
    waits = [{extent for extent, sort in view.sorts_around(one, at).items() if sort in _WAITS} for at in (start, other)]
    if waits[0] != waits[1] or _are_apart(view, start, other) or not (end <= other or last <= start):
        return NOT_FOUND
    lines = (view.line(min(start, other)), view.line(max(end, last) - 1))
    if not view.has_line(lines[0]) or not view.has_line(lines[1]):
        return NOT_FOUND
    if end <= other:
        return Held(True, lines=lines, under=view.under(start, one).texts)
    whole = view.whole
    return whole if whole is not None else Held(False, "differs", lines, found=view.found_at(lines[0]))


def _are_apart(view: View, one: int, other: int) -> bool:
    """Whether two places lie in different arms of a branch."""
    for branch in view.index.branches:
        arms = [*branch.arms, *([branch.otherwise] if branch.otherwise is not None else [])]
        places = [next((place for place, arm in enumerate(arms) if arm[0] <= at < arm[1]), None) for at in (one, other)]
        if None not in places and places[0] != places[1]:
            return True
    return False


def _code_quotes(view: View, one: Definition, quote: str) -> list[Extent]:
    """Where a piece of code stands in a body, white space aside, not inside of a string, a comment or a name."""
    body = one.body
    words = re.findall(r"\w+|[^\w\s]", flat(quote))
    if body is None or not words:
        return []
    pattern = r"\s*".join(re.escape(word) for word in words)
    before = r"(?<![\w$\x80-\xff])" if re.match(r"\w", words[0]) else ""
    after = r"(?![\w$\x80-\xff])" if re.match(r"\w", words[-1]) else ""
    found: list[Extent] = []
    for match in re.finditer(f"{before}{pattern}{after}".encode("utf-8", "replace"), view.data[: body[1]]):
        if match.start() < body[0]:
            continue
        start = match.start()
        starts_text = any(extent[0] == start for extent in view.index.texts)
        if (starts_text or not view.is_text(start)) and len(found) < _MAX_HITS:
            found.append((start, match.end()))
    return found
