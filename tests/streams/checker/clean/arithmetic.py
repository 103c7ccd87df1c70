"""Operators, those under a name included."""

from sluice.streams.grounded import Grounded, agent, grounded_pure, tool


@tool(data={"grounded", "financial"})
def price(name: str) -> Grounded[float]:
    return 1.0


@tool(data="grounded")
def rates() -> Grounded[dict[str, float]]:
    return {"EUR": 1.0}


@agent(data=("grounded", "financial"))
@grounded_pure
def convert(name: str, currency: str = "EUR") -> Grounded[float]:
    rate = rates()[currency]
    amount = price(name) * rate
    amount += 1
    amount = -((-amount) ** 2) // 1 % 1000
    return round(abs(amount), 2)


@agent
@grounded_pure
def cheaper(a: str, b: str) -> Grounded[bool]:
    return price(a) < price(b)
