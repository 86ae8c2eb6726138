"""Rating the log of a match, as a game of one seat."""
