"""Metrics of repeated two-player normal-form games, one row per match and player.

Definitions: Georgousis et al., Evaluating Counterfactual Strategic Reasoning in LLMs, section 6.3 ("as printed"),
and the way in which their recorded numbers were counted ("as_done"). Regret and exploitability are ours.
"""

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linprog

from agon.errors import AgonError
from agon.games.tables import equilibrium_table, payoff_table
from agon.metrics.interval import SHARE, Limits
from agon.turns import decoded, replaced, tidy

KEYS = ["experiment", "match", "game", "variant", "repetition", "seat", "agent", "model", "opponent", "opponent_model"]

USED = [*KEYS[:8], "round", "turn", "action", "fallback", "valid", "payoff", "tokens"]
"""Columns of turns that are read; of weighed decisions `detail` too."""

METRICS = {
    "total_points": "points over all rounds that count",
    "opponent_comprehension": "earliest round from which it earns no less than the other in 90 % of rounds",
    "opponent_comprehension_as_done": "the same, as the paper's numbers count it",
    "cooperation_rate": "share of rounds with the first action, void ones counted; games of two actions",
    "cooperation_of_readable": "share of the first action among its own actions; games of two actions",
    "efficiency": "points per 1000 tokens of the match",
    "efficiency_as_done": "points per 1000 tokens of its largest round",
    "validity_rate": "percent of rounds that are valid",
    "regret": "points per round that the best single action would have added",
    "exploitability": "points per round by which its mix can be held below its security level",
    "distance_to_uniform": "distance of its mix from uniform play (0 to 1)",
    "distance_to_equilibrium": "distance of its mix from the nearest equilibrium of one round (0 to 1)",
    "void": "rounds in which it gave no readable action",
    "replaced": "rounds in which a substitute acted for a player",
}
"""Columns of `per_match`, with a line on each."""
OF_ASKING = {"validity_rate", "void", "replaced"}
"""Metrics of whether answers could be read, not of the play (agon.scores)."""
RANGES = {"validity_rate": (0.0, 100.0)} | dict.fromkeys(
    ["cooperation_rate", "cooperation_of_readable", "distance_to_uniform", "distance_to_equilibrium"], (0.0, 1.0)
)
"""(least, most) of the metrics that have the same limits in every game (agon.scores)."""

PART = 8192
"""Simulated matches are drawn in parts of this size."""

REPLACED, STRANGE = -2, -3
"""Codes in the place of an action: a substitute acted for the player; the action is not in the game."""

WEIGHED = ["expected_payoff", "regret", "exploitability", "distance_to_uniform", "distance_to_equilibrium", "mass"]


@dataclass(frozen=True)
class Course:
    """Matches of one game as arrays (matches x rounds), from one player's side.

    Actions are positions among the options of their player; -1 is void. REPLACED marks a substitute's action, such as a random one,
    which is nobody's behaviour.
    """

    own: NDArray[np.int8]
    other: NDArray[np.int8]
    paid: NDArray[np.float64]
    paid_other: NDArray[np.float64]
    payoff: NDArray[np.float64]
    """The player's points for (own, other): own actions x the other's actions."""

    @property
    def shape(self) -> tuple[int, int]:
        """(matches, rounds)."""
        return self.own.shape[0], self.own.shape[1]

    @property
    def played(self) -> NDArray[np.bool_]:
        """Rounds that count: those without a substitute's action."""
        played: NDArray[np.bool_] = (self.own != REPLACED) & (self.other != REPLACED)
        return played


def total_points(course: Course) -> NDArray[np.float64]:
    """Points over all rounds that count; void rounds pay 0."""
    return np.where(course.played, course.paid, 0.0).sum(axis=1)


def opponent_comprehension(course: Course) -> NDArray[np.float64]:
    """As printed: earliest round from which the player earns no less than the other in 90 % of rounds; N + 1 if never."""
    return _earliest(course.paid >= course.paid_other, course.played)


def opponent_comprehension_as_done(course: Course) -> NDArray[np.float64]:
    """As done in two-action games: a round counts when the player earns no less than by copying the other's action.

    There a missing own action is taken as the second one, and a round with a void other never counts.
    In games of three actions the records follow the printed definition.
    """
    if course.payoff.shape != (2, 2):
        return opponent_comprehension(course)
    own_action = np.where(course.own < 0, 1, course.own)
    points, copy_points = course.payoff[own_action, course.other], course.payoff[course.other, course.other]
    return _earliest((points >= copy_points) & (course.other >= 0), course.played)


def _earliest(good: NDArray[np.bool_], counting: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The first round from which nine in ten counting rounds are good; rounds + 1 if never; absent where none counts."""
    rounds = good.shape[1]
    total, good_count = (np.cumsum(flags[:, ::-1], axis=1)[:, ::-1] for flags in (counting, good & counting))
    qualifies = (good_count >= 0.9 * total - 1e-9) & (total > 0)
    first = np.where(qualifies.any(axis=1), qualifies.argmax(axis=1) + 1.0, rounds + 1.0)
    return np.where(counting.any(axis=1), first, np.nan)


def mix(course: Course) -> NDArray[np.float64]:
    """Share of each action among the player's non-void ones (matches x actions); absent where all were void."""
    counts = np.stack([(course.own == action).sum(axis=1) for action in range(len(course.payoff))], axis=1)
    total = counts.sum(axis=1, keepdims=True).astype(float)
    return np.divide(counts, total, out=np.full(counts.shape, np.nan), where=total > 0)


def cooperation_rate(course: Course) -> NDArray[np.float64]:
    """Share of rounds with the first action, void ones counted, as printed; absent in games of more than two actions.

    Rounds in which a substitute acted for the player do not count.
    """
    if course.payoff.shape != (2, 2):
        return np.full(course.shape[0], np.nan)
    return _ratio((course.own == 0).sum(axis=1), (course.own != REPLACED).sum(axis=1))


def cooperation_of_readable(course: Course) -> NDArray[np.float64]:
    """Share of the first action among the player's own actions; absent where it had none, or more than two to choose from."""
    if course.payoff.shape != (2, 2):
        return np.full(course.shape[0], np.nan)
    return mix(course)[:, 0]


def regret(course: Course) -> NDArray[np.float64]:
    """Points per round that the best single action would have added against the other's actions (external regret)."""
    both = (course.own >= 0) & (course.other >= 0)
    alternatives = course.payoff[:, course.other]
    best = np.where(both, alternatives, 0).sum(axis=2).max(axis=0)
    points = np.where(both, course.payoff[course.own, course.other], 0).sum(axis=1)
    rounds = both.sum(axis=1).astype(float)
    return np.divide(best - points, rounds, out=np.full(len(rounds), np.nan), where=rounds > 0)


def exploitability(course: Course) -> NDArray[np.float64]:
    """Points per round that the player's overall mix can lose against the worst reply, below its security level.

    The security (maximin) level is the payoff that the player can guarantee. In a zero-sum game this is the usual exploitability.
    """
    return shortfall(mix(course), course.payoff)


def shortfall(mixes: NDArray[np.float64], payoff: NDArray[np.float64]) -> NDArray[np.float64]:
    """`exploitability` of known mixes (one a row, actions in the game's order), in points per round."""
    return security(payoff)[1] - (mixes @ payoff).min(axis=1)


def expected_payoff(
    mixes: NDArray[np.float64], others: NDArray[np.float64], payoff: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The expected points per round of each mix (a row) against the other player's mix in the same row."""
    return ((mixes @ payoff) * others).sum(axis=1)


def security(payoff: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """The maximin mix and its guaranteed payoff (points), by linear programming. `payoff`: own actions x the other's."""
    actions = len(payoff)
    solution = linprog(
        [*[0.0] * actions, -1.0],
        A_ub=np.column_stack([-payoff.T, np.ones(payoff.shape[1])]),
        b_ub=np.zeros(payoff.shape[1]),
        A_eq=[[*[1.0] * actions, 0.0]],
        b_eq=[1.0],
        bounds=[*[(0, None)] * actions, (None, None)],
    )
    return solution.x[:-1], float(solution.x[-1])


def distance(course: Course, targets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Total variation distance (0 to 1) from the player's overall mix to the nearest of `targets` (rows)."""
    return to_nearest(mix(course), targets)


def to_nearest(mixes: NDArray[np.float64], targets: NDArray[np.float64]) -> NDArray[np.float64]:
    """`distance` of known mixes (rows)."""
    return np.abs(mixes[:, None, :] - targets[None]).sum(axis=2).min(axis=1) / 2


def of_course(course: Course, equilibria: NDArray[np.float64] | None = None) -> pd.DataFrame:
    """Metrics of actions and points, one row per match; `per_match` adds further ones.

    `equilibria`: the player's equilibrium mixes as rows.
    """
    actions = len(course.payoff)
    columns = {
        "total_points": total_points(course),
        "opponent_comprehension": opponent_comprehension(course),
        "opponent_comprehension_as_done": opponent_comprehension_as_done(course),
        "cooperation_rate": cooperation_rate(course),
        "regret": regret(course),
        "exploitability": exploitability(course),
        "distance_to_uniform": distance(course, np.full((1, actions), 1 / actions)),
    }
    if equilibria is not None:
        columns["distance_to_equilibrium"] = distance(course, equilibria)
    return pd.DataFrame(columns)


def per_match(
    turns: pd.DataFrame,
    payoffs: pd.DataFrame,
    equilibria: pd.DataFrame | None = None,
    seats: Sequence[int] = (0,),
) -> pd.DataFrame:
    """One row per match and player in `seats`: both players, and every metric (see METRICS).

    `payoffs`: game, variant, seat, action, others, payoff (agon.games.tables.payoff_table). `equilibria`: game, variant,
    equilibrium (number), seat, action, weight. Efficiency is points per 1000 tokens: as printed over the match's
    tokens, as done over the tokens of its largest round; absent where tokens are. `void` and `replaced` are numbers of rounds:
    in a void one the player gave no readable action; in a replaced one a substitute acted, and no metric counts it. `least`
    and `most` are the least and most points of a match.
    Raises AgonError for a match without two seats or with gaps in its rounds, and for a game without payoffs.
    """
    tables = _game_by_game(_measure_game, turns, payoffs, equilibria, seats)
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=[*KEYS, *METRICS])


def limits(matches: pd.DataFrame) -> dict[str, Limits]:
    """(least, most) of each metric but efficiency, for agon.metrics.summary of `matches` (a table of `per_match`)."""
    per_round, never = (matches.most - matches.least) / matches.rounds, matches.rounds + 1
    return {
        "total_points": (matches.least, matches.most),
        **dict.fromkeys(("opponent_comprehension", "opponent_comprehension_as_done"), (1, never)),
        **dict.fromkeys(("cooperation_rate", "cooperation_of_readable"), SHARE),
        **dict.fromkeys(("distance_to_uniform", "distance_to_equilibrium"), SHARE),
        "regret": (-per_round, per_round),
        "exploitability": (0, per_round),
        **dict.fromkeys(("void", "replaced"), (0, matches.rounds)),
        "validity_rate": (0, 100),
    }


def measured(turns: pd.DataFrame, games: pd.DataFrame, names: Collection[str], seats: Sequence[int]) -> pd.DataFrame:
    """`per_match` for agon.scores; equilibria are computed only if `names` has a metric that needs them."""
    equilibria = equilibrium_table(games) if "distance_to_equilibrium" in names else None
    return per_match(turns, payoff_table(games), equilibria, seats)


def weighed(
    turns: pd.DataFrame,
    payoffs: pd.DataFrame,
    equilibria: pd.DataFrame | None = None,
    seats: Sequence[int] = (0,),
) -> pd.DataFrame:
    """Exact values of the players' mixes: one row per weighed decision (agon.agents.reads) of the players in `seats`.

    `expected_payoff` (points) is the mean over the player's mix. The other side is the other's mix if it was weighed too, else
    its action; the value is absent where that was void. Summed over a match it estimates the match's points without the chance
    of the player's own draws. `regret`: how much more the best reply would pay. `exploitability` and the distances are those
    of the mix, without sampling noise. `mass`: the probability that the model gives any legal answer. Decisions that were not
    weighed have no row. Tables and errors are those of `per_match`.
    """
    tables = _game_by_game(_weigh_game, turns, payoffs, equilibria, seats, ["detail"])
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=[*KEYS, "round", *WEIGHED])


def _game_by_game(
    measure: Callable[..., pd.DataFrame],
    turns: pd.DataFrame,
    payoffs: pd.DataFrame,
    equilibria: pd.DataFrame | None,
    seats: Sequence[int],
    extra_columns: Sequence[str] = (),
) -> list[pd.DataFrame]:
    """The tables that `measure` makes of each game's turns, payoffs and equilibria, for each of `seats`.

    `extra_columns` are read beside USED. Raises AgonError for a game without payoffs.
    """
    tables = []
    turns = tidy(turns[[column for column in [*USED, *extra_columns] if column in turns]])
    for (game, variant), group in turns.groupby(["game", "variant"], observed=True, sort=True):
        rules = of_game(payoffs, game, variant)
        if rules.empty:
            raise AgonError(f"no payoffs for {game}, {variant}: add the game to the payoff table")
        game_equilibria = None if equilibria is None else of_game(equilibria, game, variant)
        sides = _sides(group)
        tables += [measure(sides[seat], sides[1 - seat], rules, game_equilibria, seat) for seat in seats]
    return tables


def _weigh_game(
    mine: pd.DataFrame, theirs: pd.DataFrame, rules: pd.DataFrame, equilibria: pd.DataFrame | None, seat: int
) -> pd.DataFrame:
    payoff, options, other_options = payoff_matrix(rules, seat)
    mixes, others = chances(mine.detail, options), chances(theirs.detail, other_options)
    actions = _positions(theirs, other_options)
    pure = np.where((actions < 0)[:, None], np.nan, np.eye(len(other_options))[actions])
    others = np.where(np.isnan(others), pure, others)
    rows = ~np.isnan(mixes).any(axis=1)
    mixes, targets = mixes[rows], _targets(equilibria, seat, options)
    table = mine[[*KEYS[:8], "round"]].reset_index(drop=True)
    table = table.assign(opponent=theirs.agent.to_numpy(), opponent_model=theirs.model.to_numpy())[rows]
    return table.assign(
        expected_payoff=(value := expected_payoff(mixes, others[rows], payoff)),
        regret=(others[rows] @ payoff.T).max(axis=1) - value,
        exploitability=shortfall(mixes, payoff),
        distance_to_uniform=to_nearest(mixes, np.full((1, len(options)), 1 / len(options))),
        distance_to_equilibrium=np.nan if targets is None else to_nearest(mixes, targets),
        mass=[json.loads(detail)["mass"] for detail in mine.detail[rows]],
    )[[*KEYS, "round", *WEIGHED]]


def chances(details: Sequence[Any], options: Sequence[str]) -> NDArray[np.float64]:
    """The probability of each option (rows x options) from the turns' column `detail`; absent in rows that were not weighed."""
    probabilities = np.full((len(details), len(options)), np.nan)
    for row, detail in enumerate(details):
        if isinstance(detail, str) and '"chances"' in detail:
            shares = dict(json.loads(detail)["chances"])
            probabilities[row] = [shares[option] for option in options]
    return probabilities


def _measure_game(
    mine: pd.DataFrame, theirs: pd.DataFrame, rules: pd.DataFrame, equilibria: pd.DataFrame | None, seat: int
) -> pd.DataFrame:
    payoff, options, other_options = payoff_matrix(rules, seat)
    rounds = int(mine["round"].max())
    grid = (-1, rounds)
    course = Course(
        own=_positions(mine, options).reshape(grid),
        other=_positions(theirs, other_options).reshape(grid),
        paid=mine.payoff.to_numpy().reshape(grid),
        paid_other=theirs.payoff.to_numpy().reshape(grid),
        payoff=payoff,
    )
    targets = _targets(equilibria, seat, options)
    first, other = mine.iloc[::rounds], theirs.iloc[::rounds]
    tokens = mine.tokens.to_numpy(dtype=float, na_value=np.nan).reshape(grid)
    points = total_points(course)
    keys = first[["experiment", "match", "game", "variant", "repetition", "seat", "agent", "model"]].reset_index(
        drop=True
    )
    return keys.assign(
        opponent=other.agent.to_numpy(),
        opponent_model=other.model.to_numpy(),
        rounds=rounds,
        least=rounds * min(0.0, payoff.min(), course.paid.min()),
        most=rounds * max(0.0, payoff.max(), course.paid.max()),
        tokens=tokens.sum(axis=1),
        **of_course(course, targets),
        efficiency=_ratio(1000 * points, tokens.sum(axis=1)),
        efficiency_as_done=_ratio(1000 * points, tokens.max(axis=1)),
        validity_rate=100 * mine.valid.to_numpy().reshape(grid).mean(axis=1),
        cooperation_of_readable=cooperation_of_readable(course),
        void=(course.own < 0).sum(axis=1),
        replaced=(~course.played).sum(axis=1),
    )


def chance_actions(weights: Sequence[float], matches: int, rounds: int, dice: np.random.Generator) -> NDArray[np.intp]:
    """The positions of the actions of two players that draw each with these probabilities: (matches, rounds, seat).

    Players that always do the same use no dice.
    """
    if max(weights) == 1:
        return np.full((matches, rounds, 2), np.argmax(weights))
    draws = [
        dice.random((rounds, 2, min(PART, matches - first)), dtype=np.float32) for first in range(0, matches, PART)
    ]
    places = np.searchsorted(np.cumsum(weights)[:-1], np.concatenate(draws, axis=2), side="right")
    return places.transpose(2, 0, 1)


def of_actions(
    actions: NDArray[np.integer[Any]],
    game: str,
    variant: str,
    payoffs: pd.DataFrame,
    equilibria: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """`of_course` for seat 0 of simulated matches: positions of actions (matches, rounds, seat), of which none is void."""
    rules = of_game(payoffs, game, variant)
    game_equilibria = None if equilibria is None else of_game(equilibria, game, variant)
    (payoff, options, _), (payoff_other, *_) = (payoff_matrix(rules, seat) for seat in (0, 1))
    own, other = actions[:, :, 0].astype(np.int8), actions[:, :, 1].astype(np.int8)
    course = Course(own, other, payoff[own, other], payoff_other[other, own], payoff)
    return of_course(course, _targets(game_equilibria, 0, options)).assign(game=game, variant=variant)


def of_game(table: pd.DataFrame, game: object, variant: object) -> pd.DataFrame:
    """The rows of one game and variant."""
    return table[(table.game == game) & (table.variant == variant)]


def payoff_matrix(rules: pd.DataFrame, seat: int) -> tuple[NDArray[np.float64], list[str], list[str]]:
    """The payoffs of a seat (own actions x the other's), its own actions, and the other's."""
    rows = rules[rules.seat == seat]
    payoffs = dict(zip(zip(rows.action, rows.others, strict=True), rows.payoff, strict=True))
    options, others = (list(dict.fromkeys(rules.action[rules.seat == place])) for place in (seat, 1 - seat))
    return np.array([[payoffs[action, other] for other in others] for action in options], dtype=float), options, others


def _targets(equilibria: pd.DataFrame | None, seat: int, options: Sequence[str]) -> NDArray[np.float64] | None:
    if equilibria is None or equilibria.empty:
        return None
    rows = equilibria[equilibria.seat == seat]
    return rows.pivot_table(index="equilibrium", columns="action", values="weight")[list(options)].to_numpy(dtype=float)


def _sides(group: pd.DataFrame) -> list[pd.DataFrame]:
    """The turns of seat 0 and of seat 1, sorted by match and round, so that rows correspond. Raises AgonError for gaps."""
    keys = group.match.cat.codes.to_numpy() * np.int64(1 << 32) + group.turn.to_numpy()
    sides = []
    for mask in (group.seat == 0, group.seat == 1):
        side = group[mask]
        key = keys[mask.to_numpy()]
        sides.append(side if (key[1:] > key[:-1]).all() else side.iloc[np.argsort(key, kind="stable")])
    one, other = (side.match.cat.codes.to_numpy() for side in sides)
    is_paired = len(one) == len(other) and len(one) + len(other) == len(group)
    counts = np.bincount(one)
    if not is_paired or (counts[counts > 0] != group["round"].max()).any() or (one != other).any():
        raise AgonError("matches of a game must have two seats and equally many rounds, without gaps")
    return sides


def _positions(turns: pd.DataFrame, options: Sequence[str]) -> NDArray[np.int8]:
    """The actions of some turns as positions (see `Course`). Raises AgonError for an action that the game does not have."""
    labels = decoded(turns.action).cat
    lookup = np.array(
        [options.index(label) if label in options else STRANGE for label in labels.categories] + [-1], dtype=np.int8
    )
    positions = lookup[labels.codes.to_numpy()]
    if (positions == STRANGE).any():
        unknown = [label for label in labels.categories if label not in options]
        raise AgonError(f"actions {unknown} are not in the game: {list(options)}")
    return np.where(replaced(turns), np.int8(REPLACED), positions)


def _ratio(above: NDArray[Any], below: NDArray[Any]) -> NDArray[np.float64]:
    return np.divide(above, below, out=np.full(len(below), np.nan), where=below > 0)


def action_shares(turns: pd.DataFrame, by: Sequence[str] = ("game", "variant", "agent")) -> pd.DataFrame:
    """How often each legal action was taken among valid decisions: the `by` keys, action, value (share), n (decisions).

    An action that was legal and never taken has the share 0; a group without a valid decision has no row,
    and a table without one gives an empty table of the same columns.
    """
    turns = tidy(turns)
    valid = turns[turns.valid & turns.action.notna()]
    legal = valid[[*by, "legal"]].drop_duplicates()
    options = {label: json.loads(label)["choice"] for label in legal.legal.unique()}
    legal["action"] = pd.Series([options[label] for label in legal.legal], index=legal.index, dtype=object)
    possible = legal.explode("action").astype({"action": "str"}).drop(columns="legal").drop_duplicates()
    keys = [*by, "action"]
    decisions = valid.assign(action=decoded(valid.action).astype("str"))
    counts = decisions.groupby(keys, observed=True, dropna=False).size().rename("count").reset_index()
    table = possible.merge(counts, on=keys, how="left").fillna({"count": 0})
    total = table.groupby(list(by), observed=True, dropna=False)["count"].transform("sum")
    return table.assign(value=table["count"] / total, n=total.astype(int)).drop(columns="count").reset_index(drop=True)


def shares_over_rounds(turns: pd.DataFrame, by: Sequence[str] = ("game", "variant", "model")) -> pd.DataFrame:
    """`action_shares` round by round."""
    return action_shares(turns, [*by, "round"])
