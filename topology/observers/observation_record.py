"""What came of a look, as the record that lanes read (docs/reference/records.md).

An observation repeats nothing but what is known: the assertion's own checks and words, a reason of ours, where it was
looked, the members of a locator that its class knows. Of credentials not even what was declared
(`unix_peercred.fit_to_show`), and of a peer not why a check does not hold.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from ...codecs.canonical import CanonicalError
from ...codecs.identifiers import Span, digest_of
from ...codecs.records import (
    MAX_CHECK_LENGTH,
    MAX_UNCHECKED,
    Annotation,
    Assertion,
    CheckForm,
    Emission,
    Locator,
    LookedAt,
    Observation,
    Subject,
)
from ...codecs.signatures import Signing, domain_of, signed
from ...codecs.times import format_time
from ...streams.judging.checks import Check, Held, Unknown, canonical
from ...streams.judging.coverage import Coverage
from ...streams.policy.privacy import IDENTITY_BOUND
from ..engine.signing import load_signer
from ..settings.settings import Settings
from .ask import Finding
from .roots import MAX_PATH
from .unix_peercred import fit_to_show

GIT_LOG: Final = "substrate.git.log"
GREP: Final = "substrate.grep"
CODE_READ: Final = "substrate.code.read"
FS_MTIME: Final = "substrate.fs.mtime"
_COMMON: Final[dict[str, tuple[type, ...]]] = {"path": (str,), "repo": (str,)}
_PAST: Final[dict[str, tuple[type, ...]]] = {"ref": (str,), "commit": (str,)}
LOCATORS: Final[dict[str, dict[str, tuple[type, ...]]]] = {
    GIT_LOG: {**_COMMON, **_PAST},
    GREP: {
        "pattern": (str,),
        "regex": (bool, str),
        "lines": (list, str, int),
        "context": (int,),
        **_COMMON,
        **_PAST,
    },
    CODE_READ: {"lines": (list, str, int), "offset": (int,), "limit": (int,), **_COMMON, **_PAST},
    FS_MTIME: _COMMON,
}
"""The classes that are observed below the root, and the members of a locator that each of them knows."""

MAX_SHOWN: Final = 200
"""Characters of a word that an observation shows; its text is a stranger's, and an observation has to stay small."""
MAX_UNDER: Final = 5
"""Conditions around what holds that an observation shows."""
MAX_CHECK_SHOWN: Final = 2 * MAX_CHECK_LENGTH
"""Characters of a check that it shows: of a declared one all, however its canonical form escapes them."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def observation(
    emission: Emission,
    assertion: Assertion,
    annotation: Annotation,
    name: str,
    finding: Finding,
    observer: str,
    at: int,
    locator: Locator | None = None,
    checks: Sequence[Check | Unknown] = (),
    judge: str | None = None,
    form: CheckForm = "declared",
    public: bool = False,
) -> Observation:
    """The record of one look (docs/reference/records.md).

    Args:
        emission: what was looked at for.
        assertion: the one.
        annotation: of the assertion.
        name: the bare class.
        finding: what came of it.
        observer: who looked.
        at: when the look began, or what it tells was seen, in Unix milliseconds.
        locator: the members of the annotation's locator that may be repeated.
        checks: that the finding's `judged` speaks of.
        judge: who decided, where not the built-in checks.
        form: where the checks come from.
        public: the line that stands there instead may be told.
    """
    declared = fit_to_show(annotation.declared_id)
    judged, opinion = finding.judged, finding.opinion
    verified = None if judged is None else list(judged.verified)
    coverage = None if judged is None else judged.coverage
    if opinion is not None:
        # Of an assertion without checks a judge speaks as a whole.
        verified = None if opinion.coverage is None else list(opinion.verified)
        coverage = opinion.coverage
    return Observation(
        observation_id=finding.seen or declared or f"none:{name}",
        substrate_class=name,
        observed_at=format_time(at),
        observer=observer,
        subject=Subject(emission.emission_id, assertion.span or Span(path=""), emission.attempt),
        outcome=finding.outcome,
        tier="identity-bound" if name in IDENTITY_BOUND else "pseudonymous",
        locator=locator or None,
        detail=_detail(finding, checks, name in IDENTITY_BOUND, form, public),
        verified=verified,
        refuted=None if judged is None else list(judged.refuted),
        coverage=None if coverage is None else coverage.level,
        unchecked=None if coverage is None else _spans(coverage),
        coverage_by=None if coverage is None or coverage.level != "whole" else coverage.by or None,
        looked_at=_shown_place(finding.looked_at),
        judge=judge,
        confidence=1.0 if opinion is None else opinion.score,
    )


def _detail(
    finding: Finding, checks: Sequence[Check | Unknown], bound: bool, form: CheckForm, public: bool
) -> dict[str, Any]:
    detail: dict[str, Any] = {}
    if finding.judged is not None and checks:
        helds, by = finding.judged.helds, {"by": "form"} if form == "claim" else {}
        detail["checks"] = [
            _shown_check(one, held, bound) | by | _found(held, public and not bound)
            for one, held in zip(checks, helds, strict=True)
        ]
    if finding.presence is not None:
        detail["found"] = [_shown(text) for text in finding.presence.found]
        detail["missing"] = [_shown(text) for text in finding.presence.missing]
    if finding.reason is not None:
        detail["reason"] = _shown(finding.reason)
    return detail


def _shown_check(check: Check | Unknown, held: Held, bound: bool) -> dict[str, Any]:
    """One check and what it came to; of a check on an identity only whether it holds."""
    if isinstance(check, Unknown):
        text = _shown(check.text)
    else:
        text = canonical(check)
        text = text if len(text) <= MAX_CHECK_SHOWN else _shown(text)
    shown: dict[str, Any] = {"check": text, "holds": held.holds}
    if bound:
        return shown
    if held.reason is not None:
        shown["reason"] = held.reason
    path = None if held.path is None else shown_path(held.path)
    if path is not None:
        shown["path"] = path
    if held.lines is not None:
        shown["lines"] = list(held.lines)
    if held.commit is not None:
        shown["commit"] = held.commit
    if held.under:
        shown["under"] = [_shown(text) for text in held.under[:MAX_UNDER]]
    return shown


def _found(held: Held, public: bool) -> dict[str, str]:
    """The line that stands there instead, where the operator says that it may be told: else checks would read a file
    line by line."""
    return {"found": _shown(held.found)} if public and held.holds is not True and held.found else {}


def _spans(coverage: Coverage) -> list[tuple[int, int]]:
    spans = list(coverage.unchecked)
    return spans if len(spans) <= MAX_UNCHECKED else [(spans[0][0], spans[-1][1])]


def _shown_place(place: LookedAt | None) -> LookedAt | None:
    return place if place is None or place.path is None else replace(place, path=shown_path(place.path))


def shown_path(path: str) -> str | None:
    """A path as a record holds it: bytes that are no UTF-8 replaced; None for one that is too long."""
    shown = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return shown if len(shown) <= MAX_PATH else None


def written(one: Observation, signing: Signing | None = None, record: bytes | None = None) -> dict[str, Any]:
    """The JSON-ready form of an observation; `subject.attempt` is always written (docs/reference/records.md).

    Args:
        one: what was seen.
        signing: who signs it; None leaves it unsigned.
        record: the value of the record that was looked at: what is written names it, and counts for no other. None
            where nobody else can have written another.
    """
    form: dict[str, Any] = msgspec.to_builtins(one)
    form["subject"]["attempt"] = one.subject.attempt
    if record is not None:
        form["subject"]["digest"] = digest_of(record)
    if signing is None:
        return form
    domain = domain_of("observations", signing.origin)
    try:
        return signed(form, signing.signer, domain)
    except CanonicalError:
        # A stranger's locator may hold what RFC 8785 cannot say, such as 2^60. What was seen must not go with it.
        del form["locator"]
        return signed(form, signing.signer, domain)


def signing_of(settings: Settings) -> Signing | None:
    """What signs our observations, for which deployment; None where no key is set.

    Raises:
        UsageError: the file of `observer_key` cannot be read, or holds no private key.
    """
    if settings.observer_key is None:
        return None
    return Signing(load_signer(Path(settings.observer_key)), settings.origin)


def known_members(name: str, locator: Locator | None) -> Locator | None:
    """The members of a locator that the class knows, in the form it knows: nothing else is repeated."""
    if not locator:
        return None
    known = LOCATORS.get(name, {})
    kept = {key: value for key, value in locator.items() if key in known and isinstance(value, known[key])}
    return kept if kept and len(msgspec.json.encode(kept)) <= 16_384 else None


def _shown(text: str) -> str:
    text = _CONTROL.sub("\ufffd", text)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"
