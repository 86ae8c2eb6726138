"""The engine that Chameleon and Undercover share: clues about a word in turn, hidden interviews, a ballot against the spy."""
