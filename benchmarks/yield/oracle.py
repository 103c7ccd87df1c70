"""A second opinion on every check: whether it is true of a package, by other means than the product's.

Nothing of `sluice.streams.judging` is used, its parser of checks included (`oracle_checks.py`): Python is read by
`ast`, documents by `json`, `tomllib`, `configparser` and `yaml`, other languages by a scanner for braces
(`oracle_braces.py`), history by git itself (`oracle_history.py`). It has time and knows the corpus; the product has
neither. What it cannot tell is None, and no statement, mutation or verdict rests on that.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import oracle_braces
import oracle_documents
import oracle_python
from oracle_checks import OPERATORS, Parsed, bounded, collapsed, parse, stands
from oracle_code import Definition, Module, named
from oracle_history import History
from oracle_values import as_number, number_of, same, value_of
from sources import git


class Package:
    """One repository, read as often as somebody asks."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.history = History(root)
        self._texts: dict[str, str | None] = {}
        self._modules: dict[str, Module | None] = {}
        self._documents: dict[str, Any] = {}

    @property
    def commits(self) -> dict[str, dict[str, Any]]:
        """See `History`."""
        return self.history.commits

    @cached_property
    def tracked(self) -> frozenset[str]:
        """Every path of the last commit."""
        return frozenset(git(self.root, "ls-files", "-z").split("\0")) - {""}

    def text(self, path: str) -> str | None:
        """A tracked file's text; None where there is none."""
        if path not in self._texts:
            content = (self.root / path).read_bytes() if path in self.tracked else None
            try:
                self._texts[path] = None if content is None else content.decode()
            except UnicodeDecodeError:
                self._texts[path] = None
        return self._texts[path]

    def module(self, path: str) -> Module | None:
        """What a source file defines; None where its language is none of ours, or it cannot be read."""
        if path not in self._modules:
            text = self.text(path)
            made = None
            if text is not None:
                made = oracle_python.read(text) if path.endswith((".py", ".pyi")) else oracle_braces.read(path, text)
            self._modules[path] = made
        return self._modules[path]

    def document(self, path: str) -> oracle_documents.Document | None:
        """What a document holds; None where its format is none of ours, or it cannot be read."""
        if path not in self._documents:
            text = self.text(path)
            self._documents[path] = None if text is None else oracle_documents.read(path, text)
        return self._documents[path]

    def definitions(self, path: str, symbol: str) -> list[Definition]:
        """What a file defines by that name."""
        module = self.module(path)
        return [] if module is None else [one for one in module.definitions if named(one.name, symbol)]

    # ------------------------------------------------------------ checks

    def truth(self, check: str) -> bool | None:
        """Whether a check is true of this package; None where that cannot be told."""
        parsed = parse(check)
        if parsed is None:
            return None
        try:
            decides = getattr(self, f"_{parsed.name}", self.history.truth)
            holds: bool | None = decides(parsed)
        except (IndexError, ValueError, TypeError, re.error):
            return None
        return None if holds is None else holds is not parsed.negated

    def scope(self, check: Parsed) -> str | None:
        """The text that a check speaks of."""
        path = str(check.named.get("path", ""))
        text = self.text(path)
        if text is None:
            return None
        lines = text.splitlines()
        if "lines" in check.named:
            first, _, last = str(check.named["lines"]).partition("-")
            return "\n".join(lines[int(first) - 1 : int(last or first)])
        if "in" in check.named:
            inside = self.definitions(path, str(check.named["in"]))
            if len(inside) != 1:
                return None
            return "\n".join(lines[inside[0].first - 1 : inside[0].last])
        return text

    def _contains(self, check: Parsed) -> bool | None:
        scope = self.scope(check)
        return None if scope is None else stands(check.text(0), scope)

    def _absent(self, check: Parsed) -> bool | None:
        scope = self.scope(check)
        if scope is None:
            return None
        return re.search(rf"(?<![\w.$-]){re.escape(check.text(0))}(?![\w$-])", scope) is None

    def _exists(self, check: Parsed) -> bool | None:
        path = check.text(0).rstrip("/")
        return path in self.tracked or any(one.startswith(path + "/") for one in self.tracked)

    def _missing(self, check: Parsed) -> bool | None:
        return not self._exists(check)

    def _defines(self, check: Parsed) -> bool | None:
        path = str(check.named.get("path", ""))
        wanted = check.text(1) if len(check.arguments) > 1 else None
        document = self.document(path)
        if document is not None:
            return document.defines(check.text(0), wanted)
        if self.module(path) is None:
            return None
        found = self.definitions(path, check.text(0))
        if wanted is None:
            return bool(found)
        kinds = {"function": {"function", "method"}}.get(wanted, {wanted})
        if wanted in ("constant", "variable"):
            kinds = {"constant", "variable"}
        return any(one.kind in kinds for one in found)

    def values(self, path: str, name: str) -> list[Any]:
        """Every value that a name has in a file: as a constant, a default, a field or a key."""
        document = self.document(path)
        if document is not None:
            return document.values(name)
        module = self.module(path)
        if module is None:
            return []
        return [value for key, value in module.values if named(key, name)]

    def _equals(self, check: Parsed) -> bool | None:
        return self._valued(check, value_of(check.arguments[1]), same)

    def _compare(self, check: Parsed) -> bool | None:
        sign, declared = str(check.arguments[1]), value_of(check.arguments[2])

        def holds(wanted: Any, found: Any) -> bool:
            if sign in ("=", "!="):
                return same(wanted, found) is (sign == "=")
            worth = as_number(found)
            if worth is None:
                raise TypeError("no order")
            return OPERATORS[sign](worth, wanted)

        return self._valued(check, declared, holds)

    def _valued(self, check: Parsed, declared: Any, holds: Callable[[Any, Any], bool]) -> bool | None:
        path = str(check.named.get("path", ""))
        values = self.values(path, check.text(0))
        if "in" in check.named:
            values = self.values(path, f"{check.named['in']}.{check.text(0)}") or values
        if not values or ... in values:
            return None if values or self.text(path) is None else False
        held = {holds(declared, value) for value in values}
        return held.pop() if len(held) == 1 else None

    def _calls(self, check: Parsed) -> bool | None:
        return self._within(check, lambda one, name: any(named(each, name) for each in one.calls))

    def _uses(self, check: Parsed) -> bool | None:
        return self._within(check, lambda one, name: name.rpartition(".")[2] in one.names)

    def _returns(self, check: Parsed) -> bool | None:
        """True where each `return` returns that, false where none has it in it; in between nobody can tell."""
        quote, path = collapsed(check.text(1)), str(check.named.get("path", ""))
        if self.module(path) is None:
            return None
        returned = [collapsed(each) for one in self.definitions(path, check.text(0)) for each in one.returns]
        if not any(stands(quote, each) for each in returned):
            return False
        return True if set(returned) == {quote} else None

    def _within(self, check: Parsed, holds: Callable[[Definition, str], bool]) -> bool | None:
        path = str(check.named.get("path", ""))
        if self.module(path) is None:
            return None
        found = self.definitions(path, check.text(0))
        if not found:
            return False
        if "lines" in check.named:
            first, _, last = str(check.named["lines"]).partition("-")
            found = [one for one in found if int(first) <= one.first and one.last <= int(last or first)] or found
        held = {holds(one, check.text(1)) for one in found}
        return held.pop() if len(held) == 1 else None

    def _imports(self, check: Parsed) -> bool | None:
        module = self.module(str(check.named.get("path", "")))
        return None if module is None else check.text(0) in module.imports

    def _count(self, check: Parsed) -> bool | None:
        scope = self.scope(check)
        number = number_of(check.text(2))
        if scope is None or number is None:
            return None
        pattern = collapsed(check.text(0))
        bare = collapsed(scope).count(pattern)
        if bare != len(bounded(pattern).findall(collapsed(scope))):
            return None  # `raise` also stands in `raises`: what counts then is a question of taste
        return OPERATORS[check.text(1)](bare, number)

    def _line(self, check: Parsed) -> bool | None:
        text = self.text(check.text(0))
        if text is None:
            return None if check.text(0) in self.tracked else False
        lines, number = text.splitlines(), int(check.text(1))
        return 1 <= number <= len(lines) and stands(check.text(2), lines[number - 1])

    def _order(self, check: Parsed) -> bool | None:
        scope = self.scope(check)
        if scope is None:
            return None
        scope = collapsed(scope)
        places = [[found.start() for found in bounded(collapsed(check.text(at))).finditer(scope)] for at in (0, 1)]
        if any(len(one) != 1 for one in places):
            return None
        return places[0][0] < places[1][0]


@cache
def package(root: Path) -> Package:
    """The one reader of a repository in this process."""
    return Package(root)
