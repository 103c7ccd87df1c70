"""The text that teaches a model to attach checks: written from the table of checks, so that it lists no other.

It goes into a model's instructions as it is (`sluice prompt`). Every example in it is one that sluice reads, and whose
checks cover the whole of its sentence. Pure text: nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from .checks import SYMBOL_KINDS, TABLE, Parameter, Signature

Format = Literal["inline", "json"]

MEANINGS: Final[Mapping[str, tuple[str, str]]] = {
    # of each check: when it holds, and an example
    "contains": ("the text stands there, exactly", 'contains("retry at most 5 times", path=docs/limits.md)'),
    "absent": ("the identifier stands nowhere in it", "absent(parse_time, path=src/clock.py)"),
    "exists": ("the file is there", "exists(src/limits.py)"),
    "missing": ("there is no such file", "missing(setup.py)"),
    "defines": (
        f"it is defined there; kind is one of {', '.join(SYMBOL_KINDS)}",
        "defines(retry, function, path=src/limits.py)",
    ),
    "equals": ("the constant, default, key or field has that value", "equals(MAX_RETRIES, 5, path=src/limits.py)"),
    "compare": ("its value compares so; op is = != < <= > >=", "compare(MAX_RETRIES, <, 10, path=src/limits.py)"),
    "calls": ("the body of caller calls callee", "calls(retry, sleep, path=src/limits.py)"),
    "uses": ("the body of user names used", "uses(retry, MAX_RETRIES, path=src/limits.py)"),
    "imports": ("the module is imported there", "imports(time, path=src/limits.py)"),
    "returns": ("it returns that expression", 'returns(retry, "attempt + 1", path=src/limits.py)'),
    "count": ("the fixed text occurs that often", 'count("TODO", =, 3, path=src/limits.py)'),
    "line": ("that line has the text", 'line(src/limits.py, 12, "MAX_RETRIES = 5")'),
    "order": ("a stands before b, and each stands there once", 'order("import time", "def retry", path=src/limits.py)'),
    "commit": ("git has that commit, with that author, date or subject", "commit(1a2b3c4, date=2026-05-25)"),
    "changed": ("the commit changed the file", "changed(src/limits.py, 1a2b3c4)"),
    "introduced": ("the commit added the text", 'introduced("MAX_RETRIES = 5", 1a2b3c4, path=src/limits.py)'),
    "removed": ("the commit took the text away", 'removed("MAX_RETRIES = 3", 1a2b3c4, path=src/limits.py)'),
    "last_changed": ("git last changed the file then", "last_changed(src/limits.py, >, 2026-05-01)"),
    "modified": ("the file was last written then", "modified(src/limits.py, <, 2026-06-01)"),
    "peer": ("a process of these ids listens on the socket", "peer(user=postgres)"),
}

SENTENCE: Final = "`MAX_RETRIES` in src/limits.py is 5."
"""What the examples of both forms state."""

_HEAD: Final = """\
Attach checks to what you state about files, code, history and tools.
A check is one proposition from the list below. Programs with access of their own verify it, \
and only what they verify is admitted.

Rules:
1. State one fact per sentence, and give the sentence checks that say the same as its words. \
Name in the sentence every name, path and value that its checks name.
2. Use only the checks of the list. A sentence with any other check is not admitted.
3. Copy names, paths, values and quotes exactly from what you read. Never guess them.
4. Attach only checks that you believe to hold because you looked. Without one, say that you did not verify it.
5. Name each place that you consulted as an annotation, and no other. An invented one leads to rejection. \
Two kinds of places are needed, such as the file itself and a search or the history.
6. Write quotes as JSON strings. Names, paths and numbers need no quotes. Put path=… last where the check allows it."""

_LIST: Final = "Checks (`not ` may stand before each, except for {}):"

_INLINE: Final = f"""\
Form: write the annotations behind the sentence, each in square brackets, and the checks in the first one. \
In a value write white space as %20, `;` as %3B, `[` as %5B, `]` as %5D and `%` as %25.
{SENTENCE} [substrate.code.read; path=src/limits.py; check=equals(MAX_RETRIES,%205)] \
[substrate.grep; path=src/limits.py; pattern=MAX_RETRIES]"""

_JSON: Final = f"""\
Form: one JSON object. `text` is your answer; each assertion repeats one sentence of it, character by character, \
with its annotations (`provenance`) and its checks.
{{"text": "{SENTENCE}", "assertions": [{{"assertion": "{SENTENCE}", "provenance": [\
{{"substrate_class": "substrate.code.read", "locator": {{"path": "src/limits.py"}}}}, \
{{"substrate_class": "substrate.grep", "locator": {{"path": "src/limits.py", "pattern": "MAX_RETRIES"}}}}], \
"checks": ["equals(MAX_RETRIES, 5)"]}}]}}"""

_PLACES: Final = """\
Kinds of places: substrate.code.read (path, lines), substrate.grep (pattern, path), substrate.git.log (path, commit), \
substrate.fs.mtime (path), substrate.mcp.brief (server, tool, arguments), substrate.do.sse-count (url), \
substrate.unix.peercred (socket)."""


def instructions(form: Format) -> str:
    """What a model is told, so that it attaches checks.

    Args:
        form: how it is to answer: prose with annotations in brackets (`inline`), or an emission's members (`json`).

    Returns:
        Plain text without a line end behind it.
    """
    without_not = ", ".join(name for name, signature in TABLE.items() if not signature.negatable)
    listed = [_LIST.format(without_not), *(_line(name, signature) for name, signature in TABLE.items())]
    return "\n\n".join([_HEAD, "\n".join(listed), _PLACES, _INLINE if form == "inline" else _JSON])


def _line(name: str, signature: Signature) -> str:
    parameters = [_parameter(one) for one in signature.parameters]
    named = [f"{one.name}=…" for one in signature.named if one.name not in ("in", "lines")]
    meaning, example = MEANINGS[name]
    return f"- {name}({', '.join([*parameters, *named])}): {meaning}. Example: {example}"


def _parameter(parameter: Parameter) -> str:
    return f"[{parameter.name}]" if parameter.optional else parameter.name
