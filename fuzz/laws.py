"""What must hold for whatever is sanitised: each law a function that raises `Finding` with one sentence.

The laws are those of [V §4] and [V §3-7], put as a stranger would check them: with tables, parsers and
arithmetic of their own wherever there are any. `slow` adds html5lib and markdown-it, which take longer than
everything else together. Nothing here needs a fuzzer; tests/streams/sanitise/test_fuzz_regressions.py breaks the
sanitiser in many ways and sees each of them found.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from hashlib import sha256
from itertools import groupby
from typing import Any, Final, NamedTuple, get_args

import msgspec
import nh3
import rfc8785
import unicodedata2
from grammar import INVISIBLE

from sluice.codecs import canonical, unicode_text
from sluice.streams import sanitise
from sluice.streams.sanitise import Trace, _markup, _typing, _uri

SECONDS: Final = 1.0
"""Processor time for one input: other programs on the machine do not count."""
HASHED: Final = 300
"""So many characters are enough for the laws of the hash, which take a text six times."""
FIELD: Final = "rationale"
FIELDS = re.compile(r"rationale|qualifications|evidence(\[\d+\]\.(quote|uri))?|cited_works(\[\d+\]\.(uri|title))?")
# One run of an encoding that nobody takes for words: 128 hexadecimal digits, sixteen of them different.
_PAYLOAD = re.compile(
    r"(?=[0-9a-f]*0)(?=[0-9a-f]*7)(?=[0-9a-f]*9)(?=[0-9a-f]*a)(?=[0-9a-f]*c)(?=[0-9a-f]*f)[0-9a-f]{128}"
)
# html5lib decodes, replaces or drops these; everything else between two tags it leaves as it is.
_REWRITTEN = re.compile(r"[&\r\ufeff]")
_INVISIBLE: Final = frozenset(INVISIBLE)
_PRIVATE: Final = frozenset({"Co", "Cs"})
UNKNOWN: Final = "U+FFFD"
_KINDS: Final = frozenset({"tag", "comment", "doctype", "link", "image", "delimiter", "chat-marker", "scheme"})


class Oracles(NamedTuple):
    """What real parsers see (tests/support/oracles.py): HTML, a Markdown link or block, the pieces of HTML."""

    has_html: Callable[[str], bool]
    has_link: Callable[[str], bool]
    has_block: Callable[[str], bool]
    html_tokens: Callable[[str], tuple[list[str], str]]


class Finding(AssertionError):
    """A law does not hold; the sentence says which."""


def hold(holds: object, law: str, *shown: object) -> None:
    if not holds:
        raise Finding(f"{law}: " + ", ".join(ascii(one)[:400] for one in shown) if shown else law)


def timed(what: str, function: Callable[..., Any], *arguments: Any) -> Any:
    start = time.process_time()
    result = function(*arguments)
    taken = time.process_time() - start
    hold(taken < SECONDS, f"{what} takes less than {SECONDS} s", taken)
    return result


def check_text(text: str, cap: int, confusables: Any, typing: Any, slow: Oracles | None) -> None:
    """One text through the pipeline, typed first, and its hash."""
    problem = timed("typing", _typing.problem_of, text, typing)
    if problem is None and typing == "strict":
        _no_html(text, "strict typing lets no markup in", slow)
        check_plain(text, "strict typing lets no structure in", slow)
        check_plain(_settled(text), "strict typing lets no structure in that settling shows", slow)
    by = "word" if confusables.endswith("-in-words") else "letter"
    unexpected = timed("looking for the unexpected", sanitise.unexpected_confusables, text, cap, by)
    trace = Trace()
    result = timed("cleaning", sanitise.clean, text, FIELD, cap, confusables, trace)
    check_result(result, cap, confusables, bool(trace.truncated), slow)
    _check_trace(text, result, confusables, unexpected, trace)
    if not trace.truncated:
        second = Trace()
        again = sanitise.clean(result, FIELD, cap, confusables, second)
        second.scripts, second.confusables_present = [], False  # what is there, not what was changed
        hold(again == result, "cleaning twice is cleaning once", text, result, again)
        hold(second.meta() == Trace().meta(), "a second cleaning records nothing", text, result)
    _check_hash(text[:HASHED])
    if slow is not None and "<" in text:
        _check_pieces(text, slow)


def check_result(result: str, cap: int, confusables: str, cut: bool, slow: Oracles | None) -> None:
    """What can be said about a cleaned text alone."""
    body = result.removesuffix("…") if cut else result
    hold(len(body.encode()) <= cap, f"at most {cap} bytes come out", result)
    hold(unicodedata2.normalize("NFKC", body) == body, "the result is NFKC", result)
    hold(not invisible(body), "nothing invisible comes out", result)
    hold(not any(map(_is_unknown, body)), "nothing of private use comes out", result)
    hold(_MARKS.search(_by_kind(body)) is None, "at most eight marks in a row come out", result)
    if confusables in ("replace", "reject"):
        hold(not unicode_text.find_confusables(body), "no look-alike comes out", result)
    elif confusables == "replace-in-words" and not cut:  # a cut may leave a look-alike of a longer run
        hold(not mixed_look_alikes(body), "no look-alike of a mixed word comes out", result)
    _no_html(result, "no markup comes out", slow)


_MARKS: Final = re.compile("M{9}")
_WORDS: Final = re.compile("[LMN]+")
_WITH_LATIN: Final = ("Han", "Hiragana", "Katakana", "Bopomofo", "Hangul")
_RECOMMENDED: Final = frozenset(
    {
        *("Arabic", "Armenian", "Bengali", "Devanagari", "Ethiopic", "Georgian", "Gujarati", "Gurmukhi", "Hebrew"),
        *("Kannada", "Khmer", "Lao", "Malayalam", "Myanmar", "Oriya", "Sinhala", "Tamil", "Telugu", "Thaana", "Thai"),
        "Tibetan",
    }
)
"""The other scripts of UAX 31, table 5, but for Greek and Cyrillic: one of them may stand in a word with Latin
(UTS 39, 5.2, level 4)."""


def _by_kind(text: str) -> str:
    """The first letter of each character's general category."""
    return "".join(unicodedata2.category(one)[0] for one in text)


def mixed_look_alikes(text: str) -> list[int]:
    """The places of look-alikes in words of several scripts, but of those that stand beside Latin in one language.

    Of the latter only those are meant that stand between Latin letters with nothing but other look-alikes.
    """
    alike = {position for position, _, _ in unicode_text.find_confusables(text)}
    found: list[int] = []
    for match in _WORDS.finditer(_by_kind(text)):
        word = text[match.start() : match.end()]
        scripts = set(map(_script, word)) - {None}
        places = range(match.start(), match.end())
        if len(scripts) == 2 and "Latin" in scripts and not scripts.isdisjoint(_RECOMMENDED):
            found += [place for run in _disguised_runs(text, places, alike) for place in run if place in alike]
        elif len(scripts) > 1 and scripts.isdisjoint(_WITH_LATIN):
            found += [place for place in places if place in alike]
    return found


def _script(character: str) -> str | None:
    return "Latin" if character.isascii() and character.isalpha() else unicode_text.script(character)


_JOINED: Final = re.compile("[\u0647\u06be\u06c1][\u0620-\u06d3]")
"""A heh that is joined to the next letter looks like nothing of ASCII."""


def _disguised_runs(text: str, places: range, alike: set[int]) -> list[list[int]]:
    """The runs of a word's look-alikes, and of marks on them, between two Latin letters or one and the word's end."""
    runs = [list(run) for latin, run in groupby(places, lambda place: _script(text[place]) == "Latin") if not latin]
    return [
        run
        for run in runs
        if all(place in alike or unicodedata2.category(text[place])[0] == "M" for place in run)
        and not _JOINED.search(text[run[0] : run[-1] + 1])
    ]


def invisible(text: str) -> bool:
    return not _INVISIBLE.isdisjoint(text)


def _is_unknown(character: str) -> bool:
    point = ord(character)
    return unicodedata2.category(character) in _PRIVATE or point & 0xFFFE == 0xFFFE or 0xFDD0 <= point <= 0xFDEF


def _no_html(text: str, law: str, slow: Oracles | None) -> None:
    text = _markup.spared(text)
    if "<" in text:
        hold(not nh3.is_html(text.replace("\0", "\ufffd")), f"{law}: html5ever", text)
    if slow is not None:
        hold("<" not in text or not slow.has_html(text), f"{law}: html5lib", text)
        hold("](" not in text or not slow.has_link(text), f"{law}: markdown-it", text)


def check_plain(text: str, law: str, slow: Oracles | None) -> None:
    """No consumer's parser unpacks, renders or decodes it [V §3]: what the pipeline has no step for."""
    if "]" in text or "}" in text:
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            document = None
        hold(not isinstance(document, dict | list), f"{law}: a JSON document", text)
    hold(_PAYLOAD.search(text) is None, f"{law}: an encoded payload", text)
    if slow is not None:
        hold(not slow.has_block(text), f"{law}: markdown-it", text)


def _check_pieces(text: str, slow: Oracles) -> None:
    """No more goes than an HTML parser takes for markup: the same pieces, up to a tag that never closes."""
    own = _markup.find_html(text)
    text = _markup.spared(text)
    hold(_markup.find_html(text) == own, "what stays changes no other piece", text)
    text = text.replace("\0", "\ufffd")  # as the standard has it; html5lib ends a comment at `<!--\0>`
    # html5lib has no token for `</>`, and takes `</` at the end for text.
    pieces = _markup.find_html(text)
    kinds = [piece.kind for piece in pieces if text[piece.start : piece.end] not in ("</>", "</")]
    theirs, between = slow.html_tokens(text)
    hold(kinds[: len(theirs)] == theirs, "the pieces are html5lib's", text, kinds, theirs)
    rest, end = "", 0
    for piece in pieces:
        rest, end = rest + text[end : piece.start], piece.end
    rest += text[end:]
    open_tags = any(text[piece.start : piece.end] == "<" for piece in pieces)
    if not open_tags and "<" not in rest and not text.endswith("</") and _REWRITTEN.search(text) is None:
        hold(rest == between, "what is between the pieces stays", text, rest, between)


def _check_trace(text: str, result: str, confusables: str, unexpected: bool, trace: Trace) -> None:
    """Every change is told, and nothing of what was taken out is."""
    reported = trace.truncated or trace.normalised or trace.confusables_replaced or trace.stripped_positions
    hold(reported or trace.markup_stripped or result == text, "every change is told", text, result)
    check_meta(_meta(trace))
    if confusables.startswith("flag"):
        alike = [one for one in trace.confusables_replaced if one.get("replacement", UNKNOWN) != UNKNOWN]
        hold(not alike, "under flag no look-alike is replaced", text)
        told = unicode_text.find_confusables if confusables == "flag" else mixed_look_alikes
        seen = bool(told(result.removesuffix("…"))) and not trace.truncated
        hold(trace.confusables_present or not seen, "under flag a look-alike is told", text, result)
    replaced = "".join(chr(int(one["character"][2:], 16)) for one in trace.confusables_replaced if "character" in one)
    hold(unexpected or not unicode_text.has_unexpected(replaced), "reject refuses what replace replaces", text)
    if trace.truncated or trace.normalised or any(one["kind"] in ("link", "image") for one in trace.markup_stripped):
        return
    # Nothing was cut, composed or written anew: then what is told adds up to what is gone.
    gone = sum(one["count"] for one in trace.stripped_positions)
    gone += sum(one["characters"] for one in trace.markup_stripped)
    hold(len(text) == len(result) + gone, "what is told adds up to what is gone", text, result, gone)


def _meta(trace: Trace) -> dict[str, Any]:
    """`_meta` as a reader gets it: through JSON."""
    return json.loads(msgspec.json.encode(trace.meta()))


def check_meta(meta: dict[str, Any]) -> None:
    """`_meta` names fields, kinds, places, code points and reasons, and never repeats what it took out."""
    hold(all(FIELDS.fullmatch(one) for one in meta["normalised"]), "_meta names fields of ours", meta)
    for name in ("truncated", "confusables_replaced", "stripped_positions", "markup_stripped", "uris_rejected"):
        for entry in meta[name]:
            hold(FIELDS.fullmatch(entry["field"]), "_meta names fields of ours", entry)
            for key, value in entry.items():
                hold(key == "field" or _plain(key, value), "_meta repeats nothing of the text", entry)


def _plain(key: str, value: Any) -> bool:
    if key == "character":
        return re.fullmatch(r"U\+[0-9A-F]{4,6}", value) is not None
    if key == "replacement":
        return value == UNKNOWN or (len(value) == 1 and value.isascii())
    if key == "kind":
        return value in _KINDS
    if key == "reason":
        return value in get_args(_uri.UriRefusal)
    return type(value) is int and value >= 0


def replace_confusables(text: str) -> tuple[str, list[tuple[int, str, str]]]:
    """The text with ASCII in place of its look-alikes, and what `find_confusables` found."""
    found = unicode_text.find_confusables(text)
    return unicode_text.give_way(text, {character: replacement for _, character, replacement in found}), found


def _settled(text: str) -> str:
    """[V §7] steps 2 to 4 as they are written, until nothing changes."""
    while True:
        normal = unicodedata2.normalize("NFKC", text)
        replaced = replace_confusables(normal)[0]
        if (stripped := unicode_text.strip_invisible(replaced)[0]) == text:
            return _with_few_marks(text)
        text = stripped


def _with_few_marks(text: str) -> str:
    kept: list[str] = []
    run = 0
    for one in text:
        run = run + 1 if unicodedata2.category(one)[0] == "M" else 0
        kept += [one] if run <= 8 else []
    return "".join(kept)


def _check_hash(text: str) -> None:
    """Texts that look alike have one hash, and it is RFC 8785's and SHA-256's."""
    settled = _settled(text)

    def hashed(one: str, version: Any = "0.3") -> str:
        return canonical.canonical_hash({"texts": [one], "members": {one: 1}}, version)[0]

    def plainly(one: str) -> str:
        return "sha256:" + sha256(rfc8785.dumps({"texts": [one], "members": {one: 1}})).hexdigest()

    hold(hashed(text, "0.2") == plainly(text), "0.2 is RFC 8785 and SHA-256", text)
    hold(hashed(text) == plainly(settled), "0.3 is that of the settled text", text, settled)
    hold(hashed(settled) == hashed(text), "a text and what it settles to have one hash", text, settled)
    if text.isascii():
        joined = "\u200d".join(text)
        wide = "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in text)
        hold(hashed(joined) == hashed(text) == hashed(wide), "joiners and full width change no hash", text)
