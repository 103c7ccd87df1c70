"""Languages with braces as the oracle reads them: comments and strings blanked out, then patterns and counted braces.

That is no parser, and it does not have to be: what it cannot tell from its patterns it does not find, and the corpus
holds only statements that it can tell. C, C++, C#, Go, Java, JavaScript, Rust and TypeScript; Shell for its functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from oracle_code import Definition, Module
from oracle_values import number_of

MAX_CHARACTERS = 200_000
"""Of a source file; what is larger was generated."""
LANGUAGES = {
    "c": "c",
    "h": "cpp",
    "cpp": "cpp",
    "hpp": "cpp",
    "cs": "csharp",
    "go": "go",
    "java": "java",
    "js": "js",
    "ts": "js",
    "tsx": "js",
    "rs": "rust",
    "sh": "shell",
}
_KEYWORDS = frozenset(
    (
        *(
            "assert",
            "await",
            "case",
            "catch",
            "defer",
            "defined",
            "delete",
            "do",
            "else",
            "finally",
            "fixed",
            "fn",
            "for",
        ),
        *(
            "foreach",
            "func",
            "function",
            "go",
            "if",
            "in",
            "lock",
            "loop",
            "match",
            "nameof",
            "new",
            "return",
            "select",
        ),
        *("sizeof", "switch", "synchronized", "throw", "try", "typeof", "unsafe", "using", "when", "while", "yield"),
    )
)
_NO_DEFINITION = frozenset(("return", "new", "else", "throw", "await", "="))
_MODIFIERS = (
    r"(?:(?:public|private|protected|internal|static|final|abstract|sealed|virtual|override|unsafe|async|extern"
)
_MODIFIERS += r"|partial|readonly|const|synchronized|native|default|new|inline|export|declare|get|set|explicit)\s+)*"
FUNCTIONS = {
    "go": [r"^func\s+(?:\(\s*\w*\s*\*?\s*(?P<type>\w+)[^)]*\)\s*)?(?P<name>\w+)\s*(?:\[[^\]]*\])?\s*\("],
    "rust": [r"\bfn\s+(?P<name>\w+)\s*(?:<[^>{(]*>)?\s*\("],
    "js": [
        r"\bfunction\s*\*?\s*(?P<name>\w+)\s*(?:<[^>{(]*>)?\s*\(",
        rf"^[ \t]*{_MODIFIERS}(?P<name>[\w$]+)\s*\(",
        r"\b(?:const|let|var)\s+(?P<name>\w+)\s*(?::[^=;]+)?=\s*(?:async\s*)?\(",
    ],
    "java": [rf"^[ \t]*{_MODIFIERS}(?:<[^>]+>\s*)?(?:[\w.]+(?:<[^()]*?>)?(?:\[\])*\s+)?(?P<name>\w+)\s*\("],
    "csharp": [rf"^[ \t]*{_MODIFIERS}(?:[\w.?]+(?:<[^()]*?>)?[\[\]?*]*\s+)?(?P<name>\w+)(?:<[\w, ]+>)?\s*\("],
    "cpp": [r"^(?=[A-Za-z_~])(?:[^\n;{}()#=]*[\s*&])??(?P<name>[\w:~]+)\s*\("],
    "c": [r"^(?=[A-Za-z_])(?:[^\n;{}()#=]*[\s*])??(?P<name>\w+)\s*\("],
    "shell": [r"^(?:function\s+)?(?P<name>\w+)\s*\("],
}
"""Up to the bracket behind the name."""
TAILS = {
    "go": r"[^\n]*\{[ \t]*$",
    "rust": r"[^;{]*\{",
    "js": r"\s*(?::[^{;=\n]+?)?\s*(?:=>\s*\{?|\{)",
    "java": r"\s*(?:throws\s+[\w.,\s]+)?\{",
    "csharp": r"\s*(?::\s*(?:base|this)\s*\([^)]*\)\s*)?(?:where[^{;]+)?(?:\{|=>)",
    "cpp": r"\s*(?:const\b|noexcept\b|override\b|\s)*(?::[^{;]*)?\{",
    "c": r"\s*\{",
    "shell": r"\s*\{",
}
"""What stands behind the arguments of a definition, up to where its body begins."""
TYPES = {
    "go": r"^type\s+(?P<name>\w+)\s+(?:struct|interface)\s*\{",
    "rust": r"\b(?:struct|enum|trait|union)\s+(?P<name>\w+)",
    "js": r"\b(?:class|interface|enum|namespace)\s+(?P<name>\w+)[^{;()]*\{|^(?:export\s+)?type\s+(?P<other>\w+)\s*=",
    "java": r"\b(?:class|interface|enum|record)\s+(?P<name>\w+)[^{;()]*(?:\([^)]*\)[^{;]*)?\{",
    "csharp": r"\b(?:class|interface|enum|struct|record)\s+(?P<name>\w+)[^{;()]*\{",
    "cpp": r"\b(?:class|struct|enum)\s+(?P<name>\w+)[^{;()=]*\{",
    "c": r"\b(?:struct|enum)\s+(?P<name>\w+)\s*\{",
}
SCOPES = {
    "rust": r"\bimpl(?:<[^>{]*>)?\s+(?:[\w:]+(?:<[^>{]*>)?\s+for\s+)?(?P<name>\w+)[^{;]*\{",
    "js": r"\b(?:const|let|var)\s+(?P<name>[\w$]+)\s*=\s*\{",
}
MACRO = r"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)\((?:[^\n]*\\\n)*[^\n]*"
"""A macro of C with arguments, with the lines that a backslash continues."""
CONSTANTS = {
    "go": r"^(?:\t|const\s+|var\s+)(?P<name>\w+)(?:\s+[\w.]+)?\s*=\s*(?P<value>[^\n]+)",
    "rust": r"\b(?:const|static)\s+(?P<name>\w+)\s*:[^=;]+=\s*(?P<value>[^;]+);",
    "js": r"^(?:export\s+)?(?:const|let|var)\s+(?P<name>[\w$]+)\s*(?::[^=;]+)?=\s*(?P<value>[^\n]+)",
    "java": r"^[ \t]*(?=[^\n=]*\b(?:static|final)\b)[\w \t<>\[\]]*?\b(?P<name>\w+)\s*=\s*(?P<value>[^;\n]+);",
    "csharp": r"^[ \t]*(?=[^\n=]*\b(?:const|static|readonly)\b)[\w \t<>\[\]?]*?\b(?P<name>\w+)\s*="
    r"\s*(?P<value>[^;\n]+);",
    "cpp": r"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)[ \t]+(?P<value>[^\n]+)",
    "c": r"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)[ \t]+(?P<value>[^\n]+)",
    "shell": r"^(?:export\s+)?(?P<name>\w+)=(?P<value>[^\n]*)",
}
IMPORTS = {
    "go": r'^(?:import\s+|\t)(?:\w+\s+|_\s+|\.\s+)?"([\w./-]+)"\s*$',
    "rust": r"^\s*(?:pub\s+)?use\s+([\w:]+)",
    "js": r"""\b(?:from|import|require\()\s*['"]([^'"]+)['"]""",
    "java": r"^import\s+(?:static\s+)?([\w.]+(?:\.\*)?)\s*;",
    "csharp": r"^\s*(?:global\s+)?using\s+(?:static\s+)?([\w.]+)\s*;",
    "cpp": r"""^[ \t]*#[ \t]*include[ \t]+[<"]([^>"]+)[>"]""",
    "c": r"""^[ \t]*#[ \t]*include[ \t]+[<"]([^>"]+)[>"]""",
}


def read(path: str, text: str) -> Module | None:
    """What a source file defines; None for another language."""
    language = LANGUAGES.get(path.rpartition(".")[2])
    if language is None or len(text) > MAX_CHARACTERS:
        return None
    bare = blanked(text, language)
    scopes = list(_scopes(bare, language))
    functions = list(_functions(bare, language))
    definitions = [_type(bare, one) for one in scopes if one[3]]
    spans = [(start, end) for _, start, end in functions]
    for name, start, end in functions:
        full = _within(scopes, functions, name, start)
        definitions.append(_function(bare, text, full, start, end, spans))
    values: list[tuple[str, Any]] = []
    groups = _go_groups(bare) if language == "go" else []
    for found in re.finditer(CONSTANTS.get(language, r"(?!)"), bare, re.MULTILINE):
        grouped = any(start < found.start() < end for start, end in groups)
        if language != "go" or found[0][:1] != "\t" or grouped:
            if any(start <= found.start("name") < end for start, end in spans):
                continue
            full = _within(scopes, [], found["name"], found.start())
            line = bare.count("\n", 0, found.start("name")) + 1
            kind = "constant" if "const" in found[0].split("=")[0] or found["name"].isupper() else "variable"
            definitions.append(Definition(full, kind, line, line))
            written = text[found.start("value") : found.end("value")]
            values.append((full, _literal(f'"{written}"' if language == "shell" and written.isalnum() else written)))
    if language in ("c", "cpp"):
        definitions.extend(_macros(bare))
    imports = frozenset(re.findall(IMPORTS.get(language, r"(?!)"), text, re.MULTILINE))
    return Module(sorted(definitions, key=lambda one: one.first), values, imports)


def blanked(text: str, language: str) -> str:
    """The text with comments, and what stands between quotes, as spaces: every character keeps its place."""
    if language == "shell":
        pattern = r"(?P<comment>(?<!\S)\#[^\n]*)|\"(?:[^\"\\]|\\.)*\"|'[^']*'"
    else:
        quote = r"'(?:[^'\\\n]|\\.)'" if language == "rust" else r"'(?:[^'\\\n]|\\.)*'"
        back = r"|`(?:[^`\\]|\\.)*`" if language in ("js", "go") else ""
        raw = r'|@"(?:[^"]|"")*"' if language == "csharp" else ""
        pattern = rf'(?P<comment>//[^\n]*|/\*.*?\*/){raw}|"(?:[^"\\\n]|\\.)*"|{quote}{back}'

    def blank(found: re.Match[str]) -> str:
        inner = re.sub(r"[^\n]", " ", found[0])
        return inner if found["comment"] else found[0][0] + inner[1:-1] + found[0][-1]

    return re.sub(pattern, blank, text, flags=re.DOTALL)


_ROUND = re.compile(r"[()]")
_CURLY = re.compile(r"[{}]")


def _closing(bare: str, at: int) -> int:
    """Where the brace that opens at a place, or behind it, is closed."""
    opening = bare.find("{", at)
    if opening < 0:
        return len(bare)
    depth = 0
    for found in _CURLY.finditer(bare, opening):
        depth += 1 if found[0] == "{" else -1
        if depth == 0:
            return found.end()
    return len(bare)


def _scopes(bare: str, language: str) -> Iterator[tuple[str, int, int, bool]]:
    """What names can lie in: types, and Rust's `impl`; whether it is a definition of the type."""
    for pattern, defines in ((TYPES.get(language), True), (SCOPES.get(language), False)):
        for found in re.finditer(pattern or r"(?!)", bare, re.MULTILINE):
            name = found["name"] or found["other"]
            semicolon, brace = bare.find(";", found.end() - 1), bare.find("{", found.end() - 1)
            one_line = brace < 0 or 0 <= semicolon < brace
            yield name, found.start(), semicolon if one_line else _closing(bare, found.end() - 1), defines


def _functions(bare: str, language: str) -> Iterator[tuple[str, int, int]]:
    seen: set[int] = set()
    tail = re.compile(TAILS.get(language, r"(?!)"), re.MULTILINE)
    for pattern in FUNCTIONS.get(language, []):
        for found in re.finditer(pattern, bare, re.MULTILINE):
            name, at = found["name"], found.start("name")
            words = bare[found.start() : at].split()
            if name.rpartition("::")[2] in _KEYWORDS or at in seen or (words and words[-1] in _NO_DEFINITION):
                continue
            behind = tail.match(bare, _behind_arguments(bare, found.end() - 1))
            if behind is None:
                continue
            opened = behind[0].rstrip().endswith("{")
            end = _closing(bare, behind.end() - 1) if opened else bare.find("\n", behind.end())
            seen.add(at)
            owner = found.groupdict().get("type")
            yield (f"{owner}.{name}" if owner else name.replace("::", ".")), at, end


def _behind_arguments(bare: str, at: int) -> int:
    depth = 0
    for found in _ROUND.finditer(bare, at):
        depth += 1 if found[0] == "(" else -1
        if depth == 0:
            return found.end()
    return len(bare)


def _within(scopes: list[tuple[str, int, int, bool]], functions: list[tuple[str, int, int]], name: str, at: int) -> str:
    """A name with what it lies in, the outermost first."""
    around = [(start, each) for each, start, end, _ in scopes if start < at < end]
    around += [(start, each) for each, start, end in functions if start < at < end]
    return ".".join([*(each for _, each in sorted(around)), name])


def _type(bare: str, one: tuple[str, int, int, bool]) -> Definition:
    name, start, end, _ = one
    return Definition(name, "type", bare.count("\n", 0, start) + 1, bare.count("\n", 0, end) + 1)


_CALL = re.compile(
    r"((?:[A-Za-z_$][\w$]*(?:\.|::|->|\?\.))*[A-Za-z_$][\w$]*)[ ]?!?(?:::)?(?:<[\w\s,<>:\[\]&']*>)?[ ]?\("
)


def _function(bare: str, text: str, name: str, start: int, end: int, spans: list[tuple[int, int]]) -> Definition:
    behind = _behind_arguments(bare, bare.find("(", start))
    opening, arrow = bare.find("{", behind, end), bare.find("=>", behind, end)
    begin = arrow + 2 if arrow >= 0 and (opening < 0 or arrow < opening) else opening + 1
    body = list(bare[begin:end])
    for inner, behind in spans:  # nested ones left out
        if start < inner and behind <= end:
            body[inner - begin : behind - begin] = " " * (behind - inner)
    own = "".join(body)
    calls = {re.sub(r"::|->|\?\.", ".", one) for one in _CALL.findall(own)}
    returned = [
        " ".join(text[begin + found.start(1) : begin + found.end(1)].split())
        for found in re.finditer(r"\breturn\b[ \t]*([^;\n]*)", own)
    ]
    first = bare.count("\n", 0, start) + 1
    return Definition(
        name,
        "method" if "." in name else "function",
        first,
        bare.count("\n", 0, end) + 1,
        frozenset(one for one in calls if one.rpartition(".")[2] not in _KEYWORDS),
        frozenset(re.findall(r"[A-Za-z_]\w*", own)) - _KEYWORDS,
        tuple(returned),
    )


def _macros(bare: str) -> Iterator[Definition]:
    for found in re.finditer(MACRO, bare, re.MULTILINE):
        lines = [bare.count("\n", 0, at) + 1 for at in found.span()]
        yield Definition(found["name"], "function", lines[0], lines[1])


def _go_groups(bare: str) -> list[tuple[int, int]]:
    """Where `const (` … `)` and `var (` … `)` stand."""
    found = re.finditer(r"^(?:const|var)\s*\(.*?^\)", bare, re.MULTILINE | re.DOTALL)
    return [one.span() for one in found]


def _literal(written: str) -> Any:
    """A number, a string or a truth value; `...` for anything else."""
    plain = re.sub(r"\s*(//|/\*).*", "", written, flags=re.DOTALL).strip().rstrip(";,").strip()
    if re.fullmatch(r'"[^"\\]*"|\'[^\'\\]*\'|`[^`\\$]*`', plain):
        return plain[1:-1]
    if plain in ("true", "false"):
        return plain == "true"
    number = number_of(re.sub(r"(?<=[0-9a-fA-F])(?:[uU]?[lL]{1,2}|[uU])\Z", "", plain))
    return ... if number is None else number
