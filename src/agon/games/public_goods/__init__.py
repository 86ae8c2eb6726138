"""MAgIC's public good."""
