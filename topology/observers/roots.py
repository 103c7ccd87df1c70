"""The repositories and folders that the operator lets be looked at, by name (docs/checks.md).

One may have no name: it is the default. `repo` in a locator picks one by name; without it the default is meant, or the
only one there is. Which host path a name stands for is never told to anybody.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple, Union

from ...codecs.errors import UnreachableError, UsageError
from .ask import CannotLook

DEFAULT: Final = "default"
"""What a root without a name is called."""
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
SEPARATOR: Final = "\n"
"""Between several roots in one setting; a folder's name may hold anything else."""


class Roots(NamedTuple):
    """Paths by name.

    Attributes:
        named: at least one; that of `DEFAULT` is the one without a name.
    """

    named: Mapping[str, str]

    @classmethod
    def of(cls, given: RootsLike) -> Roots:
        """The roots that a caller or the setting `root` names: one path, several on a line each, or a mapping.

        Raises:
            UsageError: two have one name, or a name is none.
        """
        if isinstance(given, Roots):
            return given
        if isinstance(given, Mapping):
            named = {name or DEFAULT: os.fspath(path) for name, path in given.items()}
            wrong = next((name for name in named if not _NAME.fullmatch(name)), None)
            if wrong is not None or not named:
                raise UsageError("a root has no name that it can have", expected=_EXPECTED, got=repr(wrong or "none"))
            return cls(named)
        if not isinstance(given, str) or os.path.isdir(given):
            return cls({DEFAULT: os.fspath(given)})
        return cls.parse(given.split(SEPARATOR))

    @classmethod
    def parse(cls, values: Iterable[str]) -> Roots:
        """Roots as the command line gives them: `DIR`, or `NAME=DIR`. What is a folder as it stands has no name.

        Raises:
            UsageError: two have one name, or one names no folder.
        """
        named: dict[str, str] = {}
        for value in values:
            name, path = _split(value)
            if not path:
                raise UsageError(f"the root {name} names no folder", expected="DIR or NAME=DIR")
            if name in named:
                which = "without a name" if name == DEFAULT else f"called {name}"
                raise UsageError(f"two roots are {which}", expected="one DIR, and each NAME once")
            named[name] = path
        if not named:
            raise UsageError("no root is named", expected="DIR or NAME=DIR")
        return cls(named)

    def pick(self, repo: str | None) -> str:
        """The name of the root that a locator means.

        Args:
            repo: its member of that name; None where it has none.

        Raises:
            CannotLook: there is none of that name, or several and none of them is meant.
        """
        if repo is not None:
            if repo in self.named:
                return repo
            raise CannotLook("no repository of that name is looked at")
        if DEFAULT in self.named:
            return DEFAULT
        if len(self.named) == 1:
            return next(iter(self.named))
        raise CannotLook("which-repository")

    def check(self) -> None:
        """Raises:
        UnreachableError: one of them is not there, or is no folder.
        """
        for path in self.named.values():
            try:
                os.close(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            except (OSError, ValueError) as error:
                why = error.strerror if isinstance(error, OSError) else "no path"
                raise UnreachableError(f"cannot look at {path!r}: {why}", hint=HINT) from None

    def shown(self) -> str:
        """For a person: the paths, with their names where there are several."""
        if list(self.named) == [DEFAULT]:
            return self.named[DEFAULT]
        return ", ".join(path if name == DEFAULT else f"{name}={path}" for name, path in self.named.items())

    def absolute(self) -> str:
        """As one text that `of` reads back, with absolute paths."""
        return SEPARATOR.join(
            str(Path(path).resolve()) if name == DEFAULT else f"{name}={Path(path).resolve()}"
            for name, path in self.named.items()
        )


RootsLike = Union[str, "os.PathLike[str]", Mapping[str, "str | os.PathLike[str]"], Roots]
HINT: Final = "name a folder or a git repository with --root"
_EXPECTED: Final = "1 to 64 of the characters A-Z a-z 0-9 . _ -"


def _split(value: str) -> tuple[str, str]:
    name, equals, path = value.partition("=")
    if not equals or os.path.isdir(value) or not _NAME.fullmatch(name):
        return DEFAULT, value
    return name, path
