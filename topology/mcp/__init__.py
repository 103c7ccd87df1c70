"""`sluice mcp`: the grounding adapter [V §2]. What was framed and admitted, over the Model Context Protocol.

A materialised view of `grounded` and `admitted` (adapter_view.py, kept by view_follower.py) is searched (search.py) and
answered from (tool_answers.py); server.py speaks the protocol, over stdio or HTTP (http.py). Text that strangers wrote
leaves in the untrusted-text frame [V §5], sanitised, or not at all; nothing here summarises, rewrites or calls a model
[V §6].

The official SDK is imported absolutely, as `mcp`: this package is `sluice.topology.mcp`.
"""

__all__ = [
    "adapter_process",
    "door",
    "entries",
    "kept_view",
    "readers",
    "search",
    "sockets",
    "tokens",
    "view_follower",
]
