"""The colours of the statuses, wherever a terminal shows them."""

from __future__ import annotations

STYLES = {
    "admitted": "green",
    "renewed": "green",
    "refused": "cyan",
    "unannotated": "dim",
    "unverified-inference": "yellow",
    "below-floor": "yellow",
    "decayed-to-uncertainty": "magenta",
    "contradicted": "red",
    "rejected": "red",
    "discarded": "dim",
}
