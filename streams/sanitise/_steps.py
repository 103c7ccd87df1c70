"""The pipeline of [V §4] for one text: cap, NFKC, look-alikes, invisible characters, markup, in that order.

Each step is a function of its own that changes the text and records the change; `clean` composes them. Steps 4.2 to
4.4 are repeated until nothing changes, and so is everything after a piece of markup went: taking something out lets
its neighbours meet, and what they become there has been through no step yet (sanitation.md 5, 7). Another *order* is
not conformant; one round is the contract's own sequence.

ASCII text without `<` and `](` can be changed by the cap alone; that is the way of nearly every text (0.2 us).
"""

from __future__ import annotations

from typing import Final, Literal

from ...codecs import unicode_text
from ._markup import find_html, find_links, may_be_html, may_be_link, still_html
from ._trace import Trace
from ._uri import harden_uri

Confusables = Literal["reject", "replace", "flag"]
ELLIPSIS: Final = "…"
"""The mark of truncation, on top of the cap and after all other steps: NFKC would turn it into three dots."""
MAX_ROUNDS: Final = 4
"""So often markup may come to light behind markup; then every `<` and `]` goes. Honest text needs one round, a nested
bypass two or three; without a limit an attacker could buy 60 ms with 2,000 octets."""


def clean(text: str, field: str, cap: int, confusables: Confusables, trace: Trace) -> str:
    """One text through the whole pipeline [V §4.1–4.4, §4.6].

    Args:
        text: typed already, at least leniently: it holds no lone surrogates.
        field: what the trace calls the text, `evidence[0].quote`. It stands outside the frame, so never a stranger's.
        cap: in octets of UTF-8, without the mark of truncation.
        confusables: `flag` leaves look-alikes and says that there are some; else they give way to ASCII. Whether
            `reject` refuses the text is the caller's to ask (`unexpected_confusables`).
        trace: where every change is recorded.

    Returns:
        Text that is NFKC, holds no invisible character and no markup, of at most `cap` octets; and `…` behind it
        where it was cut. For text that was not cut, cleaning twice is cleaning once.
    """
    if text.isascii() and len(text) <= cap and "<" not in text and "](" not in text:
        return text
    capped = cap_octets(text, field, cap, trace)
    cut = len(capped) != len(text)
    done = settle_markup(capped, field, confusables, trace)
    # NFKC can make a text eighteen times as long, and a look-alike's replacement is shorter: only now it is known.
    text = cap_octets(done, field, cap, trace)
    return text + ELLIPSIS if cut or len(text) != len(done) else text


def cap_octets(text: str, field: str, cap: int, trace: Trace) -> str:
    """4.1: at most `cap` octets of UTF-8, never through a character."""
    if len(text) * 4 <= cap:
        return text
    octets = text.encode()
    if len(octets) <= cap:
        return text
    cut = octets[:cap].decode(errors="ignore").removesuffix("</")  # `</…` would be a comment
    trace.cut(field, len(octets), len(cut.encode()))
    return cut


def settle_unicode(text: str, field: str, confusables: Confusables, trace: Trace) -> str:
    """4.2 to 4.4, until nothing changes."""
    text = normalise(text, field, trace)
    if not unicode_text.is_suspect(text):
        return text
    while True:
        text = strip(replace(text, field, confusables, trace), field, trace)
        # Only by meeting another character can what is left become something new, and then NFKC changes the text.
        normal = normalise(text, field, trace)
        if normal == text:
            return text
        text = normal


def normalise(text: str, field: str, trace: Trace) -> str:
    """4.2: NFKC."""
    normal = unicode_text.nfkc(text)
    if normal != text:
        trace.normalise(field)
    return normal


def replace(text: str, field: str, confusables: Confusables, trace: Trace) -> str:
    """4.3: look-alikes give way to ASCII, or are only told of (`flag`)."""
    if confusables == "flag":
        if unicode_text.find_confusables(text):
            trace.confusables_present = True
        return text
    text, found = unicode_text.replace_confusables(text)
    if found:
        code_point = unicode_text.code_point
        trace.replace(
            [
                {"field": field, "position": position, "character": code_point(character), "replacement": replacement}
                for position, character, replacement in found
            ]
        )
    return text


def strip(text: str, field: str, trace: Trace) -> str:
    """4.4: invisible characters go."""
    text, found = unicode_text.strip_invisible(text)
    if found:
        code_point = unicode_text.code_point
        trace.strip([{"field": field, "position": position, "character": code_point(char)} for position, char in found])
    return text


def settle_markup(text: str, field: str, confusables: Confusables, trace: Trace) -> str:
    """4.2 to 4.6, until nothing changes."""
    if not text.isascii():
        # Before anything is replaced, or whole Russian sentences would leave no sign of having been Russian.
        trace.name_scripts(unicode_text.scripts(text))
        text = settle_unicode(text, field, confusables, trace)
    for _ in range(MAX_ROUNDS):
        before = text
        text = collapse_links(strip_html(text, field, trace), field, trace)
        if text == before:
            break
        text = resettle(text, field, confusables, trace)
    if (may_be_html(text) and (find_html(text) or still_html(text))) or (may_be_link(text) and find_links(text)):
        text = resettle(blunt(text, field, trace), field, confusables, trace)
    return text


def resettle(text: str, field: str, confusables: Confusables, trace: Trace) -> str:
    """4.2 to 4.4 again where characters have gone since: what is still NFKC then holds nothing new."""
    if text.isascii() or unicode_text.nfkc(text) == text:
        return text
    return settle_unicode(text, field, confusables, trace)


def strip_html(text: str, field: str, trace: Trace) -> str:
    """4.6: tags, comments and doctypes go, the text between them stays, character references stay literal."""
    if not may_be_html(text):
        return text
    kept: list[str] = []
    end = 0
    for piece in find_html(text):
        kept.append(text[end : piece.start])
        trace.markup(field, piece.start, piece.kind, piece.end - piece.start)
        end = piece.end
    kept.append(text[end:])
    return "".join(kept)


def collapse_links(text: str, field: str, trace: Trace) -> str:
    """4.6: `[text](url)` becomes `text — url`, or the text alone where the URL is refused [V §4.5]."""
    if not may_be_link(text):
        return text
    kept: list[str] = []
    end = 0
    for link in find_links(text):
        kept += (text[end : link.start], link.text)
        trace.markup(field, link.start, link.kind, link.end - link.start)
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
    for position, character in enumerate(text):
        if character in "<]":
            trace.markup(field, position, "delimiter", 1)
    return text.replace("<", "").replace("]", "")


def unexpected_confusables(text: str) -> bool:
    """Whether the policy `reject` refuses the text [V §4.3]: a letter or digit of another script looks like ASCII.

    A typographic quote, dash or space is replaced and recorded, but refuses nothing (sanitation.md 4).
    """
    if text.isascii():
        return False
    while True:
        text = unicode_text.nfkc(text)
        if unicode_text.has_unexpected(text):
            return True
        stripped = unicode_text.strip_invisible(text)[0]
        if stripped == text:
            return False
        text = stripped
