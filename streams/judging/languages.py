"""The languages that checks by syntax speak of: how a file is known, and which grammar reads it (docs/checks.md).

A table. A grammar's package is loaded when the first file of its language is parsed; one that is not installed is no
error here, but the reason `no-grammar` of every check on such a file.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

from .code_c import C_GRAMMAR
from .code_go import GO_GRAMMAR
from .code_java import JAVA_GRAMMAR
from .code_model import Grammar
from .code_python import PYTHON_GRAMMAR
from .code_ruby import RUBY_GRAMMAR
from .code_rust import RUST_GRAMMAR
from .code_script import SCRIPT_GRAMMAR
from .code_sharp import SHARP_GRAMMAR
from .code_shell import SHELL_GRAMMAR

if TYPE_CHECKING:
    from tree_sitter import Language as Parsed


class Language(NamedTuple):
    """One row.

    Attributes:
        name: what it is called here.
        grammar: how its trees are read.
        package: the module that has its grammar.
        entry: the function of that module that hands it out.
        endings: of file names; the letter case counts where both are listed, and nowhere else.
        names: of whole files.
    """

    name: str
    grammar: Grammar
    package: str
    endings: tuple[str, ...]
    names: tuple[str, ...] = ()
    entry: str = "language"


LANGUAGES: Final = (
    Language("python", PYTHON_GRAMMAR, "tree_sitter_python", (".py", ".pyi", ".pyw")),
    Language("go", GO_GRAMMAR, "tree_sitter_go", (".go",)),
    Language("javascript", SCRIPT_GRAMMAR, "tree_sitter_javascript", (".js", ".jsx", ".mjs", ".cjs")),
    Language(
        "typescript", SCRIPT_GRAMMAR, "tree_sitter_typescript", (".ts", ".mts", ".cts"), entry="language_typescript"
    ),
    Language("tsx", SCRIPT_GRAMMAR, "tree_sitter_typescript", (".tsx",), entry="language_tsx"),
    Language("java", JAVA_GRAMMAR, "tree_sitter_java", (".java",)),
    Language("rust", RUST_GRAMMAR, "tree_sitter_rust", (".rs",)),
    Language("c", C_GRAMMAR, "tree_sitter_c", (".c", ".h")),
    Language(
        "cpp",
        C_GRAMMAR,
        "tree_sitter_cpp",
        (".cc", ".cpp", ".cxx", ".c++", ".C", ".hh", ".hpp", ".hxx", ".h++", ".H", ".ipp", ".tpp", ".inl"),
    ),
    Language("c-sharp", SHARP_GRAMMAR, "tree_sitter_c_sharp", (".cs", ".csx")),
    Language(
        "ruby",
        RUBY_GRAMMAR,
        "tree_sitter_ruby",
        (".rb", ".rake", ".gemspec", ".ru"),
        ("Rakefile", "Gemfile", "Vagrantfile", "Podfile", "Guardfile"),
    ),
    Language(
        "shell",
        SHELL_GRAMMAR,
        "tree_sitter_bash",
        (".sh", ".bash"),
        (".bashrc", ".bash_profile", ".bash_aliases", ".profile", "PKGBUILD"),
    ),
)

_BY_ENDING: Final = {ending: language for language in LANGUAGES for ending in language.endings}
_BY_NAME: Final = {name: language for language in LANGUAGES for name in language.names}
_MORE: Final[dict[str, str]] = {".h": "cpp"}
"""Endings of two languages: the second where the first does not parse without errors."""


def languages_of(path: str) -> tuple[Language, ...]:
    """The languages that a file may be in, the likeliest first; none where its name tells none of the listed ones."""
    name = path.rsplit("/", 1)[-1]
    known = _BY_NAME.get(name)
    if known is not None:
        return (known,)
    stem, dot, ending = name.rpartition(".")
    if not dot or not stem:
        return ()
    language = _BY_ENDING.get(f".{ending}") or _BY_ENDING.get(f".{ending.lower()}")
    if language is None:
        return ()
    other = _MORE.get(f".{ending}")
    return (language, *(one for one in LANGUAGES if one.name == other))


@cache
def loaded(package: str, entry: str) -> Parsed | None:
    """A grammar; None where it is not installed."""
    try:
        from tree_sitter import Language as Parsed

        grammar: object = getattr(import_module(package), entry)()
        return Parsed(grammar)
    except (ImportError, AttributeError, ValueError):  # the last one for a grammar of another version of tree-sitter
        return None
