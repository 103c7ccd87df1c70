"""For the tests of adapters: a recorder, and a provider of models on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from sluice.codecs.decode import assertion_text, decode_emission
from sluice.codecs.records import Emission
from sluice.record import MemorySink, Recorder, ToolMap
from sluice.streams.judging.claim_forms import checks_of

SOURCE = "MAX_RETRIES = 5\n\n\ndef retry():\n    return MAX_RETRIES\n"
ANSWER = "`MAX_RETRIES` is 5 in `limits.py`."
WRONG = "`MAX_RETRIES` is 7 in `limits.py`."
CHECK = "equals(MAX_RETRIES, 5, path=limits.py)"
TOOLS = """
[[tool]]
name = "read_source"
class = "substrate.code.read"
path = "path"
"""


class Recorded:
    """A recorder whose emissions stay in memory."""

    def __init__(self, root: str | None = None, streamed: bool = False) -> None:
        self.sink = MemorySink()
        self.recorder = Recorder("agent", self.sink, ToolMap.from_toml(TOOLS), root, streamed=streamed)

    @property
    def emissions(self) -> list[Emission]:
        found = [decode_emission(record.value) for record in self.sink.records]
        assert all(isinstance(one, Emission) for one in found), found
        return found  # type: ignore[return-value]

    @property
    def text(self) -> str:
        """All that was emitted, as bytes of records have it."""
        return "\n".join(record.value.decode() for record in self.sink.records)

    def checks(self) -> list[Any]:
        """The checks that observers read in every assertion that a call bears on."""
        return [
            list(checks_of(assertion_text(emission, one), one.kind, one.checks).checks) if one.annotations else []
            for emission in self.emissions
            for one in emission.assertions or ()
        ]


class Provider:
    """A provider of models on this machine: it gives the answers it was told, one after the other.

    Attributes:
        url: where it is.
        requests: what it was asked, as (path, body).
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, Any]] = []
        self._answers: list[Any] = []
        self._choose: Callable[[Any], Any] | None = None
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                provider.requests.append((self.path, body))
                answer = provider._choose(body) if provider._choose else provider._answers.pop(0)
                status = 200
                if isinstance(answer, int):
                    status, answer = answer, {"error": {"message": "no", "type": "bad"}}
                if isinstance(answer, list):  # events of a stream
                    kind = "text/event-stream"
                    data = "".join(
                        (f"event: {one['type']}\n" if "type" in one else "") + f"data: {json.dumps(one)}\n\n"
                        for one in answer
                    ).encode()
                else:
                    kind, data = "application/json", json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def script(self, *answers: Any) -> None:
        """What it answers next: objects, lists of events, or a status."""
        self._answers += answers

    def choose(self, by: Callable[[Any], Any]) -> None:
        """It answers what this makes of a request's body."""
        self._choose = by

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def response(*output: dict[str, Any], name: str = "resp_1") -> dict[str, Any]:
    """What the Responses API answers."""
    return {
        "id": name,
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "m",
        "output": list(output),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 1,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 1,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 2,
        },
    }


def said(text: str) -> dict[str, Any]:
    """A message of the model, as an item of such an answer."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content}
