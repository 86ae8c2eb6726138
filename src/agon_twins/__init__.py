"""Twins of games: the same game in other clothes, the proof that it is one, and what players do in it."""
