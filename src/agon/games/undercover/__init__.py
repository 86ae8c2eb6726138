"""MAgIC's Undercover."""
