"""Agents that call one another, with confidences and categories."""

from sluice.streams.grounded import Grounded, agent, grounded_pure, prompt, tool


@tool(data="grounded")
def fetch(k: str) -> Grounded[str]:
    return k


@tool(data="medical")
def patient(k: str) -> str:
    return k


@prompt(model="m", confidence=0.9)
def triage(doc: str, who: str) -> Grounded[str]:
    return doc


@agent(min_confidence=0.85, data={"grounded", "medical"})
@grounded_pure
def inner(doc: Grounded[str], k: str) -> Grounded[str]:
    return triage(doc, patient(k))


@agent(min_confidence=0.8, data={"grounded", "medical"})
@grounded_pure
def outer(k: str) -> Grounded[str]:
    return inner(fetch(k), k)


@agent
def maybe(k: str) -> Grounded[str] | None:
    if not k:
        return None
    answer = outer(k)
    return answer if answer.confidence >= 0.8 else None


def use(k: str) -> str:
    answer = maybe(k)
    if answer is None:
        return "nothing"
    return answer.unwrap_discarding_sources()
