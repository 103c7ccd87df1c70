"""Fuzzes the judge with programs whose truth is known: `python fuzz/judging.py --seconds 60 [--seed N]`.

`traps/` has a file a language: small programs, each an attack on one rule of docs/checks.md, with checks and what they
are: `+` true, `-` false, `?` open, which means that any decision is a guess. A program is made of some of them, with
random names, noise (comments that mention the names), other line ends, syntax errors inside of a body, and cut files.
Undecided is always allowed. `--seconds` stands for a number of programs (`RATE` a second), so that a seed gives the
same ones on any machine. Exit status: 0 no finding, 1 a finding, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from sluice.streams.judging.checks import Check, Source, parse_check
from sluice.streams.judging.verify import Parsing, verify_content

ROOT: Final = Path(__file__).resolve().parent.parent
TRAPS: Final = ROOT / "fuzz" / "traps"
RATE: Final = 40
"""Programs for each second that is asked for."""
TRUTHS: Final = {"+": True, "-": False, "?": None}
_NAME: Final = re.compile(r"«(\w+)»")
_CHECK: Final = re.compile(r"([+?-]) ((?:not )?[a-z_]+\(.*\))")
_COMMENT: Final = {
    "py": "# {}",
    "rb": "# {}",
    "sh": "# {}",
    "yaml": "# {}",
    "toml": "# {}",
    "ini": "; {}",
    "mk": "# {}",
}
_BREAKS: Final = ("((", ")", "{{{", "= = (", "\"'`")
_FIRST: Final = ("load", "read", "open", "send", "close", "parse", "flush", "visit", "merge", "reset")
_SECOND: Final = ("", "Item", "Frame", "Node", "Entry", "Batch", "Row")


class Trap(NamedTuple):
    """One program of a trap file.

    Attributes:
        ending: of the file's name, which tells the language.
        name: what it attacks.
        breakable: all of its checks speak of the body in which `«#»` stands.
        text: the program, with `«name»` where random names go and `«#»` where noise goes.
        checks: each with its truth: true, false, or None where a decision would be a guess.
    """

    ending: str
    name: str
    breakable: bool
    text: str
    checks: tuple[tuple[bool | None, str], ...]


class Finding(NamedTuple):
    """A decision that is not the known truth."""

    trap: Trap
    check: str
    expected: bool | None
    answer: bool
    text: str


def traps(ending: str = "*") -> list[Trap]:
    """Every trap of a language, or of all.

    Raises:
        ValueError: a section has no check, or a line of checks has no known form.
    """
    made: list[Trap] = []
    for path in sorted(TRAPS.glob(f"{ending}.txt")):
        for section in path.read_text("utf-8").split("\n--- ")[1:]:
            head, *lines = section.split("\n")
            checks, program = [], []
            for line in lines:
                match = _CHECK.fullmatch(line)
                if match is None and re.match(r"[+?-] \w+\(", line):
                    raise ValueError(f"{path.name}, {head}: {line}")
                if match is not None:
                    checks.append((TRUTHS[match[1]], match[2]))
                else:
                    program.append(line)
            if not checks:
                raise ValueError(f"{path.name}, {head}: no check")
            made.append(
                Trap(path.stem, head.removesuffix(" !"), head.endswith(" !"), "\n".join(program), tuple(checks))
            )
    return made


class Names:
    """Random names, each used once in a program; one is sometimes the beginning or the end of another."""

    def __init__(self, random: Random) -> None:
        self._random, self._used = random, set[str]()

    def fill(self, trap: Trap) -> dict[str, str]:
        """A name for each of a trap's: types begin with a capital, constants are in capitals, numbers are numbers."""
        return {key: self._new(key) for key in sorted(set(_NAME.findall(trap.text + str(trap.checks))))}

    def _new(self, key: str) -> str:
        while True:
            made = self._made(key)
            if made.lower() not in self._used:
                self._used.add(made.lower())
                return made

    def _made(self, key: str) -> str:
        if key[0] == "n":
            return str(self._random.randrange(2, 100_000))
        words = [
            self._random.choice(_FIRST),
            self._random.choice(_SECOND),
            self._random.choice(("", "", "x", "2", "s")),
        ]
        name = "".join(words) + str(self._random.randrange(100))
        if key[0].isupper():
            name = name[0].upper() + name[1:]
        return name.upper() if key[0] == "K" else name


def filled(text: str, names: dict[str, str]) -> str:
    """A text with names in the place of its marks."""
    return _NAME.sub(lambda match: names[match[1]], text)


def noise(trap: Trap, names: dict[str, str], random: Random, broken: bool) -> str:
    """A trap's program with its marks of noise replaced: by comments, which change nothing, or by what is no syntax."""
    comment = _COMMENT.get(trap.ending, "// {}")
    said = [f"{name}()" for name in names.values()] + [f"{name} = 7" for name in names.values()]

    def line(match: re.Match[str]) -> str:
        if broken:
            return match[1] + random.choice(_BREAKS)
        return match[1] + comment.format(random.choice(said)) if random.random() < 0.5 else match[1].rstrip(" \t")

    return re.sub(r"(?m)^([ \t]*)«#»$", line, filled(trap.text, names))


def program(chosen: Sequence[Trap], random: Random) -> tuple[str, list[tuple[Trap, bool | None, str]]]:
    """A program of some traps of one language, and its checks with their truth."""
    names = Names(random)
    texts, checks = [], []
    for trap in chosen:
        given = names.fill(trap)
        broken = trap.breakable and random.random() < 0.1
        texts.append(noise(trap, given, random, broken))
        for truth, check in trap.checks:
            said = filled(check, given)
            checks.append((trap, None if broken else truth, said))
            if truth is not None and not broken:
                checks.append((trap, not truth, f"not {said}"))
        if broken:
            break  # what follows may be read as part of it
    text = "\n".join(texts) + "\n"
    return random.choice((text, text, text.replace("\n", "\r\n"), text.rstrip("\n"))), checks


def judged(path: str, text: str, check: str, whole: bool = True) -> bool | str | None:
    """The judge's answer; a text that says why, where it does not know the check."""
    parsed = parse_check(check)
    return (
        verify_content(parsed, Source(path, text, whole=whole), Parsing()).holds
        if isinstance(parsed, Check)
        else parsed.why
    )


def findings(count: int, seed: int, ending: str = "*") -> Iterator[Finding | str]:
    """What is wrong of `count` programs; a text for a check that the judge does not know."""
    random = Random(seed)
    known: dict[str, list[Trap]] = {}
    for trap in traps(ending):
        known.setdefault(trap.ending, []).append(trap)
    order = [trap for group in known.values() for trap in group]
    for number in range(count):
        # Each trap comes by turns as the first one of a program; those behind it are of its language.
        first = order[number % len(order)]
        mates = [one for one in known[first.ending] if one is not first]
        alone = first.name.startswith("whole file")
        chosen = [first, *([] if alone else random.sample(mates, min(len(mates), random.randrange(3))))]
        chosen = [one for one in chosen if one is first or not one.name.startswith("whole file")]
        text, checks = program(chosen, random)
        whole = random.random() < 0.9
        if not whole:  # what was not read may bind a name anew, so the truth is that of the whole file
            text = text[: random.randrange(len(text))]
        for trap, truth, check in checks:
            answer = judged(f"src/unit.{trap.ending}", text, check, whole)
            if isinstance(answer, str):
                if not check.startswith("not "):
                    yield f"{check.partition('(')[0]}: {answer}"
            elif answer is not None and answer is not truth:
                yield Finding(trap, check, truth, answer, text)


def told(one: Finding) -> str:
    """A finding for a person, with its program."""
    expected = {True: "true", False: "false", None: "open"}[one.expected]
    return f"## {one.trap.ending}: {one.trap.name}\n{one.check}: is {expected}, was {one.answer}\n```\n{one.text}```\n"


def main() -> int:
    """Reads the arguments; see the top of this file."""
    parser = argparse.ArgumentParser(description="Fuzz the judge with programs whose truth is known.")
    parser.add_argument("--seconds", type=int, default=60, help=f"how many programs: {RATE} for each (default: 60)")
    parser.add_argument("--seed", type=int, help="of the programs (default: from the commit)")
    parser.add_argument("--language", default="*", help="the ending of one trap file, such as py")
    parser.add_argument("--findings", type=Path, help="a file for each trap's shortest finding, with its program")
    given = parser.parse_args()
    if given.seconds < 1 or not traps(given.language):
        parser.error("--seconds is at least 1, and --language the ending of a file in fuzz/traps")
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    seed = int(head[:8] or "0", 16) if given.seed is None else given.seed
    count, unread = given.seconds * RATE, Counter[str]()
    shortest: dict[tuple[str, str, bool | None, bool], Finding] = {}
    for one in findings(count, seed, given.language):
        if isinstance(one, str):
            unread[one] += 1
            continue
        key = (one.trap.ending, one.trap.name, one.expected, one.answer)
        if key not in shortest or len(one.text) < len(shortest[key].text):
            shortest[key] = one
    for one in shortest.values():
        print(told(one))
    if given.findings:
        given.findings.write_text("\n".join(map(told, shortest.values())), "utf-8")
    for line in sorted(unread):
        print(f"not read: {line}")
    print(f"{count} programs, seed {seed}: {len(shortest)} kinds of findings, {len(unread)} kinds of checks not read.")
    return int(bool(shortest or unread))


if __name__ == "__main__":
    sys.exit(main())
