"""What might be said of a file with the words of a sentence: the checks that `deriving` tries, most of them in vain.

Words that are set off (code spans and quotations) and that the returned lines show are names and values; they are
combined by the parameters of the list of checks. The sentence is not understood: which of the candidates hold is
decided elsewhere, and what they cover of the sentence as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Final, NamedTuple

from ..codecs.unicode_text import nfkc
from .unquotable import may_quote
from .word_lines import LinedText

MOST_SPANS: Final = 10
"""Words of a sentence that are set off, and are paired with one another."""
MOST_VALUES: Final = 20
"""Numbers and constants of a sentence, beside the words that are set off."""
MOST_QUOTE: Final = 200
"""Characters of a line that `contains` quotes."""
_SPAN: Final = re.compile(r"`([^`\n]+)`|\"([^\"\n]+)\"")
_VALUE: Final = re.compile(r"(?<![\w.:/-])-?\d+(?:\.\d+)*(?![\w-])|\b(?:true|false)\b")
_SYMBOL: Final = re.compile(r"[A-Za-z_$][\w$-]*(?:(?:\.|::)[A-Za-z_$][\w$-]*)*")
_PLACE: Final = re.compile(r"(?<![\w/.-])([\w./-]{1,256}\.\w{1,32}):(\d{1,9})(?!\d)|\b[Ll]ine (\d{1,9})\b")
_WORD: Final = re.compile(r"[A-Za-z0-9_.\-+/:$]+")
_TIMES: Final = re.compile(r"\b(?:times|occurrences)\b")
_BEFORE: Final = re.compile(r"\bbefore\b")

Possible = Callable[[str], Set[str]]
"""Given a symbol, the names of the checks that might hold of it in the file."""


class Named(NamedTuple):
    """What a sentence sets off and names.

    Attributes:
        spans: code spans and quotations, each once.
        values: numbers and constants outside of these.
        plain: the sentence without its spans.
        text: the sentence.
    """

    spans: list[str]
    values: list[str]
    plain: str
    text: str


def named(text: str) -> Named:
    """What a sentence names."""
    spans = list(dict.fromkeys(one or two for one, two in _SPAN.findall(text)))[:MOST_SPANS]
    plain = _SPAN.sub(" ", text)
    return Named(spans, _VALUE.findall(plain)[:MOST_VALUES], plain, text)


def argument(value: str) -> str:
    """An argument as a check writes it: a word as it stands, so that `30` is a number; else a JSON string."""
    return value if _WORD.fullmatch(value) else json.dumps(value, ensure_ascii=False)


def candidates(
    about: Named, path: str, shown: str, lines: Sequence[str], lined: LinedText, possible: Possible
) -> Iterator[str]:
    """The checks that might hold.

    Args:
        about: of the sentence.
        path: of the file.
        shown: the text that came back of it.
        lines: every line of it that is known, from the first.
        lined: these lines as one text.
        possible: which checks on a symbol might hold in the file: `ON_SYMBOLS`, or fewer.
    """
    there = [span for span in about.spans if _last(span) in shown]
    bare = [span.removesuffix("()") for span in there]
    symbols = [name.replace("::", ".") for name in bare if _SYMBOL.fullmatch(name)]
    able = {name: possible(nfkc(name)) for name in symbols}  # as a check has it once it is read
    at = f", path={argument(path)})"
    yield from _of_places(about, path, lines)
    yield from _of_symbols(about, able, there, at)
    yield from _of_texts(about, there, at)
    for name, checks in able.items():
        if "defines" in checks:
            yield f"defines({argument(name)}{at}"
    # Of several lines with as many words the first one; the text itself decides no tie.
    counts = lined.word_counts(there) if len(there) > 1 else {}
    most, place = max(((count, -place) for place, count in counts.items()), default=(0, 0))
    if most > 1 and may_quote(path, lines[-place]):
        quote = " ".join(lines[-place].split())[:MOST_QUOTE]
        yield f"contains({argument(quote)}{at}"


def _of_places(about: Named, path: str, lines: Sequence[str]) -> Iterator[str]:
    """«`a.py:12` has `x`», «line 12 …»."""
    found = _PLACE.findall(about.text)[:MOST_VALUES]
    for place in {int(two or three) for one, two, three in found if three or path.endswith(one)}:
        quotes = [span for span in about.spans if 1 <= place <= len(lines) and span in lines[place - 1]]
        if quotes:
            yield f"line({argument(path)}, {place}, {argument(max(quotes, key=len))})"


def _of_symbols(about: Named, symbols: Mapping[str, Set[str]], there: list[str], at: str) -> Iterator[str]:
    """What a name is worth, and what it does with other names."""
    for name, checks in symbols.items():
        for value in (*there, *about.values) if "equals" in checks else ():
            if value != name:
                yield f"equals({argument(name)}, {argument(value)}{at}"
                if '"' not in value and "\\" not in value:
                    yield f'equals({argument(name)}, "{value}"{at}'
        for other in symbols:
            for check in ("calls", "uses"):
                if other != name and check in checks:
                    yield f"{check}({argument(name)}, {argument(other)}{at}"
        for span in there if "returns" in checks else ():
            yield f"returns({argument(name)}, {argument(span)}{at}"


def _of_texts(about: Named, there: list[str], at: str) -> Iterator[str]:
    """What needs no name: imports, sections, targets, how often, in which order."""
    counts = about.values if _TIMES.search(about.plain) else []
    for span in there:
        yield f"imports({argument(span)}{at}"
        for kind in (", section", ", target"):
            yield f"defines({argument(span)}{kind}{at}"
        for count in counts:
            yield f"count({argument(span)}, =, {argument(count)}{at}"
    if len(there) > 1 and _BEFORE.search(about.plain):
        yield f"order({argument(there[0])}, {argument(there[1])}{at}"


def _last(name: str) -> str:
    return re.split(r"\.|::", name.removesuffix("()"))[-1]
