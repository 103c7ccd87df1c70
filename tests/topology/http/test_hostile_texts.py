"""The pages of claims and of time lines, with texts that strangers would take them over with."""

import html
import re
import shlex
from html.parser import HTMLParser

import msgspec
import pytest
from adapter_view import attested, claim
from console_story import console_story
from hostile_texts import MARK, TEXTS
from msgspec.structs import replace

from sluice.codecs.errors import DoesNotHoldError, UnreachableError
from sluice.topology.http.auth_middleware import HEADERS
from sluice.topology.http.console_pages import emission_href
from sluice.topology.http.html_escape import MAX_SHOWN, UNSEEN

ASKED = TEXTS | {"long": "W" * 10_000}
"""What an address can name: clients and servers refuse longer ones."""
TOLD = ("controls", "unseen", "override", "combining")
"""Those that a page tells by numbers in part."""
OURS = ("at", "ledger", "emitted_at", "span", "form", "basis", "outcome", "reason", "coverage")
NOW = 1_795_251_600_000


class Page(HTMLParser):
    """The elements of a page with the names of their attributes, its addresses, and what a reader sees of it."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.addresses, self.unseen, self._texts = [], [], 0, []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        if named.get("class") == "unseen":
            return
        self.elements.append((tag, *named))
        self.addresses += [value for name, value in attrs if name in ("href", "src", "action", "formaction")]

    def handle_data(self, data):
        self._texts.append(data)

    @property
    def text(self):
        """All that is read."""
        return "".join(self._texts)


def holds(answer, plain):
    """The page has the headers of every page and the elements of one with plain texts; all its characters are seen."""
    assert answer.status_code == plain.status_code
    for name, value in HEADERS:
        assert answer.headers[name.decode()] == value.decode()
    assert not [one for one in set(answer.text) if (one != "\n" and not one.isprintable()) or one in UNSEEN]
    page, model = Page(answer.text), Page(plain.text)
    assert page.elements == model.elements
    assert all(one.startswith("/") and not one.startswith("//") for one in page.addresses if one[:1] != "#")
    assert "1337" not in page.text  # 7 * 191, which a template would have worked out
    return page


class Told:
    """A reader of ledgers that tells what a test says."""

    def __init__(self, outcome):
        self.outcome = outcome

    async def story(self, emission_id, span_key):
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def saying(value, text):
    """The same story with a text in place of every word of it but what the ledger itself says, or a fold."""
    if isinstance(value, str):
        return text
    if isinstance(value, list):
        return [saying(one, text) for one in value]
    if isinstance(value, dict):
        return {name: saying(one, text) for name, one in value.items()}
    if isinstance(value, msgspec.Struct):
        members = {name: getattr(value, name) for name in value.__struct_fields__ if name not in OURS}
        return replace(value, **{name: saying(one, text) for name, one in members.items()})
    return value


# ---------------------------------------------------------------- claims


@pytest.mark.parametrize("name", TEXTS)
async def test_a_claim_shows_hostile_words_as_words(service, view, name):
    """Of a validator: its reasons, limits, quotes, their addresses, and the works that it cites."""
    texts = {"a": "plain", "b": TEXTS[name]}
    for about, text in texts.items():
        body = {
            "qualifications": text,
            "evidence": [{"quote": text, "uri": text}, {"quote": text, "uri": "https://evil.example/x"}],
            "cited_works": [{"title": text, "uri": text}],
        }
        view.put("grounded", "c", attested(text, about=about, **body))
    async with service() as client:
        plain, hostile = [await client.get("/claims", params={"hash": claim(about)}) for about in texts]

    page = holds(hostile, plain)
    assert (MARK if MARK in TEXTS[name] else "W" * 200) in page.text


@pytest.mark.parametrize("name", TEXTS)
async def test_a_claim_that_is_none_is_not_repeated(service, name):
    """What an address names as the hash of a claim stands on no page."""
    async with service() as client:
        answer = await client.get("/claims", params={"hash": ASKED[name]})
        plain = await client.get("/claims", params={"hash": "plain"})

    assert holds(answer, plain).text == Page(plain.text).text


# ---------------------------------------------------------------- time lines


@pytest.mark.parametrize("name", TEXTS)
async def test_a_time_line_shows_hostile_words_as_words(service, name):
    """In every member of what a ledger tells, also in those that the lanes would not have let in."""
    told = [saying(await console_story("em-1", None, NOW), text) for text in ("plain", TEXTS[name])]
    answers = []
    for one in told:
        async with service(walks=Told(one)) as client:
            answers.append(await client.get("/story", params={"id": "em-1"}))

    plain, hostile = answers
    page = holds(hostile, plain)
    assert (MARK if MARK in TEXTS[name] else "W" * 200) in page.text
    assert len(page.text) < 100 * MAX_SHOWN


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("outcome", [DoesNotHoldError, UnreachableError])
async def test_an_id_of_an_address_is_only_words(service, name, outcome):
    """Where nothing is found and where no ledger can be read now: whoever made the link chose the id."""
    answers = []
    for text in ("plain", ASKED[name]):
        async with service(walks=Told(outcome(f"nothing of {text} is known"))) as client:
            answers.append(await client.get("/story", params={"id": text}))

    plain, hostile = answers
    page = holds(hostile, plain)
    back = [one for one in page.addresses if one.startswith("/emissions/")]
    assert back
    assert all(re.fullmatch(r"/emissions/[A-Za-z0-9%._~-]*(?:\?[a-z=]*)?", one) for one in back)
    assert not any(re.search(r"/\.\.?(?:/|\?|$)", one) for one in back)


@pytest.mark.parametrize("name", [name for name in TEXTS if name not in TOLD])
async def test_a_command_that_is_told_names_the_emission_alone(service, name):
    """A person pastes it into a shell: no id is an option, a second command or a substitution there."""
    for text in (ASKED[name], "-" + ASKED[name], "'" + ASKED[name]):
        async with service(walks=Told(UnreachableError("no broker answers"))) as client:
            answer = await client.get("/story", params={"id": text})
        said = re.search(r"`(sluice explain .*)` reads it", Page(answer.text).text, re.DOTALL)[1]
        ends = ["--"] if text.startswith("-") else []
        assert shlex.split(said) == ["sluice", "explain", *ends, text[:256]]


@pytest.mark.parametrize("walks", [None, Told(None)], ids=["without a ledger", "with one"])
@pytest.mark.parametrize("emission_id", ["em-1", "--rm", "-em", "~root", "a:b/c%3B"])
async def test_the_commands_of_an_emission_name_it_alone(service, view, emission_id, walks):
    """Its page tells how to read its time line and how to prove its verdict. Its id is one that identifiers may be."""
    view.emit(emission_id)
    view.judge(emission_id, "admitted")
    async with service(walks=walks) as client:
        answer = await client.get(emission_href(emission_id, "c:0-10"))

    said = [html.unescape(one) for one in re.findall("<code>(sluice .*?)</code>", answer.text)]
    ends = ["--"] if emission_id.startswith("-") else []
    assert [shlex.split(one) for one in said] == [
        ["sluice", "explain", *ends, emission_id, "c:0-10"],
        ["sluice", "prove", *ends, f"{emission_id}#c:0-10"],
    ]


async def test_a_span_does_not_take_the_place_of_an_id(service):
    async with service(walks=Told(UnreachableError("no broker answers"))) as client:
        answer = await client.get("/story", params={"id": "", "span": "c:0-10"})

    assert "sluice explain c:0-10" not in answer.text


@pytest.mark.parametrize("name", TEXTS)
async def test_a_span_that_is_none_is_not_repeated(service, name):
    async with service(walks=Told(UnreachableError("no broker answers"))) as client:
        answer = await client.get("/story", params={"id": "em-1", "span": ASKED[name]})
        plain = await client.get("/story", params={"id": "em-1", "span": "plain"})

    assert answer.status_code == 404
    assert holds(answer, plain).text == Page(plain.text).text
