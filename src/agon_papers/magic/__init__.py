"""The MAgIC paper: its printed numbers and its statements, each against the other numbers that it prints."""
