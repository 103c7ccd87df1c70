"""Loops over grounded lists, and unpacking, outside `@grounded_pure`."""

from sluice.streams.grounded import Grounded, agent, template, tool


@tool(data="grounded")
def search(query: str) -> Grounded[list[str]]:
    return ["one", "two"]


@agent(data="grounded")
def digest(query: str) -> Grounded[str]:
    lines = []
    for number, hit in enumerate(search(query), start=1):
        lines.append(template("{}. {}", number, hit))
    return Grounded.join("\n", lines)


@agent
def first(query: str) -> Grounded[str] | None:
    for hit in search(query):
        return hit
    return None


@agent
def last(query: str) -> Grounded[str]:
    found = search(query)
    *_, end = found
    return end


@agent
def total(query: str) -> Grounded[str]:
    out = ""
    for hit in search(query):
        out += hit
    return out
