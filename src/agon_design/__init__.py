"""Comparison of conditions, ratings of players, plans of designs, preregistration, and asking until a question is decided."""
