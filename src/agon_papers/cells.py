"""Printed numbers beside what the records say: the columns of these tables, the same for all papers."""

COLUMNS = ["paper", "table", "row", "column", "statistic", "published", "recomputed", "agrees", "reading"]
"""Of a table of cells: printed numbers beside what the records say."""
