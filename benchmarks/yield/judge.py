"""One case through the real observers and the real fold, in this process: what was seen, and what became of it.

`observe` is the only place that calls the observers, and `Lane` the only one that folds; neither is told what is true.
"""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from before import classes_with_all_words
from cases import Case
from check_texts import CONTENT
from oracle import package
from oracle_checks import parse, spelled
from sdists import HERE

from sluice.codecs.decode import decode_emission
from sluice.codecs.errors import Fault
from sluice.codecs.records import EFFECTS, Emission
from sluice.codecs.times import format_time
from sluice.streams.policy.policy import Policy
from sluice.streams.policy.toml_reader import load_policy
from sluice.topology.ledger.fold_filter import FoldFilter
from sluice.topology.observers.instruments import Instruments
from sluice.topology.observers.look import look
from sluice.topology.observers.observation_record import written
from sluice.topology.settings.settings import Settings

NOW = 1_795_348_800_000
"""2026-11-22T12:00:00Z, in Unix milliseconds: after everything that the repositories hold."""
POLICY = HERE / "policy.toml"
OBSERVER = "yield"


class LookResult(NamedTuple):
    """One look.

    Attributes:
        substrate_class: where.
        outcome: of the look.
        reason: why it bore nothing out, where it did not.
        milliseconds: what it took, of all looks of the case in equal parts.
    """

    substrate_class: str
    outcome: str
    reason: str
    milliseconds: float


class Admission(NamedTuple):
    """What a consumer is given.

    Attributes:
        coverage: whole, part, or none where nothing was checked.
        unchecked: code points of the assertion that no check speaks of.
        rendered: our sentences.
        checked: the checks, canonically.
        shown: the prose as it goes out.
    """

    coverage: str
    unchecked: tuple[tuple[int, int], ...]
    rendered: tuple[str, ...]
    checked: tuple[str, ...]
    shown: str


class Verdict(NamedTuple):
    """What became of a case.

    Attributes:
        case: the one.
        seen: every look.
        admitted: by effect; None where it was not.
        reason: why it was not admitted for internal effects: status and reason.
        before: whether the rule of before would have admitted it, internally.
        rendered_false: a check that was admitted is false of the sources, says the oracle.
        untold: admitted checks of which the oracle cannot tell.
    """

    case: Case
    seen: tuple[LookResult, ...]
    admitted: dict[str, Admission | None]
    reason: str
    before: bool
    rendered_false: tuple[str, ...]
    untold: int


@cache
def policy() -> Policy:
    """The measurement's policy.

    Raises:
        PolicyError: the file is wrong.
    """
    return load_policy(POLICY.read_text("utf-8"), POLICY.name)


class Judge:
    """One repository and its observers, for as many cases as come. Call `close`."""

    def __init__(self, root: Path) -> None:
        self._root, self._package = root, package(root)
        self._settings = Settings(root=str(root), observer=OBSERVER)
        self._instruments = Instruments(self._settings, clock=lambda: NOW)

    def close(self) -> None:
        """Lets go of what the observers keep open."""
        self._instruments.close()

    def observe(self, emission: Emission, only: str | None = None) -> list[dict[str, Any]]:
        """What the observers say, all or those of one class, as the records that a lane reads."""
        classes = None if only is None else (only,)
        found = look(
            emission, self._settings, self._root, clock=lambda: NOW, instruments=self._instruments, only=classes
        )
        return [written(one) for one in found]

    def verdict(self, case: Case) -> Verdict:
        """Looks once, folds for either effect.

        Raises:
            ValueError: the case is no emission that sluice takes: a defect of the corpus.
        """
        emission = decoded(case)
        began = time.perf_counter()
        observations = self.observe(emission)
        taken = (time.perf_counter() - began) * 1000 / max(1, len(observations))
        ends = {effect: Lane().end(case, effect, observations) for effect in EFFECTS}
        admitted = {effect: _admission(end) for effect, end in ends.items()}
        k = policy().admissibility.k.internal
        truths = [(check, self._package.truth(check)) for one in admitted.values() if one for check in one.checked]
        return Verdict(
            case,
            tuple(LookResult(one["substrate_class"], one["outcome"], _reason(one), taken) for one in observations),
            admitted,
            "" if admitted["internal"] else f"{ends['internal'].get('status')}: {ends['internal'].get('reason', '')}",
            len(classes_with_all_words(case.text, case.annotations, self._package)) >= k,
            tuple(dict.fromkeys(check for check, true in truths if true is False)),
            sum(true is None for _, true in truths),
        )


def record(case: Case, effect: str = "internal") -> dict[str, Any]:
    """The emission of a case, as a producer writes it."""
    ts = format_time(NOW - 30_000)
    assertion: dict[str, Any] = {
        "span": {"chars": [0, len(case.text)]},
        "kind": case.kind,
        "provenance": [{**one, "ts": ts} for one in case.annotations],
    }
    if case.checks:
        assertion["checks"] = case.checks
    return {
        "emission_id": f"yield:{case.id.replace(' ', '-')}",
        "emitted_at": format_time(NOW - 10_000),
        "emitter": {"system": "coding-agent"},
        "effect": effect,
        "text": case.text,
        "assertions": [assertion],
    }


def decoded(case: Case) -> Emission:
    """The same as a lane reads it.

    Raises:
        ValueError: it is refused.
    """
    found = decode_emission(msgspec.json.encode(record(case)))
    if isinstance(found, Fault):
        raise ValueError(f"{case.id}: {found.detail}")
    return found


class Lane:
    """One lane of its own for one case, so that no case is another's past."""

    def __init__(self) -> None:
        self._filter = FoldFilter(policy())

    def end(self, case: Case, effect: str, observations: list[dict[str, Any]]) -> dict[str, Any]:
        """The first word about the assertion that is no renewal: admitted, or why not."""
        outputs = self._line("emissions", record(case, effect))
        for observation in observations:
            outputs += self._line("observations", observation)
        outputs += self._filter.pass_time(NOW + policy().admissibility.horizon + 1)
        for output in outputs:
            if isinstance(output, Fault):
                raise ValueError(f"{case.id}: {output.detail}")
            if output["topic"] == "dead-letters":
                raise ValueError(f"{case.id}: {output['headers']}")
            if output["topic"] in ("admitted", "inadmissible"):
                return msgspec.json.decode(bytes(output["value"]))
        return {"status": "nothing"}

    def _line(self, topic: str, value: dict[str, Any]) -> list[Any]:
        return list(self._filter.line(msgspec.json.encode({"at": NOW, "topic": topic, "value": value})))


def _admission(end: dict[str, Any]) -> Admission | None:
    if end.get("status") != "admitted":
        return None
    frame = end["_untrusted_text"]
    return Admission(
        end.get("coverage", "none"),
        tuple((start, stop) for start, stop in end.get("unchecked", [])),
        tuple(frame.get("rendered", [])),
        tuple(_with_place(one) for one in frame.get("checked", [])),
        frame["assertion"],
    )


def _with_place(one: dict[str, Any]) -> str:
    """A check with the file in which it was verified, where it names none."""
    check, path = str(one["check"]), one.get("path")
    parsed = parse(check)
    if parsed is None or path is None or parsed.name not in CONTENT or "path" in parsed.named:
        return check
    return spelled(parsed._replace(named={"path": path, **parsed.named}))


def _reason(observation: dict[str, Any]) -> str:
    detail = observation.get("detail") or {}
    return str(detail.get("reason", ""))
