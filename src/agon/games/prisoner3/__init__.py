"""MAgIC's prisoner's dilemma of three players."""
