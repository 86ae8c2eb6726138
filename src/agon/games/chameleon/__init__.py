"""MAgIC's Chameleon."""
