"""Identifiers that strangers chose, and that stand outside the frame: what their characters may not hide.

The schema lets the characters through that docs/reference/records.md lists; this module has the rule about the percent
sign. It encodes what no identifier may have as it is: a printable character of ASCII that is not listed there, or a
percent sign, once. It never encodes white space, a control character, anything beyond ASCII, or a character that stands
for itself: so a reader who decodes a name finds no sentence in it. A percent sign without two hexadecimal digits
behind it is itself, since it is one of the listed characters.

In a pointer, which is no name, the listed characters `:`, `/`, `+`, `=` and `@` may be encoded as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from .errors import Fault, schema_fault

EXPECTED: Final = "an identifier that percent-encodes nothing but printable ASCII which needs it"
_RESERVED: Final = "2[1-46-9A-CFa-cf]|25(?![0-9A-Fa-f]{2})|3[A-Fa-f]|40|5[B-Eb-e]|60|7[B-Db-d]"
_HIDDEN: Final = re.compile(rf"%(?!{_RESERVED})[0-9A-Fa-f]{{2}}")
_NEEDS_IT: Final = "2[1-46-9ACac]|25(?![0-9A-Fa-f]{2})|3[BCEFbcef]|5[B-Eb-e]|60|7[B-Db-d]"
_NEEDLESS: Final = re.compile(rf"%(?!{_NEEDS_IT})[0-9A-Fa-f]{{2}}")
DID_PATTERN: Final = (
    r"^did:[a-z0-9]+:(?:[A-Za-z0-9._:/?#=&;+~@!$'()*,-]"
    r"|%(?:2[1-46-9A-Fa-f]|25(?![0-9A-Fa-f]{2})|[3-6][0-9A-Fa-f]|7[0-9A-Ea-e])){1,512}(?![\s\S])"
)
"""A DID URL that encodes nothing but printable ASCII, once; what comes out of it is the DID in its one spelling
(`dids.py`), which has no path, query or fragment."""


def hides(name: str) -> bool:
    """Whether something in a name is encoded that must not be; `name` has the characters that docs/reference/records.md
    lists."""
    return "%" in name and _NEEDLESS.search(name) is not None


def pointer_hides(pointer: str) -> bool:
    """The same of a pointer."""
    return "%" in pointer and _HIDDEN.search(pointer) is not None


def check_names(names: Iterable[tuple[str, str | None]]) -> Fault | None:
    """A `schema` fault for the first name that hides something; each with its path, None where there is none."""
    for path, name in names:
        if name is not None and hides(name):
            return schema_fault(path, EXPECTED, name)
    return None
