"""What decorators say of a function: tool, prompt or agent, its data, its confidence (grounded.md)."""

from __future__ import annotations

import msgspec


class Role(msgspec.Struct, frozen=True):
    """How a function takes part in grounding.

    Attributes:
        kind: `tool`, `prompt`, `agent`, or empty.
        pure: it carries `@grounded_pure`.
        data: its data categories.
        data_known: they could be read from the source; if not, it may have any.
        confidence: what it declares of itself at best, 0 to 1.
        min_confidence: what an agent demands of what it returns, or None.
    """

    kind: str = ""
    pure: bool = False
    data: frozenset[str] = frozenset()
    data_known: bool = True
    confidence: float = 1.0
    min_confidence: float | None = None

    @property
    def external(self) -> bool:
        """A boundary: its body is outside the language, arguments arrive there unwrapped [C §9.4]."""
        return self.kind in ("tool", "prompt")

    @property
    def grounded(self) -> bool:
        """Its result is a `Grounded` even if it is declared plain [C §9.1]."""
        return bool(self.kind) and "grounded" in self.data


NO_ROLE = Role()
