"""Whether a text still has a disguised word: what no text that gave way by word may have."""

from __future__ import annotations

from sluice.codecs import unicode_text


def has_mixed_words(text: str) -> bool:
    """Whether a letter or digit that looks like one of ASCII stands in a word that it mixes."""
    places = unicode_text.look_alikes_of_words(text, unicode_text.suspects(text))
    return any(unicode_text.has_unexpected(text[place]) for place in places)
