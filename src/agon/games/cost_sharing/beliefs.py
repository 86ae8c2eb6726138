"""One seat's beliefs in cost sharing: whether each airline will offer to carry more or less."""

from agon.agents.pgm.minds import ActionForecast
from agon.games import Observation
from agon.games.spaces import Choice


class BeliefState(ActionForecast):
    """Forecasts in three words, after the votes of a round."""

    def forecast(self, view: Observation, seat: int) -> Choice:
        """The ways in which the seat may change its share."""
        return Choice(("carry more", "carry the same", "carry less"))

    def known(self, view: Observation) -> int:
        """Up to the last vote."""
        votes = [count for count, event in enumerate(view.past, 1) if event.phase == "vote"]
        return votes[-1] if votes else len(view.past)
