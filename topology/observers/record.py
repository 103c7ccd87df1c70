"""What came of a look, as the record that lanes read (records.md).

An observation repeats nothing but what is known: terms of the assertion, a reason of ours, the members of a locator
that its class knows. Of credentials not even what was declared (`unix_peercred.fit_to_show`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

from ...codecs.canonical import CanonicalError
from ...codecs.notes import Signer
from ...codecs.records import Annotation, Assertion, Emission, Locator, Observation, Subject
from ...codecs.signatures import signed
from ...codecs.spans import Span
from ...codecs.times import format_time
from ...streams.privacy import IDENTITY_BOUND
from ..settings import Settings
from ..signing import load_signer
from .ask import Finding
from .unix_peercred import fit_to_show

GIT_LOG: Final = "substrate.git.log"
GREP: Final = "substrate.grep"
CODE_READ: Final = "substrate.code.read"
FS_MTIME: Final = "substrate.fs.mtime"
LOCATORS: Final[dict[str, dict[str, tuple[type, ...]]]] = {
    GIT_LOG: {"ref": (str,), "path": (str,), "commit": (str,)},
    GREP: {"pattern": (str,), "regex": (bool, str), "path": (str,), "lines": (list, str, int)},
    CODE_READ: {"path": (str,), "lines": (list, str, int)},
    FS_MTIME: {"path": (str,)},
}
"""The classes that are observed below the root, and the members of a locator that each of them knows."""

MAX_SHOWN: Final = 200
"""Characters of a term that an observation shows; its text is a stranger's, and an observation has to stay small."""


def observation(
    emission: Emission,
    assertion: Assertion,
    annotation: Annotation,
    name: str,
    finding: Finding,
    observer: str,
    at: int,
    locator: Locator | None = None,
) -> Observation:
    """The record of one look (records.md).

    Args:
        emission: what was looked at for.
        assertion: the one.
        annotation: of the assertion.
        name: the bare class.
        finding: what came of it.
        observer: who looked.
        at: when the look began, or what it tells was seen, in Unix milliseconds.
        locator: the members of the annotation's locator that may be repeated.
    """
    detail: dict[str, Any] = {
        "found": [_shown(text) for text in finding.presence.found],
        "missing": [_shown(text) for text in finding.presence.missing],
    }
    if finding.reason is not None:
        detail["reason"] = _shown(finding.reason)
    declared = fit_to_show(annotation.observation_id)
    return Observation(
        observation_id=finding.seen or declared or f"none:{name}",
        substrate_class=name,
        observed_at=format_time(at),
        observer=observer,
        subject=Subject(emission.emission_id, assertion.span or Span(path=""), emission.attempt),
        outcome=finding.outcome,
        tier="identity-bound" if name in IDENTITY_BOUND else "pseudonymous",
        locator=locator or None,
        detail=detail,
    )


def written(one: Observation, signer: Signer | None = None) -> dict[str, Any]:
    """The JSON-ready form of an observation; `subject.attempt` is always written (records.md).

    Args:
        one: what was seen.
        signer: who signs it; None leaves it unsigned.
    """
    form: dict[str, Any] = msgspec.to_builtins(one)
    form["subject"]["attempt"] = one.subject.attempt
    if signer is None:
        return form
    try:
        return signed(form, signer)
    except CanonicalError:
        # A stranger's locator may hold what RFC 8785 cannot say, such as 2^60. What was seen must not go with it.
        del form["locator"]
        return signed(form, signer)


def signer_of(settings: Settings) -> Signer | None:
    """Who signs our observations; None where no key is set.

    Raises:
        UsageError: the file of `observer_key` cannot be read, or holds no private key.
    """
    return None if settings.observer_key is None else load_signer(Path(settings.observer_key))


def known_members(name: str, locator: Locator | None) -> Locator | None:
    """The members of a locator that the class knows, in the form it knows: nothing else is repeated."""
    if not locator:
        return None
    known = LOCATORS.get(name, {})
    kept = {key: value for key, value in locator.items() if key in known and isinstance(value, known[key])}
    return kept if kept and len(msgspec.json.encode(kept)) <= 16_384 else None


def _shown(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"
