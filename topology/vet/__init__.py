"""Vetting without a broker: recorder, observers and fold of the stream, in one process (docs/vetting.md)."""

__all__ = [
    "agents",
    "at_hand",
    "hook",
    "installing",
    "sources",
    "vetted_assertions",
    "vetting",
    "vetting_runs",
]
