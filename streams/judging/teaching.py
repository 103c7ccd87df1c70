"""The text that teaches a model to attach checks: written from the table of checks, so that it lists no other.

It goes into a model's instructions as it is (`sluice prompt`). Every example in it is one that sluice reads, and whose
checks cover the whole of its sentence. Pure text: nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from .checks import ROWS, TABLE

Format = Literal["inline", "json"]

UNTAUGHT: Final = frozenset(("passes", "fails", "output"))
"""Checks that need a runner, which decides them where one is set up."""
EXAMPLES: Final[Mapping[str, tuple[str, str]]] = {
    name: (row["example"], row["holds"]) for name, row in ROWS["checks"].items() if name not in UNTAUGHT
}
"""Of each other check: an example with all that it takes, and when it holds."""

SENTENCE: Final = "`MAX_RETRIES` in src/limits.py is 5."
"""What the examples of both forms state."""

_HEAD: Final = """\
Attach checks to what you state about files, code, history and tools.
A check is one proposition from the list below. Programs with access of their own verify it, \
and only what they verify is admitted.

Rules:
1. State one fact per sentence, and attach checks that say all of it: name in the sentence each name, path and value \
that they name, and nothing else.
2. Use only the checks of the list. A sentence with any other check is not admitted.
3. Copy names, paths, values and quotes exactly from what you read. Never guess them.
4. Attach only checks that you believe to hold because you looked. Without one, say that you did not verify it.
5. Name each place that you consulted as an annotation, with the lines or the pattern, and no other. \
An invented one leads to rejection. Two kinds of places are needed, such as the file itself and a search or the history.
6. Write a method as Type.method, and quotes as JSON strings; an end with … may cut a word."""

_LIST: Final = "Checks (`not ` may stand before each, except for {}; what an example has behind a `=` may be left out):"

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
    without_not = ", ".join(name for name in EXAMPLES if not TABLE[name].negatable)
    rows = [f"- {example}: {holds}" for example, holds in EXAMPLES.values()]
    return "\n\n".join(
        [_HEAD, "\n".join([_LIST.format(without_not), *rows]), _PLACES, _INLINE if form == "inline" else _JSON]
    )
