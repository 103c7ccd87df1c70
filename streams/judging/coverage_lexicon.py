"""The words that forms of sentences are made of: nouns, comparisons, numbers, and what stands for nothing, as data.

Closed lists (docs/checks.md): a word that does not stand here, or in `coverage_forms.py`, is unknown, and what
is unknown is unchecked. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_CALLABLE: Final = ("function", "method", "property", "functions", "methods")
_SETTING: Final = (
    *("constant", "variable", "setting", "field", "key", "option", "attribute", "property", "parameter", "default"),
    *("constants", "variables", "settings", "fields", "keys", "options", "attributes"),
)
_TEXTS: Final = ("text", "string", "phrase", "word", "words")
NOUNS: Final[Mapping[str, tuple[str, ...]]] = {
    "caller": _CALLABLE,
    "callee": _CALLABLE,
    "user": _CALLABLE,
    "used": (*_CALLABLE, *_SETTING, "class", "type", "module"),
    "symbol": _CALLABLE,
    "name": (*_SETTING, "value of", "value for", "default of", "default for", "default value of", "default value for"),
    "module": ("module", "package", "modules", "packages"),
    "quote": _TEXTS,
    "pattern": _TEXTS,
    "a": _TEXTS,
    "b": _TEXTS,
    "identifier": (*_CALLABLE, *_SETTING, *_TEXTS, "identifier", "name", "class", "type", "call", "calls"),
    "path": ("file", "files"),
    "hash": ("commit",),
    "commit": ("commit", "commits"),
    "value": ("value",),
}
"""By parameter: the nouns that may stand before or behind the argument. They say nothing that could be false of it."""
OF_NAMES: Final = ("'s value", "'s default", "'s default value", "value", "default", "default value")
"""What may stand behind the name of a value, as well."""
TEXT_NOUNS: Final = _TEXTS
CONTAINERS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("toml", "ini", "cfg", "conf"), ("section", "table")),
    **dict.fromkeys(("json", "yaml", "yml"), ("section", "object", "mapping")),
    **dict.fromkeys(("md", "markdown"), ("section", "heading")),
    **dict.fromkeys(("mk", "makefile"), ("target",)),
    "": ("function", "method", "class", "type", "struct", "module"),
}
"""By the ending of a file, or its name: the nouns of what `in` names; those under the empty one for any other file."""
KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "function": ("function",),
    "method": ("method",),
    "type": ("type",),
    "constant": ("constant",),
    "variable": ("variable",),
    "target": ("target",),
    "section": ("section", "heading"),
}
"""By kind of a definition: the nouns that say it and no more."""
C_ENDINGS: Final = (".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx")
"""Files in which what is imported is included."""
CLASS_ENDINGS: Final = (".py", ".rb")
"""Files in which every type is a class."""
NAMED: Final = ("called", "named", "titled")

_COMPARES: Final[Mapping[str, tuple[str, ...]]] = {
    "=": (
        *("is", "equals", "is set to", "is equal to", "defaults to", "=", "==", "does not differ from"),
        *(
            "has the value",
            "has a value of",
            "has value",
            "has the default",
            "has a default of",
            "has the default value",
        ),
        *("has a default value of",),
    ),
    "!=": (
        *("is not", "isn't", "does not equal", "doesn't equal", "is not equal to", "isn't equal to"),
        *("is not set to", "isn't set to", "does not default to", "doesn't default to", "differs from"),
        *("is different from", "!=", "does not have the value", "doesn't have the value"),
    ),
    "<": (
        "is not at least",
        "is less than",
        "is below",
        "is under",
        "is smaller than",
        "is lower than",
        "is fewer than",
        "<",
    ),
    "<=": (
        *("is at most", "is no more than", "is not more than", "is not greater than", "is not above", "is not over"),
        *("is no greater than", "is less than or equal to", "<="),
    ),
    ">": (
        *(
            "is not at most",
            "is more than",
            "is above",
            "is over",
            "is greater than",
            "is larger than",
            "is higher than",
            "exceeds",
            ">",
        ),
    ),
    ">=": (
        *("is at least", "is no less than", "is not less than", "is not below", "is not under", "is no smaller than"),
        *("is no lower than", "is greater than or equal to", ">="),
    ),
}
COMPARES: Final[Mapping[str, tuple[str, ...]]] = {
    operator: (*texts, *(text.removeprefix("is ") for text in texts if operator[0] in "<>" and text.startswith("is ")))
    for operator, texts in _COMPARES.items()
}
"""By operator: how a name stands to a value; a second one may leave the «is» out («is at least 3 and at most 9»)."""
PLAIN: Final = ("is", "is not", "isn't")
"""Of these: what may as well say of what kind a thing is («`X` is not `deprecated`»)."""
NUMBERS: Final[Mapping[str, tuple[str, ...]]] = {
    "=": ("", "exactly"),
    "<": ("fewer than", "less than"),
    "<=": ("at most", "no more than"),
    ">": ("more than", "over"),
    ">=": ("at least", "no fewer than", "no less than"),
}
"""By operator: what stands before a number of occurrences."""
WHEN: Final[Mapping[str, tuple[str, ...]]] = {
    "=": ("on", "at", "in", "within"),
    "<": ("before",),
    ">": ("after",),
    "<=": ("on or before", "no later than"),
    ">=": ("on or after", "no earlier than"),
}
"""By operator: how something stands to a time."""
NEGATED_OPERATOR: Final[Mapping[str, str]] = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

TIMES: Final[Mapping[str, int]] = {"once": 1, "twice": 2}
SINGULAR: Final[Mapping[str, str]] = {
    "are": "is",
    "aren't": "isn't",
    "do": "does",
    "don't": "doesn't",
    "have": "has",
    **{
        verb: f"{verb}s"
        for verb in (
            *("call", "invoke", "use", "import", "include", "define", "declare", "contain", "mention", "say", "return"),
            *("exist", "equal", "default", "reference", "appear", "occur"),
        )
    },
}
"""The verb of one thing for the verb of several («`a.py` and `b.py` import `os`»)."""
REPOSITORY: Final = ("repository", "repo", "codebase", "project", "tree", "working tree", "source tree")
PEER: Final = (
    *("peer", "process", "peer process", "connected process", "socket 's peer", "connection 's peer"),
    *("process on the other end", "process at the other end"),
)

OPERATOR_WORDS: Final = frozenset(
    word
    for words in (
        "not no never none nothing nobody nowhere neither nor without hardly barely scarcely rarely seldom cannot non",
        "only just merely solely exclusively alone even always ever every each all any some most many few several both",
        "either anyone anybody anything anywhere everyone everybody everything everywhere someone somebody something",
        "somewhere must can could may might shall should will would need needs ought",
        "is are be have has had been being was were did do does",
        "if unless when whenever whether where wherever while until till once because since so therefore thus hence",
        "due despite although though however but instead rather except otherwise or and than then",
        "more less fewer least most above below over under between after before during within beyond up down",
        "now still already yet currently formerly previously again soon later today",
        "almost nearly about around approximately roughly exactly likely probably possibly perhaps maybe apparently",
        "seems allegedly supposedly twice first last next same other another true false",
    )
    for word in words.split()
)
"""Negation, quantifiers, modality, conditions, causes, comparison, tense, hedges: a bare one is never an argument."""
