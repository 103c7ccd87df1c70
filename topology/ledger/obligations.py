"""The obligation of [C §2] on the topology: what is declared grounded comes from a source, or the app is not built.

Every fold declares, topic by topic, which data categories it consumes and produces. A topic is grounded where people
with independent access write down what they looked up (`SOURCES`), or where a fold declares that it writes grounded
records there and reads at least one grounded topic as such. Anything else that claims it is an `UngroundedReturn`,
as a function would be.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

GROUNDED = "grounded"
SOURCES = frozenset({"observations", "sightings", "attestations"})
"""Topics of what was looked up, by observers and validators. What emitters write is a claim, and grounds nothing."""

Categories = Mapping[str, Collection[str]]
"""Data categories by the logical name of a topic."""


class Declares(Protocol):
    """What an agent of the topology says of itself.

    Attributes:
        name: of the agent.
        consumes, produces: the categories of each topic that it reads and writes.
    """

    @property
    def name(self) -> str: ...
    @property
    def consumes(self) -> Categories: ...
    @property
    def produces(self) -> Categories: ...


def demand_grounded(agents: Iterable[Declares], sources: Collection[str] = SOURCES) -> None:
    """That every output that is declared grounded can be reached from a source.

    Raises:
        UngroundedReturn: one cannot; it names the agent and the topic.
    """
    agents = list(agents)
    grounded = set(sources)
    grew = True
    while grew:
        found = {topic for agent in agents if _reaches(agent, grounded) for topic in _claimed(agent.produces)}
        grew = not found <= grounded
        grounded |= found
    for agent in agents:
        if _reaches(agent, grounded):
            continue
        for topic in _claimed(agent.produces):
            from ...streams.grounded import UngroundedReturn  # that room takes its time to load

            read = ", ".join(sorted(_claimed(agent.consumes))) or "nothing that is grounded"
            raise UngroundedReturn(
                f"{agent.name}: {topic}",
                f"it reads {read}, and no source leads there",
                f"let it read what comes from one of {', '.join(sorted(sources))}, or do not declare it grounded",
            )


def _claimed(topics: Categories) -> list[str]:
    return [topic for topic, categories in topics.items() if GROUNDED in categories]


def _reaches(agent: Declares, grounded: Collection[str]) -> bool:
    return any(topic in grounded for topic in _claimed(agent.consumes))
