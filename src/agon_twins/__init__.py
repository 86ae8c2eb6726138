"""Twins of games: the same game in other words, its certificate, and measures of how players react."""
