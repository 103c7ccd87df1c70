"""Retrievals side by side, and one prompt over them."""

import asyncio

from sluice.streams.grounded import Answer, Grounded, agent, grounded_pure, prompt, tool


@tool(data="grounded", confidence=0.95)
async def fetch(url: str) -> Grounded[str]:
    await asyncio.sleep(0)
    return Answer("text of " + url, metadata={"url": url})


@prompt(model="m")
async def merge(docs: list[str], question: str) -> Grounded[str]:
    return f"{question}: {len(docs)} documents, the first says {docs[0]!r}"


@agent(min_confidence=0.9, data={"grounded"})
@grounded_pure
async def research(urls: list[str]) -> Grounded[str]:
    docs = await asyncio.gather(*(fetch(u) for u in urls))
    return await merge(docs, "what?")


@agent(data="grounded")
@grounded_pure
async def research_groups(urls: list[str]) -> Grounded[str]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(fetch(u)) for u in urls]
    return await merge([t.result() for t in tasks], "which?")


async def main() -> None:
    answer = await research(["a", "b"])
    if answer.confidence > 0.5:
        print(answer.unwrap_discarding_sources())
    for step in answer.sources():
        print(step)


if __name__ == "__main__":
    asyncio.run(main())
