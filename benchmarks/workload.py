"""The input of every benchmark: answers of several statements, and the evidence for each, onto a Kafka.

An emission is an answer of two to six statements. Each is an assertion with two annotations and up to eight checks, and
gets an observation of two distinct classes; every fifth gets one only, and is not admitted. So an emission is
`INPUTS` inputs on average. Peers pass over the members that they do not know.

No two statements are equal. How many statements an answer has, how many words and names a statement, how many checks,
of which kinds and how often with a path: all this is distributed as in the answers of `yield/corpus` (ANSWERS to KINDS
below; the tests hold the figures to the corpus). Words are drawn by Zipf's law from the commonest words of these
answers and 40,000 made ones; names are made of the words of their package. An answer is about one
package of 40 files: its commit and its files' contents are those of all answers about the package.

The bytes are a function of the number and the time, so every contestant of a run gets the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import accumulate
from random import Random
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from sluice.codecs.identifiers import digest_of
from sluice.topology.kafka.topics import TOPICS

CLASSES = ("substrate.code.read", "substrate.git.log")
ANSWERS = (2,) + (3,) * 10 + (4,) * 17 + (5,) * 10 + (6,) * 2
"""Statements of an answer, 40 answers; in mixed order by `statements_of`."""
WORDS = ((3, 1), (5, 5), (7, 9), (9, 15), (11, 15), (13, 17), (15, 16), (17, 15), (19, 10), (22, 11), (26, 5), (32, 4))
"""Words of a statement, names included, and how often in a hundred."""
NAMES = ((0, 6), (1, 30), (2, 32), (3, 19), (4, 7), (5, 3), (7, 2), (11, 1))
"""Names in back-ticks among them."""
CHECKS = ((0, 12), (1, 38), (2, 28), (3, 13), (4, 5), (5, 2), (6, 1), (8, 1))
"""Checks of a statement, of both proposers together."""
KINDS = (
    ("uses({f}, {n}{p})", 19),
    ("calls({f}, {g}{p})", 18),
    ('when({f}, "{n} == {m}", "{g}({n})"{p})', 11),
    ("defines({g}{p})", 13),
    ('contains("{w}"{p})', 7),
    ('equals({n}, "{w}"{p})', 10),
    ("raises({f}, {c}{p})", 4),
    ("field({c}, {n}{p})", 4),
    ('returns({f}, "{w}"{p})', 3),
    ("extends({c}, {c}Base{p})", 3),
    ("not uses({f}, {n}{p})", 3),
    ("not calls({f}, {g}{p})", 3),
    ("parameter({f}, {n}{p})", 2),
    ('contains("{n}(\\"{w}\\")"{p})', 3),
    ('when({f}, "{n} < {m}", "{g}[{n}]"{p})', 2),
    ("members({c}, [{n}, {m}, {g}]{p})", 2),
    ('uses({f}, "{n}(\\"{w}\\")"{p})', 6),
)
"""Checks, and how often."""
WITH_PATH = 0.3
"""So many of them name a file."""
_COMMON = (
    "the is and a in with for of to are it that if as an so which returns by when on has error or from default not one "
    "value calls no be at than only first without its uses bytes raises buffer type key because there set other "
    "otherwise after option same you can values throws two then string length both also into version code message such "
    "digits object gives well empty takes each call they name since"
)
COMMON = _COMMON.split()
"""The commonest words of the answers."""
RARE = 40_000
PER_PACKAGE, FILES, OWN = 10, 40, 60
"""Answers about one package, one after the other; its files, and the words that its names are made of."""
PREFETCHED = 50_000
"""So many records wait in the producer at the most: memory, on a machine that is to be measured."""
STATED = sum(ANSWERS) / len(ANSWERS)
INPUTS = 1 + 1.8 * STATED
ADMITTED = 0.8 * STATED
"""Statements, inputs and admitted statements of an emission, on average."""
_BEGINNINGS, _ENDINGS = "b c d f g l m n p r s t v w st tr pl", "a e i o u ar en il on er"
_SYLLABLES = [first + last for first in _BEGINNINGS.split() for last in _ENDINGS.split()]


class Statement(NamedTuple):
    """One sentence of an answer.

    Attributes:
        span: its first character and the one behind its last, in the answer.
        file: that was looked at.
        checks: what its emitter declares.
        places: file and first and last line at which each was seen to hold.
    """

    span: tuple[int, int]
    file: str
    checks: list[str]
    places: list[tuple[str, int, int]]


class Answer(NamedTuple):
    """An emission's text and its statements."""

    text: str
    statements: list[Statement]
    commit: str


def _word(rank: int) -> str:
    letters, count = "", len(_SYLLABLES)
    rank = count + 37 * rank
    while rank:
        letters, rank = _SYLLABLES[rank % count] + letters, rank // count
    return letters


@cache
def _vocabulary() -> tuple[list[str], list[float]]:
    """Words and their weights, each with those of all before it."""
    weights = [(rank + 2) ** -1.2 for rank in range(len(COMMON) + RARE)]
    return [*COMMON, *map(_word, range(RARE))], list(accumulate(weights))


def _weighted(table: Iterable[tuple[Any, int]]) -> list[Any]:
    return [value for value, times in table for _ in range(times)]


_WORDS, _NAMES, _CHECKS, _KINDS = map(_weighted, (WORDS, NAMES, CHECKS, KINDS))


class _Package(NamedTuple):
    """What answers are about: a commit, its files, and the words that its names are made of."""

    commit: str
    files: list[str]
    words: list[str]


@lru_cache(maxsize=16)
def _package(number: int) -> _Package:
    choose = Random(-1 - number)

    def word() -> str:
        return _word(int(RARE * choose.random() ** 2))

    files = [f"src/{word()}/{word()}_{choose.randrange(100)}.py" for _ in range(FILES)]
    return _Package(f"{choose.getrandbits(160):040x}", files, [word() for _ in range(OWN)])


class _Writer:
    """Makes one answer."""

    def __init__(self, number: int) -> None:
        self._random, self.package = Random(number), _package(number // PER_PACKAGE)

    def _rare(self) -> str:
        return self.package.words[int(OWN * self._random.random() ** 2)]

    def _name(self) -> str:
        kind, first, second = self._random.random(), self._rare(), self._rare()
        if kind < 0.2:
            return first.capitalize() + second.capitalize()
        return f"{first}_{second}" if kind < 0.5 else f"{first}.{second}" if kind < 0.7 else first

    def _check(self) -> str:
        form = self._random.choice(_KINDS)
        path = f", path={self.file()}" if self._random.random() < WITH_PATH else ""
        return form.format(
            f=f"{self._rare().capitalize()}.{self._rare()}",
            g=f"{self._rare()}_{self._rare()}",
            n=self._rare(),
            m=self._rare(),
            c=self._rare().capitalize() + "Error",
            w=f"{self._rare()} {self._rare()} {self._rare()}",
            p=path,
        )

    def sentence(self) -> str:
        """Of words and names."""
        choose = self._random
        words, weights = _vocabulary()
        names = choose.choice(_NAMES)
        chosen = choose.choices(words, cum_weights=weights, k=max(choose.choice(_WORDS) - names, 2))
        for _ in range(names):
            chosen.insert(choose.randrange(1, len(chosen) + 1), f"`{self._name()}`")
        if len(chosen) > 8:
            chosen[len(chosen) // 2] += ","
        text = " ".join(chosen)
        return f"{text[0].upper()}{text[1:]}."

    def checks(self) -> list[str]:
        """As many as proposers find, each once."""
        return list(dict.fromkeys(self._check() for _ in range(self._random.choice(_CHECKS))))

    def file(self) -> str:
        """One of the package."""
        return self._random.choice(self.package.files)

    def place(self, check: str, file: str) -> tuple[str, int, int]:
        """Where a check holds: in the file that it names, or in the one that was looked at."""
        _, named, path = check.rpartition("path=")
        first = self._random.randrange(1, 900)
        return path[:-1] if named else file, first, first + self._random.choice((0, 0, 3))


def statements_of(number: int) -> int:
    """How many statements an answer has."""
    return ANSWERS[number * 17 % len(ANSWERS)]


def sentence_of(number: int) -> str:
    """A statement by itself."""
    return _Writer(number).sentence()


def answer_of(number: int) -> Answer:
    """An emission's text and statements."""
    writer, text, statements = _Writer(number), "", list[Statement]()
    for _ in range(statements_of(number)):
        text += " " if text else ""
        start = len(text)
        text += writer.sentence()
        checks, file = writer.checks(), writer.file()
        places = [writer.place(check, file) for check in checks]
        statements.append(Statement((start, len(text)), file, checks, places))
    _starts[number] = tuple([statement.span[0] for statement in statements])
    return Answer(text, statements, writer.package.commit)


def records(number: int, now: str) -> Iterator[tuple[str, bytes, bytes]]:
    """(topic, key, value) of one emission and its evidence."""
    key, answer = f"em-{number}", answer_of(number)
    ids = Random(~number)
    seen = [[f"sha256:{ids.getrandbits(256):064x}" for _ in CLASSES] for _ in answer.statements]
    emission = {
        "emission_id": key,
        "emitted_at": now,
        "emitter": {"system": "release-notes-bot", "model": "some-model-1", "prompt": "summarise-changelog"},
        "text": answer.text,
        "assertions": [
            {
                "span": {"chars": statement.span},
                "provenance": [
                    {"substrate_class": name, "observation_id": one, "ts": now, "locator": _locator(statement, name)}
                    for name, one in zip(CLASSES, found, strict=True)
                ],
                **({"checks": statement.checks} if statement.checks else {}),
            }
            for statement, found in zip(answer.statements, seen, strict=True)
        ],
    }
    value = json.dumps(emission).encode()
    digest = digest_of(value)
    yield "emissions", key.encode(), value
    for index, (statement, found) in enumerate(zip(answer.statements, seen, strict=True)):
        for name, one in list(zip(CLASSES, found, strict=True))[: 2 if is_admitted(number, index) else 1]:
            observation = {
                "observation_id": one,
                "substrate_class": name,
                "observed_at": now,
                "observer": "observer-2",
                "subject": {"emission_id": key, "span": {"chars": statement.span}, "attempt": 0, "digest": digest},
                "outcome": "corroborates",
                "tier": "pseudonymous",
                "locator": _locator(statement, name),
                **_seen(statement, name, answer.commit),
            }
            yield "observations", key.encode(), json.dumps(observation).encode()


def _locator(statement: Statement, name: str) -> dict[str, Any]:
    return {"path": statement.file} if name == CLASSES[0] else {}


def _seen(statement: Statement, name: str, commit: str) -> dict[str, Any]:
    """What an observer says of the checks beside its outcome, and where it looked."""
    at = {"commit": commit} if name == "substrate.git.log" else {}
    content = {} if at else {"content": digest_of((commit + statement.file).encode())}
    looked = {"looked_at": {"root": "release-notes", "path": statement.file, **at, **content}}
    if not statement.checks:
        return looked
    reported = [
        {"check": check, "holds": True, "path": path, "lines": [first, last], **at}
        for check, (path, first, last) in zip(statement.checks, statement.places, strict=True)
    ]
    covered = {"verified": [*range(len(reported))], "coverage": "whole", "coverage_by": "form"}
    return {"detail": {"checks": reported}, **covered, **looked}


def is_admitted(number: int, index: int) -> bool:
    """Whether a statement of an answer gets evidence of two classes."""
    return (number + index) % 5 != 0


def is_settled(number: int) -> bool:
    """Whether all statements of an answer get evidence of two classes."""
    return all(is_admitted(number, index) for index in range(statements_of(number)))


_starts: dict[int, tuple[int, ...]] = {}


def admitted_of(number: int) -> list[str]:
    """The statements of an emission that a contestant must let through, as `named` names them."""
    if number not in _starts:
        answer_of(number)
    return [named(f"em-{number}", start) for index, start in enumerate(_starts[number]) if is_admitted(number, index)]


def named(emission: str, start: int) -> str:
    """A statement's name: its emission and its first character."""
    return f"{emission}/{start}"


def admitted_names(emissions: int) -> set[str]:
    """The statements that a contestant must let through, and no others."""
    return {name for number in range(emissions) for name in admitted_of(number)}


def inputs_of(emissions: int) -> int:
    """How many records so many emissions and their evidence are."""
    return sum(
        1 + sum(1 + is_admitted(number, index) for index in range(statements_of(number))) for number in range(emissions)
    )


def servers(address: str) -> str:
    """`host:port` of `kafka://host:port`."""
    return address.removeprefix("kafka://")


def open_admin(address: str) -> AdminClient:
    """An administrator's client; it keeps to itself what it thinks about its own end."""
    return AdminClient({"bootstrap.servers": servers(address), "log_level": 3})


def create(address: str, prefix: str, names: Iterable[str], partitions: int) -> None:
    """Makes topics as sluice declares them (outputs with the broker's time, inputs with the producer's)."""
    admin = open_admin(address)
    wanted = [NewTopic(prefix + name, partitions, 1, config=dict(TOPICS[name].config)) for name in names]
    for made in admin.create_topics(wanted, operation_timeout=30).values():
        made.result()


def delete(address: str, prefix: str) -> None:
    """Removes all topics under a prefix, so that a broker does not carry an earlier run's."""
    admin = open_admin(address)
    names = [name for name in admin.list_topics(timeout=30).topics if name.startswith(prefix)]
    for gone in admin.delete_topics(names, operation_timeout=30).values() if names else ():
        try:
            gone.result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise


def producer(address: str, **more: Any) -> Producer:
    """A producer that puts keys where Kafka's own clients do."""
    return Producer({"bootstrap.servers": servers(address), "partitioner": "murmur2_random", "acks": "all"} | more)


def preload(address: str, prefix: str, emissions: int, now: str) -> int:
    """Writes the inputs; returns how many records."""
    sender, sent, failed = producer(address, **{"linger.ms": 20, "batch.size": 500_000}), 0, list[str]()

    def callback(error: KafkaError | None, _message: Any) -> None:
        if error is not None:
            failed.append(str(error))

    for number in range(emissions):
        for topic, key, value in records(number, now):
            sender.produce(prefix + topic, key=key, value=value, on_delivery=callback)
            sent += 1
        while len(sender) > PREFETCHED:
            sender.poll(0.05)
        sender.poll(0)
    if sender.flush(60) or failed:
        raise RuntimeError(f"the broker did not take all inputs: {failed[:1] or 'time-out'}")
    return sent
