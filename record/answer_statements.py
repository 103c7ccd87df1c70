"""An answer's Markdown as statements: which sentences state something, and the pieces of a streamed answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from ..codecs.check_notes import INFO, MAX_SHARED, few, matched
from ..codecs.inline import Mark, separate
from ..codecs.prose import sentences
from ..codecs.records import MAX_CHECK_LENGTH, MAX_CHECKS, Annotation
from ..codecs.unicode_text import nfkc
from ..streams.judging.prose_literals import CLOSERS, PLAIN, code_spans, literals, quotes
from .markdown_blocks import Run, runs, without_reasoning

MAX_STATEMENT: Final = 2_000
"""Characters of a sentence; a longer one is no sentence."""
MAX_REPORT: Final = 400
"""Characters in which a sentence says what a run gave, or what was changed."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MARKS: Final = re.compile(r"^(?:[\s*_~>#\-–—•]+|\[[ xX]\]|\d{1,4}[.)]\s)+|[\s*_~]+$")
_LABEL: Final = re.compile(
    r"^(?:(?:the |my |one )?(?:note|nb|result|finding|summary|answer|fact|fix|solution|workaround|suggestion)\s*:|"
    r"(?:note|notice|observe) that\b)[\s*_]*",
    re.IGNORECASE,
)
_FIRST: Final = (
    r"(?:(?:ok(?:ay)?|so|now|next|then|first|finally|also|and|but|instead|afterwards|great|sure|well)[,.!:]?\s+){0,3}"
)
_PLAN: Final = re.compile(
    rf"{_FIRST}(?:(?:i|we)(?:['’](?:ll|d)|['’]?\s*(?:am|are|['’](?:m|re))?\s*(?:going to|about to)|\s+(?:will|"
    r"would|can|could|should|shall|might|may|must|need to|want to|plan to|intend to|have to|suggest|recommend|"
    r"propose|hope|think|"
    r"believe|guess|suspect|assume|wonder)\b)|let\s+me\b|let['’]?s\b|i['’]m\s+(?:going|about|not sure|afraid|sorry)\b"
    r"|(?:my|the)\s+(?:plan|next step|suggestion|recommendation)\b|todo\b|to\s?do:)",
    re.IGNORECASE,
)
_ADVICE: Final = re.compile(
    rf"{_FIRST}(?:(?:if|when|once|should|whenever)\s+(?:you|needed|necessary|desired)\b|you(?:['’](?:ll|d|re)|\s+(?:can|could|"
    r"should|may|might|must|need|will|want|have to))\b|please\b|feel free\b|make sure\b|be sure\b|remember\b|to\s+"
    r"(?:do|fix|run|see|use|check|try|verify|reproduce|test)\b|consider\b|would you\b|do you\b|shall i\b|should i\b)",
    re.IGNORECASE,
)
_GREETING: Final = re.compile(
    r"(?:hi|hello|hey|thanks|thank you|sure|of course|certainly|absolutely|great|perfect|excellent|good|sorry|"
    r"you(?:['’]re| are) (?:right|welcome)|my apologies|i apologi[sz]e|got it|understood|done|all (?:done|set)|"
    r"happy to|i hope|hope this|let me know|good question|great question|ok|okay)\b",
    re.IGNORECASE,
)
_KINDS: Final = (
    r"(?:(?:unit|integration|e2e|end-to-end|smoke|regression|new|existing|other|remaining|lint|type|build|compiler) )"
)
_RUN: Final = (
    r"(?:tests?|test (?:suites?|cases?|files?)|suites?|specs?|checks|lint(?:ers?|ing)?|type[- ]?check(?:s|ers?|ing)?|"
    r"types|formatt(?:er|ing)|builds?|compilation|compiler|ci|pipeline|pytest|jest|vitest|mypy|pyright|ruff|eslint|tsc|clippy|"
    r"cargo|pre-commit|make)"
)
_OUTCOME: Final = (
    r"(?:pass(?:e[sd]|ing)?|fail(?:s|ed|ing)?|succeed(?:s|ed)?|successful(?:ly)?|clean(?:ly)?|green|red|broken|ok|fine|"
    r"happy|no (?:errors?|warnings?|issues?|failures?|problems?))"
)
_BETWEEN: Final = (
    r"(?:is|are|was|were|has|have|been|comes?|came|stays?|remains?|reports?|reported|shows?|showed|found|finds|finished|"
    r"finishe[sd]|completed?|completes|now|also|all|both|still|again|run|runs)"
)
_RESULT: Final = re.compile(
    rf"\b(?:{_KINDS}*{_RUN}(?: (?:in|of|for) (?:the )?[\w./`-]+)?:?(?: {_BETWEEN}){{0,4}} {_OUTCOME}"
    rf"|(?:no|zero) {_KINDS}?(?:errors|warnings|failures|regressions)"
    r"|(?:everything|it|the (?:code|project|crate|package)) (?:now |still )?(?:compiles|builds|type-checks|passes)"
    rf"|\d+ {_KINDS}?(?:(?:tests?|specs?|checks?) )?(?:passe[sd]|pass(?:ing)?|failed|fails?|failing|failures?|skipped|"
    r"errors?|warnings?)"
    r"|(?:exit(?:s|ed)?|returned) (?:with )?(?:status |code )*\d+)(?![\w-])",
    re.IGNORECASE,
)
"""What tests, lint, a build or a type check gave."""
_OPEN: Final = re.compile(
    r"\b(?:if|when|once|unless|until|whether|before|should|would|could|may|might|will|must|can|cannot|can['’]t|ensures?|"
    r"so that|in order|(?:needs?|has|have|expected) to|want|let me know)\b",
    re.IGNORECASE,
)
"""A condition, a wish or a guess: what is said so was not seen."""
_DONE: Final = (
    r"(?:added|adjusted|applied|bumped|changed|cleaned up|committed|converted|created|deleted|disabled|documented|"
    r"dropped|enabled|extended|extracted|fixed|implemented|inlined|introduced|lowered|merged|migrated|modified|moved|"
    r"raised|refactored|regenerated|removed|renamed|reordered|replaced|reverted|rewrote|rewritten|simplified|split|"
    r"switched|tightened|touched|updated|upgraded|wired up|wrapped)"
)
_ALSO: Final = r"(?:(?:also|now|just|only|then|already|newly) ){0,2}"
_CHANGE: Final = re.compile(
    rf"(?:{_FIRST}(?:(?:i|we)(?:['’]ve| have)? )?{_ALSO}{_DONE} (?!by\b)\S+"
    rf"|[^.;:]{{1,120}}?(?<!that)(?<!which)(?<!who)(?<!they)(?<!\bit) (?:was|were|(?:has|have) been|(?:is|are) now) "
    rf"{_ALSO}{_DONE}\b"
    r"|(?:nothing else|no other \w+|only [^.;:]{1,80}?) (?:(?:was|were|has been|have been) )?"
    r"(?:changed|touched|modified)\b)",
    re.IGNORECASE,
)
"""What was changed."""
_VERBS: Final = _words(
    """
    add adjust apply ask avoid be build bump call change check choose click clone commit compare configure
    consider copy create define delete deploy disable do don't dont edit enable ensure execute export extract find
    fix follow give go grep have import include increase insert inspect install invoke keep launch leave look
    lower make merge mock monitor move note notice open paste pass pick pin point prefer print pull push put raise
    read rebuild refactor refer reload remember remove rename replace rerun restart revert review rewrite run save
    scroll search see select send set show skip specify start stop switch take tell test try type uncomment undo
    uninstall update upgrade use verify view visit wait watch wrap write
    """
)
"""Verbs by which a reader is told what to do, at the beginning of a sentence."""
_OBJECTS: Final = _words(
    """
    the a an this that these those your my our its their it them all any each every both either no at to in into
    on onto from for with without by via as if when whether that what which how again out up down off over sure
    and or not more less only another also
    """
)
"""What follows a verb that instructs; behind a noun of the same letters («Test files …») something else stands."""
_NOUN: Final = re.compile(
    r"\w+ (?:`[^`]{1,200}`|[\w./]{1,200}) (?:is|are|was|were|has|had|does|did|contains?|defines?|adds?|changes?|"
    r"removes?|introduces?|fixes|touches|changed|added|removed|introduced|fixed|touched|made|returns?|passes|fails)\b"
)
"""«Commit `abc` was …»: what stands first is no verb where another one follows."""
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_URL: Final = re.compile(r"\]\([^()\s]{0,2000}(?:\s[^()]{0,500})?\)|<?https?://[^\s<>)]{1,2000}>?")
_CAMEL: Final = re.compile(
    r"\b[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+\b|\b[a-z]+[A-Z]\w*\b|\b\w+\(\)|\b[A-Za-z]+_\w+\b|\b[A-Z]{2,}\w*\b"
)


def states(text: str) -> bool:
    """Whether a sentence, as it stands in the Markdown, states something checkable."""
    if len(text) > MAX_STATEMENT:
        return False
    plain = _LABEL.sub("", _MARKS.sub("", text))
    ending = plain.rstrip("".join(PLAIN) + ")]*_` ")
    if ending.endswith(("?", "？", "؟", ":", "：")) or not plain:
        return False
    if _PLAN.match(plain) or _ADVICE.match(plain) or _instructs(plain):
        return False
    if _reports(plain):
        return True
    if _GREETING.match(plain) and len(plain.split()) <= 6 and "`" not in plain:
        return False
    return _names(_URL.sub("] ", plain))


def _reports(plain: str) -> bool:
    """Whether it says what a run gave or what was changed, beyond a condition or a guess."""
    plain = " ".join(plain.replace("*", "")[:MAX_REPORT].split())
    return not _OPEN.search(plain) and bool(_RESULT.search(plain) or _CHANGE.match(plain))


def states_row(cells: Sequence[str], heads: Sequence[str] = ()) -> bool:
    """Whether a table row says something: two of its cells are filled, and one names something or tells of a run."""
    filled = [cell for cell in cells if any(character.isalnum() for character in cell)]
    return (
        len(filled) > 1
        and sum(map(len, (*filled, *heads))) <= MAX_STATEMENT
        and (any(map(_marked, filled)) or _reports(" ".join(filled)))
    )


def _instructs(plain: str) -> bool:
    if _NOUN.match(plain):
        return False
    words = plain.replace("`", " ` ").split(None, 4)
    while words and words[0].lower().strip(",.:!") in (
        "then",
        "now",
        "next",
        "first",
        "finally",
        "also",
        "and",
        "or",
        "so",
    ):
        words = words[1:]
    if not words or words[0].lower().replace("’", "'").strip(",.:*_") not in _VERBS:
        return False
    behind = words[1] if len(words) > 1 else ""
    return (
        not behind
        or behind[:1] in CLOSERS
        or behind[:1] in "`[(<*_./~$"
        or behind.lower().strip(",.:;") in _OBJECTS
        or behind[:1].isdigit()
    )


def _names(plain: str) -> bool:
    """Whether it names something, and says something of it: more than the name alone."""
    if not _marked(plain):
        return False
    rest: list[str] = []
    past = 0
    for start, end in code_spans(plain):
        rest.append(plain[past:start])
        past = end
    rest.append(plain[past:])
    outside = "".join(rest)
    return len(_WORD.findall(outside)) >= 2 or (bool(rest[1:]) and len(code_spans(plain)) + len(outside.split()) >= 3)


def _marked(plain: str) -> bool:
    """Whether something is set off, or is a number, path, hash, date or a name that no word of prose looks like."""
    plain = nfkc(plain)
    return bool(code_spans(plain) or quotes(plain) or literals(plain) or _CAMEL.search(plain))


MOST_DECLARED: Final = 10
"""Annotations that its author gives a statement."""
_TASK: Final = re.compile(r"\[[ xX]\]\s+")
_EMPHASIS: Final = re.compile(r"\*{1,3}|_{1,3}|~~")
_WORD_CHARACTER: Final = re.compile(r"\w")


class Statement(NamedTuple):
    """One statement.

    Attributes:
        start, end: its place in the answer, in code points.
        text: what stands there.
        row: of a table's row the words of the header with each cell; empty for a sentence.
        annotations: that its author gave it.
        checks: likewise.
    """

    start: int
    end: int
    text: str
    row: str = ""
    annotations: tuple[Annotation, ...] = ()
    checks: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """What it says."""
        return self.row or self.text

    def moved(self, by: int) -> Statement:
        """The same one, of a text in which it stands so much further on."""
        return self._replace(start=self.start + by, end=self.end + by)


class Read(NamedTuple):
    """An answer as it is emitted.

    Attributes:
        text: without annotations.
        found: the statements in it, in order.
        left_out: which annotations are not read, a sentence each.
    """

    text: str
    found: list[Statement]
    left_out: list[str]


def read_answer(answer: str) -> Read:
    """An answer without what its author wrote into it for machines, and its statements with that."""
    text, marks, entries, told = separate(answer, seen=without_reasoning(answer))
    every = list(_candidates(text))
    if not marks and not entries:
        return Read(text, [one for one, is_stated in every if is_stated], told)
    given: dict[int, list[Mark]] = {}
    place, lost = 0, 0
    nobody = -1
    for mark in marks:
        while place < len(every) and every[place][0].start < mark.position:
            place, nobody = place + 1, -1
        if place and nobody < 0:  # where words stand behind the statement that are none
            word = _WORD_CHARACTER.search(text, every[place - 1][0].end)
            nobody = len(text) if word is None else word.start()
        if place and mark.position <= nobody:
            given.setdefault(place - 1, []).append(mark)
        else:
            lost += 1
    said, unmatched = matched(entries, ((one.text, one.said) for one, _ in every))
    found: list[Statement] = []
    over = size = 0
    for number, (one, is_stated) in enumerate(every):
        checks = [check for mark in given.get(number, ()) for check in mark.checks] + [*said.get(number, ())]
        annotations = [mark.annotation for mark in given.get(number, ()) if mark.annotation is not None]
        fit = [check for check in dict.fromkeys(checks) if len(check) <= MAX_CHECK_LENGTH][:MAX_CHECKS]
        size += sum(map(len, fit))
        fit = fit if size <= MAX_SHARED else []
        over += len(dict.fromkeys(checks)) - len(fit) + max(0, len(annotations) - MOST_DECLARED)
        if is_stated or annotations or fit:
            found.append(one._replace(annotations=tuple(annotations[:MOST_DECLARED]), checks=tuple(fit)))
    if lost:
        told.append(f"{lost} annotations stand behind no sentence; they are left out.")
    if over:
        told.append(
            f"{over} annotations are left out: a statement has at most {MAX_CHECKS} checks of {MAX_CHECK_LENGTH} "
            f"characters, and {MOST_DECLARED} places; an answer has {MAX_SHARED} characters of checks."
        )
    return Read(text, found, few([*told, *unmatched]))


def statements(text: str) -> list[Statement]:
    """The statements of an answer, in order, whatever its author annotated.

    Args:
        text: Markdown, of which the first `markdown_blocks.MAX_TEXT` characters are read.
    """
    return [one for one, is_stated in _candidates(text) if is_stated]


def _candidates(text: str) -> Iterator[tuple[Statement, bool]]:
    """Every sentence and row, and whether it states something."""
    for row, group in groupby(runs(text), key=lambda run: run.row):
        cells = list(group)
        yield from _of_runs(cells, text) if row is None else _of_row(cells, text)


def _of_runs(several: list[Run], text: str) -> Iterator[tuple[Statement, bool]]:
    for run in several:
        for start, end in sentences(run.mask):
            one = _trimmed(text, run.start + start, run.start + end)
            if one is not None:
                yield one, states(one.text)


def _of_row(cells: list[Run], text: str) -> Iterator[tuple[Statement, bool]]:
    start, end = cells[0].start, cells[-1].end
    sources = [text[cell.start : cell.end].replace("\\|", "|") for cell in cells]
    row = "; ".join(
        f"{cell.head}: {source}" if cell.head else source for cell, source in zip(cells, sources, strict=True)
    )
    yield Statement(start, end, text[start:end], row), states_row(sources, [cell.head for cell in cells])


def _trimmed(text: str, start: int, end: int) -> Statement | None:
    """Without the box of a task, white space, and the marks of emphasis around it."""
    box = _TASK.match(text, start, end)
    start, end = _stripped(text, start if box is None else box.end(), end)
    mark = _EMPHASIS.match(text, start, end)
    if mark is not None and text.endswith(mark[0], mark.end(), end):
        if text.find(mark[0], mark.end(), end) == end - len(mark[0]):
            start, end = mark.end(), end - len(mark[0])
    elif mark is not None and mark[0] == "**" and text.find("**", mark.end(), end) < 0:
        closing = text.find("**", end, end + MAX_STATEMENT)  # of several sentences in bold the first one
        start = start if closing < 0 else mark.end()
    elif text.endswith("**", start, end) and text.find("**", start, end) == end - 2:
        end -= 2
    start, end = _stripped(text, start, end)
    return Statement(start, end, text[start:end]) if start < end else None


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """The stretch without the white space around it."""
    source = text[start:end]
    inner = source.lstrip()
    start += len(source) - len(inner)
    return start, start + len(inner.rstrip())


MOST_ASSERTIONS: Final = 500
"""Assertions of one piece; an emission takes 1,000."""
MOST_CHARACTERS: Final = 100_000
"""Characters of one piece: an emission has to fit into a megabyte with all of its annotations."""
LONG_BLOCK: Final = 4_000
"""Characters of a block from which on it is read anew ever more rarely: whenever it has grown by a sixteenth."""
GROWN: Final = 16
LONG_BRACKET: Final = 400
"""Characters of a bracket that is waited for, since it may be an annotation."""
_GOES_ON: Final = re.compile(r"\s\W{0,200}\w")
_END: Final = re.compile(r"[.!?…。！？\n]")
_MAY_END: Final = re.compile(r"[.!?…。！？][^\w\s]{0,9}\s\W{0,40}\w|\n\W{0,40}\w")
_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_BLOCK_END: Final = re.compile(r"\n[ \t]*\n(?=\S)")
_ANNOTATION: Final = re.compile(
    rf"\[\^|\[[^\[\]]{{0,{LONG_BRACKET}}}\]?|(?:^|\n)[ \t]*(?:`{{3,}}|~{{3,}})[ \t]*{INFO}\b"
)
"""Where annotations may begin."""


class Piece(NamedTuple):
    """A stretch `[start, end)` of the answer, and the statements in it, whose spans count in the answer."""

    start: int
    end: int
    found: tuple[Statement, ...]


def pieces(text: str, found: Sequence[Statement]) -> list[Piece]:
    """The pieces of a whole answer with these statements; one, unless it is long."""
    cuts: list[Piece] = []
    start, inside = 0, list[Statement]()
    for one in found:
        if inside and (len(inside) >= MOST_ASSERTIONS or one.end - start > MOST_CHARACTERS):
            cuts.append(Piece(start, inside[-1].end, tuple(inside)))
            start, inside = inside[-1].end, []
        while one.start - start > MOST_CHARACTERS:
            cuts.append(Piece(start, start + MOST_CHARACTERS, ()))
            start += MOST_CHARACTERS
        inside.append(one)
    while inside and len(text) - start > MOST_CHARACTERS and inside[-1].end - start < len(text) - start:
        cuts.append(Piece(start, inside[-1].end, tuple(inside)))
        start, inside = inside[-1].end, []
    while len(text) - start > MOST_CHARACTERS:
        cuts.append(Piece(start, start + MOST_CHARACTERS, tuple(inside)))
        start, inside = start + MOST_CHARACTERS, []
    if start < len(text) or not cuts or inside:
        cuts.append(Piece(start, len(text), tuple(inside)))
    return cuts


def halves(piece: Piece) -> list[Piece]:
    """A piece in two, where it has two statements at least."""
    middle = len(piece.found) // 2
    if not middle:
        return [piece]
    cut = piece.found[middle - 1].end
    return [Piece(piece.start, cut, piece.found[:middle]), Piece(cut, piece.end, piece.found[middle:])]


class Streaming:
    """Tells which statements of a text that still grows are complete: those behind which a word follows, or a block
    ends.

    Where an annotation of its author may begin, the rest waits for the end: a footnote stands behind the whole answer.

    Invariant: `past` is the end of what was handed out; `base` begins the block that is still open, at or before it;
    nothing in `text` is an annotation, and `held` is what waits behind it.
    """

    def __init__(self) -> None:
        self.text = self.held = ""
        self._holds = False
        self.past = 0
        self._base = self._looked = self._unread = 0

    def add(self, text: str) -> list[Piece]:
        """Takes more of the answer; returns the pieces that are complete now."""
        self.held += text
        if self._holds:
            return []
        self.text += self._settled()
        opened = len(self.text) - self._base
        # A block is read anew when a sentence or line may have ended in it; a long one only when it has grown by a part
        # of its length, so that the work stays in proportion to the answer.
        if opened > LONG_BLOCK and len(self.text) - self._looked < opened // GROWN:
            return []
        if not _MAY_END.search(self.text, self._unread):
            self._unread = max(self._unread, len(self.text) - 60)  # longer than any match
            return []
        self._looked = len(self.text)
        last = [match.start() for match in _END.finditer(self.text, max(self._unread, self._looked - 200))]
        self._unread = last[-1] if last else self._looked
        made: list[Piece] = []
        begins = len(self.text)  # of the first statement that is not complete
        for one in self._open():
            if one.start < self.past:
                continue
            if not _GOES_ON.match(self.text, one.end):
                begins = min(begins, one.start)
                break
            made.append(Piece(self.past, one.end, (one,)))
            self.past = one.end
        self._advance(begins)
        return made

    def rest(self) -> str:
        """What was not handed out when the answer is at its end, annotations included."""
        rest, self.past = self.text[self.past :] + self.held, len(self.text)
        self.held = ""
        return rest

    def _settled(self) -> str:
        """What of `held` no annotation begins in; it is held no longer."""
        at, cut = 0, len(self.held)
        while (match := _ANNOTATION.search(self.held, at)) is not None:
            bracket = match[0].lstrip()
            is_open = bracket[0] == "[" and bracket[-1] != "]" and bracket != "[^"
            if is_open and match.end() < len(self.held):
                at = match.start() + 1  # another bracket opens in it, or it is too long
                continue
            self._holds = not is_open and (bracket[-1] != "]" or bool(separate(f".{bracket}").marks))
            if self._holds or is_open:
                cut = match.start()
                break
            at = match.end()
        line = self.held.rfind("\n", 0, cut) + 1
        begun = self.held[line:cut].strip()
        if (begun.startswith(("```", "~~~")) or not begun.strip("`~")) and cut - line < LONG_BRACKET:
            cut = line  # a fence may begin
        settled, self.held = self.held[:cut], self.held[cut:]
        return settled

    def _open(self) -> list[Statement]:
        """The statements of the block that is open."""
        base = self._base
        return [one.moved(base) for one in statements(self.text[base:])]

    def _advance(self, most: int) -> None:
        """Moves `base` behind the last block that is at its end, at `most`, unless a fence is open there."""
        ends = [match.end() for match in _BLOCK_END.finditer(self.text, self._base, most)]
        if ends and len(_FENCE.findall(self.text[self._base : ends[-1]])) % 2 == 0:
            self._base = ends[-1]
