"""Emissions written piece by piece: text and assertions, with the spans counted for the caller.

Spans are in Unicode code points and half open (docs/reference/records.md); who counts them by hand, or in UTF-16 units,
gets them wrong for the first emoji. Nothing is decided or checked here: the lanes' own decoders do that before a draft
is sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ...codecs.identifiers import Span
from ...codecs.records import Annotation, AnyStep, Assertion, Cites, Effect, Emitter, Kind


def annotation(
    substrate_class: str, observation_id: str | None = None, ts: str | int | None = None, **locator: Any
) -> Annotation:
    """What a model claims to have consulted [S §6]. A claim, never evidence.

    Args:
        substrate_class: such as `substrate.code.read`, or a terminal.
        observation_id: of what was seen.
        ts: when, RFC 3339 with a Z or Unix milliseconds.
        locator: where to look (observing.md): `path="CHANGELOG.md", lines=[1, 40]`.
    """
    return Annotation(substrate_class, observation_id, ts, locator or None)


class Draft:
    """An emission in the making. Each method but `build` returns the draft, so that calls can stand in a row.

    >>> draft = Draft("em-1", system="release-notes-bot")
    >>> draft = draft.text("🎉 News:").say("It is out.", annotation("substrate.git.log"))
    >>> draft.build()["assertions"][0]["span"]
    {'chars': [8, 18]}

    Args:
        emission_id: also the key; a re-emission keeps it.
        system, model, prompt: who emits.
        effect: `internal` or `external`; it can only raise what the policy gives the emitter.
        attempt: counts re-emissions from 0.
        emitted_at: where it is left out, the emitter fills in the present time.
    """

    def __init__(
        self,
        emission_id: str,
        *,
        system: str | None = None,
        model: str | None = None,
        prompt: str | None = None,
        effect: Effect = "internal",
        attempt: int = 0,
        emitted_at: str | int | None = None,
    ) -> None:
        self._fields: dict[str, Any] = {"emission_id": emission_id}
        if emitted_at is not None:
            self._fields["emitted_at"] = emitted_at
        emitter = msgspec.to_builtins(Emitter(system, model, prompt))
        self._fields |= {"emitter": emitter} if emitter else {}
        self._fields |= {"effect": effect} if effect != "internal" else {}
        self._fields |= {"attempt": attempt} if attempt else {}
        self._text = ""
        self._assertions: list[dict[str, Any]] = []
        self._contexts: dict[str, str] = {}

    def text(self, text: str) -> Draft:
        """Adds text that asserts nothing; one space parts it from what stands before it."""
        self._text += f" {text}" if self._text and not self._text[-1].isspace() else text
        return self

    def say(
        self,
        text: str,
        *provenance: Annotation,
        checks: Sequence[str] = (),
        kind: Kind = "assertion",
        effect: Effect | None = None,
        grounded: bool | None = None,
        confidence: float | None = None,
        chain: list[AnyStep] | None = None,
        cites: str | None = None,
        strictly: bool = False,
    ) -> Draft:
        """Adds an assertion: its text, and what its maker claims to have consulted for it.

        Args:
            text: of the assertion; its span covers all of it.
            provenance: none of them makes it *unannotated*.
            checks: what must hold for it to hold, such as `equals(MAX_RETRIES, 5, path=limits.py)`: what observers can
                verify, and so what is admitted of it.
            kind: `assertion`, `denial` or `refusal`.
            effect, grounded, confidence, chain: as in docs/reference/records.md.
            cites: the name of a context; `strictly`: whether its quotes must stand there verbatim [C §4].
        """
        self.text(text)
        end = len(self._text)
        assertion = Assertion(
            span=Span(chars=(end - len(text), end)),
            kind=kind,
            provenance=list(provenance) or None,
            effect=effect,
            grounded=grounded,
            confidence=confidence,
            chain=chain,
            cites=None if cites is None else Cites(cites, strictly),
            checks=list(checks) or None,
        )
        self._assertions.append(msgspec.json.decode(msgspec.json.encode(assertion)))
        return self

    def context(self, name: str, text: str) -> Draft:
        """Adds a context that assertions cite."""
        self._contexts[name] = text
        return self

    def build(self) -> dict[str, Any]:
        """The emission, JSON-ready."""
        more: dict[str, Any] = {"contexts": dict(self._contexts)} if self._contexts else {}
        return {**self._fields, "text": self._text, "assertions": list(self._assertions), **more}
