"""The law of cost: every step on a stranger's text takes time linear in its length.

A text of a family is a few pieces, repeated to a length. Each step is timed on it by the processor time of this process
(other programs on the machine do not count) at a length and at eight times that: linear work takes eight times as long,
quadratic work sixty-four. What takes longer than `RATIO` times is measured again, the least of three counts, so that a
disturbance is no finding. Steps that are done at once are not judged: what is quadratic is not, at that length.

The families are those that attacks on parsers are made of, one by one, and then, as long as there is time, two or three
of them put together by chance.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final, NamedTuple

from laws import Finding

from sluice.codecs import canonical, decode, identifiers, signatures
from sluice.codecs import signatures as dids
from sluice.codecs.decode import MAX_CONTENT_BYTES
from sluice.codecs.errors import DoesNotHoldError
from sluice.codecs.notes import Signer
from sluice.streams import sanitise
from sluice.streams.judging import claim_forms, coverage, prose_literals, terms, verify
from sluice.streams.judging import claim_forms as derivation
from sluice.streams.judging.checks import parse_check
from sluice.streams.judging.verify import checks_of_assertion
from sluice.streams.policy.keys import KINDS as POLICY_KINDS
from sluice.streams.sanitise import _typing, _uri

LONG: Final = 80_000
"""Characters of the longer text; the largest record has a million bytes."""
SHORT: Final = LONG // 8
RATIO: Final = 24
"""Times as long for eight times the text, up to which a step counts as linear: three times as much as it should be."""
AT_ONCE: Final = 0.02
"""Seconds for the longer text below which nothing is judged."""
TOO_LONG: Final = 3.0
"""Seconds for the shorter text that are too many, whatever the ratio is."""

_CHECK: Final = parse_check("exists(path=a.py)")
_BODY: Final[dict[str, Any]] = {
    "claim_hash": "0x" + "00" * 32,
    "validator_did": "did:web:a.example",
    "verdict": "VERIFIED",
    "consensus_domain": "scientific-default",
}
_LENIENT: Final = sanitise.AttestationRules(typing="lenient")
MOST_JUDGED: Final = 20_000
"""Characters of a text that the fold and the observers look for terms in; a longer one has none (citing.py)."""
MOST: Final = {"terms": MOST_JUDGED, "a citation held against a sighting": MAX_CONTENT_BYTES}
"""Characters of the longer text of steps that never get a text of `LONG`."""
_KEY: Final = base64.b64encode(Signer("a", bytes(32)).verifier.public_key).decode()
_FORMED: Final = base64.b64encode(bytes(64)).decode()


def _record(**fields: Any) -> bytes:
    return json.dumps({"emission_id": "e", "emitted_at": "2026-11-21T09:00:00Z", **fields}).encode()


def _signature(text: str) -> None:
    """A signature of the right form, which does not hold: the whole record is brought into its canonical form."""
    record = json.dumps({"a": text, "b": [text[:1000]] * 3, text: 1, "signature": _FORMED}).encode()
    signatures.is_signed_by_any([_KEY], _FORMED, record, signatures.EMISSION)


def _names(text: str) -> None:
    """The text as one name, and as many that fit, in every place of a record that has names."""
    identifiers.hides(text)
    identifiers.pointer_hides(text)
    for test, _ in POLICY_KINDS.values():
        test(text)
    names = [text[at : at + 200] for at in range(0, len(text), 200)]
    decode.read_emission(_record(text="a", contexts=dict.fromkeys(names, "b")))
    decode.read_emission(_record(emission_id=text[:256], text="a", group=text))


def _dids(text: str) -> None:
    for did in (text, f"did:{text}", f"did:web:{text}", f"did:key:z{text}", f"did:a:b#{text}"):
        dids.normalised(did)
        dids.key_of(did)
        sanitise.frame_attestation({**_BODY, "validator_did": did}, _LENIENT)


def _match(text: str) -> None:
    """A stranger's citation held against a stranger's sighting: the bind lane does it for every pair."""
    check = f"contains({json.dumps(text[:1500])})"
    checks = [check, f"not {check}", check.replace(")", ", path=a)")]
    asked = checks_of_assertion("assertion", derivation.checks_of(text, "assertion", checks))
    covered = coverage.cover(text, asked.checks, path="a")
    verify.match("substrate.grep", asked, covered, text, "a", "a")
    verify.match("substrate.mcp.brief", asked, covered, text)
    verify.match("substrate.fs.mtime", asked, covered, text, "a")


def _canonical(text: str) -> None:
    try:
        canonical.canonical_hash({"a": text, text: 1})
    except DoesNotHoldError:
        pass


STEPS: Final[dict[str, Callable[[str], object]]] = {
    "strict typing": lambda text: _typing.problem_of(text, "strict"),
    "typing of what comes out": _typing.structure_of,
    "cleaning": lambda text: sanitise.clean(text, "rationale", len(text) * 4, "replace", sanitise.Trace()),
    "cleaning under flag": lambda text: sanitise.clean(text, "rationale", 2000, "flag", sanitise.Trace()),
    "looking for the unexpected": sanitise.unexpected_confusables,
    "an attestation": lambda text: sanitise.frame_attestation({**_BODY, "rationale": text}, _LENIENT),
    "a URI": _uri.harden_uri,
    "the canonical hash": _canonical,
    "quotes": prose_literals.quotes,
    "what is cited": prose_literals.cited_spans,
    "code spans": prose_literals.code_spans,
    "terms": lambda text: terms.terms_of(text, "substrate.code.read", {}),
    "derived checks": lambda text: derivation.checks_of(text, "assertion", None),
    "coverage": lambda text: coverage.cover(text, [_CHECK]),
    "in-line annotations": lambda text: decode.read_emission(_record(text=text)),
    "an assertion of its own": lambda text: decode.read_emission(_record(text="a", assertions=[{"assertion": text}])),
    "a declared check": lambda text: parse_check(f"contains({text})"),
    "the form that is signed": _signature,
    "identifiers": _names,
    "DIDs": _dids,
    "a citation held against a sighting": _match,
}
"""Every step that a stranger's text goes through before anybody has judged it."""

PIECES: Final = (
    *("[^1]", "a[^1]", "[^1]: f(", "[^1]: f(a)\n", '[^1]: f("', "```checks\n", "```checks\n[]\n```\n"),
    *("[", "]", "](", "[a](", "[a](b", "[[]]", "![", "[a]: <b\n", "[a]:", '[a]: b "', '[a]: b "\n', "[a]: b (", "[x]"),
    *(
        "`",
        "```\n",
        "`\n",
        "`a",
        "`` ",
        "~~~\n",
        "> ",
        "- ",
        "1. ",
        "- - ",
        "# a\n",
        "| a |\n",
        "|-|\n",
        "---\n",
        "===\n",
    ),
    *(
        '"',
        "'",
        '"a"',
        "'\"",
        "“",
        "”",
        "“a‘",
        "«",
        '("',
        "’",
        "<",
        "<a ",
        '<a b="',
        "<a b='",
        "<!--",
        "<!",
        "</",
        "<?",
    ),
    *(
        "<|",
        "<|a",
        "|>",
        "<s>",
        "[INST",
        "[INST]",
        "system:",
        "system:\n",
        "\nuser",
        "\n ",
        "1",
        "1.",
        "1,",
        "1-",
        "12:",
    ),
    *(
        "2026-",
        "0x",
        "a@",
        "a.b@",
        "@",
        " ",
        "\n",
        "\t",
        "\r\n",
        "%41",
        "%",
        "A1b2",
        "A" * 48 + "\n",
        "Ab1/" * 19 + "\n",
    ),
    *("\\", "\\[", "{", '{"a":', '{"a":1}', "[1,", "}", "(", "()", ")", "\u0301", "a\u0301", "\u0430", "\u1100"),
    *(
        "\u200d",
        "\u034f",
        "\ue000",
        "é",
        "Dr. ",
        "a. A",
        "a.A.",
        "! ",
        "a-",
        "a_",
        "a/",
        "../a",
        "a::b",
        "a b ",
        "and ",
    ),
    *(
        "http://",
        "http://a",
        "**",
        "_",
        "&lt;",
        "…",
        ".",
        ",",
        ";",
        ":",
        "=",
        "-",
        "$1",
        "#1",
        "v1.",
        "+1",
        "[substrate.",
    ),
    *("[substrate.grep; ", "[substrate.grep; ts=", "[substrate.grep]", "a [substrate.grep] ", "; ", "\0", "a.py:1 "),
    *(
        "2026-05-25 ",
        "on May 5, ",
        "at 10:00 ",
        "commit abcdef1 ",
        "version 1.2 ",
        "before ",
        "foo() ",
        "Aa",
        "1e",
        "ﷺ",
    ),
    *("<b>", "<b", "/>", "&", "?", "\u2028", "\x85", "İ", "ﬁ", "１", "1 a ", "5% ", "0.1 "),
)


class Family(NamedTuple):
    """A text of any length: `head`, then `body` again and again, then `tail`."""

    head: str
    body: str
    tail: str

    def text(self, length: int) -> str:
        return self.head + self.body * max(1, length // len(self.body)) + self.tail


def each() -> Iterator[Family]:
    """One family for each piece, alone and before what ends it."""
    for piece in PIECES:
        yield Family("", piece, "")
        yield Family("", piece, "!")


def by_chance(random: Random) -> Family:
    """Two or three pieces, together or one behind the other."""
    body = "".join(random.choice(PIECES) * random.choice((1, 1, 1, 3)) for _ in range(random.choice((1, 2, 2, 3))))
    head, tail = (random.choice(PIECES) if random.random() < 0.3 else "" for _ in range(2))
    return Family(head, body, tail)


def check_cost(name: str, step: Callable[[str], object], family: Family) -> None:
    """One step on one family.

    Raises:
        Finding: it takes more than linear time.
    """
    most = MOST.get(name, LONG)
    short, long = family.text(most // 8), family.text(most)
    least = _seconds(step, short)
    if least > TOO_LONG:
        raise Finding(f"{name} takes {least:.1f} s for {len(short)} characters: {family}")
    taken = _seconds(step, long)
    if taken < AT_ONCE or taken < RATIO * least:
        return
    least = min(_seconds(step, short) for _ in range(3))
    taken = min(_seconds(step, long) for _ in range(2))
    if taken >= max(AT_ONCE, RATIO * least):
        sizes = f"{len(short)} characters take {least:.4f} s, {len(long)} take {taken:.4f} s"
        raise Finding(f"{name} takes more than linear time: {sizes}: {family}")


def _seconds(step: Callable[[str], object], text: str) -> float:
    _forget()
    start = time.process_time()
    step(text)
    return time.process_time() - start


def _forget() -> None:
    """What the judging remembers of texts is no measure of what a new text costs."""
    claim_forms.claim.cache_clear()


def check_all(seconds: float, seed: int) -> int:
    """Every step on every family, then on families by chance until so many seconds have passed; how many families.

    Raises:
        Finding: a step takes more than linear time.
    """
    end, families, random = time.monotonic() + seconds, 0, Random(seed)
    for family in each():
        for name, step in STEPS.items():
            check_cost(name, step, family)
        families += 1
    while time.monotonic() < end:
        family = by_chance(random)
        for name, step in STEPS.items():
            check_cost(name, step, family)
        families += 1
    return families
