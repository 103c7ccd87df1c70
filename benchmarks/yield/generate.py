"""Writes `corpus/mutations.jsonl`: of each true statement the mutations that its id, as the seed, chooses."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

from mutating import Texts, mutations
from statements import HERE, Statement, read, repositories, write

DOUBTFUL = frozenset(
    (
        "itsdangerous-3-07#5~1", "smallvec-3-04#5~1", "smallvec-3-07#3~0", "tomli-4-07#5~1", "immer-4-05#1~1",
        "bytes-4-03#4~3", "bytes-4-04#5~0", "bytes-4-04#5~1", "gson-4-01#2~2",
    )
)  # fmt: skip
"""Mutations that a reader of the source does not call false: a subclass for its base, another method of the kind."""


def main() -> None:
    """Fetches the packages, and writes the file."""
    held = repositories(HERE.parents[1] / "build/yield")
    texts = {name: Texts(folder, paths) for name, (folder, paths) in held.items()}
    made: list[Statement] = []
    for one in read("statements.jsonl"):
        found = dict.fromkeys(mutations(one.text, texts[one.package], Random(one.id))) if one.label else {}
        for number, mutation in enumerate(found):
            name = f"{one.id}~{number}"
            if name in DOUBTFUL:
                continue
            made.append(
                Statement(
                    name, one.package, one.language, one.before, mutation.text, False, (mutation.wrong,), mutation.how
                )
            )
    write("mutations.jsonl", made)
    print(f"{len(made)} mutations")


if __name__ == "__main__":
    main()
