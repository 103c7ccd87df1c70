"""Services over HTTP and MCP: `sluice serve` with its console (docs/serving.md), and the adapter `sluice mcp` [V §2].

Both keep a view of topics in a file (`kept_view`, `view_follower`) and listen alike (`http_server`, `tokens`).
The service takes records in (`record_intake`), answers with verdicts and takes reviews; the adapter answers from
`grounded` and `admitted`. It calls no model, and summarises and rewrites nothing [V §6].

Their optional libraries are apart: nothing that the service imports needs the MCP SDK, and nothing that the adapter
imports needs Starlette or Jinja. The SDK is imported absolutely, as `mcp`.
"""

__all__ = [
    "adapter_process",
    "http_server",
    "service_process",
    "sign_in",
    "tokens",
]
