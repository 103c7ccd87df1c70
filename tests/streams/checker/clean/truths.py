"""Conditions on grounded values, outside `@grounded_pure`."""

from sluice.streams.grounded import Grounded, agent, prompt, tool

ROWS = {"a": 3, "b": 5}


@tool(data={"grounded", "financial"})
def balance(account: str) -> Grounded[int]:
    return ROWS[account]


@prompt(model="m")
def is_fraud(n: int) -> Grounded[bool]:
    return n > 4


@agent(data={"grounded", "financial"})
def larger(a: str, b: str) -> Grounded[int]:
    left, right = balance(a), balance(b)
    if left > right:
        return left
    if left == right and bool(left):
        return left + 0
    while not left:
        left += 1
    return right if is_fraud(right) else left
