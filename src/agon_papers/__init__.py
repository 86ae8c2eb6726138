"""The papers' printed numbers and statements, each set beside what the recorded games give."""
