"""Makes facts from outlines: checks that are known to be true of a file, and checks that are known to be false of it.

A false one is made from a true one by a change that the outline shows to be false: another callee whose name stands
nowhere in the body, another value, an item less. The denial of each is a fact too. What an outline leaves open makes no
fact: a definition that is not the only one of its name, for example, is the subject of none.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

from .outlines import File

PER_FILE = 4
"""Facts of one kind that one file gives at most, as long as others have some."""
IMPLICIT = re.compile(
    r"__\w+__|operator|initialize|constructor|toString|init|main|\w*(new|drop|clone|deref|fmt|from|into)"
)
"""Callees that a language may call without naming them; no false fact rests on one."""
DENIABLE = frozenset(
    ("calls", "uses", "imports", "defines", "equals", "returns", "raises", "extends", "parameter", "field", "result")
    + ("members",)
)


_CONTROL = re.compile(r"\\(u00[0189]|u007f|b|f)")
"""An escape of a JSON string that a check may not have, or what looks like one."""


class Fact(NamedTuple):
    """One check on one file, and whether it is true.

    Attributes:
        kind: the check's name; `calls` of an own method is `calls own`.
        text: a sentence that says the same.
    """

    language: str
    path: str
    kind: str
    check: str
    truth: bool
    text: str


class _Reader:
    """A file's outline, with what facts are made from."""

    def __init__(self, file: File, random: Random) -> None:
        self.file, self.random = file, random
        self.definitions: list[dict[str, Any]] = file.outline["definitions"]
        self.lines = file.text.split("\n")
        counted = Counter(one["symbol"] for one in self.definitions)
        self.unique = [one for one in self.definitions if counted[one["symbol"]] == 1]
        lasts = Counter(one["symbol"].rpartition(".")[2] for one in self.definitions)
        self.callees = [
            one["symbol"]
            for one in self.unique
            if one["kind"] != "type"
            and lasts[one["symbol"].rpartition(".")[2]] == 1
            and not IMPLICIT.fullmatch(one["symbol"].rpartition(".")[2])
        ]
        self.types = [one["symbol"] for one in self.unique if one["kind"] == "type"]
        self.words = set(re.findall(r"\w+", file.text))

    def body(self, one: dict[str, Any]) -> str:
        """The text of a definition, from its first decorator to its last line."""
        return "\n".join(self.lines[one["lines"][0] - 1 : one["lines"][1]])

    def pick(self, choices: Sequence[Any]) -> Any:
        """One of them; None where there is none."""
        return self.random.choice(choices) if choices else None

    def other(self, one: dict[str, Any], choices: Sequence[str]) -> str | None:
        """A name whose last component does not stand in the definition."""
        words = set(re.findall(r"\w+[?!]?", self.body(one))) | set(re.findall(r"\w+", self.body(one)))
        chosen: str | None = self.pick([name for name in choices if name.rpartition(".")[2] not in words])
        return chosen


Made = tuple[str, str, str, str, bool]
"""Kind, check, sentence, denying sentence, truth."""


def facts_of(file: File, seed: int) -> Iterator[Fact]:
    """Every fact that a file gives, denials included; the same ones for the same seed."""
    reader = _Reader(file, Random(f"{seed} {file.package} {file.path}"))
    for rule in _RULES:
        for kind, check, said, denied, truth in rule(reader):
            if _CONTROL.search(check):
                continue
            yield Fact(file.language, file.path, kind, check, truth, said)
            if check.partition("(")[0] in DENIABLE:
                yield Fact(file.language, file.path, kind, f"not {check}", not truth, denied)


def _made(reader: _Reader, kind: str, arguments: Sequence[str], said: tuple[str, str], truth: bool) -> Made:
    """A fact, with its sentence and its denial: `said` has the words for both, and {0}, {1} for the arguments."""
    name = kind.partition(" ")[0]
    arguments = [one if _WRITTEN.match(one) else json.dumps(one) for one in arguments]
    plain = [one.partition("=")[2] if re.match(r"(default|type)=", one) else one for one in arguments]
    shown = [json.loads(one) if one.startswith('"') and name not in ("equals", "parameter") else one for one in plain]
    sentences = [f"{words.format(*(f'`{one}`' for one in shown), path=f'`{reader.file.path}`')}." for words in said]
    return kind, f"{name}({', '.join(arguments)})", sentences[0], sentences[1], truth


_WRITTEN = re.compile(r"[\w.$]+\Z|[\"\[]|(default|type)=|-?\d")
"""An argument that stands as it is; a name with other marks is quoted."""
CALLS = ("{0} in {path} calls {1}", "{0} in {path} does not call {1}")
USES = ("{0} in {path} uses {1}", "{0} in {path} does not use {1}")


def _calls(reader: _Reader) -> Iterator[Made]:
    for one in reader.unique:
        for callee in one.get("calls") or ():
            kind = "calls own" if "." in callee else "calls"
            yield _made(reader, kind, [one["symbol"], callee], CALLS, True)
            if wrong := reader.other(one, [name for name in reader.callees if ("." in name) == ("." in callee)]):
                yield _made(reader, kind, [one["symbol"], wrong], CALLS, False)


def _reaches(reader: _Reader) -> Iterator[Made]:
    calls = {one["symbol"]: one.get("calls") or () for one in reader.unique}
    said = ("{0} in {path} reaches {1}", "{0} in {path} does not reach {1}")
    for one in reader.unique:
        first = reader.pick([name for name in calls[one["symbol"]] if calls.get(name) and name != one["symbol"]])
        if first is not None:
            yield _made(reader, "reaches", [one["symbol"], reader.pick(calls[first])], said, True)
            count = Counter(re.findall(r"\w+[?!]?", reader.file.text))
            lone = [name for name in reader.callees if count[name.rpartition(".")[2]] == 1 and name != one["symbol"]]
            if lone:
                yield _made(reader, "reaches", [one["symbol"], reader.pick(lone)], said, False)


def _uses(reader: _Reader) -> Iterator[Made]:
    for one in reader.unique:
        for used in one.get("uses") or ():
            yield _made(reader, "uses", [one["symbol"], used], USES, True)
            if wrong := reader.other(one, [*reader.callees, *reader.types]):
                yield _made(reader, "uses", [one["symbol"], wrong], USES, False)


def _imports(reader: _Reader) -> Iterator[Made]:
    said = ("{path} imports {0}", "{path} does not import {0}")
    for module in sorted(set(reader.file.outline["imports"])):
        yield _made(reader, "imports", [json.dumps(module)], said, True)
        *_, word = re.findall(r"\w+", module.removesuffix(".h")) or [""]
        wrong = f"{word}_{reader.random.randrange(100)}"
        if word and wrong not in reader.words:
            yield _made(reader, "imports", [json.dumps(module.replace(word, wrong))], said, False)


def _defines(reader: _Reader) -> Iterator[Made]:
    said = ("{path} defines {0}", "{path} does not define {0}")
    typed = ("{path} defines the {1} {0}", "{path} does not define the {1} {0}")
    kinds = {"method": "type", "type": "function", "function": "type"}
    for one in reader.unique:
        yield _made(reader, "defines", [one["symbol"], one["kind"]], typed, True)
        yield _made(reader, "defines", [one["symbol"]], said, True)
        yield _made(reader, "defines", [one["symbol"], kinds[one["kind"]]], typed, False)
        if one["symbol"] + "_x" not in reader.words:
            yield _made(reader, "defines", [one["symbol"] + "_x"], said, False)


def _wrong(value: bool | int | str) -> bool | int | str:
    """Another value of the same type."""
    return not value if isinstance(value, bool) else value + 1 if isinstance(value, int) else f"{value}x"


def _equals(reader: _Reader) -> Iterator[Made]:
    said = ("{0} in {path} is {1}", "{0} in {path} is not {1}")
    counted = Counter(one["symbol"] for one in reader.file.outline["values"])
    for one in reader.file.outline["values"]:
        if "value" in one and counted[one["symbol"]] == 1:
            value = one["value"]
            yield _made(reader, "equals", [one["symbol"], json.dumps(value)], said, True)
            yield _made(reader, "equals", [one["symbol"], json.dumps(_wrong(value))], said, False)


def _members(reader: _Reader) -> Iterator[Made]:
    said = ("the members of {0} in {path} are {1}", "the members of {0} in {path} are not {1}")
    for one in reader.file.outline["values"]:
        items = one.get("members")
        if items:
            yield _made(reader, "members", [one["symbol"], json.dumps(items)], said, True)
            wrong = items[:-1] if len(items) > 1 else [*items, f"{items[0]}_x"]
            yield _made(reader, "members", [one["symbol"], json.dumps(wrong)], said, False)


def _returns(reader: _Reader) -> Iterator[Made]:
    said = ("{0} in {path} returns {1}", "{0} in {path} does not return {1}")
    texts = sorted({one["returns"] for one in reader.unique if one.get("returns")})
    for one in reader.unique:
        text = one.get("returns")
        if text and len(text) < 120:
            yield _made(reader, "returns", [one["symbol"], json.dumps(text)], said, True)
            wrong = reader.pick([each for each in texts if each not in reader.body(one) and len(each) < 120])
            if wrong:
                yield _made(reader, "returns", [one["symbol"], json.dumps(wrong)], said, False)


def _raises(reader: _Reader) -> Iterator[Made]:
    said = ("{0} in {path} raises {1}", "{0} in {path} does not raise {1}")
    errors = sorted({error for one in reader.unique for error in one.get("raises") or ()} | {"RuntimeFailure"})
    for one in reader.unique:
        for error in one.get("raises") or ():
            yield _made(reader, "raises", [one["symbol"], error], said, True)
            if wrong := reader.other(one, errors):
                yield _made(reader, "raises", [one["symbol"], wrong], said, False)


def _extends(reader: _Reader) -> Iterator[Made]:
    said = ("{0} in {path} extends {1}", "{0} in {path} does not extend {1}")
    bases = {one["symbol"]: one.get("bases") or [] for one in reader.unique if one["kind"] == "type"}
    for name in bases:
        above, todo = set[str](), [name]
        while todo:
            for base in bases.get(todo.pop(), []):
                todo += [base] if base not in above else []
                above.add(base)
        for base in bases[name]:
            yield _made(reader, "extends", [name, base], said, True)
            wrong = reader.pick([one for one in reader.types if one not in above and one != name])
            if wrong:
                yield _made(reader, "extends", [name, wrong], said, False)


def _differ(a: str, b: str) -> bool:
    """Whether two types differ by more than marks and a module's name in front."""
    a, b = re.sub(r"\W", "", a), re.sub(r"\W", "", b)
    return a not in b and b not in a


def _declared(check: str, member: str) -> Callable[[_Reader], Iterator[Made]]:
    """The rule for the parameters of a function, or for the fields of a type."""
    said = (f"{{0}} in {{path}} has the {check} {{1}}", f"{{0}} in {{path}} has no {check} {{1}}")
    typed = (f"{said[0]} of type {{2}}", f"{said[1]} of type {{2}}")
    told = (f"{said[0]} with the default {{2}}", f"{said[1]} with the default {{2}}")

    def rule(reader: _Reader) -> Iterator[Made]:
        types = sorted({each["type"] for one in reader.unique for each in one.get(member) or () if each.get("type")})
        for symbol, each in [(one["symbol"], each) for one in reader.unique for each in one.get(member) or ()]:
            name, kind, default = each["name"], each.get("type"), each.get("default")
            yield _made(reader, check, [symbol, name], said, True)
            if f"{name}_x" not in reader.words:
                yield _made(reader, check, [symbol, f"{name}_x"], said, False)
            wrong = reader.pick([other for other in types if _differ(other, kind)]) if kind else None
            for text, truth in ((kind, True), (wrong, False)):
                if text and len(text) < 100:
                    arguments = [symbol, name, f"type={json.dumps(text)}"]
                    yield _made(reader, f"{check} type", arguments, typed, truth)
            if default is not None:
                for value, truth in ((default, True), (_wrong(default), False)):
                    arguments = [symbol, name, f"default={json.dumps(value)}"]
                    yield _made(reader, f"{check} default", arguments, told, truth)

    return rule


def _result(reader: _Reader) -> Iterator[Made]:
    said = ("the result of {0} in {path} is of type {1}", "the result of {0} in {path} is not of type {1}")
    types = sorted({one["result"] for one in reader.unique if one.get("result")})
    for one in reader.unique:
        kind = one.get("result")
        if kind and len(kind) < 100:
            yield _made(reader, "result", [one["symbol"], json.dumps(kind)], said, True)
            wrong = reader.pick([other for other in types if _differ(other, kind)])
            if wrong:
                yield _made(reader, "result", [one["symbol"], json.dumps(wrong)], said, False)


def _before(reader: _Reader) -> Iterator[Made]:
    said = ("in {0} in {path}, {1} stands before {2}", "in {0} in {path}, {1} does not stand before {2}")
    for one in reader.unique:
        body = reader.body(one)
        steps = [text for text in one.get("steps") or () if body.count(text) == 1 and len(text) < 120]
        if len(steps) > 1:
            first, second = sorted(reader.random.sample(range(len(steps)), 2))
            pair = [json.dumps(steps[first]), json.dumps(steps[second])]
            yield _made(reader, "before", [one["symbol"], *pair], said, True)
            yield _made(reader, "before", [one["symbol"], *reversed(pair)], said, False)


def _when(reader: _Reader) -> Iterator[Made]:
    said = ("{0} in {path} does {2} when {1}", "{0} in {path} does not do {2} when {1}")
    for one in reader.unique:
        body = reader.body(one)
        for condition, effect in one.get("branches") or ():
            if body.count(effect) == 1 and body.count(condition) == 1:
                quoted = [one["symbol"], json.dumps(condition), json.dumps(effect)]
                yield _made(reader, "when", quoted, said, True)
                yield _made(reader, "unless", quoted, said, False)
                outside = [text for text in one["steps"] if body.count(text) == 1 and text != effect]
                if outside:
                    wrong = json.dumps(reader.pick(outside))
                    yield _made(reader, "when", [one["symbol"], quoted[1], wrong], said, False)


_RULES = (
    _calls,
    _reaches,
    _uses,
    _imports,
    _defines,
    _equals,
    _members,
    _returns,
    _raises,
    _extends,
    _declared("parameter", "parameters"),
    _declared("field", "fields"),
    _result,
    _before,
    _when,
)


def sample(files: Sequence[File], most: int, seed: int) -> list[tuple[File, Fact]]:
    """At most `most` true and `most` false facts a kind, from files in an order that the seed decides."""
    random = Random(seed)
    order = sorted(files, key=lambda one: (one.package, one.path))
    random.shuffle(order)
    taken: Counter[tuple[str, bool]] = Counter()
    chosen: list[tuple[File, Fact]] = []
    left: list[tuple[File, Fact]] = []
    for file in order:
        mine = list(facts_of(file, seed))
        random.shuffle(mine)
        within: Counter[tuple[str, bool]] = Counter()
        for fact in mine:
            key = (fact.kind, fact.truth)
            if taken[key] < most and within[key] < PER_FILE:
                within[key] += 1
                taken[key] += 1
                chosen.append((file, fact))
            else:
                left.append((file, fact))
    for file, fact in left:
        key = (fact.kind, fact.truth)
        if taken[key] < most:
            taken[key] += 1
            chosen.append((file, fact))
    return sorted(chosen, key=lambda one: (one[0].package, one[0].path, one[1].kind, one[1].check))
