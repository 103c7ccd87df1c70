"""Makes false statements of true ones: one word of a statement is exchanged, turned or added (README.md).

A statement is mutated only where the result is surely false. A name takes another's place only where no file of the
package has it within `FAR` lines of another name of the sentence, so that nothing that the sentence relates stands
near it. A number or quoted text is exchanged only where the sentence says that something is, returns or has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

FAR = 25
"""Lines between the places of names that have nothing to do with each other."""
EACH = 2
MAX_LINE = 1_000
"""Characters; a file with a longer line is generated."""
SUFFIXES = (".py", ".js", ".mjs", ".ts", ".go", ".rs", ".java", ".c", ".h", ".toml", ".md", ".rst", ".json", ".yml")
WORD = re.compile(r"[A-Za-z_]\w*")
SPAN = re.compile(r"`([^`]+)`")
NAME = re.compile(r"(?:[A-Za-z_]\w*(?:\.|::|#))*([A-Za-z_]\w{3,})(\(\)|!)?")
PATH = re.compile(r"[\w./-]*\w\.(?:py|js|mjs|ts|go|rs|java|c|h|toml|md)")
STATED = r"(?:\bis|\bare|\bto|\breturns|\bhas|\bof|\bat|\bexceeds|\bthan|\bbecomes|\bgives|\berror|\bcode|\bwith|=) "
NUMBER = re.compile(STATED + r"(?:the |a |an |still |exactly )?`?(\d[\d_]*)`?(?=[ ,.;)])(?!\.\d| times| of these)")
QUOTED = re.compile(STATED + r"`?(?:the (?:text|message|string) )?(b?\"[^\"`]{2,60}\"|'[^'`]{2,60}')")
LITERAL = {"number": re.compile(r"(?<![\w.])\d[\d_]*(?![\w.])"), "quoted": re.compile(r"b?\"[^\"\n`\\]{2,40}\"")}
HEDGES = re.compile(
    r"\b(?:not|never|only|always|no|nothing|none|neither|nor|without|unless|just|rather|except|either|may|might|can|"
    r"could|should|would|optional|sometimes|usually|often|mostly|example)\b|n't|e\.g\.|such as|like `"
)
BASES = {
    "calls": "call", "returns": "return", "raises": "raise", "throws": "throw", "uses": "use", "sets": "set",
    "takes": "take", "accepts": "accept", "contains": "contain", "stores": "store", "reads": "read",
    "ignores": "ignore", "creates": "create", "inherits": "inherit", "extends": "extend", "implements": "implement",
    "wraps": "wrap", "defaults": "default", "requires": "require", "copies": "copy", "converts": "convert",
    "removes": "remove", "adds": "add", "compares": "compare", "computes": "compute", "delegates": "delegate",
    "panics": "panic", "rejects": "reject", "starts": "start", "begins": "begin", "gives": "give", "holds": "hold",
    "passes": "pass", "keeps": "keep", "makes": "make", "has": "have", "drops": "drop", "lives": "live",
}  # fmt: skip
VERB = re.compile(
    rf"(?:`|\b(?:[Ii]t|which|method|function|class|property|constructor|value|default|package|and)) "
    rf"(?:(?P<does>{'|'.join(BASES)})|(?P<is>is|are))\b(?! set\b)"
)
DEFINED = {
    "function": re.compile(
        r"\b(?:def|fn|function|func(?: \([^)]*\))?) +(\w+)|"
        r"^[ \t]+(?:[\w<>\[\].*]+ +)*(?!if|for|while|switch|catch)(\w+)\([^;{}]*\)[^;{}()]*\{",
        re.M,
    ),
    "type": re.compile(r"\b(?:class|struct|enum|trait|interface|type) +(\w+)"),
    "constant": re.compile(r"\b(?:#define|const|static|final \w+) +(\w+)"),
    "value": re.compile(r"^[ \t]*(?:self\.|this\.|let |var |pub |private )*(\w+) *(?::[^=\n:]*)?=[^=]", re.M),
}
"""How a name is defined, in the languages of the packages."""
FAILURES = ("Error", "Exception")
CONDITION = re.compile(
    r"\b(?:when|whenever|if|while|where|until|once|after|before|as|because|since|whether|that|for|so|in case)\b", re.I
)
LISTED = re.compile(r"`[A-Za-z_.]\w{2,}(?:\(\))?`(?P<here>) (?:and|or) `(?P<last>[A-Za-z_]\w{2,})(?:\(\))?`")


class Mutation(NamedTuple):
    """A false sentence, how it was made, and which of its words are wrong."""

    text: str
    how: str
    wrong: str


class Texts:
    """The files of a package, and where each word stands."""

    def __init__(self, folder: Path, paths: list[str]) -> None:
        self.texts: dict[str, str] = {}
        self._places: dict[str, dict[str, list[int]]] = {}
        for path in sorted(paths):
            if path.endswith(SUFFIXES):
                text = (folder / path).read_bytes().decode("utf-8", "replace")
                lines = text.splitlines()
                if max(map(len, lines), default=0) <= MAX_LINE:
                    self.texts[path] = text
                    for number, line in enumerate(lines):
                        for word in set(WORD.findall(line)):
                            self._places.setdefault(word, {}).setdefault(path, []).append(number)
        self._defined: dict[str, dict[str, set[str]]] = {}
        for path, text in self.texts.items():
            kept = self._defined.setdefault(path, {})
            for kind, pattern in DEFINED.items():
                for match in pattern.finditer(text):
                    name = next(filter(None, match.groups()))
                    kept.setdefault(name, set()).add(kind)

    def places(self, word: str) -> dict[str, list[int]]:
        """The lines of each file that hold a word."""
        return self._places.get(word, {})

    def home(self, words: set[str]) -> str | None:
        """The file that has most of these words, and most often; None where none has any."""
        ranked: dict[str, tuple[int, bool, int]] = {}
        for word in words:
            for path, lines in self.places(word).items():
                count, is_source, often = ranked.get(path, (0, "test" not in path, 0))
                ranked[path] = count + 1, is_source, often + len(lines)
        return max(ranked, key=lambda path: (ranked[path], path), default=None)

    def strangers(self, path: str, model: str, words: set[str]) -> list[str]:
        """Names of the kind of `model`, written as it is, that stand far from all these words in every file."""
        if model.endswith(FAILURES):
            names = {name for name in self._places if name.endswith(FAILURES) and shape(name) == "Type"}
        else:
            defined = self._defined[path]
            kinds = {kind for each in self._defined.values() for kind in each.get(model, ())}
            names = {name for name, kinds_of_it in defined.items() if kinds_of_it & kinds}
        told = [self.places(word) for word in words]
        return [
            name
            for name in sorted(names - words - {model})
            if len(name) > 3 and shape(name) == shape(model)
            if name.casefold() not in model.casefold() and model.casefold() not in name.casefold()
            if not any(_near(self.places(name), places) for places in told)
        ]


def _near(one: dict[str, list[int]], other: dict[str, list[int]]) -> bool:
    return any(abs(a - b) <= FAR for path in one.keys() & other.keys() for a in one[path] for b in other[path])


def shape(name: str) -> str:
    """How a name is written: in capitals, as a type, with underscores, or in one word or several."""
    bare = name.strip("_")
    if bare.isupper():
        return "CAPITALS"
    if bare[:1].isupper():
        return "Type"
    return "snake" if "_" in bare else "camel" if bare != bare.lower() else "word"


def mutations(text: str, texts: Texts, random: Random) -> Iterator[Mutation]:
    """The mutations of a true sentence; of each place at most `EACH`.

    Args:
        text: the sentence.
        texts: of the package that it speaks of.
        random: chooses among those that there are.
    """
    if text.endswith("?"):
        return
    spans = list(SPAN.finditer(text))
    named = {match[1]: span for span in spans if (match := NAME.fullmatch(span[1])) and texts.places(match[1])}
    words = {word for span in spans for word in WORD.findall(span[1]) if texts.places(word)}
    home = texts.home(words)
    if home is None or not words:
        return

    def some(others: Sequence[str]) -> list[str]:
        return random.sample(others, min(EACH, len(others)))

    hedged = HEDGES.search(text) is not None
    for kind, pattern in (("number", NUMBER), ("quoted", QUOTED)):
        for match in [] if hedged else list(pattern.finditer(text))[:2]:
            if not CONDITION.search(_clause(text, match)):
                others = {one for one in LITERAL[kind].findall(texts.texts[home]) if _is_other(one, match[1], text)}
                yield from (_changed(text, match.span(1), value, "value") for value in some(sorted(others)))
    for name, span in random.sample(sorted(named.items()), 0 if hedged else min(3, len(named))):
        others = texts.strangers(home, name, words - {name}) if len(words) > 1 else []
        if name in texts.texts[home]:
            start = span.start(1) + span[1].rindex(name)
            yield from (_changed(text, (start, start + len(name)), other, "identifier") for other in some(others))
    for span in [] if hedged else spans:
        if PATH.fullmatch(span[1]) and named and any(path.endswith(span[1]) for path in texts.texts):
            others = [path for path in texts.texts if _is_elsewhere(path, Path(span[1]), named, texts)]
            yield from (_changed(text, span.span(1), path, "path") for path in some(others))
            break
    turned = [] if hedged else [verb for verb in VERB.finditer(text) if not CONDITION.search(_clause(text, verb))]
    for verb in turned[:2]:
        if verb["is"]:
            yield _turned(text, verb.span("is"), f"{verb['is']} not")
        else:
            yield _turned(text, verb.span("does"), f"does not {BASES[verb['does']]}")
    listed = None if hedged else LISTED.search(text)
    others = [] if listed is None else texts.strangers(home, listed["last"], words)
    for extra in [] if listed is None else some(others):
        place = listed.start("here")
        yield Mutation(f"{text[:place]}, `{extra}`{text[place:]}", "enumeration", extra)


def _is_other(value: str, instead: str, text: str) -> bool:
    """Whether a value is as long as the one that it replaces, and the sentence does not have it."""
    return (
        abs(len(value) - len(instead)) <= 8
        and value.strip('b"').casefold() not in text.casefold()
        and (not value[0].isdigit() or abs(len(value) - len(instead)) <= 1)
    )


def _is_elsewhere(path: str, instead: Path, named: Iterable[str], texts: Texts) -> bool:
    """Whether a file is another one of the same ending that has none of the names."""
    return (
        Path(path).suffix == instead.suffix
        and Path(path).name != instead.name
        and not any(path in texts.places(name) for name in named)
    )


def _clause(text: str, verb: re.Match[str]) -> str:
    """What stands in the sentence before a verb, from the last mark on."""
    return re.split(r"[,;:]", text[: verb.start() + 1])[-1]


def _changed(text: str, span: tuple[int, int], value: str, how: str) -> Mutation:
    return Mutation(text[: span[0]] + value + text[span[1] :], how, value)


def _turned(text: str, span: tuple[int, int], value: str) -> Mutation:
    """A verb that is denied; the wrong words reach to the end of its clause."""
    rest = re.split(r"[,;:]|\.$| and ", text[span[1] :])[0]
    return _changed(text, span, value, "polarity")._replace(wrong=value + rest)
