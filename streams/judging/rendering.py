"""What a check says, as one plain English sentence from a table of ours (docs/checks.md).

A sentence says what its check says and no more. Every argument is visibly one: numbers and dates stand bare, names in
back-ticks, quotes in guillemets, and what could end those, or is not seen, as a JSON string. So no argument adds a word
to the sentence, ends its own quotation, or begins a line. Nothing is cut. Two checks have two sentences; one without
a path has that of the same check with the path that was looked at. Nothing is verified here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from ...codecs.unicode_text import find_confusables, find_invisible, nfkc, unicodedata2
from .checks import ROWS, Check, Kind, Parameter, Value, written_value
from .checks import TABLE as CHECKS

SENTENCES: Final[Mapping[str, tuple[str, str]]] = {
    f"{check} {form}".rstrip(): (said, row.get(f"denies_{form}".rstrip("_"), ""))
    for check, row in ROWS["checks"].items()
    for form, said in ((key.removeprefix("says").strip("_"), row[key]) for key in row if key.startswith("says"))
}
"""For each check, or form of one: what it says, and what it says behind a `not` where it may stand there."""


def render(
    check: Check,
    *,
    path: str | None,
    lines: tuple[int, int] | None,
    commit: str | None,
    under: Sequence[str] = (),
) -> str:
    """The sentence of one check, with the place where it was found to hold.

    Args:
        check: the check, its `not` included.
        path: the file that was looked at; None where none is known.
        lines: the lines of it where the check holds, from 1.
        commit: the commit that decided it.
        under: the texts of the conditions, attributes or preprocessor lines around it (`Held.under`).

    Returns:
        One sentence on one line, with a full stop.
    """
    said = SENTENCES[_form(check, path)][check.negated].format_map(_fields(check, path))
    place = _place(check, path, lines, commit) + _conditions(under)
    return f"{said} ({', '.join(place)})." if place else f"{said}."


def _conditions(under: Sequence[str]) -> list[str]:
    """What is told of the conditions: that only one branch is spoken of, and which."""
    shown = [f"under {quotation(' '.join(nfkc(text).split())[:_LONGEST])}" for text in under if text.strip()]
    branch = any(text.strip()[:1] not in "#@[" for text in under)
    return (["in one branch"] if branch else []) + shown


_LONGEST: Final = 200
"""Characters of a condition that are shown."""


def _form(check: Check, path: str | None) -> str:
    if check.name == "defines" and (kind := check.text("kind")):
        return f"defines {kind}" if kind in ("target", "section") else "defines kind"
    if check.name == "commit" and check.named:
        return "commit with"
    if check.name == "calls" and check.has("argument"):
        return "calls argument"
    # A channel has a number of subscribers; the words fit a text in which they are counted as well.
    if check.name == "count" and path is None and not check.named and check.text("pattern") == "subscribers":
        return "count subscribers"
    return check.name


def _fields(check: Check, path: str | None) -> dict[str, str]:
    """Every argument as it is shown, and the phrases that are made of several."""
    signature = CHECKS[check.name]
    fields = {
        parameter.name: _shown(parameter, argument)
        for parameter, argument in zip(signature.parameters, check.arguments, strict=False)
    }
    parameters = {parameter.name: parameter for parameter in signature.named}
    named = {key: _shown(parameters[key], argument) for key, argument in check.named}
    have = [ROWS["keyed"][key].format(shown) for key, shown in named.items() if key in ROWS["keyed"]]
    fields["declared"] = "".join(f" {phrase}" for phrase in have)
    if signature.content:
        fields |= _scope(check, check.path or path, named)
    elif have:
        fields["all"] = _listed(have, check.negated)
    fields["argument"] = named.get("argument", "")
    fields["of"] = f" in {named['path']}" if "path" in named else ""
    fields["since"] = f" since {named['since']}" if "since" in named else ""
    if "op" in fields:
        *relations, time = ROWS["operators"][check.text("op")]
        fields |= {"relation": relations[check.negated], "when": f"{time} {fields.get('time', '')}"}
    fields["section"] = _bare(check.text("symbol"))
    return fields


def _scope(check: Check, path: str | None, named: Mapping[str, str]) -> dict[str, str]:
    """Where a check on content looks: the file, and what of it."""
    file = name(path) if path else "what was looked at"
    inside = f" in {named['in']}" if "in" in named else ""
    lines = f" in line{'s' if '-' in check.text('lines') else ''} {check.text('lines')}" if check.lines else ""
    return {
        "file": file,
        "File": file if path else "What was looked at",
        "inside": inside + lines,
        "where": f"{inside}{lines} of {file}" if lines else f"{inside} in {file}",
    }


def _listed(items: Sequence[str], negated: bool) -> str:
    *first, last = items
    if not first:
        return last
    return f"{'all of ' if negated else ''}{', '.join(first)} and {last}"


def _place(check: Check, path: str | None, lines: tuple[int, int] | None, commit: str | None) -> list[str]:
    """What is told of the place, beside what the sentence itself says of it."""
    place: list[str] = []
    named = path if CHECKS[check.name].content and check.path is None else check.path
    if path and path != named:
        place.append(f"in {name(path)}")
    if lines is not None:
        place.append(f"line {lines[0]}" if lines[0] == lines[1] else f"lines {lines[0]} to {lines[1]}")
    asked = check.text("hash" if check.name == "commit" else "commit").lower()
    if commit and not (asked and commit.lower().startswith(asked)):
        place.append(f"commit {commit[:7] if _HASH.fullmatch(commit) else name(commit)}")
    return place


_HASH: Final = re.compile(r"[0-9a-f]{7,64}")


# ---------------------------------------------------------------- arguments


def _shown(parameter: Parameter, argument: Value) -> str:
    if parameter.kind is Kind.PATHS and isinstance(argument, tuple):
        return _listed([name(str(path)) for path in argument], negated=False)
    if parameter.kind is Kind.VALUE or not isinstance(argument, str):
        return _value(argument)
    if parameter.kind is Kind.TEXT:
        return quotation(argument)
    if parameter.kind is Kind.TIME:
        return _bare(argument)
    return argument if parameter.kind in (Kind.SYMBOL_KIND, Kind.OPERATOR) else name(argument)


def _value(value: Value) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    return quotation(value) if isinstance(value, str) else written_value(value)


def _bare(text: str) -> str:
    """A date, a time or a version as it stands; any other text as a quotation."""
    return text if _DATE.fullmatch(text) else quotation(text)


_DATE: Final = re.compile(r"[0-9]{1,9}(?:[-.:T+][0-9]{1,9}){0,9}Z?")


def name(text: str) -> str:
    """A name in back-ticks, or as a JSON string where something in it could pass for the end of them."""
    ticks = any(to == "'" for _, _, to in find_confusables(text))
    return f"`{text}`" if text and not ticks and _plain(text) else _json(text)


def quotation(text: str) -> str:
    """A quote in guillemets, or as a JSON string where something in it could pass for their end."""
    return f"«{text}»" if _ANGLES.isdisjoint(text) and _plain(text) else _json(text)


_ANGLES: Final = frozenset("‹›≪≫⋘⋙〈〉《》〈〉⟨⟩⟪⟫❬❭❮❯❰❱⦉⦊⧼⧽˂˃")
_MARKED: Final = frozenset("`«»")
_MARKUP: Final = re.compile(r"<[A-Za-z/!?]|\]\(")
_SCHEME_END: Final = re.compile(r":(?=//)|(?<=script):|(?<=data):|(?<=blob):|(?<=filesystem):|(?<=view-source):", re.I)
_BLANK: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and a sign that nobody sees."""


def _plain(text: str) -> bool:
    """Whether a sentence may show it as it is: all of it is seen, none of it is a mark of ours, and none gives way.

    The sanitiser behind us takes markup and schemes of URIs away and puts ASCII in place of letters that look like it:
    what is shown would no longer be what was checked. An accent at the start would stand on our mark.
    """
    if not _MARKED.isdisjoint(text) or _MARKUP.search(text) or (":" in text and _SCHEME_END.search(text)):
        return False
    if text.isascii():
        return text.isprintable()
    if nfkc(text) != text or find_invisible(text) or unicodedata2.category(text[0])[0] == "M":
        return False
    if any(to in "<]([!/" or unicodedata2.category(one)[0] in "LN" for _, one, to in find_confusables(text)):
        return False
    return all(one == " " or (unicodedata2.category(one)[0] not in "CZ" and one not in _BLANK) for one in text)


def _json(text: str) -> str:
    """A JSON string in which letters and digits stand as themselves, and of other characters most of those of ASCII."""
    composes = nfkc(text) != text
    return f'"{_SCHEME_END.sub(_COLON, "".join(_escaped(one, composes) for one in text))}"'


_COLON: Final = r"\\u003a"


def _escaped(character: str, composes: bool) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isascii():
        stands = character.isprintable() and character not in "`<]"
    else:
        stands = not composes and unicodedata2.category(character)[0] in "LN" and character not in _BLANK
        stands = stands and not find_confusables(character)
    if stands:
        return character
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))
