"""MAgIC's PGM: an agent that thinks about what the others believe before it decides (section 4 of the paper).

`agent.py` asks the questions, `minds.py` says when they are due, and `suspicion.py` is the belief matrix of games with a spy.
What is asked in a game is in `beliefs.py` and `beliefs.md` of its family.
"""

from agon.agents.pgm.agent import PHASE, Beliefs

__all__ = ["PHASE", "Beliefs"]
