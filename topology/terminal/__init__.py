"""What a terminal may show: records as rows, statuses in colours, and no character that a terminal obeys."""

__all__ = ["showing", "showing_checks", "styles"]
