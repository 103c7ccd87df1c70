"""Vetting without a broker: recorder, observers and fold of the stream, in one process (docs/vetting.md)."""

__all__ = ["agents", "hook", "installing", "page", "sources", "verdicts", "vetting", "view"]
