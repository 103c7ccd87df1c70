"""The steps of sanitation, in their order [V §4], on one text and on all texts of a tree."""

from __future__ import annotations

import re
from typing import Any, Final, Literal, cast

from ...codecs import unicode_text
from ._markup import (
    Piece,
    find_delimiters,
    find_html,
    find_links,
    find_markers,
    is_delimited,
    may_be_html,
    may_be_link,
    still_html,
)
from ._trace import Trace
from ._uri import bare_uris, harden_uri, may_hold_uri

Confusables = Literal["reject", "replace", "flag"]
By = Literal["letter", "word"]
"""Which look-alikes are meant: every one [V §4.3], or those in words of mixed scripts (UTS 39, 5.1)."""
Treatment = Literal["replace", "flag", "replace-in-words", "flag-in-words"]
"""What becomes of look-alikes, and of which: `treatment_of`."""
ELLIPSIS: Final = "…"
"""The mark of truncation, on top of the cap and after all other steps: NFKC would turn it into three dots."""
_UNKNOWN: Final = unicode_text.CODE_POINTS[unicode_text.UNKNOWN]  # the record of a change is ASCII
MAX_ROUNDS: Final = 4
"""So often markup may come to light behind markup; then every `<` and `]` goes. Honest text needs one round, a nested
bypass two or three; without a limit an attacker could buy 60 ms with 2,000 bytes."""


def clean(
    text: str,
    field: str,
    cap: int,
    treatment: Treatment,
    trace: Trace,
    settled: dict[str, str] | None = None,
) -> str:
    """One text through the whole pipeline [V §4.1–4.4, §4.6].

    Args:
        text: typed already, at least leniently: it holds no lone surrogates.
        field: what the trace calls the text, `evidence[0].quote`. It stands outside the frame.
        cap: in bytes of UTF-8, without the mark of truncation.
        treatment: `flag` leaves look-alikes and says that there are some; else they give way to ASCII. Whether
            `reject` refuses the text is the caller's to ask (`unexpected_confusables`).
        trace: where every change is recorded.
        settled: texts and their `unicode_text.settle`, as far as they are known. Gets what steps 4.2 to 4.4 made of
            this one, where that is the same: typing and the canonical hash ask for it, too.

    Returns:
        Text that is NFKC, holds no invisible character and no markup, of at most `cap` bytes; and `…` behind it
        where it was cut. For text that was not cut, cleaning twice is cleaning once.
    """
    if text.isascii() and len(text) <= cap and "<" not in text and not may_be_link(text) and _is_said(text):
        return text
    capped = cap_bytes(text, field, cap, trace)
    cut = len(capped) != len(text)
    capped = strip_controls(capped, field, trace)
    if settled is not None and not cut and settled.get(text) == text == capped:  # typing has found nothing to settle
        plain = text
        trace.name_scripts(unicode_text.scripts(text))
    else:
        plain = settle_first(capped, field, treatment, trace)
        if settled is not None and not cut and treatment == "replace":
            settled[text] = plain if capped == text else unicode_text.settle(text)
    done = settle_markup(plain, field, treatment, trace)
    # NFKC can make a text eighteen times as long, and a look-alike's replacement is shorter: only now it is known.
    text = cap_bytes(done, field, cap, trace)
    return text + ELLIPSIS if cut or len(text) != len(done) else text


def _is_said(text: str) -> bool:
    """Whether nothing in a plain text of ASCII is a control character, a chat marker or a URI."""
    if not text.isprintable() and _CONTROL.search(text) is not None:
        return False
    return (":" not in text and "[" not in text) or not (may_hold_uri(text) or find_markers(text))


_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def strip_controls(text: str, field: str, trace: Trace) -> str:
    """Control characters other than tab and line feed go with what 4.4 strips, in any typing: some terminals and
    renderers obey them, and some readers end a line at one. Before 4.2, which they would keep characters apart for."""
    if text.isprintable() or not _CONTROL.search(text):
        return text
    trace.strip(field, [found.start() for found in _CONTROL.finditer(text)])
    return _CONTROL.sub("", text)


def cap_bytes(text: str, field: str, cap: int, trace: Trace) -> str:
    """4.1: at most `cap` bytes of UTF-8, never through a character."""
    if len(text) * 4 <= cap:
        return text
    raw = text.encode()
    if len(raw) <= cap:
        return text
    cut = _cut(raw, cap)
    trace.cut(field, len(raw), len(cut.encode()))
    return cut


def _cut(raw: bytes, cap: int) -> str:
    return raw[:cap].decode(errors="ignore").removesuffix("</")  # `</…` would be a comment


def settle_first(text: str, field: str, treatment: Treatment, trace: Trace) -> str:
    """4.2 to 4.4 for the first time, and the scripts that the text is written in."""
    others = unicode_text.beyond_ascii(text)
    if not others:
        return text
    # Before anything is replaced, or whole Russian sentences would leave no sign of having been Russian.
    trace.name_scripts(unicode_text.scripts(others))
    text = replace_unknown(text, field, trace)
    if NARROW in others:
        trace.strip(field, [position for position, character in enumerate(text) if character == NARROW])
    return settle_unicode(text, field, treatment, trace, unicode_text.beyond_ascii(text))


NARROW: Final = "\u202f"
"""The narrow no-break space, which [V §4.4] strips; 4.2 makes it a blank, so its place is recorded before."""


def replace_unknown(text: str, field: str, trace: Trace) -> str:
    """U+FFFD for characters of private use and noncharacters; before 4.2, which leaves them alone."""
    found = unicode_text.find_unknown(text)
    if not found:
        return text
    trace.replace(field, [{"field": field, "position": position, "replacement": _UNKNOWN} for position, _ in found])
    return unicode_text.replace_unknown(text)


def settle_unicode(text: str, field: str, treatment: Treatment, trace: Trace, others: str) -> str:
    """4.2 to 4.4, until nothing changes; `others` are the text's characters outside ASCII."""
    before, text = text, normalise(text, field, trace, others)
    among = unicode_text.suspects(text, others if text == before else None)
    while among:
        length = len(text)
        # A look-alike and what replaces it are one character each, so the places hold for both steps.
        text = strip(replace(text, field, treatment, trace, among), field, trace, among)
        # Only by meeting another character can what is left become something new: then NFKC changes the text, or the
        # letters on both sides of what went are one word.
        normal = normalise(text, field, trace)
        if normal == text and (len(text) == length or not is_by_word(treatment)):
            break
        text = normal
        among = unicode_text.suspects(text)
    return limit_marks(text, field, trace)


def limit_marks(text: str, field: str, trace: Trace) -> str:
    """Of many combining marks in a row only the first stay (`unicode_text.MAX_MARKS`)."""
    limited, gone = unicode_text.limit_marks(text)
    if gone:
        trace.strip(field, gone)
    return limited


def normalise(text: str, field: str, trace: Trace, others: str | None = None) -> str:
    """4.2: NFKC."""
    normal = unicode_text.nfkc(text, others)
    if normal != text:
        trace.normalise(field)
    return normal


def replace(text: str, field: str, treatment: Treatment, trace: Trace, among: dict[int, str]) -> str:
    """4.3: the look-alikes among the suspects give way to ASCII, or are only recorded (`flag`)."""
    by_word = is_by_word(treatment)
    instead = {} if by_word else unicode_text.look_alikes(among)
    places = (
        unicode_text.look_alikes_of_words(text, among)
        if by_word
        else {position: instead[character] for position, character in among.items() if character in instead}
    )
    if not places:
        return text
    if treatment in ("flag", "flag-in-words"):
        trace.confusables_present = True
        return text
    names = unicode_text.CODE_POINTS
    trace.replace(
        field,
        [
            {"field": field, "position": position, "character": names[text[position]], "replacement": replacement}
            for position, replacement in places.items()
        ],
    )
    if not by_word:
        return unicode_text.give_way(text, instead)
    return "".join([places.get(position, character) for position, character in enumerate(text)])


def is_by_word(treatment: Treatment) -> bool:
    """Whether only look-alikes in words of mixed scripts are meant."""
    return treatment in ("replace-in-words", "flag-in-words")


def treatment_of(confusables: Confusables, by: By) -> Treatment:
    """What becomes of look-alikes under a policy's rule; what `reject` refuses is replaced wherever it is shown."""
    if confusables == "flag":
        return "flag-in-words" if by == "word" else "flag"
    return "replace-in-words" if by == "word" else "replace"


def strip(text: str, field: str, trace: Trace, among: dict[int, str]) -> str:
    """4.4: the invisible characters among the suspects go."""
    gone = unicode_text.invisible(among)
    if not gone:
        return text
    trace.strip(field, [position for position, character in among.items() if character in gone])
    return unicode_text.give_way(text, gone)


def settle_markup(text: str, field: str, treatment: Treatment, trace: Trace) -> str:
    """4.6, chat markers, and 4.2 to 4.4 again where something was taken out, until nothing changes."""
    for _ in range(MAX_ROUNDS):
        before = text
        text = collapse_links(strip_html(text, field, trace), field, trace)
        text = strip_schemes(neutralise(text, field, trace), field, trace)
        if text == before:
            if not (may_be_html(text) and still_html(text)):
                return text
            break
        text = resettle(text, field, treatment, trace)
    if (
        (may_be_html(text) and (find_html(text) or still_html(text)))
        or (may_be_link(text) and find_links(text))
        or is_delimited(text)
    ):
        text = resettle(blunt(text, field, trace), field, treatment, trace)
    # Without `<` and `]` only roles and schemes can come to light, and each round takes a colon away.
    while (plain := strip_schemes(neutralise(text, field, trace), field, trace)) != text:
        text = resettle(plain, field, treatment, trace)
    return text


def strip_schemes(text: str, field: str, trace: Trace) -> str:
    """The scheme of a URI in prose goes where the URI is refused [V §4.5], so that no reader makes a link of it."""
    if not may_hold_uri(text):
        return text
    pieces: list[Piece] = []
    for start, end, refusal in bare_uris(text):
        pieces.append(Piece(start, end, "scheme"))
        trace.reject_uri(field, refusal)
    return _without(text, field, pieces, trace)


def neutralise(text: str, field: str, trace: Trace) -> str:
    """The delimiters of chat markers go, and the colons behind roles; the words stay."""
    return _without(text, field, find_markers(text), trace)


def resettle(text: str, field: str, treatment: Treatment, trace: Trace) -> str:
    """4.2 to 4.4 again where characters have gone since: what is still NFKC then holds nothing new."""
    if text.isascii():
        return text
    if not is_by_word(treatment) and unicode_text.nfkc(text) == text:
        return limit_marks(text, field, trace)
    return settle_unicode(text, field, treatment, trace, unicode_text.beyond_ascii(text))


def strip_html(text: str, field: str, trace: Trace) -> str:
    """4.6: tags, comments and doctypes go, the text between them stays, character references stay literal."""
    return _without(text, field, find_html(text), trace) if may_be_html(text) else text


def _without(text: str, field: str, pieces: list[Piece], trace: Trace) -> str:
    """The text without pieces, which are recorded."""
    if not pieces:
        return text
    trace.markup(field, pieces)
    kept: list[str] = []
    end = 0
    for piece in pieces:
        kept.append(text[end : piece.start])
        end = piece.end
    kept.append(text[end:])
    return "".join(kept)


def collapse_links(text: str, field: str, trace: Trace) -> str:
    """4.6: `[text](url)` becomes `text — url`, or the text alone where the URL is refused [V §4.5]."""
    if not may_be_link(text):
        return text
    links = find_links(text)
    if not links:
        return text
    trace.markup(field, links)
    kept: list[str] = []
    end = 0
    for link in links:
        kept += (text[end : link.start], link.text)
        refusal = harden_uri(link.url)[1]
        if refusal is None:
            kept.append(f" — {link.url}" if link.text else link.url)
        elif link.url:
            trace.reject_uri(field, refusal)
        end = link.end
    kept.append(text[end:])
    return "".join(kept)


def blunt(text: str, field: str, trace: Trace) -> str:
    """Takes every `<` and `]` out, and what is read as one: the end of a text that hides markup behind markup behind
    markup."""
    pieces = [Piece(position, position + 1, "delimiter") for position in find_delimiters(text)]
    return _without(text, field, pieces, trace)


def unexpected_confusables(text: str, cap: int | None = None, by: By = "letter") -> bool:
    """Whether the policy `reject` refuses the text [V §4.3]: a letter or digit of another script looks like ASCII.

    A typographic quote, dash or space is replaced and recorded, but refuses nothing ([V §4]).

    Args:
        text: as it came.
        cap: in bytes, where the text is going to be cut: between a letter and its accent a cut leaves a look-alike
            that the whole text does not have.
        by: `word` refuses only what stands in a word of mixed scripts.
    """
    if text.isascii() or not _has_letters(text, cap):
        return False
    if by == "letter":
        return True
    # What stands in one word is known once controls and markup are gone: the pipeline itself tells what it replaces.
    trace = Trace()
    clean(text, "text", len(text.encode()) if cap is None else cap, "replace-in-words", trace)
    characters = (replaced["character"] for replaced in trace.confusables_replaced if "character" in replaced)
    return any(unicode_text.has_unexpected(chr(int(character[2:], 16))) for character in characters)


def _has_letters(text: str, cap: int | None) -> bool:
    if _has_unexpected(text):
        return True
    if cap is None or len(text) * 4 <= cap:
        return False
    raw = text.encode()
    return len(raw) > cap and _has_unexpected(_cut(raw, cap))


def _has_unexpected(text: str) -> bool:
    while True:
        text = unicode_text.nfkc(text)
        if unicode_text.has_unexpected(text):
            return True
        stripped = unicode_text.strip_invisible(text)[0]
        if stripped == text:
            return False
        text = stripped


_OURS: Final = frozenset(
    {
        *("agent_name", "confidence", "data", "left", "metadata", "mixed", "model", "operator", "prompt_name"),
        *("reason", "right", "rule", "source", "step", "timestamp", "tokens", "where"),
    }
)
"""Member names of a chain's steps (records.py), which a field's path may show. Any other name is a third party's text,
which must not stand outside the frame: the path then has the member's number."""


def clean_tree(value: Any, field: str, cap: int, treatment: Treatment, trace: Trace) -> Any:
    """The value with every text in it cleaned, each against `cap` on its own; other values stay as they are.

    Two member names that become the same both stay: the later one gets its number behind it.

    Args:
        value: a plain JSON value; it is not changed.
        field: what the trace calls it; members and items extend it (`chain[0].source`, `chain[0].metadata[2]`, and
            `chain[0].metadata[2].name` for a member's name).
        cap, treatment, trace: those of `clean`.
    """
    result: list[Any] = [None]
    todo: list[tuple[Any, Any, Any, str]] = [(result, 0, value, field)]
    while todo:
        target, place, one, path = todo.pop()
        if isinstance(one, str):
            target[place] = clean(one, path, cap, treatment, trace)
        elif isinstance(one, (list, tuple)):
            items: list[Any] = list(cast(Any, one))
            target[place] = items
            # In reverse, so that what is popped, and therefore recorded, comes in order.
            todo += [(items, n, items[n], f"{path}[{n}]") for n in range(len(items) - 1, -1, -1)]
        elif isinstance(one, dict):
            members: dict[str, Any] = {}
            target[place] = members
            inside: list[tuple[Any, Any, Any, str]] = []
            for n, (name, member) in enumerate(cast(dict[str, Any], one).items()):
                at = f"{path}.{name}" if name in _OURS else f"{path}[{n}]"
                key = name if name in _OURS else clean(name, f"{at}.name", cap, treatment, trace)
                if key in members:
                    key = _other(key, n, members)
                members[key] = None  # takes its place in the order now
                inside.append((members, key, member, at))
            todo += reversed(inside)
        else:
            target[place] = one
    return result[0]


def _other(key: str, number: int, members: dict[str, Any]) -> str:
    while f"{key} ({number})" in members:
        number += 1
    return f"{key} ({number})"
