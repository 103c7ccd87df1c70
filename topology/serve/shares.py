"""What is there once for all who ask, in shares: nobody takes more than their own, and all together not more than all.

Pure: counts only.
"""

from __future__ import annotations


class Shares:
    """Amounts that are taken and given back, by who has them.

    Invariant: `taken` is the sum of what everybody holds; nobody holds more than `each`.

    Args:
        total: of all together.
        each: of one.
    """

    def __init__(self, total: int, each: int) -> None:
        self._total, self._each = total, each
        self._held: dict[str, int] = {}
        self.taken = 0

    def take(self, who: str, amount: int = 1) -> bool:
        """Takes an amount; False, and nothing taken, where there is no room for it."""
        held = self._held.get(who, 0) + amount
        if held > self._each or self.taken + amount > self._total:
            return False
        if amount:
            self._held[who] = held
            self.taken += amount
        return True

    def give(self, who: str, amount: int = 1) -> None:
        """Gives back what was taken."""
        left = self._held.get(who, 0) - amount
        self.taken -= amount
        if left > 0:
            self._held[who] = left
        else:
            self._held.pop(who, None)
