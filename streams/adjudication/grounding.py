"""What an emission's own provenance chain and citations must fulfil [C §2, §3, §4, §6, §7].

A chain is only the emitter's word, so it can only make a verdict stricter: an ungrounded or severed chain that claims
grounding, a quote that is not in its context, and a confidence below the floor are refused; nothing here admits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from ...codecs.decode import assertion_text
from ...codecs.errors import Fault, schema_fault
from ...codecs.records import AnyStep, Assertion, Derived, Emission, Retrieval, Severed
from ...codecs.times import parse_time
from ..judging.cited import cited_spans

MAX_CITING: Final = 100_000
"""Characters that the strictly cited assertions of one emission may have together: each is read for quotations."""
MAX_COMPARED: Final = 100_000_000
"""Characters of contexts that their quotations may be looked for in, counted once for each quotation."""


def steps(chain: Sequence[AnyStep] | None) -> Iterator[AnyStep]:
    """Every step of a chain, those inside `derived` included."""
    for step in chain or ():
        yield step
        if isinstance(step, Derived):
            yield from steps(step.left)
            yield from steps(step.right)


def is_ungrounded(assertion: Assertion) -> bool:
    """Claims grounded, but the chain has no retrieval or has a severed step [C §2, §3]."""
    if not assertion.grounded:
        return False
    kinds = {type(step) for step in steps(assertion.chain)}
    return Retrieval not in kinds or Severed in kinds


def least_confidence(assertion: Assertion) -> float | None:
    """The assertion's own confidence or the least over its chain's steps [C §7]; None where none is declared."""
    if not assertion.chain:
        return assertion.confidence
    found = [step.confidence for step in steps(assertion.chain) if step.confidence is not None]
    if assertion.confidence is not None:
        found.append(assertion.confidence)
    return min(found, default=None)


def latest(chain: Sequence[AnyStep]) -> int:
    """The latest time of retrieval in a chain, Unix ms; 0 where it names none."""
    times = [step.timestamp for step in steps(chain) if isinstance(step, Retrieval)]
    return max([parse_time(one) or 0 for one in times if one is not None], default=0)


def data_categories(grounded: bool, chain: Sequence[AnyStep] | None) -> list[str]:
    """The union of the chain's data categories, sorted [C §6]."""
    found = {category for step in steps(chain) for category in step.data or ()}
    if grounded:
        found.add("grounded")
    return sorted(found)


def is_matched(chain: Sequence[AnyStep] | None, names: Collection[str]) -> bool:
    """Whether a retrieval of the emitter's chain is one that an observation bore out.

    Args:
        chain: the emitter's.
        names: the ids of the observations that count, and the files in which observers saw a check hold.
    """
    for step in steps(chain):
        if isinstance(step, Retrieval):
            named = step.metadata.get("observation_id")
            if step.source in names or (isinstance(named, str) and named in names):
                return True
    return False


def citation_violation(emission: Emission, assertion: Assertion, text: str) -> tuple[int, int] | None:
    """The first quote of a strictly cited assertion that is not in its context, character for character [C §4].

    Args:
        emission: with the context.
        assertion: with the citation.
        text: the assertion's; what it quotes `judging/cited.py` says.

    Returns:
        The quote's offsets (code points, without its quotation marks) in the assertion's text; None where every quote
        is there. A context that the emission does not carry holds no quote.
    """
    cites = assertion.cites
    if cites is None or not cites.strictly:
        return None
    context = emission.contexts.get(cites.context, "")
    for start, end in cited_spans(text):
        if text[start:end] not in context:
            return start, end
    return None


def too_much_cited(emission: Emission) -> Fault | None:
    """`schema` where the strict citations of an emission would take seconds to compare: its text may quote a thousand
    times what stands at the end of a long context, and its assertions may lie over one another.

    Args:
        emission: in the JSON form.
    """
    cited = [
        (assertion_text(emission, assertion), len(emission.contexts.get(assertion.cites.context, "")))
        for assertion in emission.assertions or ()
        if assertion.cites is not None and assertion.cites.strictly
    ]
    length = sum(len(text) for text, _ in cited)
    if length > MAX_CITING:
        expected = f"strictly cited assertions of at most {MAX_CITING} characters together"
        return schema_fault("$.assertions", expected, str(length))
    if sum(len(text) * size for text, size in cited) <= MAX_COMPARED:
        return None  # nearly always: a text has fewer quotations than characters
    compared = sum(len(cited_spans(text)) * size for text, size in cited)
    if compared <= MAX_COMPARED:
        return None
    expected = f"quotations times characters of their contexts of at most {MAX_COMPARED} together"
    return schema_fault("$.assertions", expected, str(compared))
