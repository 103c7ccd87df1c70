"""Coroutines, gathered and awaited."""

from __future__ import annotations

import asyncio

from sluice.streams.grounded import Grounded, agent, grounded_pure, prompt, tool


@tool(data="grounded")
def fetch(key: str) -> Grounded[str]:
    return key


@prompt(model="some-model-1")
def summarise(doc: str, question: str = "") -> Grounded[str]:
    return doc


@tool(data="grounded")
async def look(key: str) -> Grounded[str]:
    await asyncio.sleep(0)
    return key


@agent
@grounded_pure
async def together(keys: list[str]) -> Grounded[str]:
    docs = await asyncio.gather(*[look(key) for key in keys])
    return summarise(docs)


@agent
@grounded_pure
async def one_by_one(key: str) -> Grounded[str]:
    task = asyncio.create_task(look(key))
    doc = await task
    return summarise(await look(key) + doc)


@agent
async def grouped(keys: list[str]) -> Grounded[str]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(look(key)) for key in keys]
    return tasks[0].result()


def main() -> None:
    print(asyncio.run(together(["a"])))
