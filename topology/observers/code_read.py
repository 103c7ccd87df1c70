"""substrate.code.read: the bytes of a file, or of some of its lines [S §4].

The observation id is `sha256:` of the bytes read, the lines' ends included. A declared hash may leave out the last
line end.
"""

from __future__ import annotations

import hashlib

from ...streams.terms import Content, presence
from .ask import (
    Ask,
    CannotLook,
    Finding,
    Missing,
    declared_digest,
    judge,
    judge_hash,
    judge_missing,
    lines_of,
    matches,
    place_of,
)
from .confine import Files
from .content import Piece, Text, text_of


def code_read(ask: Ask, files: Files) -> Finding:
    """Reads the file that the locator names, or else the one path in the text.

    Raises:
        CannotLook: no file is named, it must not or could not be read, or a bound is reached.
    """
    lines = lines_of(ask.locator)
    path = place_of(ask, files)
    try:
        piece = files.read(path, lines, ask.budget)
        changed = files.changed(path, piece, ask.budget)
    except Missing:
        return judge_missing(ask, path)
    digests = (digest_of(piece.data), digest_of(piece.data.removesuffix(b"\n")))
    text = text_of(piece)
    region = path if ask.terms.exists else text.text if text else ""
    held = presence(ask.terms.terms, Content(region))
    refuted = judge_hash(ask, digests, changed, held)
    if refuted is not None:
        return refuted
    if text is None and not ask.terms.exists:
        raise CannotLook("the file is binary")
    return judge(ask, held, seen_id(ask, digests), unsure(ask, piece, text) if text else None)


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def seen_id(ask: Ask, digests: tuple[str, ...]) -> str:
    """`sha256:` and the digest, in the form in which it was declared where that is one of them."""
    declared = declared_digest(ask)
    digest = next((one for one in digests if declared and matches(declared, one)), digests[0])
    return f"sha256:{digest}"


def unsure(ask: Ask, piece: Piece, text: Text) -> str | None:
    """Why finding nothing in this piece proves nothing; None where it does."""
    if not piece.there:
        return "the file ends before these lines"
    if not text.sure and not all(term.text.isascii() for term in ask.terms.terms):
        return "the file's encoding is not known"
    return None
