"""Exact planning: what a hand can become, by which crafts, and what others must give for it."""
