"""Confidences that can be reached."""

from __future__ import annotations

from sluice.streams.grounded import Answer, Grounded, agent, grounded_pure, prompt, tool

LEAST = 0.6


@tool(data={"grounded", "financial"}, confidence=0.9)
def ledger(key: str) -> Grounded[str]:
    return Answer(key, confidence=0.85)


@prompt(confidence=0.7)
def classify(text: str) -> Grounded[str]:
    return text


@agent(min_confidence=LEAST, data={"grounded", "financial"})
@grounded_pure
def assess(key: str) -> Grounded[str]:
    return classify(ledger(key))


@agent(min_confidence=0.9)
@grounded_pure
def sure(key: str) -> Grounded[str]:
    rough = classify(ledger(key))
    exact = ledger(key)
    print("a rough answer is at hand:", rough is not None)
    return exact if key else exact + ledger("other")
