"""`sluice serve`: intake over HTTP, verdicts as they come, reviews, and a console for people (docs/serving.md).

What may be asked, and what a body holds, is decided by plain functions (`access`, `bodies`); `gate` and `routes` put
them before Starlette. What comes in is acknowledged when Kafka has it (`record_intake`).
"""

__all__ = ["oidc", "running", "scope_rules"]
