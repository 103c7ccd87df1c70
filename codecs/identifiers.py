"""Identifiers that strangers chose, and that stand outside the frame: what their characters may not hide.

The schema lets the characters through that docs/reference/records.md lists; this module has the rule about the percent
sign. It may encode a printable character of ASCII that is not unreserved (RFC 3986 2.3), once; never white space, a
control character or anything beyond ASCII, nor a letter or a digit, which need no encoding: so a reader who decodes a
name finds no sentence in it. A percent sign without two hexadecimal digits behind it is itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from .errors import Fault, schema_fault

EXPECTED: Final = "an identifier that percent-encodes nothing but printable ASCII which needs it"
_NEEDS_IT: Final = "2[1-46-9A-CFa-cf]|25(?![0-9A-Fa-f]{2})|3[A-Fa-f]|40|5[B-Eb-e]|60|7[B-Db-d]"
_HIDDEN: Final = re.compile(rf"%(?!{_NEEDS_IT})[0-9A-Fa-f]{{2}}")
DID_PATTERN: Final = (
    r"^did:[a-z0-9]+:(?:[A-Za-z0-9._:/?#=&;+~@!$'()*,-]"
    r"|%(?:2[1-46-9A-Fa-f]|25(?![0-9A-Fa-f]{2})|[3-6][0-9A-Fa-f]|7[0-9A-Ea-e])){1,512}(?![\s\S])"
)
"""A DID URL that encodes nothing but printable ASCII, once; what comes out of it is the DID in its one spelling
(`dids.py`), which has no path, query or fragment."""


def hides(name: str) -> bool:
    """Whether something in a name is encoded that must not be."""
    return "%" in name and _HIDDEN.search(name) is not None


def check_names(names: Iterable[tuple[str, str | None]]) -> Fault | None:
    """A `schema` fault for the first name that hides something; each with its path, None where there is none."""
    for path, name in names:
        if name is not None and hides(name):
            return schema_fault(path, EXPECTED, name)
    return None
