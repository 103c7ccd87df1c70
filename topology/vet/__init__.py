"""Vetting without a broker: recorder, observers and fold of the stream, in one process (docs/vetting.md)."""

__all__ = ["hook", "installing", "page", "sources", "vetting", "view"]
