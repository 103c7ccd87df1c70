"""Read by pyright, never run: see test_types.py."""

# ruff: noqa: B018
from typing import Any, assert_type

from sluice.streams.grounded import Answer, Grounded, agent, grounded_pure, prompt, template, tool


@tool(data="grounded")
def fetch(doc_id: str) -> str:
    return doc_id


@tool(data={"grounded"})
def fetch_declared(doc_id: str) -> Grounded[str]:
    raise NotImplementedError


@tool(data=("grounded", "financial"), confidence=0.9)
def ledger(account: int) -> list[int]:
    return [account]


@tool(data="pii")
def person(name: str) -> str:
    return name


@tool
def bare(name: str) -> int:
    return len(name)


@tool(data="grounded")
async def fetch_later(doc_id: str) -> str:
    return doc_id


@prompt(cites="doc", strictly=True, model="some-model-1")
def summarise(doc: str, question: str = "") -> Grounded[str]:
    raise NotImplementedError


@prompt(data="grounded", strictly="normalised", cites=["doc"])
def count(doc: str) -> int:
    return len(doc)


@tool(data="grounded")
def fetch_unsure(doc_id: str) -> Answer[str]:
    return Answer(doc_id, confidence=0.7)


@tool(data="grounded")
async def fetch_unsure_later(doc_id: str) -> Answer[str]:
    return Answer(doc_id, confidence=0.7)


@tool(data="pii")
def guess(name: str) -> Answer[int]:
    return Answer(len(name), metadata={"by": "length"})


@agent(min_confidence=0.8, data={"grounded"})
@grounded_pure
def research(doc_id: str) -> Grounded[str]:
    doc = fetch(doc_id)
    assert_type(doc, Grounded[str])
    assert_type(count(doc), Grounded[int])
    return summarise(doc, "What changed?")


@agent
async def research_later(doc_id: str) -> Grounded[str]:
    found = await fetch_later(doc_id)
    assert_type(found, Grounded[str])
    return found


@agent(min_confidence=0.5)
def launders(doc_id: str) -> str:
    return fetch(doc_id)  # error


class Library:
    @tool(data="grounded")
    def get(self, key: str) -> str:
        return key

    @agent
    def ask(self, key: str) -> Grounded[str]:
        return self.get(key)


assert_type(fetch("a"), Grounded[str])
assert_type(fetch(fetch("a")), Grounded[str])
assert_type(fetch_declared("a"), Grounded[str])
assert_type(ledger(1), Grounded[list[int]])
assert_type(person("a"), str)
assert_type(bare("a"), int)
assert_type(fetch_unsure("a"), Grounded[str])
assert_type(guess("a"), int)
assert_type(research("a"), Grounded[str])
assert_type(Library().get("a"), Grounded[str])
assert_type(Library().ask("a"), Grounded[str])
print(fetch.__name__, fetch.__doc__)

text = fetch("a")
number = text.map(len)
assert_type(number, Grounded[int])
assert_type(text + "b", Grounded[str])
assert_type("b" + text, Grounded[str])
assert_type(text + text, Grounded[str])
assert_type(text * 2, Grounded[str])
assert_type(2 * number, Grounded[int])
assert_type(number + 1, Grounded[int])
assert_type(number + 1.5, Grounded[float])
assert_type(1.5 + number, Grounded[float])
assert_type(number / 2, Grounded[float])
assert_type(number // 2, Grounded[int])
assert_type(number - number, Grounded[int])
assert_type(text == "a", Grounded[bool])
assert_type(number < 3, Grounded[bool])
assert_type(text[0], Grounded[str])
assert_type(ledger(1)[0], Grounded[int])
assert_type(-number, Grounded[int])
assert_type(text % 3, Grounded[str])
assert_type(Grounded.join(", ", [text, "x"]), Grounded[str])
assert_type(text.format(1), Grounded[str])
assert_type(template("{}", text), Grounded[str])
assert_type(text.sever("why"), Grounded[str])
assert_type(text.unwrap_discarding_sources(), str)
assert_type(number**2, Grounded[Any])

plain: str = text  # error
text.value  # error
{text: 1}  # error
len(text)  # error
text.upper()  # error


async def later() -> None:
    assert_type(await research_later("a"), Grounded[str])
    assert_type(await fetch_later("a"), Grounded[str])
    assert_type(await fetch_unsure_later("a"), Grounded[str])
