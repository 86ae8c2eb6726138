"""Exact planning: the items that a hand can become, the crafts for them, and the gifts that they take."""
