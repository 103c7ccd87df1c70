"""The programs and the configuration in docs/adapters.md run as they stand there."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from model_provider import ANSWER, WRONG, Provider

PAGE = (Path(__file__).parents[2] / "docs" / "adapters.md").read_text("utf-8")
SAID = "The number of `MAX_RETRIES` is 5."
WITHHELD = "[sluice withheld this answer: observers contradict statement 1, the only one in this answer.]"


def blocks(language: str) -> list[str]:
    """The blocks of the page that are no sessions of an interpreter."""
    found = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return [one for one in found if not one.startswith(">>>")]


def program(mark: str) -> str:
    (found,) = [one for one in blocks("python") if mark in one]
    return found


def run(text: str, checkout: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", text],
        cwd=checkout,
        env={**os.environ, "LITELLM_LOG": "CRITICAL", **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def recorded_emission(checkout: Path) -> dict[str, Any]:
    (line,) = (checkout / "emissions.jsonl").read_text().splitlines()
    return json.loads(line)


def demand(checkout: Path) -> None:
    """What each of the programs records."""
    found = recorded_emission(checkout)
    assert found["emission_id"].startswith("c-1:")
    assert found["text"] == SAID
    (assertion,) = found["assertions"]
    assert assertion["provenance"][0]["locator"]["path"] == "limits.py"


def test_the_page_has_these_programs() -> None:
    assert len(blocks("python")) == 5
    assert len(blocks("yaml")) == 1


def test_the_logger_records(checkout: Path) -> None:
    assert run(program("import logger"), checkout) == SAID + "\n"
    demand(checkout)


def test_the_guardrail_withholds_three_times(checkout: Path) -> None:
    assert run(program("avetted_stream"), checkout) == f"{WITHHELD}\n" * 3
    assert WITHHELD in blocks("text")[0]


def test_the_tracing_processor_records(checkout: Path, provider: Provider) -> None:
    """The program asks OpenAI; here its address is that of a provider on this machine."""
    call = {
        "id": "fc_1",
        "type": "function_call",
        "call_id": "call_1",
        "name": "read_source",
        "arguments": '{"path": "limits.py"}',
        "status": "completed",
    }
    content = [{"type": "output_text", "text": SAID, "annotations": []}]
    message = {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": content}
    for output in (call, message):
        provider.script(
            {
                "id": "resp_1",
                "object": "response",
                "created_at": 1,
                "status": "completed",
                "model": "m",
                "output": [output],
                "parallel_tool_calls": True,
                "tool_choice": "auto",
                "tools": [],
            }
        )
    assert run(program("tracing_processor"), checkout, OPENAI_BASE_URL=provider.url) == SAID + "\n"
    demand(checkout)


def test_the_callback_handler_records(checkout: Path) -> None:
    assert run(program("callback_handler"), checkout) == SAID + "\n"
    demand(checkout)


def test_the_middleware_records_after_the_change_that_the_page_tells(checkout: Path) -> None:
    first, second = program("import middleware").strip().splitlines()[0], program("import middleware").splitlines()[-1]
    text = program("callback_handler")
    text = text.replace("from sluice.record.adapters.langchain import callback_handler", first)
    text = text.replace("handler = callback_handler(Recorder(", "recorder = (Recorder(")
    text = text.replace("agent = create_agent(model, [read_source])", second)
    text = text.replace('"callbacks": [handler], ', "").replace("handler.flush()\n", "")
    assert run(text, checkout) == SAID + "\n"
    demand(checkout)


@pytest.mark.parametrize(("said", "shown"), [(ANSWER, ANSWER), (WRONG, WITHHELD)])
def test_the_proxy_withholds_by_the_configuration_of_the_page(
    checkout: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch, said: str, shown: str
) -> None:
    import litellm
    from litellm.proxy.proxy_server import app, initialize
    from starlette.testclient import TestClient

    monkeypatch.chdir(checkout)
    monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
    (checkout / "config.yaml").write_text(blocks("yaml")[0])
    message = {"role": "assistant", "content": said}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    provider.script({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})
    asyncio.run(initialize(config="config.yaml"))
    try:
        body = {"model": "docs-bot", "messages": [{"role": "user", "content": "?"}]}
        answer = TestClient(app).post("/v1/chat/completions", json=body)
    finally:
        litellm.logging_callback_manager._reset_all_callbacks()
        litellm.callbacks = []
    assert answer.status_code == 200, answer.text
    assert answer.json()["choices"][0]["message"]["content"] == shown
