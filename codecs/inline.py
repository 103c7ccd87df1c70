"""The in-line encoding of an emission: `A sentence. [class; observation-id=…; ts=…]`, read and written [S §6].

Reading never fails and never guesses: a bracket either is a group, then it becomes an annotation (`unknown` where
anything in it is illegal, so that it fails closed [S §11.2]), or it is ordinary text (docs/reference/records.md).
Writing refuses what a group cannot hold. Time is linear in the text's length, whatever stands in it: an emission may
hold a megabyte of `[`.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from .errors import Fault, schema_fault, too_many
from .parameters import read_value, write_value
from .records import MAX_ASSERTIONS, Annotation, Assertion, Emission
from .sentences import sentences
from .spans import Span, span_key
from .vocabulary import TERMINALS, VERSIONS, recognise

# ---------------------------------------------------------------- reading

# Possessive repeats (*+) keep every expression linear. A group's head ends at the first `;` or `]`; where another
# bracket opens before that, the bracket is none.
_HEAD: Final = re.compile(r"\[\s*+([^\s;\[\]]*+)([^;\[\]]*+)(?=[;\]])")
_CLOSE: Final = re.compile(r"\]")
_OPEN: Final = re.compile(r"[\s;]\[")
"""A bracket that opens where no value can go on: the one before it never closed."""
_MARK: Final = re.compile(r";\s*+(?:observation-id|ts)\s*+=")
_MARK_FIRST: Final = ("observation-id=", "ts=")

_ANCHOR: Final = re.compile(r"\d{1,4}\.\d{1,4}\.", re.ASCII)
_SHAPE: Final = re.compile(r"(?:\d{1,4}\.\d{1,4}\.)?substrate\.|\d{1,4}\.\d{1,4}\.[a-z]..", re.ASCII | re.IGNORECASE)
"""`substrate.`, or a version anchor and a name. `[1.2.0]` and `[1.0.x]` are headings of change logs, not classes."""
_DOTTED: Final = re.compile(r"[a-z][a-z0-9-]*+(?:\.[a-z0-9-]++)++", re.ASCII | re.IGNORECASE)
_PARAMETER: Final = re.compile(r";\s*+[A-Za-z_][A-Za-z0-9_.-]{0,63}\s*+=", re.ASCII)
"""With a parameter behind it a dotted name is a class, known or not [S §4]: `[rfc3161.tsa; id=4]`."""

_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}", re.ASCII)

MAX_CLASS: Final = 256
CHECK: Final = "check"
"""The parameter that holds one check of the assertion."""
COMPUTED: Final = "computed"
"""The parameter that says, by `true`, that a recorder computed the observation id."""
NO_CLASS: Final = "?"
"""What a group names that begins with a parameter: never a class, so it fails closed."""


class _Next:
    """The next occurrence of a pattern at or after a position that never decreases: one search over the text in all."""

    def __init__(self, pattern: re.Pattern[str], text: str) -> None:
        self._pattern, self._text, self._found = pattern, text, -1

    def __call__(self, position: int) -> int:
        """Where the next occurrence starts; the text's length where there is none."""
        if self._found < position:
            match = self._pattern.search(self._text, position)
            self._found = match.start() if match else len(self._text)
        return self._found


def parse_inline(emission: Emission) -> Emission | Fault:
    """The JSON form of an emission whose `text` holds groups and whose `assertions` is None.

    Every sentence becomes an assertion, in order, those without a group unannotated (`provenance` None). A group
    annotates the sentence that holds the last character before it; one that no text precedes stays ordinary text.

    Args:
        emission: as it came.

    Returns:
        `too-many-annotations` where it holds more than an emission may; what lies beyond that is not read.
    """
    text, groups = _take_groups(emission.text or "", emission.vocabulary, MAX_ASSERTIONS + 1)
    if len(groups) > MAX_ASSERTIONS:
        return too_many("$.text", "annotations", MAX_ASSERTIONS, "more")
    spans = sentences(text, (group.position for group in groups), MAX_ASSERTIONS + 1)
    if len(spans) > MAX_ASSERTIONS:
        return too_many("$.text", "assertions", MAX_ASSERTIONS, "more")
    found: list[list[_Group]] = [[] for _ in spans]
    place = 0
    for group in groups:
        while spans[place][1] < group.position:
            place += 1
        found[place].append(group)
    assertions = [_assertion(span, within) for span, within in zip(spans, found, strict=True)]
    return replace(emission, text=text, assertions=assertions)


class _Group(NamedTuple):
    """A group, and where in the text without groups it stood."""

    position: int
    annotation: Annotation
    checks: list[str]


def _assertion(span: tuple[int, int], groups: list[_Group]) -> Assertion:
    whole = Span(chars=span)
    return Assertion(
        span=whole,
        span_key=span_key(whole),
        provenance=[group.annotation for group in groups] or None,
        checks=[check for group in groups for check in group.checks] or None,
    )


def _take_groups(text: str, vocabulary: str, most: int = 1 << 62) -> tuple[str, list[_Group]]:
    """The text without its groups and the white space before each, and each group with the place where it stood; the
    first `most` groups."""
    close_after, open_after, mark_after = _Next(_CLOSE, text), _Next(_OPEN, text), _Next(_MARK, text)
    pieces: list[str] = []
    groups: list[_Group] = []
    length = done = skipped = 0
    position = text.find("[")
    while position >= 0 and len(groups) < most:
        close = close_after(position)
        if close == len(text):
            break
        head = _HEAD.match(text, position)
        if head is None or open_after(position + 1) < close or not _is_group(text, head, mark_after(position) < close):
            position = text.find("[", position + 1)
            continue
        if not groups and not text[skipped:position].strip():
            skipped = close + 1  # nothing that it could annotate stands before it
        else:
            piece = text[done:position].rstrip()
            pieces.append(piece)
            length += len(piece)
            groups.append(_Group(length, *_annotation(head, text[head.end() : close], vocabulary)))
            done = close + 1
        position = text.find("[", close + 1)
    pieces.append(text[done:])
    return "".join(pieces), groups


def _is_group(text: str, head: re.Match[str], marked: bool) -> bool:
    word = head[1]
    return (
        marked
        or (_DOTTED.fullmatch(word) is not None and not head[2].strip() and bool(_PARAMETER.match(text, head.end())))
        or word.startswith(_MARK_FIRST)
        or _SHAPE.match(word) is not None
        or _terminal(word) is not None
        or any(word in classes for classes in VERSIONS.values())
    )


def _terminal(word: str) -> str | None:
    """The word in lower case if that is a terminal, bare or with any version's anchor [S §5]."""
    name = word.lower()
    anchor = _ANCHOR.match(name)
    return name if name[anchor.end() if anchor else 0 :] in TERMINALS else None


def _annotation(head: re.Match[str], parameters: str, vocabulary: str) -> tuple[Annotation, list[str]]:
    """The annotation of one group, and the checks in it, which are its assertion's. Of illegal parameters nothing is
    kept but that there were some: `unknown`.

    The flag stands only where the class is known: for the others the class itself says it.
    """
    name = _terminal(head[1]) or head[1][:MAX_CLASS] or NO_CLASS
    legal = not head[2].strip()
    given: dict[str, Any] = {}
    checks: list[str] = []
    for parameter in parameters.split(";"):
        key, equals, raw = parameter.partition("=")
        key = key.strip()
        if not key and not equals:
            continue  # white space between parameters
        is_legal = equals and _KEY.fullmatch(key) and key not in given
        value = read_value(key, raw.strip()) if is_legal else None
        if value is None:
            legal = False
        elif key == CHECK:
            checks.append(value)  # the only parameter that may be repeated
        else:
            given[key] = value
    computed = given.get(COMPUTED) == "true"
    if computed:
        del given[COMPUTED]
    annotation = Annotation(
        substrate_class=name,
        observation_id=given.pop("observation-id", None),
        ts=given.pop("ts", None),
        locator=given or None,
        unknown=not legal and (_terminal(name) is not None or recognise(name, vocabulary).name is not None),
        computed=computed,
    )
    return annotation, checks


# ---------------------------------------------------------------- writing

_BESIDE: Final = ("effect", "grounded", "confidence", "chain", "cites")


def render_inline(emission: Emission) -> str | Fault:
    """The in-line text of an emission that `decode_emission` returned; a `schema` fault names what it cannot hold.

    Parsing the text gives the same assertions again, and names the sentences that had none as unannotated. That is
    checked here by doing it, so the grammar is written down once, in the reading half.
    """
    text = emission.text
    if text is None:
        return schema_fault("$.text", "a text, which the in-line encoding consists of", "nothing")
    if emission.contexts:
        return schema_fault("$.contexts", "nothing, since the text holds no contexts", "contexts")
    written: list[tuple[int, str]] = []
    for place, assertion in enumerate(emission.assertions or ()):
        groups = _groups(f"$.assertions[{place}]", text, assertion, emission.vocabulary)
        if isinstance(groups, Fault):
            return groups
        if groups and assertion.span is not None and assertion.span.chars is not None:
            written.append((assertion.span.chars[1], groups))
    pieces: list[str] = []
    done = 0
    for end, groups in sorted(written):
        pieces += (text[done:end], groups)
        done = end
    rendered = "".join((*pieces, text[done:]))
    return _difference(emission, text, rendered) or rendered


def _groups(path: str, text: str, assertion: Assertion, vocabulary: str) -> str | Fault:
    """The groups of one assertion, each with a space before it, or the first thing about it that they cannot hold."""
    span = assertion.span
    if span is None or span.chars is None:
        return schema_fault(f"{path}.span", "the character offsets of a sentence", assertion.span_key)
    start, end = span.chars
    if text[start:end] != text[start:end].strip():
        return schema_fault(f"{path}.span", "a sentence without the white space around it", assertion.span_key)
    if assertion.kind != "assertion":
        return schema_fault(f"{path}.kind", "assertion, the only kind that the text can hold", assertion.kind)
    for field in _BESIDE:
        if getattr(assertion, field) is not None:
            return schema_fault(f"{path}.{field}", "nothing, since a group does not hold it", "a value")
    checks = assertion.checks or []
    if checks and not assertion.annotations:
        return schema_fault(f"{path}.checks", "an annotation, whose group holds the checks", "none")
    groups = ""
    one = not isinstance(assertion.provenance, list)
    for place, annotation in enumerate(assertion.annotations):
        where = f"{path}.provenance" if one else f"{path}.provenance[{place}]"
        group = _group(where, annotation, vocabulary, checks if place == 0 else [])
        if isinstance(group, Fault):
            return group
        groups += f" {group}"
    return groups


def _group(path: str, annotation: Annotation, vocabulary: str, checks: list[str]) -> str | Fault:
    """One annotation as a group that reads as that annotation, with checks of its assertion."""
    name = _terminal(annotation.substrate_class) or annotation.substrate_class
    parts = [name]
    if annotation.observation_id is not None:
        parts.append(f"observation-id={write_value('observation-id', annotation.observation_id)}")
    if annotation.computed:
        parts.append(f"{COMPUTED}=true")
    if annotation.ts is not None:
        parts.append(f"ts={write_value('ts', annotation.ts)}")
    locator = annotation.locator or {}
    parts += (f"{key}={write_value(key, value)}" for key, value in locator.items())
    parts += (f"{CHECK}={write_value(CHECK, check)}" for check in checks)
    group = f"[{'; '.join(parts)}]"
    _, read = _take_groups(f".{group}", vocabulary)
    back = read[0].annotation if len(read) == 1 else None
    if back is None or back.substrate_class != name:
        return schema_fault(f"{path}.substrate_class", "a class that reads as one in a group", name)
    if back.observation_id != annotation.observation_id:
        return schema_fault(f"{path}.observation_id", "an identifier", annotation.observation_id)
    if back.ts != annotation.ts:
        return schema_fault(f"{path}.ts", "a time", annotation.ts)
    found = back.locator or {}
    for key, value in locator.items():
        if key not in found or found[key] != value:
            return schema_fault(f"{path}.locator.{key}", "a value that a parameter can hold", value)
    if read[0].checks != checks:
        return schema_fault(f"{path}.checks", "checks that a parameter can hold", ", ".join(checks))
    if recognise(name, vocabulary).name is not None and annotation.unknown != back.unknown:
        return schema_fault(f"{path}.unknown", "nothing but what the class says", str(annotation.unknown).lower())
    return group


def _difference(emission: Emission, text: str, rendered: str) -> Fault | None:
    """The first thing that is another one after parsing what was rendered."""
    back = parse_inline(replace(emission, text=rendered, assertions=None))
    if isinstance(back, Fault):
        return back
    if back.text != text:
        _, literal = _take_groups(text, emission.vocabulary)
        got = text[literal[0].position :].strip() if literal else text
        return schema_fault("$.text", "a text in which no bracket reads as a group", got)
    sentence_keys = {assertion.span_key for assertion in back.assertions or ()}
    for place, assertion in enumerate(emission.assertions or ()):
        if assertion.span_key not in sentence_keys:
            return schema_fault(f"$.assertions[{place}].span", "the offsets of one whole sentence", assertion.span_key)
    return None
