"""Whether a sentence of an agent states something that a machine could check, or plans, asks, greets, instructs.

Closed lists and shapes, no model: what is left out here is never an assertion, and what is taken in wrongly is only one
more assertion that nothing bears out. What a run of tests or tools gave, and what was changed, is a statement also
where nothing is named. English; a sentence in another language passes as a statement where it names something and is
no question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ..codecs.unicode_text import nfkc
from ..streams.judging.literals import literals
from ..streams.judging.quotes import CLOSERS, PLAIN, code_spans, quotes

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
    """Whether a sentence states something checkable.

    Args:
        text: the sentence, as it stands in the Markdown.
    """
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
    """Whether a table row says something: it has two cells at least, and one names something or tells of a run.

    Args:
        cells: as they stand in the Markdown.
        heads: the words above each of them.
    """
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
