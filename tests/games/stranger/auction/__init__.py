"""A family of games that agon does not know: what a reader may drop in."""
