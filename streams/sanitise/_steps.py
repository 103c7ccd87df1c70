"""The pipeline of [V §4] for one text: cap, NFKC, look-alikes, invisible characters, markup, in that order.

Each step is a function of its own that changes the text and records the change; `clean` composes them. Steps 4.2 to
4.4 are repeated until nothing changes, and so is everything after a piece of markup went: taking something out lets
its neighbours meet, and what they become there has been through no step yet ([V §4]). Another *order* is
not conformant; one round is the contract's own sequence.

ASCII text without `<` and `](` can be changed by the cap alone; that is the way of nearly every text (0.2 us).
"""

from __future__ import annotations

import re
from typing import Final, Literal

from ...codecs import unicode_text
from ._chat import find_markers
from ._markup import Piece, find_html, find_links, may_be_html, may_be_link, still_html
from ._trace import Trace
from ._uri import harden_uri

Confusables = Literal["reject", "replace", "flag"]
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
    confusables: Confusables,
    trace: Trace,
    settled: dict[str, str] | None = None,
) -> str:
    """One text through the whole pipeline [V §4.1–4.4, §4.6].

    Args:
        text: typed already, at least leniently: it holds no lone surrogates.
        field: what the trace calls the text, `evidence[0].quote`. It stands outside the frame, so never a stranger's.
        cap: in bytes of UTF-8, without the mark of truncation.
        confusables: `flag` leaves look-alikes and says that there are some; else they give way to ASCII. Whether
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
        plain = settle_first(capped, field, confusables, trace)
        if settled is not None and not cut and confusables != "flag":
            settled[text] = plain if capped == text else unicode_text.settle(text)
    done = settle_markup(plain, field, confusables, trace)
    # NFKC can make a text eighteen times as long, and a look-alike's replacement is shorter: only now it is known.
    text = cap_bytes(done, field, cap, trace)
    return text + ELLIPSIS if cut or len(text) != len(done) else text


def _is_said(text: str) -> bool:
    """Whether nothing in a plain text of ASCII is a control character or a chat marker."""
    return (text.isprintable() or _CONTROL.search(text) is None) and not find_markers(text)


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


def settle_first(text: str, field: str, confusables: Confusables, trace: Trace) -> str:
    """4.2 to 4.4 for the first time, and the scripts that the text is written in."""
    others = unicode_text.beyond_ascii(text)
    if not others:
        return text
    # Before anything is replaced, or whole Russian sentences would leave no sign of having been Russian.
    trace.name_scripts(unicode_text.scripts(others))
    text = replace_unknown(text, field, trace)
    others = unicode_text.beyond_ascii(text)
    return settle_unicode(text, field, confusables, trace, others)


def replace_unknown(text: str, field: str, trace: Trace) -> str:
    """U+FFFD for characters of private use and noncharacters; before 4.2, which leaves them alone."""
    found = unicode_text.find_unknown(text)
    if not found:
        return text
    trace.replace(field, [{"field": field, "position": position, "replacement": _UNKNOWN} for position, _ in found])
    return unicode_text.replace_unknown(text)


def settle_unicode(text: str, field: str, confusables: Confusables, trace: Trace, others: str) -> str:
    """4.2 to 4.4, until nothing changes; `others` are the text's characters outside ASCII."""
    before, text = text, normalise(text, field, trace, others)
    among = unicode_text.suspects(text, others if text == before else None)
    while among:
        # A look-alike and what replaces it are one character each, so the places hold for both steps.
        text = strip(replace(text, field, confusables, trace, among), field, trace, among)
        # Only by meeting another character can what is left become something new, and then NFKC changes the text.
        normal = normalise(text, field, trace)
        if normal == text:
            break
        text = normal
        among = unicode_text.suspects(text)
    return text


def normalise(text: str, field: str, trace: Trace, others: str | None = None) -> str:
    """4.2: NFKC."""
    normal = unicode_text.nfkc(text, others)
    if normal != text:
        trace.normalise(field)
    return normal


def replace(text: str, field: str, confusables: Confusables, trace: Trace, among: dict[int, str]) -> str:
    """4.3: the look-alikes among the suspects give way to ASCII, or are only told of (`flag`)."""
    instead = unicode_text.look_alikes(among)
    if not instead:
        return text
    if confusables == "flag":
        trace.confusables_present = True
        return text
    names = unicode_text.CODE_POINTS
    trace.replace(
        field,
        [
            {"field": field, "position": position, "character": names[character], "replacement": instead[character]}
            for position, character in among.items()
            if character in instead
        ],
    )
    return unicode_text.give_way(text, instead)


def strip(text: str, field: str, trace: Trace, among: dict[int, str]) -> str:
    """4.4: the invisible characters among the suspects go."""
    gone = unicode_text.invisible(among)
    if not gone:
        return text
    trace.strip(field, [position for position, character in among.items() if character in gone])
    return unicode_text.give_way(text, gone)


def settle_markup(text: str, field: str, confusables: Confusables, trace: Trace) -> str:
    """4.6, chat markers, and 4.2 to 4.4 again where something was taken out, until nothing changes."""
    for _ in range(MAX_ROUNDS):
        before = text
        text = collapse_links(strip_html(text, field, trace), field, trace)
        text = neutralise(text, field, trace)
        if text == before:
            break
        text = resettle(text, field, confusables, trace)
    if (
        (may_be_html(text) and (find_html(text) or still_html(text)))
        or (may_be_link(text) and find_links(text))
        or any(text[one.start] != ":" for one in find_markers(text))
    ):
        text = resettle(blunt(text, field, trace), field, confusables, trace)
    # Without `<` and `]` only a role can come to light, and each round takes a colon away.
    while find_markers(text):
        text = resettle(neutralise(text, field, trace), field, confusables, trace)
    return text


def neutralise(text: str, field: str, trace: Trace) -> str:
    """The delimiters of chat markers go, and the colons behind roles; the words stay (`_chat.py`)."""
    pieces = find_markers(text)
    if not pieces:
        return text
    trace.markup(field, pieces)
    return _without(text, pieces)


def resettle(text: str, field: str, confusables: Confusables, trace: Trace) -> str:
    """4.2 to 4.4 again where characters have gone since: what is still NFKC then holds nothing new."""
    if text.isascii() or unicode_text.nfkc(text) == text:
        return text
    return settle_unicode(text, field, confusables, trace, unicode_text.beyond_ascii(text))


def strip_html(text: str, field: str, trace: Trace) -> str:
    """4.6: tags, comments and doctypes go, the text between them stays, character references stay literal."""
    if not may_be_html(text):
        return text
    pieces = find_html(text)
    if not pieces:
        return text
    trace.markup(field, pieces)
    return _without(text, pieces)


def _without(text: str, pieces: list[Piece]) -> str:
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
    """Takes every `<` and `]` out: the end of a text that hides markup behind markup behind markup."""
    places = (position for position, character in enumerate(text) if character in "<]")
    trace.markup(field, [Piece(position, position + 1, "delimiter") for position in places])
    return text.replace("<", "").replace("]", "")


def unexpected_confusables(text: str, cap: int | None = None) -> bool:
    """Whether the policy `reject` refuses the text [V §4.3]: a letter or digit of another script looks like ASCII.

    A typographic quote, dash or space is replaced and recorded, but refuses nothing ([V §4]).

    Args:
        text: as it came.
        cap: in bytes, where the text is going to be cut: between a letter and its accent a cut leaves a look-alike
            that the whole text does not have.
    """
    if text.isascii():
        return False
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
