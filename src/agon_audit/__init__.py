"""Recorded games of anybody, checked against their rules: `agon audit` finds what does not fit, and says where it is."""
