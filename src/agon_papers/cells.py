"""Tables of printed numbers beside the numbers that we recompute from records."""

COLUMNS = ["paper", "table", "row", "column", "statistic", "published", "recomputed", "agrees", "reading"]
"""Columns of such a table, in order."""
