"""A script around an agent, with plain code of every kind."""

from __future__ import annotations

import argparse
import json
import sys

from sluice.streams.grounded import Grounded, agent, grounded_pure, tool


@tool(data="grounded")
def fetch(key: str) -> Grounded[str]:
    return key


SETTINGS = {"root": ".", "depth": 3}
_counter = 0


@agent
@grounded_pure
def research(key: str) -> Grounded[str]:
    return fetch(key)


def count() -> int:
    global _counter
    _counter += 1
    return _counter


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("key", nargs="?")
    options = parser.parse_args(argv)
    try:
        answer = research(options.key or "index")
    except (LookupError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    for step in answer.sources():
        print(json.dumps({"step": str(step), "n": count()}))
    with open("out.txt", "w") as file:
        file.write(str(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
