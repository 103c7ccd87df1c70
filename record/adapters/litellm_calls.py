"""LiteLLM's model calls, as emissions: what the answer says, annotated by the calls whose results the model was given.

LiteLLM reports single model calls. The program that called the model also called the tools, so calls and results are
read from the messages; those of a conversation are recorded once. Nothing here needs LiteLLM.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, cast

from ..naming import counted
from ..recorder import Recorder
from ..transcripts.foreign_json import items, members, text
from .known_calls import KnownCalls
from .live import live
from .messages import answers_of, calls_of, size_of

REDACTED: Final = "redacted-by-litellm"
"""What LiteLLM puts where messages are not to be logged."""
MOST_NUMBERS: Final = 10_000


class ModelCalls:
    """Records model calls that have ended. Any thread may call; nobody waits.

    Attributes:
        failed_calls: model calls that LiteLLM told to have failed; they have no answer.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.failed_calls = 0
        self._live = live(recorder)
        self._recorder = recorder
        self._known = KnownCalls()
        self._seen: OrderedDict[str, int] = OrderedDict()

    @property
    def failures(self) -> int:
        """How much could not be recorded."""
        return self._live.failures

    def flush(self, seconds: float = 30.0) -> bool:
        """Waits until everything so far is recorded; whether it was."""
        return self._live.flush(seconds)

    def ended(self, kwargs: object, response: object, at: object = None) -> None:
        """A model call has ended well, or with `response` None; see LiteLLM's `CustomLogger`.

        Args:
            kwargs: of the logging callback.
            response: whole, also where it was streamed.
            at: when it ended.
        """
        try:
            given = cast("Mapping[str, Any]", kwargs)
            messages: list[object] = list(items(given.get("messages")) or items(given.get("input")))
            self._live.do(self._record, given, messages, response, at, size=size_of(messages))
            self.failed_calls += response is None
        except Exception as error:  # noqa: BLE001 - the host program goes on, whatever happens here
            self._live.failed("a model call is not recorded", error)

    def _record(self, given: Mapping[str, Any], messages: list[object], response: object, at: object) -> None:
        conversation, name = _conversation(given), text(given.get("litellm_call_id"))
        if name is not None and response is not None and counted(self._seen, name, MOST_NUMBERS):
            return  # told of as a synchronous call, and as an asynchronous one
        calls = self._known.new(conversation, calls_of(messages))
        answers = answers_of(response)
        self._recorder.reading.not_understood += answers.count(REDACTED)
        answers = [one for one in answers if one != REDACTED]
        if not calls and not answers:
            return
        ended = at.astimezone() if isinstance(at, datetime) else None
        for place, answer in enumerate(answers or [""]):
            number = None if name is None else name if not place else f"{name}~{place}"
            turn = self._recorder.turn(conversation, number)
            for call in calls if not place else ():
                turn.call(call)
            if answer:
                turn.said(answer, ended)
            turn.end()


def _conversation(given: Mapping[str, Any]) -> str:
    """The session that the caller named, else the trace that LiteLLM made up for this call."""
    parameters = members(given.get("litellm_params"))
    for metadata in (parameters.get("metadata"), parameters.get("litellm_metadata")):
        if (named := text(members(metadata).get("session_id"))) is not None:
            return named
    logged = text(members(given.get("standard_logging_object")).get("trace_id"))
    return logged or text(given.get("litellm_trace_id")) or text(given.get("litellm_call_id")) or "litellm"
