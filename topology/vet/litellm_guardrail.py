"""LiteLLM's `CustomGuardrail` that vets answers before a client sees them: in the proxy, and in a program.

    guardrails:
      - guardrail_name: sluice
        litellm_params:
          guardrail: sluice.topology.vet.litellm_guardrail.SluiceGuardrail
          mode: post_call
          root: /srv/checkout

An answer is vetted with the calls whose results stand in the request's messages. In a stream nothing is passed on
before all of it was vetted. What goes wrong here follows the setting `late`, and never breaks a request.
"""

# pyright: basic, reportMissingImports=false
# LiteLLM is not in the ordinary environment (make test-adapters).

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Sequence
from functools import partial
from typing import Any, Final

from ...codecs.errors import UsageError
from ...record.adapters.live import missing

try:
    from litellm.exceptions import GuardrailRaisedException
    from litellm.integrations.custom_guardrail import CustomGuardrail
    from litellm.main import stream_chunk_builder
    from litellm.types.guardrails import GuardrailEventHooks
except ImportError as error:
    raise missing("LiteLLM", "litellm", error) from None

from ...record import ToolMap
from ...record.adapters.messages import calls_of
from ...streams.policy.policy_toml import load_policy
from ..settings.files import open_plain
from .answering import (
    BUDGET_SECONDS,
    FAILED,
    AnswerVetter,
    Outcome,
    Reply,
    Vetted,
    disarmed,
    is_unread,
    marked,
    outcome_of,
    replies_of,
    rules_of,
)
from .vetting import VETTING_POLICY

MOST_CHUNKS: Final = 200_000
"""Pieces of a stream that are kept until it was vetted."""

_log = logging.getLogger("sluice.vet")


class SluiceGuardrail(CustomGuardrail):
    """Withholds or marks answers that observers contradict, or that nothing bears out.

    Args:
        root: the checkout that answers are about; that of the current directory where it is left out.
        contradicted: `withhold` (default), `mark` or `pass`: what is done with an answer in which observers
            contradict a statement.
        unsupported: the same for one in which nothing that was looked at bears out a statement; default `pass`.
        late: the same for one that could not be vetted in time, or at all; default `pass`.
        budget: seconds for one answer.
        policy: a policy file; the one of `sluice vet` where it is left out.
        tools: a TOML file that says which of your tools looked where (docs/recording.md).
        more: LiteLLM's own arguments, such as `guardrail_name`, `event_hook` and `default_on`.

    Raises:
        UsageError: a setting is none, or a file cannot be read.
        UnreachableError: the root is not there.
    """

    def __init__(
        self,
        *,
        root: str | None = None,
        contradicted: str = "withhold",
        unsupported: str = "pass",
        late: str = "pass",
        budget: float = BUDGET_SECONDS,
        policy: str | None = None,
        tools: str | None = None,
        **more: Any,
    ) -> None:
        more.setdefault("guardrail_name", "sluice")
        super().__init__(supported_event_hooks=[GuardrailEventHooks.post_call], **more)
        self._rules = rules_of(contradicted, unsupported, late)
        self._vetter = AnswerVetter(
            root,
            VETTING_POLICY if policy is None else load_policy(_text_of(policy), policy),
            None if tools is None else ToolMap.from_toml(_text_of(tools), tools),
            budget=float(budget),
        )

    def vetted(self, response: Any, messages: Sequence[Any] = ()) -> Any:
        """The response of `litellm.completion`, as its reader may see it; the same object, rewritten where it must be.

        Args:
            response: whole, not a stream.
            messages: of the request, with the results of tools.
        """
        calls = partial(calls_of, messages)
        for reply in self._replies(response):
            self._apply(reply, self._vetter.vet(reply.text, calls))
        return response

    async def avetted(self, response: Any, messages: Sequence[Any] = ()) -> Any:
        """As `vetted`; other tasks run meanwhile."""
        calls = partial(calls_of, messages)
        for reply in self._replies(response):
            self._apply(reply, await self._vetter.avet(reply.text, calls))
        return response

    async def avetted_stream(
        self, stream: Any, messages: Sequence[Any] = (), data: dict[str, Any] | None = None
    ) -> AsyncGenerator[Any, None]:
        """The chunks of a stream, as its reader may see them: the first one comes when all of it was vetted.

        Args:
            stream: of `litellm.acompletion(…, stream=True)`, or one that the proxy hands on.
            messages: of the request, with the results of tools.
            data: the proxy's request, for its logs.

        Raises:
            GuardrailRaisedException: what must be withheld cannot be written in the stream's form.
        """
        chunks: list[Any] = []
        async for chunk in stream:
            chunks.append(chunk)
            if len(chunks) > MOST_CHUNKS:
                raise self._refusal("[sluice withheld this answer: it has too many pieces.]")
        began = time.time()
        whole, again = _assembled(chunks, messages)
        replies = self._replies(whole) if whole is not None else []
        if whole is None and self._rules.late != "pass":
            raise self._refusal(f"[sluice withheld this answer: {FAILED}.]")
        changed = False
        calls = partial(calls_of, messages)
        for reply in replies:
            outcome = self._apply(reply, await self._vetter.avet(reply.text, calls))
            changed = changed or outcome.action != "pass" or disarmed(reply.text) != reply.text
            if data is not None:
                self._note(data, outcome, began)
            if changed and again is None:
                raise self._refusal(outcome.sentence or f"[sluice withheld this answer: {FAILED}.]")
        if not changed:
            for chunk in chunks:
                yield chunk
            return
        async for chunk in again(whole):
            yield chunk

    async def async_post_call_success_hook(self, data: dict[str, Any], user_api_key_dict: Any, response: Any) -> Any:
        """See LiteLLM: of the proxy, for answers that are not streamed."""
        began = time.time()
        calls = partial(calls_of, _messages(data))
        for reply in self._replies(response):
            outcome = self._apply(reply, await self._vetter.avet(reply.text, calls))
            self._note(data, outcome, began)
        return response

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncGenerator[Any, None]:
        """See LiteLLM: of the proxy, for streams."""
        async for chunk in self.avetted_stream(response, _messages(request_data), request_data):
            yield chunk

    async def async_post_call_success_deployment_hook(
        self, request_data: dict[str, Any], response: Any, call_type: Any
    ) -> Any:
        """See LiteLLM: of `litellm.acompletion` in a program that names this guardrail, or has it on by default."""
        if request_data.get("proxy_server_request") is not None:
            return None  # the proxy calls its own hook, too
        if not self.should_run_guardrail(data=request_data, event_type=GuardrailEventHooks.post_call):
            return None
        return await self.avetted(response, _messages(request_data))

    def _replies(self, response: Any) -> list[Reply]:
        """The answers of a response.

        Raises:
            GuardrailRaisedException: it has a form that is not read, and what was not vetted does not pass.
        """
        if is_unread(response):
            _log.warning("sluice: a response has a form that is not read: it was not vetted")
            if self._rules.late != "pass":
                raise self._refusal(f"[sluice withheld this answer: {FAILED}.]")
        return replies_of(response)

    def _apply(self, reply: Reply, vetted: Vetted) -> Outcome:
        outcome = outcome_of(vetted, self._rules)
        text = marked(reply.text, outcome)
        if text != reply.text:
            reply.write(text, outcome.action == "withhold")
        return outcome

    def _note(self, data: dict[str, Any], outcome: Outcome, began: float) -> None:
        """Tells LiteLLM's logs what was done: numbers alone."""
        ended = time.time()
        try:
            self.add_standard_logging_guardrail_information_to_request_data(
                guardrail_json_response={
                    "action": outcome.action,
                    "statements": outcome.statements,
                    "contradicted": list(outcome.contradicted),
                    "unsupported": list(outcome.unsupported),
                },
                request_data=data,
                guardrail_status=(
                    "guardrail_failed_to_respond"
                    if not outcome.vetted
                    else "success"
                    if outcome.action == "pass"
                    else "guardrail_intervened"
                ),
                start_time=began,
                end_time=ended,
                duration=ended - began,
            )
        except Exception as error:  # noqa: BLE001 - an answer does not fail for its log
            _log.warning("sluice: LiteLLM does not log what the guardrail did: %s", type(error).__name__)

    def _refusal(self, sentence: str) -> Exception:
        return GuardrailRaisedException(guardrail_name=self.guardrail_name, message=sentence)


def _messages(data: dict[str, Any]) -> list[Any]:
    found = data.get("messages") or data.get("input")
    return found if isinstance(found, list) else []


def _assembled(chunks: list[Any], messages: Sequence[Any]) -> tuple[Any, Any]:
    """The whole response of a stream, and what makes a stream of it again; None for what cannot be made."""
    try:
        if any(isinstance(one, (bytes, str)) for one in chunks):
            from litellm.proxy.guardrails.anthropic_sse import (
                anthropic_sse_chunks_from_response,
                assemble_anthropic_sse_stream,
            )

            whole = assemble_anthropic_sse_stream(chunks, restore_identity=True)
            return whole, lambda answer: _each(anthropic_sse_chunks_from_response(answer))
        completed = [getattr(one, "response", None) for one in chunks if getattr(one, "type", "") == _COMPLETED]
        if completed:
            return completed[-1], None
        from litellm.llms.base_llm.base_model_iterator import MockResponseIterator

        return stream_chunk_builder(chunks=chunks, messages=list(messages)), MockResponseIterator
    except Exception as error:  # noqa: BLE001 - a stream that nobody can read was not vetted
        _log.warning("sluice: a stream could not be read: %s", type(error).__name__)
        return None, None


_COMPLETED: Final = "response.completed"


async def _each(chunks: Sequence[Any]) -> AsyncGenerator[Any, None]:
    for chunk in chunks:
        yield chunk


def _text_of(path: str) -> str:
    try:
        with open_plain(path) as file:
            return file.read().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"the file cannot be read: {why}", path=path) from None
