"""A real MCP server for the tests, written with the official SDK: `python mcp_server.py stdio|http PORT|KIND`.

The other kinds speak the protocol by hand, as far as they speak it at all, and misbehave. Each start appends a line to
the file that STARTS names, each call one to the file that CALLS names.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

BIG = 1 << 30


def note(variable: str, line: str) -> None:
    if os.environ.get(variable):
        with open(os.environ[variable], "a") as file:
            file.write(line + "\n")


def well_behaved() -> Any:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.shared.exceptions import MCPError
    from mcp_types import ToolAnnotations

    reads = ToolAnnotations(read_only_hint=True)
    server = MCPServer("tracker")

    @server.tool(annotations=reads)
    def brief(issue: int) -> dict[str, Any]:
        """What is known of an issue."""
        note("CALLS", f"brief {issue}")
        if issue == 99:
            raise ToolError("issue 99 not found")
        if issue == 98:
            raise MCPError(-32002, "Resource not found", {"uri": "issue:98"})
        if issue == 97:
            raise ToolError("the database is away: no such file: /srv/db")
        if issue == 96:
            raise MCPError(-32603, "token sk-secret is wrong")
        if issue == 95:
            time.sleep(60)
        if issue == 94:
            return {"big": "x" * 3_000_000}
        token = os.environ.get("TRACKER_TOKEN", "")
        return {"issue": issue, "status": "merged", "closed": "2026-05-25", "token": f"{token} end"}

    @server.tool(annotations=reads)
    def echo(text: str) -> str:
        """Says what it was told."""
        return f"You said: {text}"

    @server.tool()
    def delete(issue: int) -> str:
        """It changes something, and so is not marked."""
        note("CALLS", f"delete {issue}")
        return "deleted"

    return server


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def by_hand(kind: str) -> None:
    """Answers the handshake, then misbehaves on the first call; some misbehave at once."""
    if kind == "silent":
        time.sleep(600)
    if kind == "nonsense":
        while True:
            print("Listening on 8080 …", flush=True)
            time.sleep(0.001)
    if kind == "dead":
        sys.exit(1)
    for line in sys.stdin:
        asked = json.loads(line)
        if asked.get("method") == "initialize":
            info = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
            send({"id": asked["id"], "result": {**info, "serverInfo": {"name": "by-hand", "version": "1"}}})
        elif asked.get("method") == "tools/call":
            note("CALLS", kind)
            prompt = kind == "slow" and asked["params"]["arguments"] != {"issue": 95}
            misbehave("prompt" if prompt else kind, asked["id"])
        elif asked.get("method") == "tools/list":
            send({"id": asked["id"], "result": {"tools": []}})
        elif "id" in asked:
            send({"id": asked["id"], "error": {"code": -32601, "message": "no such method"}})
    time.sleep(600 if kind == "stubborn" else 0)


def misbehave(kind: str, number: Any) -> None:
    if kind == "dies":
        sys.exit(1)
    if kind == "huge":  # one line of 1 GB
        sys.stdout.write(f'{{"jsonrpc": "2.0", "id": {number}, "result": {{"content": [{{"type": "text", "text": "')
        for _ in range(BIG >> 20):
            sys.stdout.write("x" * (1 << 20))
    if kind == "chatty":  # small messages without end
        while True:
            send({"method": "notifications/message", "params": {"level": "info", "data": "x" * 1000}})
    if kind == "deep":
        sys.stdout.write(f'{{"jsonrpc": "2.0", "id": {number}, "result": ' + "[" * 500_000 + "\n")
        sys.stdout.flush()
    if kind == "wrong":
        send({"id": number, "result": {"content": "no list"}})
    if kind == "prompt":
        send({"id": number, "result": {"content": [{"type": "text", "text": "closed on 2026-05-25"}]}})
    if kind == "stubborn":  # answers, but ends neither with its input nor for SIGTERM, and has a child
        import signal
        import subprocess

        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen(["sleep", "600"])
        note("STARTS", str(child.pid))
        send({"id": number, "result": {"content": [{"type": "text", "text": "closed on 2026-05-25"}]}})


if __name__ == "__main__":
    note("STARTS", str(os.getpid()))
    if sys.argv[1] == "stdio":
        well_behaved().run("stdio")
    elif sys.argv[1] == "http":
        json_response = len(sys.argv) > 3
        well_behaved().run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]), json_response=json_response)
    else:
        by_hand(sys.argv[1])
