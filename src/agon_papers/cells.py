"""Printed numbers beside what the records say: what tables of them have in common."""

COLUMNS = ["paper", "table", "row", "column", "statistic", "published", "recomputed", "agrees", "reading"]
"""Of a table of cells: printed numbers beside what the records say."""
