"""The in-line encoding of an emission: `A sentence. [class; observation-id=…; ts=…]`, read and written [S §6], the
values of a group's parameters, and what `sluice parse` prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from typing import Any, Final, NamedTuple, cast
from urllib.parse import unquote

import msgspec
from msgspec.structs import replace

from .check_notes import INFO, MAX_SHARED, REFERENCE, Entry, checks_in, definitions, entries_of, few, matched
from .errors import Fault, schema_fault, too_many
from .identifiers import IDENTIFIER_PATTERN, Span, hides, span_key
from .json_text import MAX_NESTING, deeper_than
from .prose import BLANK_LINE, CodeSpans, Layout, layout, sentences
from .records import MAX_ASSERTIONS, Annotation, AnyStep, Assertion, Derived, Emission, Retrieval
from .times import format_time, parse_time
from .vocabulary import NEWEST, TERMINALS, VERSIONS, recognise

MAX_ARGUMENTS: Final = MAX_NESTING // 2
"""How deep `arguments` may be nested: less than a record, so that the JSON form of what was read can be read too."""

_IDENTIFIER: Final = re.compile(IDENTIFIER_PATTERN)
_MILLISECONDS: Final = re.compile(r"\d{1,15}", re.ASCII)
_LINES: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d{1,40})?(?:[eE][+-]?\d{1,3})?", re.ASCII)
_NOT_ENCODED: Final = re.compile(r"\s|%(?![0-9A-Fa-f]{2})")
_ENCODED: Final = re.compile(r"[;\[\]%\s]")


def read_value(key: str, raw: str) -> Any:
    """What a parameter of this `key`, percent-encoded, says, in the type that the key asks for; None where it is
    illegal."""
    value = _decoded(raw)
    if value is None:
        return None
    if key == "observation-id":
        return value if _IDENTIFIER.match(value) and not hides(value) else None
    if key == "ts":
        time = int(value) if _MILLISECONDS.fullmatch(value) else value
        return time if parse_time(time) is not None else None
    if key == "lines":
        lines = _LINES.fullmatch(value)
        return [int(lines[1]), int(lines[2] or lines[1])] if lines else None
    if key == "regex":
        return {"true": True, "false": False}.get(value)
    if key == "tolerance":
        return _json(value) if _NUMBER.fullmatch(value) else None
    return _json(value) if key == "arguments" else value


def write_value(key: str, value: Any) -> str:
    """The text of a value; of one that no parameter can hold, a text that does not read as it."""
    if key == "lines" and isinstance(value, list):
        text = "-".join(map(str, cast("list[Any]", value)))
    elif isinstance(value, str) and key != "arguments":
        text = value
    else:
        text = msgspec.json.encode(value).decode()
    return _ENCODED.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), text)


def _decoded(raw: str) -> str | None:
    if _NOT_ENCODED.search(raw):
        return None
    try:
        return unquote(raw, errors="strict")
    except UnicodeDecodeError:
        return None


def _json(value: str) -> Any:
    data = value.encode()
    try:
        return None if deeper_than(MAX_ARGUMENTS, data) else msgspec.json.decode(data)
    except msgspec.DecodeError:
        return None


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

_MAY_BEGIN: Final = re.compile(r"\[|`+")
_CHECKS: Final = re.compile(rf"(?:`{{3}}|~{{3}})[ \t]*{INFO}\b")

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


class Mark(NamedTuple):
    """An annotation or checks of the words before them.

    Attributes:
        position: where in the text without annotations they stood.
        annotation: of a group.
        checks: of a group, or of a footnote.
    """

    position: int
    annotation: Annotation | None
    checks: tuple[str, ...]


class Separated(NamedTuple):
    """An answer, and what its author wrote into it for machines.

    Attributes:
        text: without that, and without the white space before it.
        marks: groups and references to footnotes, in order.
        entries: of blocks of checks.
        left_out: what is not read, a sentence each.
    """

    text: str
    marks: list[Mark]
    entries: list[Entry]
    left_out: list[str]


def parse_inline(emission: Emission) -> Emission | Fault:
    """The JSON form of an emission whose `text` holds annotations and whose `assertions` is None;
    `too-many-annotations` where it holds more than an emission may.

    Every sentence becomes an assertion, in order, those without a group unannotated (`provenance` None). A group or a
    footnote belongs to the sentence that holds the last character before it; a group that no text precedes stays
    ordinary text.
    """
    return _parsed(emission)[0]


def left_out(emission: Emission) -> list[str]:
    """What `parse_inline` does not read of what looks like an annotation, a sentence each."""
    return _parsed(emission)[1]


def _parsed(emission: Emission) -> tuple[Emission | Fault, list[str]]:
    text, marks, entries, told = separate(emission.text or "", emission.vocabulary, MAX_ASSERTIONS + 1)
    if sum(mark.annotation is not None for mark in marks) > MAX_ASSERTIONS:
        return too_many("$.text", "annotations", MAX_ASSERTIONS, "more"), told
    spans = sentences(text, (mark.position for mark in marks), MAX_ASSERTIONS + 1)
    if len(spans) > MAX_ASSERTIONS:
        return too_many("$.text", "assertions", MAX_ASSERTIONS, "more"), told
    found: list[list[Mark]] = [[] for _ in spans]
    place = 0
    for mark in marks:
        while spans[place][1] < mark.position:
            place += 1
        found[place].append(mark)
    said, lost = matched(entries, ((text[start:end],) for start, end in spans))
    assertions = [
        _assertion(span, within, said.get(place, ()))
        for place, (span, within) in enumerate(zip(spans, found, strict=True))
    ]
    size = sum(len(check) for assertion in assertions for check in assertion.checks or ())
    if size > MAX_SHARED:
        return too_many("$.text", "characters of checks", MAX_SHARED, size), told
    return replace(emission, text=text, assertions=assertions), [*told, *lost]


def _assertion(span: tuple[int, int], marks: list[Mark], said: tuple[str, ...]) -> Assertion:
    whole = Span(chars=span)
    checks = [check for mark in marks for check in mark.checks]
    return Assertion(
        span=whole,
        span_key=span_key(whole),
        provenance=[mark.annotation for mark in marks if mark.annotation is not None] or None,
        checks=[*checks, *(check for check in dict.fromkeys(said) if check not in checks)] or None,
    )


def separate(text: str, vocabulary: str = NEWEST, most: int = 1 << 62, seen: str | None = None) -> Separated:
    """Takes groups (at most `most`, of a `vocabulary`), references to footnotes that are checks, those footnotes, and
    blocks of checks out of a text. `seen` is the text with blanks in place of what must not be read, as long as it is.
    """
    seen = text if seen is None else seen
    if "[" not in seen and not _CHECKS.search(seen):
        return Separated(text, [], [], [])
    return _Separating(text, seen, vocabulary, most).separated()


class _Separating:
    """One pass over an answer.

    Invariant: `_pieces` is what goes on of `text[:_done]`, `_length` its length; white space before an annotation goes
    with it. `_skipped` is behind the last group that no words precede.
    """

    def __init__(self, text: str, seen: str, vocabulary: str, most: int) -> None:
        self._text, self._seen, self._vocabulary, self._most = text, seen, vocabulary, most
        self._pieces: list[str] = []
        self._marks: list[Mark] = []
        self._length = self._done = self._skipped = self._groups = self._early = 0
        self._has_words = False
        self._close, self._open, self._mark = _Next(_CLOSE, text), _Next(_OPEN, text), _Next(_MARK, text)
        self._blank, self._spans = _Next(BLANK_LINE, seen), CodeSpans(seen)
        self._notes: dict[str, tuple[str, ...]] = {}
        self._referred: set[str] = set()

    def separated(self) -> Separated:
        """What came of it."""
        plan = layout(self._seen)
        notes, told = definitions(self._seen, plan)
        self._notes = {note.label: note.checks for note in notes if note.checks}
        blocks, entries, left = _blocks(self._text, plan)
        taken = sorted([*((note.start, note.end) for note in notes), *blocks])
        passed = sorted([*((*span, True) for span in taken), *((*span, False) for span in plan.foreign)])
        at = 0
        for start, end, is_taken in (*passed, (len(self._text), len(self._text), False)):
            self._read(at, start)
            if is_taken:
                self._take(start, end)
            at = max(at, end)
        self._pieces.append(self._text[self._done :])
        return Separated("".join(self._pieces), self._marks, entries, few([*told, *left, *self._left_out()]))

    def _left_out(self) -> Iterator[str]:
        unused = [label for label in self._notes if label not in self._referred]
        if unused:
            yield "No sentence refers to " + (
                f"{len(unused)} footnotes that are checks; they are left out."
                if len(unused) > 1
                else f"the footnote {unused[0]}, which is a check; it is left out."
            )
        if self._early:
            yield f"{self._early} of the references to footnotes stand before any words; they are left out."

    def _read(self, start: int, end: int) -> None:
        """What the author annotates in a stretch of prose."""
        while self._groups < self._most and (match := _MAY_BEGIN.search(self._seen, start, end)) is not None:
            start = match.end()
            if match[0] != "[":
                most = min(end, self._blank(match.start()))
                start = self._spans.end(match.start(), len(match[0]), most)
            elif (close := self._close(match.start())) >= end:
                return  # no bracket closes any more
            elif (note := REFERENCE.match(self._seen, match.start(), end)) is not None:
                start = self._referring(note)
            elif self._is_group(match.start(), close):
                self._group(match.start(), close)
                start = close + 1

    def _referring(self, note: re.Match[str]) -> int:
        """Reads a reference to a footnote; returns where to go on."""
        label = note[1].casefold()
        if label not in self._notes:
            return note.end()
        self._referred.add(label)
        has_words = self._has_words_before(note.start())
        self._take(*note.span())
        if has_words:
            self._marks.append(Mark(self._length, None, self._notes[label]))
        self._early += not has_words
        return note.end()

    def _is_group(self, position: int, close: int) -> bool:
        head = _HEAD.match(self._text, position)
        return (
            head is not None
            and self._open(position + 1) >= close
            and _is_group(self._text, head, self._mark(position) < close)
        )

    def _group(self, position: int, close: int) -> None:
        head = _HEAD.match(self._text, position)
        assert head is not None
        if not self._has_words_before(position):
            self._skipped = close + 1  # nothing that it could annotate stands before it
            return
        self._take(position, close + 1)
        self._groups += 1
        self._marks.append(Mark(self._length, *_annotation(head, self._text[head.end() : close], self._vocabulary)))

    def _has_words_before(self, position: int) -> bool:
        self._has_words = self._has_words or bool(self._text[max(self._done, self._skipped) : position].strip())
        return self._has_words

    def _take(self, start: int, end: int) -> None:
        self._has_words_before(start)
        piece = self._text[self._done : start].rstrip()
        self._pieces.append(piece)
        self._length += len(piece)
        self._done = end


def _blocks(text: str, plan: Layout) -> tuple[list[tuple[int, int]], list[Entry], list[str]]:
    """Where blocks of checks stand, what they say, and what is left out of them. One that no fence closes stays in the
    text where it cannot be read: prose may stand in it."""
    spans: list[tuple[int, int]] = []
    entries: list[Entry] = []
    told: list[str] = []
    for fence in plan.fences:
        if fence.info.split(None, 1)[:1] != [INFO]:
            continue
        given, left, was_read = entries_of(text[fence.first : fence.last], closed=fence.closed)
        entries += given
        told += left
        if was_read or fence.closed:
            spans.append((fence.start, fence.start + len(text[fence.start : fence.end].rstrip("\r\n"))))
    return spans, entries, told


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


def _annotation(head: re.Match[str], parameters: str, vocabulary: str) -> tuple[Annotation, tuple[str, ...]]:
    """The annotation of one group, and the checks in it. Of illegal parameters nothing is kept but that there were
    some: `unknown`, which stands only where the class is known."""
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
    return annotation, tuple(checks)


# ---------------------------------------------------------------- writing

_BESIDE: Final = ("effect", "grounded", "confidence", "chain", "cites")


def render_inline(emission: Emission) -> str | Fault:
    """The in-line text of an emission that `decode_emission` returned; a `schema` fault names what it cannot hold.

    Checks of an assertion without annotations stand in a footnote. The text is parsed again: it must give the same
    assertions, and sentences that had none are named as unannotated.
    """
    text = emission.text
    if text is None:
        return schema_fault("$.text", "a text, which the in-line encoding consists of", "nothing")
    if emission.contexts:
        return schema_fault("$.contexts", "nothing, since the text holds no contexts", "contexts")
    written: list[tuple[int, str]] = []
    notes: list[str] = []
    name = next(name for name in map("checks{}-".format, count()) if name not in text)
    for place, assertion in enumerate(emission.assertions or ()):
        groups = _groups(f"$.assertions[{place}]", text, assertion, emission.vocabulary)
        if isinstance(groups, Fault):
            return groups
        if assertion.checks and not groups:
            groups = f"[^{name}{place}]"
            notes.append(f"{groups}: {'; '.join(assertion.checks)}")
        if groups and assertion.span is not None and assertion.span.chars is not None:
            written.append((assertion.span.chars[1], groups))
    pieces: list[str] = []
    done = 0
    for end, groups in sorted(written):
        pieces += (text[done:end], groups)
        done = end
    rendered = "".join((*pieces, text[done:]))
    if notes:
        words = rendered.rstrip()
        rendered = "\n".join((f"{words}\n", *notes)) + rendered[len(words) :]
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
    if checks and not assertion.annotations and checks_in("; ".join(checks)) != tuple(checks):
        return schema_fault(f"{path}.checks", "checks that a footnote can hold", ", ".join(checks))
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
    read = separate(f".{group}", vocabulary).marks
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
    if read[0].checks != tuple(checks):
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
        read = separate(text, emission.vocabulary)
        if read.text == text:
            return schema_fault("$.text", "no annotated sentence in a quotation or in code", text)
        got = text[read.marks[0].position :].strip() if read.marks else text
        return schema_fault("$.text", "a text in which nothing reads as an annotation", got)
    checks = {assertion.span_key: assertion.checks for assertion in back.assertions or ()}
    for place, assertion in enumerate(emission.assertions or ()):
        if assertion.span_key in checks and (assertion.checks or None) != checks[assertion.span_key]:
            return schema_fault(f"$.assertions[{place}].checks", "checks of a sentence of the author's", "others")
        if assertion.span_key not in checks:
            return schema_fault(f"$.assertions[{place}].span", "the offsets of one whole sentence", assertion.span_key)
    return None


def parsed_form(emission: Emission) -> dict[str, Any]:
    """The JSON-ready form of an emission that `decode_emission` returned, without its signature; decoding it again
    changes nothing."""
    form: dict[str, Any] = {"emission_id": emission.emission_id, "emitted_at": _time(emission.emitted_at)}
    if emission.emitter is not None:
        form["emitter"] = msgspec.to_builtins(emission.emitter)
    form["effect"] = emission.effect
    form["vocabulary"] = emission.vocabulary
    if emission.text is not None:
        form["text"] = emission.text
    form["assertions"] = [_assertion_form(assertion, emission.vocabulary) for assertion in emission.assertions or ()]
    if emission.contexts:
        form["contexts"] = dict(emission.contexts)
    form["attempt"] = emission.attempt
    pieces = {"group": emission.group, "part": emission.part, "final": emission.final}
    return form | {name: value for name, value in pieces.items() if value is not None}


def _assertion_form(assertion: Assertion, vocabulary: str) -> dict[str, Any]:
    form: dict[str, Any] = {"span": _span(assertion.span), "span_key": assertion.span_key}
    if assertion.assertion is not None:
        form["assertion"] = assertion.assertion
    form["kind"] = assertion.kind
    form["provenance"] = [_annotation_form(annotation, vocabulary) for annotation in assertion.annotations]
    beside = {name: getattr(assertion, name) for name in ("effect", "grounded", "confidence")}
    form |= {name: value for name, value in beside.items() if value is not None}
    if assertion.chain is not None:
        form["chain"] = [_step(step) for step in assertion.chain]
    if assertion.cites is not None:
        form["cites"] = msgspec.to_builtins(assertion.cites)
    if assertion.checks is not None:
        form["checks"] = list(assertion.checks)
    return form


def _span(span: Span | None) -> dict[str, Any]:
    members: dict[str, Any] = msgspec.to_builtins(span)
    for form in members.keys() & {"chars", "tokens"}:
        members[form] = list(members[form])  # as JSON has it: no tuples
    return members


def _annotation_form(annotation: Annotation, vocabulary: str) -> dict[str, Any]:
    recognised = recognise(annotation.substrate_class, vocabulary)
    # One form of a terminal, as the in-line encoding reads it: the memo writes it in either case [S §2, §5].
    name = annotation.substrate_class.lower() if recognised.terminal else annotation.substrate_class
    form: dict[str, Any] = {"substrate_class": name}
    if annotation.observation_id is not None:
        form["observation_id"] = annotation.observation_id
    if annotation.ts is not None:
        form["ts"] = _time(annotation.ts)
    if annotation.locator is not None:
        form["locator"] = annotation.locator
    if recognised.terminal:
        form["terminal"] = True
    if annotation.unknown or recognised.name is None:
        form["unknown"] = True
    if annotation.computed:
        form["computed"] = True
    return form


def _step(step: AnyStep) -> dict[str, Any]:
    form: dict[str, Any] = msgspec.to_builtins(step)
    if isinstance(step, Retrieval) and step.timestamp is not None:
        form["timestamp"] = _time(step.timestamp)
    if isinstance(step, Derived):  # both sides are kept [C §9.1], and both may hold times
        sides = (("left", step.left), ("right", step.right))
        form |= {side: [_step(inner) for inner in steps] for side, steps in sides if steps}
    return form


def _time(value: str | int) -> str:
    """RFC 3339 with a `Z`, digits finer than a millisecond cut off; what is no time stays as it is."""
    milliseconds = parse_time(value)
    return str(value) if milliseconds is None else format_time(milliseconds)
