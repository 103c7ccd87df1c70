"""Nothing unsanitised stands on any output topic [V §4, §5]: every string of every record there is looked at.

Strangers write hostile text wherever the records have room for it, so that each output topic gets records of every
kind. The judges are others than those that sanitised: html5lib, html5ever and markdown-it, and tables written here
from the contract. Dead letters are raw by design, and each says so.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
import unicodedata2
from aiokafka import AIOKafkaProducer
from builders import attestation_value, emission_value, observation_value, review_value, span_of
from lanes_on_kafka import Workers, read
from oracles import has_html, has_link

from sluice.codecs import records
from sluice.topology.kafka.topics import TOPICS, create_topics
from sluice.topology.settings.settings import Settings, bootstrap

pytestmark = pytest.mark.long

POLICY = """
[admissibility]
horizon = "2s"
late_horizon = "2s"
min_confidence = 0.5
[admissibility.window]
default = "6s"
[attestations]
min_canonicalisation = "0.2"
[effect]
"careful-bot" = "external"
[disposition]
unverified-inference = "review"
unannotated = "review"
below-floor = "re-emit"
decayed-to-uncertainty = "re-emit"
contradicted = { internal = "review", external = "refuse" }
rejected = "review"
"""
STRUCTS: dict[str, type[msgspec.Struct]] = {
    "admitted": records.Admitted,
    "inadmissible": records.Inadmissible,
    "review-requests": records.ReviewRequest,
    "re-emission-requests": records.ReEmissionRequest,
    "grounded": records.Grounded,
    "verdicts": records.Verdicts,
}
GIT, CODE, GREP = "substrate.git.log", "substrate.code.read", "substrate.grep"
TRACEPARENT = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
TRACED = [("traceparent", TRACEPARENT)]

# ---------------------------------------------------------------- what strangers write

UNSEEN = "\u034fc\u115fg p\ue000p \u202eturned\u202c z\u200bw j\u200dj n\u200cn w\u2060w v\ufe0fs t\U000e0041g "
UNSEEN += "i\u2066s\u2069 s\u00adh b\ufeffm"
LOOKS = "ｆｕｌｌ-ｗｉｄｔｈ pаypаl сосоа ﬁne ① Ⅷ ﷺ ᐸscriptᐳalertᐸ/scriptᐳ ＜img src=x onerror=y＞ ［go］（https://evil.example）"
HIDDEN = "<\u200bb>split<\u200b/b> <\u2060script>x<\u00ad/script> ]\u200b(x) [a\u200b]\u200b(https://evil.example)"
MARKUP = "<b onclick=x>bold</b> <!-- gone --> <script>alert(1)</script> [click](https://evil.example) ![i](x) <a<b>c>"


def hostile(name: str) -> str:
    """Text with all that is to go, behind a mark that is to stay."""
    return f"mark-{name} {UNSEEN} {LOOKS} {HIDDEN} {MARKUP}"


def plain(name: str) -> str:
    """What strict typing lets pass: no markup that a parser would see now, and much that becomes some [V §3]."""
    return f"mark-{name}\tsays:\r\n{UNSEEN} {LOOKS} {HIDDEN}"


HOSTILE_OBJECT: dict[str, Any] = {
    "<b>name</b>\u202e": "<i>value</i>",
    "[a](b)": {"ｎｅｓｔｅｄ\u200b": [MARKUP, 1, None, {"<script>": UNSEEN}]},
}


class Record(NamedTuple):
    topic: str
    key: bytes
    value: Any
    headers: list[tuple[str, bytes]]


def hostile_emission(name: str, *, text: str = "", **fields: Any) -> Record:
    """An emission of one assertion with hostile text, chain and context, under a hostile trace."""
    text = text or hostile(name)
    known = ("kind", "provenance", "cites", "grounded", "chain", "confidence", "effect", "span", "assertion")
    own = {"provenance": [hostile_annotation(GIT), hostile_annotation(CODE)], "chain": chain(name)}
    own |= {field: fields.pop(field) for field in known if field in fields}
    fields = {
        "assertions": [{"span": span_of(text), **own}],
        "emitter": {"system": "plain-bot", "model": "model-1", "prompt": "p-1"},
        "contexts": {"ctx": hostile("context")},
        **fields,
    }
    value = emission_value(f"em-{name}", text, at=now(), **fields)
    trace = [("traceparent", b"<b>mark-trace</b>" + UNSEEN.encode()), ("x-note", b"<script>")]
    return Record("emissions", f"em-{name}".encode(), value, trace if name != "refusal" else TRACED)


def hostile_annotation(cls: str) -> dict[str, Any]:
    return {
        "substrate_class": cls,
        "observation_id": f"seen:{cls}",
        "ts": now(),
        "locator": {"path": hostile("locator"), **HOSTILE_OBJECT},
    }


def chain(name: str) -> list[dict[str, Any]]:
    """A step of every kind, each with all of its free text hostile."""
    text = hostile(f"{name}-chain")
    retrieval = {"step": "retrieval", "source": text, "timestamp": now(), "metadata": HOSTILE_OBJECT, "data": ["pii"]}
    return [
        retrieval,
        {"step": "prompt-transform", "prompt_name": text, "model": text, "tokens": 3},
        {"step": "agent-handoff", "agent_name": text},
        {"step": "derived", "operator": text, "left": [retrieval], "right": [{"step": "discard", "rule": text}]},
        {"step": "severed", "reason": text},
        {"step": "discard", "rule": text, "where": text},
    ]


def hostile_observation(name: str, cls: str, length: int, outcome: str = "corroborates", **fields: Any) -> Record:
    """An observation with hostile locator and detail, and an attestation as hostile as typing lets it be."""
    fields = {
        "observer": "observer-2",
        "locator": {"path": hostile("locator"), **HOSTILE_OBJECT},
        "detail": {"found": [hostile("detail")], **HOSTILE_OBJECT},
        "attestation": hostile_attestation(f"{name}-{cls.rpartition('.')[2]}"),
        **fields,
    }
    about = {"emission_id": f"em-{name}", "span": {"chars": [0, length]}, "at": now()}
    value = observation_value(cls, outcome, **{**about, **fields})
    return Record("observations", f"em-{name}".encode(), value, [("traceparent", b"<b>mark-trace</b>")])


def hostile_attestation(name: str, **fields: Any) -> dict[str, Any]:
    stated = {
        "claim_hash": "0x" + sha256(name.encode()).hexdigest(),
        "validator_did": "did:web:validator.example",
        "verdict": "DISPUTED",
        "rationale": plain(f"{name}-rationale"),
        "qualifications": plain(f"{name}-qualifications"),
        "evidence": [
            {"quote": plain(f"{name}-quote"), "uri": "https://user@evil.example/%3Cscript%3E"},
            {"quote": "", "uri": "https://example.org/\u202e"},
            {"quote": "", "uri": "javascript:alert(1)"},
            {"quote": "", "uri": "https://example.org/a?b=(c)"},
        ],
        "cited_works": [
            {"uri": "did:web:[go](https://evil.example)", "title": plain(f"{name}-title")},
            {"uri": hostile("uri"), "title": ""},
        ],
        "<b>\u202e[a](b)": HOSTILE_OBJECT,
    }
    return attestation_value(**stated | fields)


def attested(name: str, **fields: Any) -> Record:
    value = hostile_attestation(name, **fields)
    headers = [("traceparent", b"<b>mark-trace</b>" + UNSEEN.encode()), ("<b>", b"<i>")]
    return Record("attestations", str(value["claim_hash"]).encode(), value, headers if name != "old" else TRACED)


def hostile_review(name: str, length: int, decision: str) -> Record:
    span = {"chars": [0, length]}
    value = review_value(decision, emission_id=f"em-{name}", span=span, reason=hostile("review"))
    return Record("reviews", f"em-{name}".encode(), value, [])


def now() -> int:
    return time.time_ns() // 1_000_000


def first() -> Iterator[Record]:
    """Emissions with their evidence and reviews, and attestations: each comes to another end."""
    sizes = {
        name: len(hostile(name)) for name in ("decays", "turns", "invented", "passed", "stopped", "withheld", "other")
    }
    refused = hostile("refusal")
    yield hostile_emission("refusal", text=refused, kind="refusal")
    for name in ("decays", "turns", "invented"):
        yield hostile_emission(name)
        yield hostile_observation(name, GIT, sizes[name])
        yield hostile_observation(name, CODE, sizes[name])
    yield hostile_emission("other", kind="denial")
    yield hostile_observation("other", GIT, sizes["other"], "contradicts")
    # External look-alikes would be rejected as such: the text of this one has none.
    calm = "mark-withheld It is so."
    yield hostile_emission("withheld", text=calm, emitter={"system": "careful-bot"})
    yield hostile_observation("withheld", GIT, len(calm), "contradicts")
    yield hostile_emission("rejected", effect="external")
    yield hostile_emission("bare", provenance=None)
    yield hostile_emission("unknown", provenance={"substrate_class": "substrate.<b>[a](b)\u202e"})
    yield hostile_emission("terminal", provenance={"substrate_class": "unverified-inference"})
    yield hostile_emission("unsure", confidence=0.1)
    yield hostile_emission("ungrounded", grounded=True)
    yield hostile_emission("below", provenance=[hostile_annotation(GIT), hostile_annotation(CODE)])
    yield hostile_observation("below", GIT, len(hostile("below")))
    yield hostile_emission("alone")
    yield hostile_emission("absent")
    yield hostile_observation("absent", GIT, len(hostile("absent")), "absent")
    quoting = "mark-quoting It says “<b>never</b>\u202e said”."
    yield hostile_emission("quoting", text=quoting, cites={"context": "ctx", "strictly": True})
    yield from _other_spans()
    yield hostile_emission("passed", provenance=None)
    yield hostile_emission("stopped", provenance=None)
    # What strict decoding refuses: quarantine.
    yield hostile_emission("mistaken", emitter={"system": hostile("system")})
    yield Record("emissions", b"em-raw", hostile("raw"), [("<b>", b"\xff")])
    yield Record("reviews", b"em-none", {"emission_id": "em-none", "span": {"chars": [0, 1]}, "decision": "<b>"}, [])
    yield attested("plain")
    yield attested("linked", validator_did="did:web:[go](https://evil.example)")
    yield attested("imaged", validator_did="did:web:x![i](https://evil.example/i)")
    yield attested("old", canonicalisation_version="0.2")
    yield attested("marked", rationale=hostile("marked"))
    yield attested("outside", consensus_domain="<b>\u202e")


def _other_spans() -> Iterator[Record]:
    """A pointer whose names are hostile, a name of a tokenizer, and text in the in-line encoding."""
    names = ["<b>x</b>", "[a](b)", "%", "<script>"]
    document: Any = hostile("pointer")
    for name in reversed(names):
        document = {name: document}
    path = "".join("/" + name.replace("/", "~1") for name in names)
    yield hostile_emission("pointer", text=json.dumps(document), span={"path": path})
    yield hostile_emission("tokens", span={"tokens": [0, 3], "tokenizer": "cl100k"}, assertion=hostile("tokens"))
    value = {"emission_id": "em-inline", "emitted_at": now(), "text": f"mark-inline {UNSEEN} {LOOKS} [{GIT}]. So."}
    yield Record("emissions", b"em-inline", value, [])


def second() -> Iterator[Record]:
    """What comes after a verdict: newer evidence, contradictions, fabrications, and people's decisions."""
    yield hostile_observation("decays", GIT, len(hostile("decays")), observed_at=now() + 500)
    yield hostile_observation("decays", CODE, len(hostile("decays")), observed_at=now() + 500)
    yield hostile_observation("turns", GIT, len(hostile("turns")), "contradicts", observed_at=now() + 500)
    yield hostile_observation("invented", GIT, len(hostile("invented")), "unknown-observation", observed_at=now() + 500)
    yield hostile_review("stopped", len(hostile("stopped")), "refuse")


def third() -> Iterator[Record]:
    """An admission, which counts only for what is up for review: after the horizon."""
    yield hostile_review("passed", len(hostile("passed")), "admit")


WANTED = {
    "admitted": {
        ("admitted", "corroboration", None),
        ("admitted", "review", None),
        ("renewed", "corroboration", None),
        ("decayed-to-uncertainty", "corroboration", "validity-ended"),
        ("contradicted", "corroboration", "contradicted"),
        ("rejected", "corroboration", "fabricated-annotation"),
        ("refused", "emitter", None),
        ("refused", "policy", "contradicted"),
    },
    "inadmissible": {
        ("unannotated", None, "no-corroboration"),
        ("unverified-inference", None, "unknown-class"),
        ("unverified-inference", None, "declared-terminal"),
        ("unverified-inference", None, "no-corroboration"),
        ("unverified-inference", None, "not-looked-at"),
        ("below-floor", None, "below-floor"),
        ("contradicted", None, "contradicted"),
        ("rejected", None, "ungrounded"),
        ("rejected", None, "citation-violation"),
        ("rejected", None, "low-confidence"),
        ("rejected", None, "confusable-text"),
        ("rejected", None, "review"),
    },
}
"""(status, basis, reason) of the records that must have been looked at, or nothing has been proved."""


class Written(NamedTuple):
    """A record of an output topic."""

    topic: str
    key: bytes | None
    value: bytes
    headers: tuple[tuple[str, bytes], ...]

    @property
    def content(self) -> Any:
        return json.loads(self.value)


AWAITED = (("admitted", {"em-decays", "em-turns", "em-invented"}), ("review-requests", {"em-passed"}))
"""Of which emissions something stands on which topic before what comes `second`, and before what comes `third`."""


async def write(
    settings: Settings,
    folder: Path,
    policy: str = POLICY,
    changed: Callable[[Record], Record] = lambda record: record,
    further: Callable[[], Iterator[Record]] = lambda: iter(()),
    **variables: str,
) -> list[Written]:
    """Has a worker decide what strangers send; all that it wrote once nothing is missing, or no more comes.

    Args:
        settings: the topics, which are made.
        folder: of the worker.
        policy: the worker's.
        changed: each record as it is sent.
        further: what else comes first.
        variables: of the worker's environment.
    """
    (folder / "policy.toml").write_text(policy)
    await create_topics(settings)
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap(settings))
    await producer.start()

    async def send(*parts: Iterator[Record]) -> None:
        for topic, key, value, headers in map(changed, itertools.chain(*parts)):
            raw = value.encode() if isinstance(value, str) else json.dumps(value, ensure_ascii=False).encode()
            await producer.send_and_wait(settings.topic_prefix + topic, raw, key=key, headers=headers)

    try:
        with Workers(settings, folder, **variables) as workers:
            await workers.until_taken_over(workers.start("--policy", "policy.toml"))
            await send(first(), further())
            for awaited, part in zip(AWAITED, (second, third), strict=True):
                await _until_there(settings, *awaited)
                await send(part())
            end = time.monotonic() + 150
            while True:
                found = await _written(settings)
                if not missing(found) or time.monotonic() > end:
                    return found  # what is missing, the first test tells
                await asyncio.sleep(0.5)
    finally:
        await producer.stop()


async def _until_there(settings: Settings, topic: str, names: set[str]) -> None:
    """Waits until something of each of these emissions stands on a topic."""
    async with asyncio.timeout(150):
        while True:
            keys = [one.key or b"" for lane in (await read(settings, topic)).values() for one in lane]
            if names <= {key.decode().partition("#")[0] for key in keys}:
                return
            await asyncio.sleep(0.1)


async def _written(settings: Settings) -> list[Written]:
    return [
        Written(topic, one.key, one.value, tuple(one.headers))
        for topic, spec in TOPICS.items()
        if spec.role == "output"
        for lane in (await read(settings, topic)).values()
        for one in lane
    ]


def missing(found: list[Written]) -> dict[str, Any]:
    """What must have been looked at and is not there, by topic."""
    lacking: dict[str, Any] = {}
    for topic, wanted in WANTED.items():
        seen = {
            (one.content["status"], one.content.get("basis"), one.content.get("reason"))
            for one in found
            if one.topic == topic
        }
        if left := wanted - seen:
            lacking[topic] = left
    topics = {one.topic for one in found}
    return lacking | {topic: "all" for topic, spec in TOPICS.items() if spec.role == "output" and topic not in topics}


@pytest.fixture(scope="module")
def written(kafka: str, tmp_path_factory: pytest.TempPathFactory) -> list[Written]:
    """All that workers wrote to output topics about what strangers sent."""
    folder = tmp_path_factory.mktemp("unsanitised")
    prefix = f"u{sha256(str(folder).encode()).hexdigest()[:12]}"
    return asyncio.run(write(Settings(broker=kafka, topic_prefix=f"{prefix}.", app_id=prefix, partitions=2), folder))


@pytest.fixture(scope="module")
def shown(written: list[Written]) -> list[Written]:
    """Without the quarantine."""
    return [one for one in written if one.topic != "dead-letters"]


# ---------------------------------------------------------------- what is looked at

FRAMES = ("_untrusted_text", "_untrusted_quote")


class Found(NamedTuple):
    """A string of a record: what it is, where it stands, and whether it stands in a frame."""

    text: str
    place: str
    framed: bool


def strings(record: Written) -> Iterator[Found]:
    """Every string of a record: values and member names, key and headers."""
    yield from _strings(record.content, record.topic, False)
    yield Found((record.key or b"").decode(), f"{record.topic} key", False)
    for name, value in record.headers:
        yield Found(name, f"{record.topic} header", False)
        yield Found(value.decode(), f"{record.topic} header {name}", False)


def _strings(value: Any, place: str, framed: bool) -> Iterator[Found]:
    if isinstance(value, str):
        yield Found(value, place, framed)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item, f"{place}[]", framed)
    elif isinstance(value, dict):
        for name, member in value.items():
            yield Found(name, f"{place} name", framed)
            yield from _strings(member, f"{place}.{name}" if not framed else place, framed or name in FRAMES)


# [V §4.4], and what is stripped and replaced beyond that (docs/security.md).
STRIPPED = re.compile(
    "[\u200b-\u200f\u2060-\u206f\u202a-\u202f\ufe00-\ufe0f\u180b-\u180f\U000e0000-\U000e0fff\u034f\u115f\u1160"
    "\u061c\ufeff\u00ad\ufff0-\ufffb\ue000-\uf8ff\U000f0000-\U0010ffff\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
ONE_SCRIPT = "\u0441\u043e\u0441\u043e\u0430"
LOOK_ALIKES = re.compile("[\u0430\u0441\u043eᐸᐳ\uff01-\uff5e]")

IDENTIFIER = re.compile(r"[A-Za-z0-9._~:/+=@%-]{1,256}")
NAME = re.compile(r"[@_]{0,2}[A-Za-z][A-Za-z_]*")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z")
DID = re.compile(r"did:[a-z0-9]+:[A-Za-z0-9._:%-]+(?:[/?#][A-Za-z0-9._:%/?#=&;+~@!$'()*,-]*)?")
SPAN_KEY = r"(?:c:\d+-\d+|t:[A-Za-z0-9._~:/+=@%-]+:\d+-\d+|p:[A-Za-z0-9._~/%-]*)"
FIELD = re.compile(r"[a-z_]+(?:\[\d+\])*(?:\.[a-z_]+(?:\[\d+\])*)*")
PLACES: dict[str, re.Pattern[str]] = {
    ".span_key": re.compile(SPAN_KEY),
    "verdicts key": re.compile(r"[A-Za-z0-9._~:/+=@%-]{1,256}"),
    "key": re.compile(rf"[A-Za-z0-9._~:/+=@%-]{{1,256}}#{SPAN_KEY}|0x[0-9a-f]{{64}}"),
    "header traceparent": re.compile(r"[0-9A-Za-z-]{1,256}"),
    ".validator_did": DID,
    ".span.path": re.compile(r"[A-Za-z0-9._~/%-]*"),
    ".query": re.compile(""),
    "._meta.normalised[]": FIELD,
    "._meta.scripts[]": re.compile(r"[A-Z][A-Za-z_]+"),
    "[].field": FIELD,
    "[].character": re.compile(r"U\+[0-9A-F]{4,6}"),
    "[].replacement": re.compile(r"[!-~]|U\+FFFD"),
}
"""What may stand outside the frame: by default an identifier; at these places something still narrower, or other."""


def is_orderly(found: Found) -> bool:
    """Whether a string outside the frame is an identifier, an enumerated value or a time, never free text."""
    if found.place.endswith((" name", " header")):
        return bool(NAME.fullmatch(found.text) or re.fullmatch(r"content-type", found.text))
    for place, pattern in PLACES.items():
        if found.place.endswith(place):
            return pattern.fullmatch(found.text) is not None
    return (IDENTIFIER.fullmatch(found.text) or TIME.fullmatch(found.text)) is not None


def unlike(found: list[Found]) -> list[str]:
    """What failed, short enough to read."""
    return sorted({f"{one.place}: {one.text[:120]!r}" for one in found})[:8]


def test_every_topic_and_kind_of_record_was_written(written: list[Written]):
    """Otherwise nothing below would prove much."""
    assert missing(written) == {}
    letters = Counter(dict(reversed(one.headers))["sluice-reason"] for one in written if one.topic == "dead-letters")
    assert letters == {b"schema": 2, b"not-json": 1, b"mistyped": 4}


def test_strangers_texts_are_there_and_framed(shown: list[Written]):
    """Their marks stand in frames, of every kind of text, and nowhere else."""
    framed = " ".join(found.text for one in shown for found in strings(one) if found.framed)
    for mark in (
        *(
            "refusal",
            "decays",
            "other",
            "withheld",
            "rejected",
            "bare",
            "quoting",
            "inline",
            "decays-chain",
            "pointer",
            "tokens",
        ),
        *("plain-rationale", "plain-qualifications", "plain-quote", "plain-title", "old-title"),
        *("decays-log-rationale", "decays-read-quote"),
    ):
        assert f"mark-{mark} " in framed or f"mark-{mark}\t" in framed, mark
    outside = [found for one in shown for found in strings(one) if not found.framed and "mark-" in found.text]
    assert unlike(outside) == []


def test_nothing_that_is_not_seen_stands_there(shown: list[Written]):
    """No character of the stripped set [V §4.4], and no look-alike of those that were sent [V §4.3]."""
    found = [found for one in shown for found in strings(one)]

    assert unlike([one for one in found if STRIPPED.search(one.text)]) == []
    # A word of one script stays in an assertion, and gives way in an attestation.
    shown_words = [one._replace(text=one.text.replace(ONE_SCRIPT, "")) for one in found if "grounded" not in one.place]
    attested_words = [one for one in found if "grounded" in one.place]
    assert unlike([one for one in (*shown_words, *attested_words) if LOOK_ALIKES.search(one.text)]) == []


def is_normal(text: str) -> bool:
    return unicodedata2.normalize("NFKC", text) == text


def test_everything_is_normalised(shown: list[Written]):
    """NFKC [V §4.2], the mark of truncation apart."""
    wrong = [
        found
        for one in shown
        for found in strings(one)
        if not is_normal(found.text.removesuffix("…") if found.framed else found.text)
    ]

    assert unlike(wrong) == []


def test_no_parser_sees_html(shown: list[Written]):
    """Neither html5lib nor html5ever finds a tag, a comment or a doctype [V §4.6]."""
    different = {found.text: found for one in shown for found in strings(one)}

    assert unlike([found for text, found in different.items() if has_html(text)]) == []


def test_no_parser_sees_a_markdown_link(shown: list[Written]):
    """In no string, inside the frame or outside of it [V §4.6]."""
    different = {found.text: found for one in shown for found in strings(one)}

    assert unlike([found for text, found in different.items() if has_link(text)]) == []


def test_outside_the_frame_stands_no_free_text(shown: list[Written]):
    """Identifiers, enumerated values, numbers and times only (docs/reference/records.md)."""
    wrong = [found for one in shown for found in strings(one) if not found.framed and not is_orderly(found)]

    assert unlike(wrong) == []


def test_records_have_the_fields_of_their_schema_and_no_others(shown: list[Written]):
    """A stranger cannot smuggle in a member; and what is in a frame says that it is untrusted."""
    for one in shown:
        record = msgspec.json.decode(one.value, type=STRUCTS[one.topic])
        assert json.loads(msgspec.json.encode(record)) == one.content
        for frame in _frames(one.content):
            assert frame["@type"] == "veritas:UntrustedValidatorText"
            assert frame["warning"]


def _frames(value: Any) -> Iterator[dict[str, Any]]:
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _frames(item)
    if isinstance(value, dict):
        yield from (value[name] for name in FRAMES if name in value)


def test_a_trace_is_passed_on_where_it_is_one(shown: list[Written]):
    """In the characters of a trace context, and nothing else that calls itself so."""
    traces = {dict(one.headers).get("traceparent") for one in shown}

    assert traces == {None, TRACEPARENT}


def test_each_record_about_text_has_its_frame(shown: list[Written]):
    """Also where there is no text [V §5.2]; a verdict is about identifiers alone, and has none (docs/verdicts.md)."""
    for one in shown:
        frames = len(list(_frames(one.content)))
        assert frames == 0 if one.topic == "verdicts" else frames >= 1


def test_dead_letters_are_raw_and_marked(written: list[Written]):
    """They are quarantine: what came, as it came, behind a reason."""
    letters = [one for one in written if one.topic == "dead-letters"]

    assert {one.headers[0][0] for one in letters} == {"sluice-reason"}
    assert hostile("raw").encode() in {one.value for one in letters}
    marked = json.dumps(hostile_attestation("marked", rationale=hostile("marked")), ensure_ascii=False).encode()
    assert marked in {one.value for one in letters}
