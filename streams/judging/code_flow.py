"""Decides `returns`, `raises`, `when`, `unless` and `before` on the index of a file (docs/checks.md).

Each is about the body of one function, without what is nested in it. What a loop, a handler or another path could
change leaves it undecided.
"""

from __future__ import annotations

import re
from typing import Final

from .code_view import View, tight
from .index import Branch, Definition, Extent
from .results import Held
from .text_checks import NOT_FOUND, flat

_TURNED: Final = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "===": "!==", "!==": "==="}
_WORD_TURNED: Final = {" is not ": " is ", " is ": " is not ", " not in ": " in ", " in ": " not in "}
_COMPARISON: Final = re.compile(r"(?<![=!<>\-])(===|!==|==|!=|<=|>=|<|>)(?![=<>])")
_STRING: Final = re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`")
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
    blank = _STRING.sub(lambda match: "_" * len(match[0]), text)
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
    blank = _STRING.sub(lambda match: "_" * len(match[0]), text)
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
