"""One of several tools, by `match`, table or conditional expression."""

from enum import Enum

from sluice.streams.grounded import Grounded, agent, grounded_pure, tool


class Kind(Enum):
    LAW = "law"
    NEWS = "news"


@tool(data="grounded")
def law(k: str) -> Grounded[str]:
    return k


@tool(data="grounded")
def news(k: str) -> Grounded[str]:
    return k


@agent(data="grounded")
@grounded_pure
def route(kind: Kind, k: str) -> Grounded[str]:
    match kind:
        case Kind.LAW:
            found = law(k)
        case Kind.NEWS if k:
            found = news(k)
        case _:
            raise ValueError(kind)
    return found


@agent
@grounded_pure
def table(kind: str, k: str) -> Grounded[str]:
    return {"law": law, "news": news}[kind](k)


@agent
@grounded_pure
def ternary(flag: bool, k: str) -> Grounded[str]:
    return law(k) if flag else news(k)
