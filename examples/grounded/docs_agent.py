"""Answers questions about this repository from its own documents, and sends what it answers through sluice.

A tool retrieves a passage, a prompt answers from it with quotes that must stand there, an agent puts the two together;
the emission that comes of it is looked at by the observers, and decided. The «model» is twenty lines that copy the
fitting part of the passage, so all of this runs offline, and gives the same answer each time.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import msgspec

from sluice.codecs.records import Emission
from sluice.streams.grounded import Answer, Grounded, agent, emission, grounded_pure, prompt, tool

DOCUMENTS = ("README.md", "ARCHITECTURE.md", "docs/*.md")
MARKUP = re.compile(r"[`*_\[\]<>“”«»\"'|#]")
COMMON = {
    "what",
    "which",
    "who",
    "when",
    "where",
    "why",
    "how",
    "does",
    "mean",
    "the",
    "and",
    "are",
    "for",
    "must",
    "can",
}
SLUICE = str(Path(sys.executable).with_name("sluice"))


def passages(root: str) -> list[tuple[str, int, str]]:
    """Path, line number and text of every line of prose in the documents."""
    paths = sorted(path for pattern in DOCUMENTS for path in Path(root).glob(pattern))
    return [
        (path.relative_to(root).as_posix(), number, line)
        for path in paths
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if any(len(part.split()) >= 4 for part in parts_of(line))
    ]


def parts_of(line: str) -> list[str]:
    """The sentences and table cells of a line that have no markup in them."""
    parts = (part.strip() for part in re.split(r"(?<=[.:;!?])\s+|\s*\|\s*|\s\((?=\w)|\)", line))
    return [part.rstrip(".:;") for part in parts if part and not MARKUP.search(part)]


def words(text: str) -> set[str]:
    """The words of a text that say something, in lower case, without their endings."""
    found = re.findall(r"[a-z]{3,}", text.lower())
    return {re.sub(r"(?:e?s|ed|ing)$", "", word) for word in found if word not in COMMON}


@tool(data={"grounded"}, source="the documents of the repository")
def search(root: str, question: str) -> Answer[str]:
    """The line that has most of the question's words, the rare ones before the common ones."""
    lines = passages(root)
    asked = words(question)
    seen = [words(line) for _, _, line in lines]
    weight = {word: math.log(len(lines) / (1 + sum(word in one for one in seen))) for word in asked}
    scores = [sum(weight[word] for word in asked & one) / math.sqrt(len(one)) for one in seen]
    path, number, line = lines[max(range(len(lines)), key=lambda place: (scores[place], -place))]
    place = {"path": path, "lines": [number, number]}
    # What an observer can look at to bear an answer out: the file, and the matching line of it.
    provenance = [
        {"substrate_class": "substrate.code.read", "locator": place},
        {"substrate_class": "substrate.grep", "locator": place | {"pattern": best_part(line, question)}},
    ]
    return Answer(f"{path}\n{line}", source=f"{path}:{number}", metadata={"provenance": provenance})


def best_part(passage: str, question: str) -> str:
    """The part of a passage that has most of the question's words, the longer one of two."""
    asked = words(question)
    parts = [part for part in parts_of(passage.splitlines()[-1]) if len(part.split()) >= 4]
    return max(parts, key=lambda part: (len(words(part) & asked), len(part)))


@prompt(cites="passage", strictly=True, model="extractive-1", confidence=0.9, data={"grounded"})
def answer(passage: str, question: str) -> Answer[str]:
    """What the passage says about the question, quoted."""
    path = passage.splitlines()[0]
    quote = best_part(passage, question)
    return Answer(f"{path} contains “{quote}”.", confidence=0.8, tokens=len(quote.split()))


@agent(min_confidence=0.5, data={"grounded"})
@grounded_pure
def ask(root: str, question: str) -> Grounded[str]:
    """One question, one answer with its sources."""
    return answer(search(root, question), question)


def emission_of(root: str, questions: list[str]) -> Emission:
    """All answers as one emission; the same questions and answers give the same id."""
    answers = [ask(root, question) for question in questions]
    whole = emission("em-docs", "docs-agent", *answers)
    named = sha256("\n".join([*questions, whole.text or ""]).encode()).hexdigest()[:12]
    return msgspec.structs.replace(whole, emission_id=f"em-docs-{named}")


def decide(root: str, made: Emission) -> list[dict[str, object]]:
    """What sluice says of it: the observers look (`sluice look`), then it is decided (`sluice fold`)."""
    line = msgspec.json.encode(made).decode()
    looked = json.loads(filtered("look", "--root", root, line=line))
    value = json.loads(line)
    lines = [{"at": made.emitted_at, "topic": "emissions", "value": value}]
    for one in looked["observations"]:
        lines.append({"at": one["observed_at"], "topic": "observations", "value": one})
    outputs = filtered("fold", line="".join(json.dumps(one) + "\n" for one in lines))
    return [json.loads(output)["value"] for output in outputs.splitlines() if json.loads(output)["topic"] == "admitted"]


def filtered(*command: str, line: str) -> str:
    """Standard output of one of sluice's filters."""
    return subprocess.run([SLUICE, *command], input=line, capture_output=True, text=True, check=True).stdout


def main() -> None:
    """`docs_agent.py [--emission] QUESTION…`, in the root of the repository."""
    arguments = sys.argv[1:]
    only_emission = arguments[:1] == ["--emission"]
    questions = arguments[only_emission:] or ["What is a watermark?", "What does the horizon mean?"]
    made = emission_of(".", questions)
    if only_emission:
        print(msgspec.json.encode(made).decode())
        return
    for record in decide(".", made):
        print(json.dumps(record, ensure_ascii=False))


if __name__ == "__main__":
    main()
