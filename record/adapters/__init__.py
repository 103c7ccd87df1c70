"""From what other systems record of a model to emissions: a module for each, which imports its framework when used.

docs/adapters.md says what becomes of what.
"""
