"""Emissions from what an agent did and said: tool calls become annotations, sentences become assertions."""
