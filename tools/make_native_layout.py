"""Makes `native/layout.h` of what `codecs/compiled_core.py` and `streams/adjudication/fold_layout.py` declare.

    python tools/make_native_layout.py          # writes it
    python tools/make_native_layout.py --check  # ends with 1 where it is another

The C takes every index, count and name of a tuple from there; a compiled core that was built from another declaration
is not used.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sluice.codecs import compiled_core as codecs
from sluice.streams.adjudication import fold_layout as fold

TARGET = Path(__file__).parents[1] / "native" / "layout.h"
WIDTH = 120
_HEAD = """\
/* Made by tools/make_native_layout.py from codecs/compiled_core.py and streams/adjudication/fold_layout.py: the
 * tuples that Python and the compiled core hand each other, the structs as they lie packed, and numbers that stand for
 * words. Change those, and make this anew. */
#ifndef SLUICE_LAYOUT_H
#define SLUICE_LAYOUT_H

/* For fields that are read one behind the other: where Python changes their order, the C does not compile. */
#define FOLLOWS(field, before) _Static_assert((field) == (before) + 1, #field " is read behind " #before)
#define LAST(record, field) _Static_assert(record##_FIELDS == (field) + 1, #field " is read last")
"""


def constant(*words: str) -> str:
    """A name in C: `("class", "substrate.git.log")` is `CLASS_SUBSTRATE_GIT_LOG`."""
    return re.sub(r"[^A-Z0-9]+", "_", "_".join(words).upper())


def _enum(name: str, members: Sequence[str], count: str) -> str:
    entries = [*(constant(name, one) for one in members), constant(name, count)]
    lines, line = list[str](), "enum {"
    for entry in entries:
        piece = f" {entry}," if entry != entries[-1] else f" {entry}"
        if len(line) + len(piece) > WIDTH - 3:
            lines.append(line)
            line = "   "
        line += piece
    return "\n".join([*lines, f"{line} }};"])


def _section(title: str, declared: Mapping[str, Sequence[str]], count: str) -> Iterator[str]:
    yield f"/* {title} */"
    for name, members in declared.items():
        yield _enum(name, members, count)
    yield ""


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(f'"{one}"' for one in words)


def header() -> str:
    """The whole file."""
    names = {"event": codecs.EVENT, "stored": codecs.TUPLES["stored"], "state_number": fold.STATE_NUMBERS}
    return "\n".join(
        [
            _HEAD,
            *_section("Between Python and `codecs._native`.", codecs.TUPLES, "fields"),
            *_section("Between Python and `streams._native`.", fold.TUPLES, "fields"),
            *_section("As they lie packed (emission_state.py).", fold.PACKED, "fields"),
            *_section("Numbers that stand for words.", fold.CODES, "codes"),
            "/* What Python calls these attributes. */",
            *(f"#define {constant(name, 'names')} {_quoted(each)}" for name, each in names.items()),
            "",
            "/* Compared with Python's when a core is loaded. */",
            f'#define SLUICE_CODECS_LAYOUT "{codecs.LAYOUT}"',
            f'#define SLUICE_STREAMS_LAYOUT "{fold.LAYOUT}"',
            "",
            "#endif\n",
        ]
    )


def main(arguments: Sequence[str]) -> int:
    """Writes the header, or says whether it is the one that would be written."""
    made = header()
    if "--check" not in arguments:
        TARGET.write_text(made, "utf-8")
        return 0
    same = TARGET.exists() and TARGET.read_text("utf-8") == made
    if not same:
        print(f"{TARGET.name} is out of date: run tools/make_native_layout.py", file=sys.stderr)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
