"""What a call of a tool, a prompt or an agent contributes to a chain, and what each of them must keep [C §2].

| construct | its arguments | what it contributes |
| --- | --- | --- |
| tool, data has `grounded` | arrive plain | a `retrieval` step: a source; behind the chains of its arguments |
| tool of other data | arrive plain | a `derived` step with its data, if it is declared `Grounded`: no source |
| prompt | arrive plain | a `prompt-transform` step, behind the chains of its arguments: no source |
| agent | arrive as they are | an `agent-handoff` step, behind the chain of what it returns and what it discarded |

A parameter annotated `Grounded[…]` gets the wrapper, everywhere. What a severed argument asks of a tool says nothing
about what the tool finds, so a retrieval leaves such a chain out, and an agent passes it on only with a value that was
made of it; a prompt, whose answer is made of all that it gets, inherits it.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...codecs.records import AgentHandoff, AnyStep, Derived, PromptTransform, Retrieval
from ...codecs.times import format_time
from . import answers, citations, retrieval_clock, scope
from .answers import Answer, answer_of
from .boundaries import PURE, Boundary, Call
from .carrier import Cited, Parts, carries, carry, cited_by, parts
from .citations import Strictness
from .errors import MinConfidenceViolation, MissingDataCategory, PurityViolation, UngroundedReturn
from .provenance_chain import EMPTY, ProvenanceChain, merge
from .scope import Scope
from .value import Grounded, check_claim


class Tool(Boundary):
    """An external source, or an external computation."""

    def __init__(
        self, function: Callable[..., Any], data: Iterable[str] | str, confidence: float | None, source: str | None
    ) -> None:
        super().__init__(function, data, confidence)
        self.source = source
        for _, field, _, _ in string.Formatter().parse(source or ""):
            self.check_parameters("source", [re.split(r"[.\[]", field)[0]] if field is not None else [])

    def chain(self, call: Call, answer: Answer[Any], inner: Parts) -> ProvenanceChain | None:
        inherited = [one.chain for one in call.taken if not (self.grounded and one.chain.severed)]
        if not self.becomes_grounded(*inherited, inner.chain):
            return None
        confidence, data = answers.least(self.confidence, answer.confidence), list(self.data) or None
        if self.grounded:
            named = self.source.format_map(call.plain) if self.source else self.name
            step = Retrieval(
                confidence=confidence,
                data=data,
                source=answer.source or named,
                timestamp=format_time(retrieval_clock.present()),
                metadata=answers.as_json(answer.metadata),
            )
            return merge([*inherited, inner.chain]).then(step)
        chain = merge([*inherited, inner.chain])
        if not chain and not self.data:
            raise UngroundedReturn(self.name, "a plain value came back", 'give the tool data="grounded"')
        step = Derived(confidence=confidence, data=data, operator=self.name, left=list(chain))
        return EMPTY.then(step)


class Prompt(Boundary):
    """A call of a language model: a transform, never a source."""

    def __init__(
        self,
        function: Callable[..., Any],
        data: Iterable[str] | str,
        confidence: float | None,
        model: str,
        cites: Sequence[str] | str,
        strictly: Strictness,
    ) -> None:
        super().__init__(function, data, confidence)
        self.model = model
        self.strictly: Strictness = strictly
        self.cites = (cites,) if isinstance(cites, str) else tuple(cites)
        self.check_parameters("cites", self.cites)
        citations.check_strictness(self.name, strictly, self.cites)

    def chain(self, call: Call, answer: Answer[Any], inner: Parts) -> ProvenanceChain | None:
        if self.cites:
            citations.verify(self.name, " and ".join(self.cites), inner.value, self._contexts(call), self.strictly)
        inherited = merge([*(one.chain for one in call.taken), inner.chain])
        if not self.becomes_grounded(inherited):
            return None
        if not inherited:
            raise UngroundedReturn(self.name, "no argument has a source", "a prompt is a transform: give it a source")
        if inherited.severed:
            check_claim(self.name, inherited)
        step = PromptTransform(
            confidence=answers.least(self.confidence, answer.confidence),
            data=list(self.data) or None,
            prompt_name=self.name,
            model=answer.model or self.model,
            tokens=answer.tokens,
            mixed=call.mixed,
        )
        return inherited.then(step)

    def cited(self, call: Call, inner: Parts) -> Cited:
        """What it cites, if it cites anything; else what its arguments may quote from."""
        if self.cites:
            return Cited(self._contexts(call), self.strictly is True)
        return cited_by([inner, *call.taken])

    def _contexts(self, call: Call) -> tuple[str, ...]:
        return tuple(text for name in self.cites for text in citations.texts_of(call.plain.get(name)))


class Agent(Boundary):
    """A function that calls tools, prompts and other agents: its arguments arrive as they are."""

    unwraps = False

    def __init__(self, function: Callable[..., Any], data: Iterable[str] | str, min_confidence: float | None) -> None:
        super().__init__(function, data)
        answers.check_confidence("min_confidence", min_confidence)
        self.min_confidence = min_confidence

    @property
    def pure(self) -> bool:
        """Whether it stands under `@grounded_pure`."""
        return bool(getattr(self.function, PURE, False))

    def open_scope(self) -> Scope:
        """What it lets go comes into the chain; under `@grounded_pure` it calls only its like [C §9.4]."""
        if scope.current().pure and not self.pure:
            detail = f"{self.name} is called, which is not @grounded_pure"
            raise PurityViolation("impure-call", detail, scope.caller())
        return Scope(self.pure)

    def end(self, call: Call, result: Any) -> Any:
        answer = answer_of(result)
        inner, wrapped = parts(answer.value), carries(answer.value)
        if self.nothing(inner):
            return self._plain(call, None)
        # [C §2]: the sources of its arguments as well, but for those that were severed.
        sources = merge([*(one.chain for one in call.taken if not one.chain.severed), inner.chain])
        claims = self.grounded or self.declared.returns == "grounded"
        if claims and not inner.chain:
            raise UngroundedReturn(self.name, "its chain is empty" if wrapped else "it returns a plain value")
        if claims:
            check_claim(self.name, inner.chain)
        chain = sources.then(*call.scope.discards, self._handoff(call, answer, sources))
        if (claims or wrapped) and self.min_confidence is not None and chain.confidence < self.min_confidence:
            raise MinConfidenceViolation(self.name, chain.confidence, self.min_confidence)
        if not claims and wrapped and self.declared.returns == "plain":
            with scope.opened(call.scope):
                scope.record("return")  # the coercion that its author declared [C §9.3]
            return self._plain(call, inner.value)
        if not (claims or wrapped):
            return self._plain(call, answer.value)
        scope.current().data.update(call.scope.data)
        return carry(Grounded, inner.value, chain, inner.cited)

    def _handoff(self, call: Call, answer: Answer[Any], sources: ProvenanceChain) -> AnyStep:
        """The last step; it has the declared categories that only a plain result had shown [C §6]."""
        in_chain = sources.data
        had = in_chain | call.scope.data
        missing = [category for category in self.data if category not in had]
        if missing:
            raise MissingDataCategory(self.name, tuple(missing), tuple(sorted(had)))
        data = [category for category in self.data if category not in in_chain]
        return AgentHandoff(confidence=answers.least(answer.confidence), data=data or None, agent_name=self.name)

    def _plain(self, call: Call, value: Any) -> Any:
        """A plain result: whoever called learns what was let go."""
        outer = scope.current()
        outer.data |= call.scope.data
        outer.discards.extend(call.scope.discards)
        return value
