"""Repeated normal-form games for any number of players, and the transforms that make their variants."""
