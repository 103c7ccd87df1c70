"""From a fuzzer's bytes to something to sanitise: the first three say what and under which rules, the rest is payload.

A payload is taken as it stands (UTF-8, so that the corpus and the dictionary of libFuzzer are texts that a person can
read) or as the choices of a small grammar: pieces of what attacks are made of, put behind and into one another. Raw
bytes alone hardly ever become a tag that a removed link held together; the grammar gets there in a few choices.

Needs atheris for the choices only; deterministic: the same bytes are the same subject.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any, Final, Literal, NamedTuple

Kind = Literal["text", "uri", "octets", "attestation"]
KINDS: Final[tuple[Kind, ...]] = ("text", "uri", "octets", "attestation")
CONFUSABLES: Final = ("replace", "flag", "reject", "replace-in-words", "flag-in-words")
TYPING: Final = ("lenient", "strict")
MAX_CHARACTERS: Final = 6_000
"""Three times the longest cap, so that what comes before the cap (typing) has long texts to judge as well."""

# What the invisible characters are, from [V §4.4] and [V §4], typed again: an oracle shares no table.
INVISIBLE: Final = "".join(
    chr(point)
    for first, last in (
        *((0x202A, 0x202F), (0x200B, 0x200F), (0x2060, 0x206F), (0xFE00, 0xFE0F), (0x180B, 0x180F)),
        *((0x61C, 0x61C), (0xFEFF, 0xFEFF), (0xAD, 0xAD), (0x34F, 0x34F), (0x115F, 0x1160), (0x17B4, 0x17B5)),
        *((0x3164, 0x3164), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A)),
        *((0xE0000, 0xE0FFF), (0x600, 0x605), (0x6DD, 0x6DD), (0x70F, 0x70F), (0x890, 0x891), (0x8E2, 0x8E2)),
        *((0x110BD, 0x110BD), (0x110CD, 0x110CD), (0x13430, 0x1343F)),
    )
    for point in range(first, last + 1)
)
# No literal below holds a character that an editor would hide or compose.
FRAGMENTS: Final[tuple[tuple[str, ...], ...]] = (
    # tags and what hides their end; comments and doctypes; links and images; code, definitions, documents
    ("<", ">", "</", "/>", "<b>", "</b>", "<script>", "<a href='", '<a b="', "'>", '">', "=", "'", '"', "/", "\f"),
    ("<!--", "-->", "--!>", "<!-->", "<!", "--", "!>", "-", ">", "<?", "<!doctype ", "<![CDATA[", "]]>", "\0", "a<b>"),
    ("[", "]", "](", ")", "(", "![", "[a](https://x.org)", "](<", ">)", "\\", "\\(", ' "t")', "'", "](\n", "\0", "<"),
    ("`", "```", "~~~", "    ", "{", "}", '{"a":1}', "[1]", "]: ", "[a]: /b", "\n", "\r\n", "\t", "\x7f", "&lt;", "> ")
    + ("- ", "1) ", ' "t"', "[a]", ": ", '"a"', "1", ","),
    # what becomes one of those: full-width forms, and look-alikes of brackets
    ("\uff1c", "\uff1e", "\ufe64", "\ufe65", "\u2039", "\u203a", "\u1438", "\u1433", "\u02c2", "\u02c3", "\u276e")
    + ("\u276f", "\uff3b", "\uff3d", "\uff08", "\uff09", "\u2772", "\u2773", "\u3014", "\u3015", "\u01c3", "\u2044")
    + ("\uff5b", "\uff5d", "\u2774", "\u2775", "\uff40", "\uff5e", "\uff1a", "\uff02"),
    # letters of other scripts; ligatures, compatibility forms that grow, typography, scripts without case
    ("\u0430", "\u043e", "\u0441", "\u0455", "\u0438", "\u0439", "\u03bf", "\u2ca3", "\U0001d41a", "\u0130", "\u00e9"),
    ("\ufb01", "\ufdfa", "\u2026", "\u2019", "\u2013", "\u00df", "\u65e5", "\U0001f600", "\u2028", "\u0085", "\u00bd"),
    # combining marks (U+0338 makes another character of `<`, `>` and `=`); jamo, which compose to syllables
    ("\ue000", "\uf8ff", "\U000f0000", "\U0010fffd", "\ufdd0", "\uffff"),
    ("\u0301", "\u0338", "\u0327", "\u0308", "\u0323", "\u0345", "\u3099", "\u0f71", "\u0f74", "\u20d2", "\u0306"),
    ("\u1100", "\u1161", "\u11a8", "\uac00", "\uffa1", "\uffc2", "\u115f", "\u3164", "\u09c7", "\u09be", "\u1112"),
    ("%3C", "%253C", "%E2%80%8B", "%25E2%2580%258B", "%00", "%0a", "%25", "%", "%ff", "%EF%BC%9C", "%F3%A0%81%81")
    + ("%C2%85", "%5D%28", "%zz", "%D0%B0"),
    ("https://x.org", "https://a@x.org/", "https://[::1]/", "did:web:x.org", "urn:doi:10.1/x", "urn:isbn:", "arxiv:1")
    + ("javascript:alert(1)", "data:", "//", "/", ":", ":80", "@", "?", "#", "https:", "HTTPS://X.ORG", "..", "x.org"),
    ("0123456789abcdef" * 8, "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo" * 4, "MZXW6YTBOI2TGNBV" * 8, "%41%62%63" * 20),
)
_THEMES: Final = len(FRAGMENTS) + 2
DICTIONARY: Final = sorted({piece for group in FRAGMENTS for piece in group} | set(INVISIBLE[:40]))


class Subject(NamedTuple):
    """Something to sanitise, and the rules: `payload` is a text for the first two kinds, a body for the others."""

    kind: Kind
    payload: Any
    confusables: Any
    typing: Any
    cap: int


def seed(kind: Kind, payload: str) -> bytes:
    """The bytes that `subject_of` reads as just that payload, under the defaults of lenient typing."""
    return bytes((KINDS.index(kind), 0, 255)) + payload.encode(errors="replace")


def fresh(random: Random) -> bytes:
    """Bytes of choices, made from nothing."""
    what = random.choice((3, 4, 4, 4, 5, 6))
    return bytes((what,)) + random.randbytes(2 + random.choice((12, 30, 60, 120, 300)))


def subject_of(data: bytes) -> Subject:
    """What the bytes stand for; every sequence of bytes stands for something."""
    what, rules, cap = (data[:3] + bytes(3))[:3]
    payload = data[3:]
    kind = KINDS[what & 3]
    confusables = CONFUSABLES[rules % len(CONFUSABLES)]
    typing = TYPING[rules >> 7]
    if what & 4 or kind == "attestation":
        made = _Choices(payload)
        body = made.attestation() if kind in ("attestation", "octets") else made.text()
        if kind == "octets":
            body = json.dumps(body, ensure_ascii=not rules & 64).encode(errors="surrogatepass")
    else:
        body = payload if kind == "octets" else payload.decode(errors="replace")
    return Subject(kind, body, confusables, typing, _cap(cap, body))


def _cap(choice: int, body: Any) -> int:
    """The contract's cap, a small one, or one close to the text's own length: where a cut falls decides much."""
    if choice > 191 or not isinstance(body, str):
        return 2000
    return choice + 1 if choice < 128 else min(2000, max(1, len(body.encode()) + 160 - choice))


class _Choices:
    """Reads the payload as choices."""

    def __init__(self, payload: bytes) -> None:
        import atheris  # here, because `laws` is of use without it

        self._from = atheris.FuzzedDataProvider(payload)

    def _number(self, most: int) -> int:
        return self._from.ConsumeIntInRange(0, most)

    def piece(self, themes: list[int]) -> str:
        """One fragment, an invisible character, any code point, or a few plain letters: mostly of the themes."""
        theme = self._number(3)
        choice = themes[theme] if theme < 3 else self._number(_THEMES)
        if choice < len(FRAGMENTS):
            group = FRAGMENTS[choice]
            return group[self._number(len(group) - 1)]
        if choice == len(FRAGMENTS):
            return INVISIBLE[self._number(len(INVISIBLE) - 1)]
        if choice == len(FRAGMENTS) + 1:
            point = self._number(0x10FFFF if self._number(3) == 0 else 0xFFFF)
            return "\ufffd" if 0xD800 <= point < 0xE000 else chr(point)
        return "abz 1."[self._number(5)] * (1 + self._number(3))

    def text(self, most: int = 40) -> str:
        """Pieces, each behind the text so far, somewhere inside it, or many times."""
        text = ""
        # A text about few things tries them thoroughly: a comment's beginning hardly meets its end among everything.
        themes = [self._number(_THEMES) for _ in range(3)]
        for _ in range(self._number(most)):
            if not self._from.remaining_bytes() or len(text) > MAX_CHARACTERS:
                break
            piece = self.piece(themes)
            how = self._number(15)
            if how < 11:
                text += piece
            elif how < 15:
                place = self._number(len(text))
                text = text[:place] + piece + text[place:]
            else:
                text = (text + piece) * (1 + self._number(60))
        return text[:MAX_CHARACTERS]

    def attestation(self) -> dict[str, Any]:
        """A body that typing mostly accepts; now and then a field is of another type, or one that nobody knows."""
        body: dict[str, Any] = {
            "claim_hash": "0x" + "ab" * 32,
            "validator_did": "did:web:university.example",
            "verdict": "VERIFIED",
            "consensus_domain": "scientific-default",
        }
        odd = self._number(30)
        if odd == 0:
            body[list(body)[self._number(3)]] = self.scalar()
        elif odd == 1:
            body[self.text(4)] = self.tree(3)
        elif odd == 2:
            body["canonicalisation_version"] = ("0.2", "0.3", None, "0.4")[self._number(3)]
        elif odd == 3:
            body["issued_at"] = self.scalar()
        elif odd == 4:
            body["rationale"] = self.scalar()
        body.setdefault("rationale", self.text(12))
        body["evidence"] = [{"quote": self.text(8), "uri": self.text(4)} for _ in range(self._number(7))]
        body["cited_works"] = [{"title": self.text(8), "uri": self.text(4)} for _ in range(self._number(2))]
        body["qualifications"] = self.text(12)
        if odd == 5:  # more than come out
            body["evidence"] *= (1, 20, 60)[self._number(2)]
            body["cited_works"] *= (1, 60, 90)[self._number(2)]
        return body

    def tree(self, depth: int) -> Any:
        """A JSON value, in itself of any type."""
        choice = self._number(3)
        if choice == 0 and depth:
            return {self.text(3): self.tree(depth - 1) for _ in range(self._number(3))}
        if choice == 1 and depth:
            return [self.tree(depth - 1) for _ in range(self._number(3))]
        return self.scalar()

    def scalar(self) -> Any:
        """A number at an edge, a lone surrogate, or a text."""
        edges = (None, True, 0, -1, 2**53 - 1, 2**53, 1.5, 1e300, float("nan"), "\ud800", "a\nb", [], {})
        choice = self._number(len(edges) + 3)
        return edges[choice] if choice < len(edges) else self.text(6)
