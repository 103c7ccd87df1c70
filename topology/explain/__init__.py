"""Explanations: what became of an emission and why, and what would have become of the past under another policy."""

__all__ = ["explain", "explanation", "explanation_view", "what_if", "what_if_compare", "what_if_view", "words"]
