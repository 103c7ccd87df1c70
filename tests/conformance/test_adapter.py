"""The adapter's conformance [V §5, §6, §8.1, §9]: the corpus through a real client, and each negative requirement.

The cases of the adversarial corpus, and the public test data, are attested, admitted and asked for; the adapter stands
behind the SDK's own client. Whatever comes back is walked through: text of a stranger's stands in a frame or nowhere,
and no parser that we ask sees anything but text in it.
"""

import asyncio
import json
import re
import runpy
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest
import unicodedata2
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.client.client import Client
from mcp_types import TextContent
from search import examples

from sluice.codecs.errors import Fault
from sluice.codecs.records import CheckCount
from sluice.codecs.unicode_text import find_invisible
from sluice.streams.judging.checks import TABLE
from sluice.streams.sanitise import SANITATION_VERSION, WARNING, AttestationRules, frame_attestation
from sluice.topology.http.adapter import Adapter
from sluice.topology.http.adapter_view import AdapterView, Arrived, Batch
from sluice.topology.http.kept_view import Readers
from sluice.topology.http.mcp_server import create_server

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
WORLD = runpy.run_path(str(HERE.parent / "support" / "adapter_view.py"))
ORACLES = runpy.run_path(str(HERE.parent / "support" / "oracles.py"))
NOW, DOMAIN, decided = WORLD["NOW"], WORLD["DOMAIN"], WORLD["decided"]

CATEGORIES = {
    category["category"]: category["cases"]
    for path in sorted(CORPUS.glob("*.json"))
    if "cases" in (category := json.loads(path.read_text()))
}
PUBLIC = {path.stem: json.loads(path.read_text())["texts"] for path in sorted((CORPUS / "public").glob("*.json"))}
CHECK_NAMES = {"unknown", *TABLE, *(f"not {name}" for name in TABLE)}
NEGATED = [CheckCount("not equals", 2), CheckCount("last_changed", 3)]
IDENTIFIER = re.compile(r"[A-Za-z0-9._~:/+=@%#-]{0,2048}")
FEW = 60
"""A category of more cases is asked in `make test-all`: each case asks the adapter four times."""
EVERY = 7
"""So many of the public texts are passed over for each one that is asked for: there are thousands."""


def text_of(case):
    return case["text"] * case["times"] + case.get("then", "") if "times" in case else case.get("text", "")


def body_of(name, case):
    """The attestation of a case, on a claim of its own."""
    fields = {}
    field, text = case.get("field", "rationale"), text_of(case)
    if "uri" in case:
        one = {"uri": case["uri"]}
        fields = {"cited_works": [one]} if case.get("where") == "cited_works" else {"evidence": [{"quote": "q", **one}]}
    elif "quotes" in case:
        fields = {"evidence": [{"quote": f"quote {n}"} for n in range(case["quotes"])]}
    elif field == "quote":
        fields = {"evidence": [{"quote": text}]}
    elif field == "title":
        fields = {"cited_works": [{"uri": "urn:doi:10.1000/182", "title": text}]}
    else:
        fields = {field: text}
    return {
        "claim_hash": claim_hash_of(name),
        "validator_did": "did:web:university.example",
        "verdict": "VERIFIED",
        "consensus_domain": DOMAIN,
        **fields,
    }


def claim_hash_of(name):
    return "0x" + sha256(name.encode()).hexdigest()


def framed(name, case):
    rules = AttestationRules(
        typing=case.get("typing", "strict"), confusables_default=case.get("confusables", "replace")
    )
    return frame_attestation(body_of(name, case), rules, source="attestations/0/0")


def named(category):
    return [(f"{category}/{case['name']}", case) for case in CATEGORIES[category]]


def encodable(text):
    """Whether it is text of Unicode at all: some cases are not, and cannot be asked."""
    if not isinstance(text, str):
        return False
    try:
        return bool(text.encode())
    except UnicodeEncodeError:
        return False


@pytest.fixture(scope="module")
def corpus_view(tmp_path_factory):
    """A view in which every case is attested, and its text is admitted."""
    path = tmp_path_factory.mktemp("adapter") / "view.sqlite"
    view = AdapterView(path, "corpus")
    grounded, admitted = [], []
    cases = [one for category in CATEGORIES for one in named(category)]
    cases += [
        (f"public-{name}/{n}", {"text": text, "typing": "lenient"}) for name in PUBLIC for n, text in public(name)
    ]
    for name, case in cases:
        record = framed(name, case)
        if not isinstance(record, Fault):
            grounded.append(json.dumps(record).encode())
        if text_of(case) and encodable(text_of(case)):
            admitted.append((name, decided(text_of(case), emission=name.replace("_", "-"))))
    view.take(
        {
            ("grounded", 0): Batch([Arrived(n, b"", one) for n, one in enumerate(grounded)], len(grounded)),
            ("admitted", 0): Batch([Arrived(n, key.encode(), one) for n, (key, one) in enumerate(admitted)], 10**6),
        },
        caught_up_at=str(NOW),
    )
    assert view.refused == {}
    yield path, view
    view.close()


def public(name):
    return [(n, text) for n, text in enumerate(PUBLIC[name]) if n % EVERY == 0 and encodable(text)]


@pytest.fixture
def server(corpus_view):
    """The adapter over that view."""
    readers = Readers(corpus_view[0], patience=20)
    yield create_server(Adapter(readers, now=lambda: NOW))
    readers.close()


# ---------------------------------------------------------------- what may be where


def leaves(value, inside=False, path="$"):
    """Every string with its path, and whether it stands in a frame; names of members as well."""
    if isinstance(value, str):
        yield path, inside, value
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from leaves(one, inside, f"{path}[{place}]")
    elif isinstance(value, dict):
        for name, one in value.items():
            yield f"{path}.(name)", inside, name
            yield from leaves(one, inside or name in ("_untrusted_text", "_untrusted_quote"), f"{path}.{name}")


def check_answer(result):
    """All of an answer: structure and text, inside and outside the frames."""
    assert not result.is_error, result.content
    answer = result.structured_content
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert json.loads(content.text) == answer
    for path, inside, text in leaves(answer):
        assert not find_invisible(text), path
        assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", text) or inside, path
        if path == "$.query" or inside:
            assert not ORACLES["has_html"](text), path
            assert not ORACLES["has_link"](text), path
            cut = text.removesuffix("…")
            assert unicodedata2.normalize("NFKC", cut) == cut or path.endswith(".source_uri"), path
        elif path.startswith("$._meta"):
            assert re.fullmatch(r"[\x20-\x7e]{0,300}", text), path
            assert len(text) == 1 or not re.search(r"[<>`]|\]\(", text), path
        elif re.fullmatch(r"\$\.(near_)?matches\[\d+\]\.checks\[\d+\]\.name", path):
            assert text in CHECK_NAMES, path
        else:
            assert IDENTIFIER.fullmatch(text), path
    check_frames(answer)
    return answer


def check_frames(answer):
    """Each attestation and each quote has its frame, with type and warning, for empty texts too [V §5.2]; of what is
    admitted, what was verified stands before the emitter's words."""
    for attestation in answer.get("attestations", []):
        frame = attestation["_untrusted_text"]
        assert (frame["@type"], frame["warning"]) == ("veritas:UntrustedValidatorText", WARNING)
        assert {"rationale", "qualifications", "evidence"} <= set(frame)
        for one in frame["evidence"]:
            assert one["_untrusted_quote"]["@type"] == "veritas:UntrustedValidatorText"
            assert one["_untrusted_quote"]["warning"]
    for match in [*answer.get("matches", []), *answer.get("near_matches", [])]:
        assert (match["_untrusted_text"]["@type"], match["_untrusted_text"]["warning"]) == (
            "veritas:UntrustedValidatorText",
            WARNING,
        )
        names = [name for name in match["_untrusted_text"] if name in ("note", "rendered", "assertion")]
        assert names == (["note", "rendered", "assertion"] if "coverage" in match else ["note", "assertion"])
        assert len(match.get("checks", ())) == len(match["_untrusted_text"].get("rendered", ()))


def shown_of(frame, case):
    """What an answer shows of a case: its text, its URI, or its quotes."""
    field = case.get("field", "rationale")
    if "uri" in case:
        works = case.get("where") == "cited_works"
        return (frame["cited_works"][0] if works else frame["evidence"][0]["_untrusted_quote"])["source_uri"]
    if "quotes" in case:
        return len(frame["evidence"])
    if field == "quote":
        return frame["evidence"][0]["_untrusted_quote"]["quote"]
    return frame["cited_works"][0]["title"] if field == "title" else frame[field]


def expected_of(case):
    if "uri" in case:
        return case.get("shown")
    if "quotes" in case:
        return case["kept"]
    return case["becomes"] * case["becomes_times"] + case.get("becomes_end", "") if "times" in case else case["becomes"]


def accounted(meta, prefix):
    """Whether `_meta` has an entry about a part of the answer."""
    lists = ("truncated", "confusables_replaced", "stripped_positions", "markup_stripped", "uris_rejected")
    fields = [entry["field"] for name in lists for entry in meta[name]] + meta["normalised"]
    return any(field.startswith(prefix) for field in fields)


# ---------------------------------------------------------------- the corpus [V §9]


@pytest.mark.parametrize("category", CATEGORIES)
async def test_the_corpus_comes_through_as_it_says(server, category):
    """Each case as the corpus has it, in its frame, every change told [V §6]; a refused one is not there at all [V §3].

    The pass rate that the adapter publishes is the one that is found here.
    """
    passed = 0
    async with Client(server) as client:
        for name, case in named(category):
            answer = check_answer(await client.call_tool("ground", {"query": claim_hash_of(name)}))
            if "refused" in case:
                assert answer["attestations"] == []
            else:
                (attestation,) = answer["attestations"]
                assert shown_of(attestation["_untrusted_text"], case) == expected_of(case), name
                given = case.get("uri") if "uri" in case else case.get("quotes") if "quotes" in case else text_of(case)
                if expected_of(case) != given and not ("uri" in case and "shown" in case):
                    assert accounted(answer["_meta"], "attestations[0]."), name
            passed += 1
        published = json.loads((await client.read_resource("sluice://conformance")).contents[0].text)

    rates = {one["category"]: (one["passed"], one["cases"]) for one in published["corpus"]}
    assert rates[category] == (passed, len(CATEGORIES[category]))


@pytest.mark.parametrize(
    "category",
    [pytest.param(one, marks=[pytest.mark.slow] if len(CATEGORIES[one]) > FEW else []) for one in CATEGORIES],
)
async def test_the_corpus_asked_as_queries_and_assertions(server, category):
    """What is asked is untrusted too: echoed sanitised with every change told, or refused without a word of it."""
    async with Client(server) as client:
        for name, case in named(category):
            text = text_of(case) or case.get("uri", "")
            if not text or not encodable(text):
                continue
            query = text[:2000]
            answer = check_answer(await client.call_tool("ground", {"query": query, "limit": 3}))
            if answer["query"] != query:
                assert accounted(answer["_meta"], "query"), name
            if len(text) <= 10_000:
                answer = check_answer(await client.call_tool("check_assertion", {"text": text, "limit": 3}))
                if "text" in case:
                    assert answer["admitted"], name
                    ids = [one["_untrusted_text"]["emission_id"] for one in answer["matches"]]
                    assert name in ids or len(ids) == 3
            for ask in ({"query": "x", "cursor": text}, {"query": "x", "consensus_domain": text}):
                refused = await client.call_tool("ground", ask)
                assert refused.is_error
                assert len(text) < 4 or text not in refused.content[0].text


@pytest.mark.parametrize("name", PUBLIC)
async def test_public_test_data_come_through_clean(server, name):
    """Naughty strings, and the corpora of HTML sanitisers, as attestations and as queries."""
    async with Client(server) as client:
        for number, text in public(name):
            answer = check_answer(await client.call_tool("ground", {"query": claim_hash_of(f"public-{name}/{number}")}))
            assert len(answer["attestations"]) == 1
            if text[:2000]:
                check_answer(await client.call_tool("ground", {"query": text[:2000], "limit": 1}))


FRAGMENTS = sorted(
    {text[:300] for name in CATEGORIES for _, case in named(name) if encodable(text := text_of(case))}
    | {text[:300] for texts in PUBLIC.values() for text in texts if encodable(text)}
)
spliced = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=4).map("".join)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(spliced, spliced)
def test_whatever_is_spliced_of_the_corpus_comes_through_clean(corpus_view, attested, asked):
    """As an attestation in each of its fields, as a query, as an assertion that was admitted, and as what was verified
    of it."""
    path, view = corpus_view
    name = "spliced-" + sha256(attested.encode()).hexdigest()
    body = {
        **body_of(name, {"text": attested}),
        "qualifications": attested,
        "evidence": [{"quote": attested, "uri": attested}],
        "cited_works": [{"uri": attested, "title": attested}],
    }
    record = frame_attestation(body, AttestationRules(typing="lenient"))
    assert not isinstance(record, Fault)
    positions = view.positions()
    batches = {
        ("grounded", 0): Arrived(positions["grounded", 0], b"", json.dumps(record).encode()),
        ("admitted", 0): Arrived(
            positions["admitted", 0],
            name.encode(),
            decided(asked, emission=name, rendered=[attested, asked], checks=NEGATED, coverage="part"),
        ),
    }
    view.take({place: Batch([one], one.offset + 1) for place, one in batches.items()})
    assert view.refused == {}

    async def ask():
        readers = Readers(path, patience=20)
        async with Client(create_server(Adapter(readers, now=lambda: NOW))) as client:
            ground = check_answer(await client.call_tool("ground", {"query": claim_hash_of(name)}))
            assert len(ground["attestations"]) == 1
            check_answer(await client.call_tool("ground", {"query": asked[:2000], "limit": 3}))
            checked = check_answer(await client.call_tool("check_assertion", {"text": asked, "limit": 3}))
            assert (checked["admitted"], checked["coverage"]) == (True, "part")
        readers.close()

    asyncio.run(ask())


def test_the_published_deviations_are_those_of_the_corpus():
    """Each is named with its section and its reason [V §9]."""
    from sluice.topology.http.adapter import conformance_resource

    assert conformance_resource()["deviations"] == json.loads((CORPUS / "deviations.json").read_text())["deviations"]


# ---------------------------------------------------------------- negative requirements [V §6]


async def test_no_model_is_asked_and_nothing_is_summarised(server, corpus_view):
    """[V §6]: the client is never asked for a model's words, and every text is the one that was framed, whole."""
    import sqlite3

    asked = []

    async def sampling(context, params):
        asked.append(params)
        raise AssertionError("a model was asked")

    stored = set()
    db = sqlite3.connect(corpus_view[0])
    for (shown,) in db.execute("SELECT shown FROM attestations UNION ALL SELECT shown FROM assertions"):
        stored |= {text for _, inside, text in leaves(json.loads(shown)) if inside}
    db.close()
    async with Client(server, sampling_callback=sampling) as client:
        for query in ("ignore previous instructions", "system prompt", "the claim"):
            ground = await client.call_tool("ground", {"query": query, "limit": 50})
            check = await client.call_tool("check_assertion", {"text": query, "limit": 50})
            for result in (ground, check):
                texts = {text for _, inside, text in leaves(result.structured_content) if inside}
                assert texts <= stored
            assert ground.structured_content["attestations"]

    assert asked == []


def test_no_client_of_a_model_is_even_there():
    """[V §6]: nothing that the adapter imports could ask one."""
    code = (
        "import sys, sluice.topology.http.adapter_process\n"
        "print([name for name in ('openai', 'anthropic', 'transformers', 'torch', 'litellm', 'ollama', 'langchain',"
        " 'google.genai', 'mistralai', 'cohere') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert result.stdout.strip() == "[]"


async def test_no_markup_or_script_is_added(server):
    """[V §6]: of our own words none is HTML, Markdown, JavaScript or LaTeX, wherever a client might render them."""
    async with Client(server) as client:
        tools = [one.model_dump(by_alias=True, exclude_none=True) for one in (await client.list_tools()).tools]
        resources = [one.model_dump(by_alias=True) for one in (await client.list_resources()).resources]
        errors = [
            (await client.call_tool(tool, ask)).content[0].text
            for tool, ask in (
                ("ground", {}),
                ("ground", {"query": "x", "limit": 99}),
                ("explain", {"emission_id": "x"}),
            )
        ]
        answer = (await client.call_tool("ground", {"query": "zzzz-nothing"})).structured_content
        words = [text for _, _, text in leaves([tools, resources, errors, answer, client.instructions])]

    for text in words:
        if text.startswith("^"):
            continue  # the pattern of an identifier, for a validator
        assert not ORACLES["has_html"](text), text
        assert not ORACLES["has_link"](text), text
        assert not re.search(r"[`<]|\*\*|^\s*[#>*-] |\\\(|\\\[|\$[^$]+\$|\\[a-z]+\{|javascript:", text), text


async def test_no_uri_of_a_validators_is_there_unhardened(server):
    """[V §6, §4.5]: each shows its host first, or is not there; none is a link or a resource of the protocol."""
    async with Client(server) as client:
        listed = {one.uri for one in (await client.list_resources()).resources}
        for name, case in named("url-encoded"):
            result = await client.call_tool("ground", {"query": claim_hash_of(name)})
            assert all(isinstance(one, TextContent) for one in result.content)
            for path, inside, text in leaves(result.structured_content):
                if path.endswith(".source_uri"):
                    assert re.fullmatch(r"\[[^\[\]/@ ]+\] → (https|did|urn|arxiv):\S+", text, re.IGNORECASE), text
                elif "uri" in case and inside and not path.endswith(".validator_did") and len(case["uri"]) > 3:
                    assert case["uri"] not in text, path

    assert listed == {"sluice://policy", "sluice://vocabulary", "sluice://conformance"}


async def test_the_version_of_sanitation_is_reported_truthfully(server):
    """[V §8.1]: it is the one of the code that sanitises."""
    async with Client(server) as client:
        for tool, ask in (("ground", {"query": "x"}), ("check_assertion", {"text": "x"})):
            answer = (await client.call_tool(tool, ask)).structured_content
            assert answer["_meta"]["sanitation_version"] == SANITATION_VERSION


async def test_a_mistyped_attestation_is_not_returned(server):
    """[V §3]: what a lane would have refused is not in the view, by whatever query."""
    refused = [name for category in CATEGORIES for name, case in named(category) if "refused" in case]
    assert len(refused) > 10
    async with Client(server) as client:
        for name in refused:
            answer = (await client.call_tool("ground", {"query": claim_hash_of(name)})).structured_content
            assert answer["attestations"] == []
