"""What a look adds to a sentence, for how much of it is covered: what its names are, and which of them is the only one.

A noun («the class `X`») says a kind, which the index of the file proves. A symbol without a path is certain where the
tracked files define its name once: the files that have the word are found first, and only they are read by syntax.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ...streams.judging.checks import Check, Unknown
from ...streams.judging.code import symbol_kinds
from ...streams.judging.coverage import Confirmed
from ...streams.judging.lexicon import SYMBOLIC
from ...streams.judging.results import Held
from ...streams.judging.verify import Parser
from .ask import Ask, CannotLook
from .deciding import Deciding
from .nameable_files import is_copy
from .trees import Tree

_NAME: Final = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|#|->)[A-Za-z_$][\w$]*)*(?:\(\))?")


class Confirming:
    """What one look confirms.

    Args:
        ask: the question.
        tree: that was looked at.
        deciding: what was read.
        parser: keeps what was parsed.
        helds: what the checks came to.
    """

    def __init__(self, ask: Ask, tree: Tree, deciding: Deciding, parser: Parser, helds: Sequence[Held]) -> None:
        self._ask, self._tree, self._deciding, self._parser, self._helds = ask, tree, deciding, parser, helds

    def __call__(self, *, unique: bool) -> Confirmed:
        """What can be confirmed; that names are unique only where that is asked for: all files are read for it."""
        pairs = [
            (check, held)
            for check, held in zip(self._ask.question.checks, self._helds, strict=True)
            if isinstance(check, Check)
        ]
        return Confirmed(
            unique=unique and all(self._is_unique(check) for check, _ in pairs),
            kinds=self._kinds(pairs),
            narrowed=any(held.holds and held.narrowed for _, held in pairs),
        )

    def _kinds(self, pairs: Sequence[tuple[Check, Held]]) -> dict[str, frozenset[str]]:
        kinds: dict[str, frozenset[str]] = {}
        for check, held in pairs:
            file = None if held.path is None or held.holds is None else self._deciding.known(held.path)
            source = None if file is None else file.source(held.path or "")
            index = None if source is None else self._parser.code(source)
            if index is None:
                continue
            for name in check.arguments:
                if isinstance(name, str) and _NAME.fullmatch(name):
                    bare = name.removesuffix("()")
                    kinds[bare] = kinds.get(bare, frozenset()) | symbol_kinds(index, bare)
        return kinds

    def _is_unique(self, check: Check | Unknown) -> bool:
        """Whether the symbol of a check is defined exactly once in all tracked files, copies aside."""
        if isinstance(check, Unknown) or check.name not in SYMBOLIC:
            return isinstance(check, Check) and check.path is not None
        name = str(check.arguments[0]).removesuffix("()")
        parts = re.split(r"\.|::|#|->", name)
        try:
            everything = self._tree.everything(self._ask.budget)
        except CannotLook:
            return False  # a bound is reached: nobody knows
        if not everything.whole or everything.may_hide(parts[-1]):
            return False
        count = 0
        # A file that defines it names its owner too, and owners are rarer than what they own.
        for path, file in everything.holding(parts[0]):
            source = file.source(path) if all(map(file.may_name, parts)) else None
            index = None if source is None else self._parser.code(source)
            if index is None:
                continue
            if index.problem is not None:
                return False
            if not is_copy(path):
                named = [one for one in index.definitions if one.path[-len(parts) :] == tuple(parts)]
                types = {one.path for one in named if one.sort == "type"}
                # A constructor is its type's; several of one path are for the check to tell apart.
                count += len({one.path for one in named if one.path[:-1] not in types})
        return count == 1
