"""No sentence that says something false is wholly covered because the checks beside it are true (docs/checks.md).

True pairs of a sentence and its checks, every check among them, and nine ways to make a sentence say something else.
The mutators know nothing of the forms by which coverage reads: they turn words round, put words in, and swap arguments.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator

import pytest
from search import DEEP, SHARE

from sluice.streams.judging.checks import Check, parse_check
from sluice.streams.judging.coverage import Coverage, cover

PAIRS: tuple[tuple[str, str], ...] = (
    ("`f` calls `g`.", "calls(f, g)"),
    (
        "The function `fold` in `streams/adjudication/fold.py` calls `settle()`.",
        "calls(fold, settle, path=streams/adjudication/fold.py)",
    ),
    ("`settle` is called by `fold`.", "calls(fold, settle)"),
    ("In `a.py`, `f` calls `g` and returns `x + 1`.", 'calls(f, g, path=a.py) & returns(f, "x + 1", path=a.py)'),
    ("`f` calls `g`, `h` and `i`.", "calls(f, g) & calls(f, h) & calls(f, i)"),
    ("`Client.get` does not call `retry`.", "not calls(Client.get, retry)"),
    ("`MAX_ASSERTIONS` in `codecs/records.py` is 1000.", "equals(MAX_ASSERTIONS, 1000, path=codecs/records.py)"),
    ("`MAX_ASSERTIONS` (`codecs/records.py`) is set to 1,000.", "equals(MAX_ASSERTIONS, 1000, path=codecs/records.py)"),
    ("The retry limit is 42.", "equals(retry_limit, 42)"),
    ("`config.toml` sets `server.timeout` to 30.", "equals(server.timeout, 30, path=config.toml)"),
    ("`timeout` defaults to `30s`.", "equals(timeout, 30s)"),
    ("`mode` in `config.yaml` is `strict`.", "equals(mode, strict, path=config.yaml)"),
    ("`debug` is not `true`.", "not equals(debug, true)"),
    ("`retry_limit` is at least 3.", "compare(retry_limit, >=, 3)"),
    ("`retry_limit` is above 3 and below 50.", "compare(retry_limit, >, 3) & compare(retry_limit, <, 50)"),
    ("README.md mentions `docker compose up`.", 'contains("docker compose up", path=README.md)'),
    ("`docs/guide.md` says “no more than 40 files”.", 'contains("no more than 40 files", path=docs/guide.md)'),
    ("The `lint` target in the Makefile contains `ruff check`.", 'contains("ruff check", path=Makefile, in=lint)'),
    ("There is no `eval` in `src/run.py`.", "absent(eval, path=src/run.py)"),
    ("`src/run.py` does not contain `exec`.", "absent(exec, path=src/run.py)"),
    ("`docs/old.md` does not exist.", "missing(docs/old.md)"),
    ("`docs/new.md` exists.", "exists(docs/new.md)"),
    ("`a.py` defines the function `parse_time`.", "defines(parse_time, function, path=a.py)"),
    ("`parse_time` is defined in `codecs/times.py`.", "defines(parse_time, path=codecs/times.py)"),
    ("The Makefile has a `lint` target.", "defines(lint, target, path=Makefile)"),
    ("CHANGELOG.md has an entry dated 2026-05-25.", "defines(2026-05-25, section, path=CHANGELOG.md)"),
    ("`a.py` does not define `legacy_mode`.", "not defines(legacy_mode, path=a.py)"),
    ("`streams/adjudication/fold.py` imports `msgspec`.", "imports(msgspec, path=streams/adjudication/fold.py)"),
    ("`a.py` and `b.py` import `os`.", "imports(os, path=a.py) & imports(os, path=b.py)"),
    ("`a.py` does not import `requests`.", "not imports(requests, path=a.py)"),
    ("`check_limits` uses `MAX_FILES`.", "uses(check_limits, MAX_FILES)"),
    ("`MAX_FILES` is used in `check_limits`.", "uses(check_limits, MAX_FILES)"),
    ("`parse_time` returns `None`.", "returns(parse_time, None)"),
    ("`src/run.py` has 3 occurrences of `TODO`.", "count(TODO, =, 3, path=src/run.py)"),
    ("`TODO` appears at least twice in `src/run.py`.", "count(TODO, >=, 2, path=src/run.py)"),
    ("Line 41 of `src/run.py` says `x = 3`.", 'line(src/run.py, 41, "x = 3")'),
    ("`src/run.py:41` contains `x = 3`.", 'line(src/run.py, 41, "x = 3")'),
    ("`alpha()` comes before `beta()` in `src/run.py`.", 'order("alpha()", "beta()", path=src/run.py)'),
    ("Commit 4f2a91c is dated 2026-05-25.", "commit(4f2a91c, date=2026-05-25)"),
    ("Commit 4f2a91c was made by Jane Doe.", 'commit(4f2a91c, author="Jane Doe")'),
    ("Commit 4f2a91c changed `src/run.py`.", "changed(src/run.py, 4f2a91c)"),
    ("Commit 4f2a91c introduced `retry_limit`.", "introduced(retry_limit, 4f2a91c)"),
    ("Commit 4f2a91c removed `x = 3`.", 'removed("x = 3", 4f2a91c)'),
    ("`src/run.py` was last changed before 2026-05-25.", "last_changed(src/run.py, <, 2026-05-25)"),
    ("`src/run.py` was modified after 2026-05-25.", "modified(src/run.py, >, 2026-05-25)"),
    ("`send` calls `close`, which returns `None`.", "calls(send, close) & returns(close, None)"),
    ("Both `load` and `save` call `check`.", "calls(load, check) & calls(save, check)"),
    ("`load` calls `check` but does not call `save`.", "calls(load, check) & not calls(load, save)"),
    ("`a.toml` sets `x` to 1 and `y` to 2.", "equals(x, 1, path=a.toml) & equals(y, 2, path=a.toml)"),
    ("The server's port in `a.toml` is 8080.", "equals(server.port, 8080, path=a.toml)"),
    ("The `test` script in `a.yaml` is `jest`.", "equals(scripts.test, jest, path=a.yaml)"),
    ("`DEBUG` is `False` at `conf.py:41`.", "equals(DEBUG, false, path=conf.py, lines=41)"),
    ("`Client` has a `close` method.", "defines(Client.close, method, path=a.py)"),
    ("`a.py` has no function `eval`.", "absent(eval, path=a.py)"),
    ("`eval` appears nowhere in `src/run.py`.", "absent(eval, path=src/run.py)"),
    ("`config.yaml` has `timeout: 30s`.", 'contains("timeout: 30s", path=config.yaml)'),
    ("Commit 4f2a91c was made on 2026-05-25 by Jane Doe.", 'commit(4f2a91c, author="Jane Doe", date=2026-05-25)'),
    ("Commit 4f2a91c did not change `src/run.py`.", "not changed(src/run.py, 4f2a91c)"),
    ("The process runs as uid 1000.", "peer(uid=1000)"),
    ("The peer runs as user www-data.", "peer(user=www-data)"),
)


def checks_in(text: str) -> list[Check]:
    """The checks of a pair, read."""
    found = [parse_check(one.strip()) for one in text.split(" & ")]
    assert all(isinstance(one, Check) for one in found), text
    return [one for one in found if isinstance(one, Check)]


def judged(sentence: str, checks: str) -> Coverage:
    return cover(sentence, checks_in(checks))


# ---------------------------------------------------------------- ways to say something else

ARGUMENT = re.compile(
    r"`[^`]*`|“[^”]*”|\d[\d,]*(?:-\d\d-\d\d)?|\b[0-9a-f]{7}\b|Jane Doe|www-data|README\.md|CHANGELOG\.md"
)
PATH = re.compile(r"`?\b[\w/]+\.(?:py|md|toml|yaml)\b(?::\d+)?`?|Makefile")
VERBS = {
    "calls": "call",
    "is": "be",
    "sets": "set",
    "defaults": "default",
    "mentions": "mention",
    "says": "say",
    "contains": "contain",
    "exists": "exist",
    "defines": "define",
    "has": "have",
    "imports": "import",
    "import": "import",
    "uses": "use",
    "returns": "return",
    "appears": "appear",
    "comes": "come",
    "runs": "run",
    "changed": "change",
    "introduced": "introduce",
    "removed": "remove",
    "was": "be",
    "does": "do",
}
PAST = {"has": "had", "is": "was", "says": "said", "comes": "came", "runs": "ran", "sets": "set up", "was": "had been"}


def verbs_in(sentence: str) -> Iterator[tuple[int, int, str]]:
    """Each verb outside of back-ticks and quotation marks, with its place."""
    bare = ARGUMENT.sub(lambda match: "_" * len(match[0]), sentence)
    for match in re.finditer(r"[a-z]+", bare):
        if match[0] in VERBS:
            yield match.start(), match.end(), match[0]


def with_verb(sentence: str, write: Callable[[str], str]) -> Iterator[str]:
    """The sentence with each of its verbs in turn written otherwise."""
    for start, end, verb in verbs_in(sentence):
        yield sentence[:start] + write(verb) + sentence[end:]


def negated(sentence: str) -> Iterator[str]:
    for denial in ("does not {}", "doesn't {}", "does never {}", "doesn’t {}", "DOES NOT {}"):
        yield from with_verb(sentence, lambda verb, denial=denial: denial.format(VERBS[verb]))
    for mark in ("is not", "isn't", "is no longer", "**is not**", "is NOT"):
        yield from (sentence[:a] + mark + sentence[b:] for a, b, verb in verbs_in(sentence) if verb == "is")
    yield from with_verb(sentence, lambda verb: f"{verb} not")
    yield from with_verb(sentence, lambda verb: f"{verb} no")
    for denial in ("does not ", " not", " no"):
        if denial in sentence:
            yield sentence.replace(denial, " " if denial[0] == " " else "", 1)
    yield f"It is not true that {sentence[0].lower()}{sentence[1:]}"
    yield f"{sentence[:-1]} (not)."
    yield f"{sentence[:-1]}, not."
    yield f"No: {sentence}"
    yield f"Not {sentence}"


def swapped(sentence: str) -> Iterator[str]:
    places = [match.span() for match in ARGUMENT.finditer(sentence)]
    for (a, b), (c, d) in itertools.combinations(places, 2):
        yield sentence[:a] + sentence[c:d] + sentence[b:c] + sentence[a:b] + sentence[d:]


OTHERS = (
    "`other_name`",
    "`f2`",
    "41",
    "4",
    "1001",
    "2026-05-26",
    "May 2026",
    "0badcafe",
    "`README.md`",
    "`Other.x`",
    "42 files",
)


def other_argument(sentence: str) -> Iterator[str]:
    for match in ARGUMENT.finditer(sentence):
        for other in OTHERS:
            yield sentence[: match.start()] + other + sentence[match.end() :]
        inside = match[0].strip("`“”")
        for changed in (
            f"{inside}2",
            f"x{inside}",
            f"{inside}.x",
            f"-{inside}",
            f"{inside}0",
            inside.swapcase(),
            inside[:-1],
        ):
            if changed and changed != inside:
                yield sentence[: match.start()] + match[0].replace(inside, changed) + sentence[match.end() :]
        for tail in (
            " or 43",
            " to 50",
            "%",
            " percent",
            " seconds",
            "-50",
            "th",
            "+",
            " or more",
            " files",
            "ms",
            "[1]",
        ):
            if match[0][0].isdigit():
                yield sentence[: match.end()] + tail + sentence[match.end() :]


COMPARISONS = (
    "at least",
    "at most",
    "more than",
    "less than",
    "above",
    "below",
    "about",
    "exactly not",
    "between",
    "up to",
    "≥",
    "≠",
    "!=",
)
FLIPPED = {
    "at least": "at most",
    "above": "below",
    "below": "above",
    "before": "after",
    "after": "before",
    "is at least": "is",
    "is above": "is",
    "on": "before",
    "at least twice": "twice",
}


def other_comparison(sentence: str) -> Iterator[str]:
    for match in re.finditer(r"(?<=[a-z`] )(?=`?[\d`“])", sentence):
        for words in COMPARISONS:
            yield f"{sentence[: match.start()]}{words} {sentence[match.start() :]}"
    for words, other in FLIPPED.items():
        if f" {words} " in sentence:
            yield sentence.replace(f" {words} ", f" {other} ", 1)


QUANTIFIERS = ("only", "never", "always", "mostly", "rarely", "no longer", "hardly", "even", "just", "also", "not only")
STARTS = ("Only", "Every", "All of", "No", "Most of", "Each", "Never", "None but", "Any", "Almost")


def quantified(sentence: str) -> Iterator[str]:
    for word in QUANTIFIERS:
        yield from with_verb(sentence, lambda verb, word=word: f"{word} {verb}")
        yield from with_verb(sentence, lambda verb, word=word: f"{verb} {word}")
    for word in STARTS:
        yield f"{word} {sentence[0].lower() + sentence[1:]}"
    yield f"{sentence[:-1]} everywhere."
    yield f"{sentence[:-1]} alone."


def other_tense(sentence: str) -> Iterator[str]:
    for write in ("will {}", "used to {}", "is going to {}", "had {}ed", "would {}", "did {}"):
        yield from with_verb(sentence, lambda verb, write=write: write.format(VERBS[verb]))
    for start, end, verb in verbs_in(sentence):
        past = PAST.get(verb, f"{VERBS[verb]}ed".replace("eed", "ed"))
        if past != verb:
            yield sentence[:start] + past + sentence[end:]
    for when in ("yesterday", "until 2020", "in the past", "now", "currently", "since v2"):
        yield f"{sentence[:-1]} {when}."
        yield f"{when.capitalize()}, {sentence[0].lower() + sentence[1:]}"


def wrong_file(sentence: str) -> Iterator[str]:
    for match in PATH.finditer(sentence):
        for other in (
            "`src/other.py`",
            "`docs/run.py`",
            "`b/README.md`",
            "other.toml",
            "`/etc/passwd`",
            "`../a.py`",
            "`xa.py`",
        ):
            yield sentence[: match.start()] + other + sentence[match.end() :]
    for where in (
        "in `src/other.py`",
        "of `other.py`",
        "from `other.py`",
        "(other.py)",
        "(`other.py:41`)",
        "at other.py:3",
    ):
        yield f"{sentence[:-1]} {where}."
    for where in ("In `src/other.py`,", "`other.py`:", "In the file `other.py`"):
        yield f"{where} {sentence[0].lower() + sentence[1:]}"


def other_modality(sentence: str) -> Iterator[str]:
    for word in ("must", "may", "should", "can", "could", "might", "seems to", "is supposed to", "has to", "ought to"):
        yield from with_verb(sentence, lambda verb, word=word: f"{word} {VERBS[verb]}")
    for start in ("Perhaps", "Probably", "It seems that", "If so,", "Ideally", "Supposedly,", "I think"):
        yield f"{start} {sentence[0].lower() + sentence[1:]}"


CLAUSES = (
    " and deletes all data",
    ", and `z` is 7",
    ", which is insecure",
    " because it is broken",
    " unless `debug` is set",
    " when it is idle",
    "; the rest is untested",
    " — it was backdoored",
    " (and leaks memory)",
    ". It is unsafe",
    ", so nothing else runs",
    " but should not",
    " or `z`",
    " without locking",
    " in order to hide it",
    " with `z`",
    ": nothing checks it",
    ", and it is the only one",
    " as of today",
    " 🙃",
    "?",
    "...",
    " ~~42~~",
    " `not`",
    " “not”",
    " <!-- not -->",
)


def with_clause(sentence: str) -> Iterator[str]:
    for clause in CLAUSES:
        yield f"{sentence[:-1]}{clause}."
    for start in ("Release 1.2.3 is backdoored, and", "Since it is broken,", "The maintainers say:", "`z` is 7 and"):
        yield f"{start} {sentence[0].lower() + sentence[1:]}"


MUTATORS: dict[str, Callable[[str], Iterator[str]]] = {
    "negated": negated,
    "swapped arguments": swapped,
    "another number or name": other_argument,
    "another comparison": other_comparison,
    "only, never, always": quantified,
    "another tense": other_tense,
    "the wrong file": wrong_file,
    "another modality": other_modality,
    "an added clause": with_clause,
}

SAME = {
    # What a mutator makes of a list, or writes without back-ticks, and means the same as before.
    "`f` calls `h`, `g` and `i`.",
    "`f` calls `i`, `h` and `g`.",
    "`f` calls `g`, `i` and `h`.",
    "`b.py` and `a.py` import `os`.",
    "Both `save` and `load` call `check`.",
    "`README.md` mentions `docker compose up`.",
}


def mutations(kind: str) -> list[tuple[str, str]]:
    """Every mutation of one kind, with the checks of the sentence that it was made from."""
    made = ((one, sentence, checks) for sentence, checks in PAIRS for one in MUTATORS[kind](sentence))
    return [(one, checks) for one, sentence, checks in made if one != sentence and one not in SAME]


@pytest.mark.parametrize(("sentence", "checks"), PAIRS)
def test_a_true_sentence_is_wholly_covered_by_its_checks(sentence: str, checks: str):
    """The pairs that are mutated here are covered as they stand."""
    assert judged(sentence, checks) == ("whole", ())


def test_every_check_is_among_the_pairs():
    """So that no check goes without mutations."""
    from sluice.streams.judging.checks import TABLE

    assert {check.name for _, checks in PAIRS for check in checks_in(checks)} == set(TABLE)


@pytest.mark.parametrize("kind", MUTATORS)
def test_no_mutation_is_wholly_covered(kind: str):
    """Whatever the sentence says beyond its checks, or otherwise than they do, is unchecked."""
    cases = mutations(kind)
    assert len(cases) >= 30, "too few to say anything"
    admitted = [(sentence, checks) for sentence, checks in cases if judged(sentence, checks).level == "whole"]
    assert admitted == []


SINGULAR = (("` import ", "` imports "), ("` call ", "` calls "))


def shown(sentence: str, coverage: Coverage) -> list[str]:
    """The pieces of a sentence that are shown when what is unchecked is taken out, each as a sentence of its own."""
    pieces: list[str] = []
    past = 0
    for start, end in (*coverage.unchecked, (len(sentence), len(sentence))):
        piece = re.sub(r"^(?:and|but|which) ", "", sentence[past:start].strip(" .,:;*-()"))
        for several, one in SINGULAR:  # the verb of two subjects of which one is taken out
            piece = piece.replace(several, one) if " and " not in piece else piece
        pieces += [f"{piece}."] if piece else []
        past = end
    return pieces


@pytest.mark.parametrize("kind", MUTATORS)
def test_what_is_shown_of_a_mutation_is_true(kind: str):
    """With the unchecked spans taken out, every piece that is left is wholly covered by the same checks."""
    for sentence, checks in mutations(kind)[:: 1 if DEEP else SHARE]:
        for piece in shown(sentence, judged(sentence, checks)):
            assert judged(piece, checks).level == "whole", (sentence, piece)
