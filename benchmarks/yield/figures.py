"""What the verdicts come to: recall, false admissions by type, and whether the goals of docs/checks.md are met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from bounds import Rate, at_least, at_most
from cases import PADDED, SETTINGS
from judge import Admission, Verdict
from mutations import TYPES

FALSE_SETTINGS = (*SETTINGS, PADDED)
RECALLS = {"recall_with_checks": 0.85, "recall_derived": 0.60, "whole_with_checks": 0.50, "whole_derived": 0.25}
LEAST_FALSE, LEAST_OF_A_TYPE, LEAST_RENDERED, LEAST_DENIALS = 300, 30, 1000, 300


class Goal(NamedTuple):
    """One row of docs/checks.md table.

    Attributes:
        name: the figure's.
        wanted: in words.
        met: whether it is.
        said: the figure, in words.
    """

    name: str
    wanted: str
    met: bool
    said: str


class Figures(NamedTuple):
    """Everything that is told.

    Attributes:
        rates: by name, as `yield.json` has them.
        recall: by setting and kind: admitted at all, admitted as whole.
        false: by setting and type: admitted as whole, still saying the false thing in part, admitted at all.
        before: the rule of before: true ones by setting, false ones by type.
        absent: why true statements were not borne out, by setting.
        statuses: what became of true statements that were not admitted, by setting.
    """

    rates: dict[str, Rate]
    recall: dict[str, dict[str, tuple[Rate, Rate]]]
    false: dict[str, dict[str, tuple[Rate, Rate, Rate]]]
    before: dict[str, Rate]
    absent: dict[str, Counter[str]]
    statuses: dict[str, Counter[str]]


def figures(verdicts: Sequence[Verdict]) -> Figures:
    """All figures of a run."""
    true = {setting: [one for one in verdicts if one.case.true and one.case.setting == setting] for setting in SETTINGS}
    prose = [one for one in verdicts if not one.case.true and one.case.type != "denial"]
    denials = [one for one in verdicts if one.case.type == "denial"]
    false = {setting: [one for one in prose if one.case.setting == setting] for setting in FALSE_SETTINGS}
    rates = {
        "rendered_false": at_most(_count(verdicts, lambda one: bool(one.rendered_false)), len(prose) + len(denials)),
        "whole_false": _worst(false, admitted_whole),
        "part_false": _worst(false, still_says),
        "denials_false": at_most(_count(denials, admitted), len(denials)),
    }
    for name, setting in (("with_checks", "attached"), ("derived", "derived"), ("bare", "bare")):
        rates[f"recall_{name}"] = at_least(_count(true[setting], admitted), len(true[setting]))
        rates[f"whole_{name}"] = at_least(_count(true[setting], admitted_whole), len(true[setting]))
    external = [one for one in true["attached"] if one.admitted["external"] is not None]
    rates["external_with_checks"] = at_least(len(external), len(true["attached"]))
    return Figures(
        rates,
        {setting: _recall(ones) for setting, ones in true.items()},
        {setting: _false(ones) for setting, ones in false.items()},
        _before(true, prose),
        {setting: _absences(ones) for setting, ones in true.items()},
        {setting: Counter(one.reason for one in ones if not admitted(one)) for setting, ones in true.items()},
    )


# ---------------------------------------------------------------- one verdict


def admitted(one: Verdict) -> bool:
    """For either effect, wholly or in part."""
    return any(one.admitted.values())


def admitted_whole(one: Verdict) -> bool:
    """As whole, for either effect."""
    return any(each is not None and each.coverage == "whole" for each in one.admitted.values())


def still_says(one: Verdict) -> bool:
    """Admitted in part, and what is shown still has every word that makes it false."""
    return any(each is not None and each.coverage != "whole" and _shows(one, each) for each in one.admitted.values())


def _shows(one: Verdict, each: Admission) -> bool:
    return not any(start < end and begin < stop for start, stop in one.case.false_at for begin, end in each.unchecked)


# ---------------------------------------------------------------- many


def _count(verdicts: Iterable[Verdict], holds: Callable[[Verdict], bool]) -> int:
    return sum(map(holds, verdicts))


def _worst(false: Mapping[str, Sequence[Verdict]], holds: Callable[[Verdict], bool]) -> Rate:
    """The rate of the setting with the highest bound: no setting hides behind the others' cases."""
    rates = [at_most(_count(ones, holds), len(ones)) for ones in false.values() if ones]
    return max(rates, key=lambda rate: (rate.value, rate.bound), default=at_most(0, 0))


def _recall(ones: Sequence[Verdict]) -> dict[str, tuple[Rate, Rate]]:
    kinds = sorted({one.case.statement.kind for one in ones})
    return {
        kind: (at_least(_count(of, admitted), len(of)), at_least(_count(of, admitted_whole), len(of)))
        for kind in kinds
        for of in ([one for one in ones if one.case.statement.kind == kind],)
    }


def _false(ones: Sequence[Verdict]) -> dict[str, tuple[Rate, Rate, Rate]]:
    return {
        name: (
            at_most(_count(of, admitted_whole), len(of)),
            at_most(_count(of, still_says), len(of)),
            at_most(_count(of, admitted), len(of)),
        )
        for name in ("false", *TYPES)
        for of in ([one for one in ones if one.case.type == name],)
    }


def _before(true: Mapping[str, Sequence[Verdict]], prose: Sequence[Verdict]) -> dict[str, Rate]:
    """What the rule of before admitted: of the true by setting, of the false by type with annotations as derived."""
    found = {
        f"recall {setting}": at_least(_count(ones, lambda one: one.before), len(ones)) for setting, ones in true.items()
    }
    for name in ("false", *TYPES):
        of = [one for one in prose if one.case.type == name and one.case.setting == "derived"]
        found[name] = at_most(_count(of, lambda one: one.before), len(of))
    return found


def _absences(ones: Sequence[Verdict]) -> Counter[str]:
    return Counter(
        each.reason or each.outcome
        for one in ones
        if not admitted(one)
        for each in one.seen
        if each.outcome != "corroborates"
    )


# ---------------------------------------------------------------- goals


def goals(found: Figures, quick: bool, look_p95: float | None = None) -> list[Goal]:
    """The goals of docs/checks.md; of a sample only those that no sample excuses."""
    rates = found.rates
    rendered, whole, part, denied = (rates[f"{name}_false"] for name in ("rendered", "whole", "part", "denials"))
    no_rendered = rendered.value == 0 and (quick or rendered.cases >= LEAST_RENDERED)
    no_denied = denied.value == 0 and (quick or denied.cases >= LEAST_DENIALS)
    made = [
        Goal("rendered_false", f"0 of at least {LEAST_RENDERED:,}", no_rendered, _said(rendered)),
        Goal("whole_false", "at most 1 %, bound 2 %, in every setting", _rare(whole, quick), _said(whole)),
        Goal("part_false", "at most 1 %, in every setting", quick or part.value <= 0.01, _said(part)),
        Goal("denials_false", f"0 of at least {LEAST_DENIALS}", no_denied, _said(denied)),
    ]
    if quick:
        return made
    fewest = min(
        rate[0].cases for setting in SETTINGS for name, rate in found.false[setting].items() if name != "false"
    )
    made.append(Goal("cases of each type", f"at least {LEAST_OF_A_TYPE}", fewest >= LEAST_OF_A_TYPE, str(fewest)))
    for name, least in RECALLS.items():
        made.append(Goal(name, f"at least {least:.0%}", rates[name].value >= least, _said(rates[name])))
    if look_p95 is not None:
        made.append(Goal("look_ms", "p95 under 20 ms", look_p95 < 20, f"{look_p95:.1f} ms"))
    return made


def _rare(rate: Rate, quick: bool) -> bool:
    return quick or (rate.value <= 0.01 and rate.bound <= 0.02 and rate.cases >= LEAST_FALSE)


def _said(rate: Rate) -> str:
    return f"{rate.value:.2%} of {rate.cases:,} (bound {rate.bound:.2%})"


def fallen(found: Figures, stored: Mapping[str, Any]) -> list[str]:
    """The recalls that are lower than what is stored."""
    names = [name for name in found.rates if name.startswith(("recall_", "whole_with", "whole_derived", "whole_bare"))]
    return [name for name in names if name in stored and _written(found.rates[name])["value"] < stored[name]["value"]]


def document(found: Figures) -> dict[str, Any]:
    """As `yield.json` has them."""
    return {
        **{name: _written(rate) for name, rate in found.rates.items()},
        "by_kind": {
            setting: {kind: {"part": _written(part), "whole": _written(whole)} for kind, (part, whole) in kinds.items()}
            for setting, kinds in found.recall.items()
        },
        "by_type": {
            setting: {
                name: {"whole": _written(whole), "part": _written(part), "any": _written(any_)}
                for name, (whole, part, any_) in types.items()
            }
            for setting, types in found.false.items()
        },
        "before": {name: _written(rate) for name, rate in found.before.items()},
        "absent": {setting: dict(counts.most_common()) for setting, counts in found.absent.items()},
        "not_admitted": {setting: dict(counts.most_common()) for setting, counts in found.statuses.items()},
    }


def shipped(content: Mapping[str, Any]) -> dict[str, Any]:
    """What the distribution has of `yield.json`: how much of what is true is admitted, and how much of what is false.

    Args:
        content: of `yield.json`.
    """
    recall = {name: content[f"recall_{name}"]["value"] for name in ("bare", "derived", "with_checks")}
    false = {"cases": content["whole_false"]["cases"], "value": content["whole_false"]["value"]}
    return {"at": content["at"], "cases": content["recall_with_checks"]["cases"], "recall": recall, "false": false}


def _written(rate: Rate) -> dict[str, Any]:
    return {"value": round(rate.value, 6), "cases": rate.cases, "bound": round(rate.bound, 6)}
