"""substrate.code.read: the content of a file [S §4].

Checks speak of the whole file, unless they name lines themselves. The observation id is `sha256:` of the bytes of the
region that the locator names, line ends included; a declared hash may leave out the last line end. Of an assertion
without checks the words are looked for in that region.
"""

from __future__ import annotations

import hashlib

from ...streams.judging.checks import Check
from ...streams.judging.terms import Content, Presence, presence
from ...streams.judging.verify import Parser
from .ask import Ask, CannotLook, Finding, judge_hash, seen_id
from .asked_files import NO_PATH, locate, named_path
from .changed_since import Changes
from .confirming import Confirming
from .content import Piece, text_of
from .deciding import BINARY, NO_FILE, NOT_HERE, Deciding
from .file_contents import File
from .located import ON_CHANGES, Located, lines_of
from .looked_root import Site, View
from .place_findings import answer, where_from
from .trees import Place, Tree


def code_read(ask: Ask, site: Site, view: View, parser: Parser) -> Finding:
    """Holds the checks against the file that they, the locator or the text name.

    Args:
        ask: the question.
        site: the repository or folder.
        view: the files that may be looked at.
        parser: keeps what was parsed.

    Raises:
        CannotLook: no file is named, it must not or could not be read, or a bound is reached.
    """
    tree, lines = view.tree, lines_of(ask.locator)
    where = locate(ask, tree)
    anchor = where.anchor
    if where.several:
        raise CannotLook(f"{len(where.several)} files are called {ask.terms.places[0]}")
    if anchor is None and not any(isinstance(one, Check) and one.name in ON_CHANGES for one in ask.question.checks):
        raise CannotLook(NO_PATH)
    deciding = Deciding(ask, tree, where, parser, exact=view.exact)
    deciding.changes = Changes(ask, site, view, parser)
    piece = None if anchor is None else _piece(ask, deciding, tree, anchor, lines)
    seen = None
    if piece is not None and anchor is not None:
        digests = digests_of(piece.data)
        refuted = judge_hash(ask, digests, lambda: deciding.changed(anchor))
        if refuted is not None:
            return refuted
        seen = seen_id(ask, digests)
    deciding.region = Located(named_path(ask, where), lines)
    helds = [deciding.bound(number) for number in range(len(ask.question.checks))]
    commit = None if tree.commit is None else tree.commit.name
    return answer(
        ask,
        helds,
        seen,
        words=_words(ask, where.default, piece),
        missing=anchor is not None and anchor.state == "missing",
        path=None if where.default is None else where.default.path,
        commit=commit,
        where=lambda found: where_from(found, deciding.digests, site.name, commit, anchor and anchor.path),
        region=_region(ask, piece),
        own_edit=deciding.is_own_edit,
        confirming=Confirming(ask, tree, deciding, parser, helds),
    )


def _piece(ask: Ask, deciding: Deciding, tree: Tree, anchor: Place, lines: tuple[int, int] | None) -> Piece | None:
    """The region that the locator names; None where nothing is there to be read."""
    if anchor.state == "missing":
        return None
    if anchor.state != "file":
        if deciding.where.default is anchor and ask.question.is_sentence:
            raise CannotLook(NO_FILE)
        return None
    if not ask.question.checks and lines is not None:
        return tree.part(anchor, lines, ask.budget)
    return deciding.file(anchor).part(lines)


def _words(ask: Ask, place: Place | None, piece: Piece | None) -> Presence | None:
    """The words of an assertion without checks that stand in the region."""
    if not ask.question.is_sentence or place is None or piece is None:
        return None
    if ask.terms.exists:
        return presence(ask.terms.terms, Content(place.path))
    text = text_of(piece)
    if text is None or File(piece.data).is_pointer:
        raise CannotLook(BINARY if text is None else NOT_HERE)
    return presence(ask.terms.terms, Content(text.text))


def _region(ask: Ask, piece: Piece | None) -> str | None:
    text = text_of(piece) if ask.wants_region and piece is not None else None
    return None if text is None else text.text


def digest_of(data: bytes) -> str:
    """The hash of some bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def digests_of(data: bytes) -> tuple[str, str]:
    """The hashes by which some bytes may be declared: their own, and that without the last line end."""
    return digest_of(data), digest_of(data.removesuffix(b"\n"))
