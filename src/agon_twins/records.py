"""Does the order of players survive the clothes of a game? Orders with what sampling alone does to them, and where a player
stands between remembering a game and solving it.

Matches are drawn anew, or halved, within cells (such as opponent and prompting style), which are fixed.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby, product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from agon.errors import AgonError
from agon.games import Game
from agon.games.base import NormalForm
from agon.games.matrix.metrics import chances
from agon.loop import seat_dice
from agon.metrics.differences import estimate
from agon.metrics.interval import SHARE, ends
from agon.turns import decoded
from agon_twins.invariance import SOLVER
from agon_twins.twin import Twin

Numbers = NDArray[np.float64]
DRAWS = 2_000
"""So often matches are drawn anew, halved or exchanged."""
TAIL = (0.025, 0.975)
"""Of draws: the ends of a 95 % interval."""


def resampled(cells: pd.Series, dice: np.random.Generator, draws: int = DRAWS) -> Numbers:
    """Weights of matches (draws x matches): of the n of a cell n - 1 are drawn with replacement.

    One fewer, because the variance is then that of the cell's mean however few they are (Rao and Wu 1988). A match that is
    alone in its cell is always there.
    """
    weights = np.ones((draws, len(cells)))
    for places in _places(cells):
        if (n := len(places)) > 1:
            weights[:, places] = dice.multinomial(n - 1, np.full(n, 1 / n), size=draws) * n / (n - 1)
    return weights


def halved(cells: pd.Series, dice: np.random.Generator, draws: int = DRAWS) -> tuple[Numbers, Numbers]:
    """Weights of matches (draws x matches) in two halves of every cell; of an odd number one match is in neither."""
    one, other = np.zeros((2, draws, len(cells)))
    for places in _places(cells):
        n, half = len(places), len(places) // 2
        at = dice.permuted(np.tile(np.arange(n), (draws, 1)), axis=1)
        one[:, places], other[:, places] = ((part * n / max(half, 1)) for part in (at < half, at >= n - half))
    return one, other


def _places(cells: pd.Series) -> list[NDArray[np.intp]]:
    return [*pd.Series(range(len(cells))).groupby(cells.to_numpy(), sort=True).indices.values()]


def tau(one: Numbers, other: Numbers) -> Numbers:
    """Kendall's tau (a) of two rows of numbers of the same players, or of many (... x players); absent for one player."""
    if one.shape[-1] < 2:
        return np.full(one.shape[:-1], np.nan)
    pairs = np.triu_indices(one.shape[-1], 1)
    ways = [np.sign(each[..., pairs[0]] - each[..., pairs[1]]) for each in (one, other)]
    found: Numbers = (ways[0] * ways[1]).mean(axis=-1)
    return found


def orders(scores: pd.DataFrame, known: str = "default", seed: int = 1) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The order of models in each variant, and how far it is the order in the one that is known.

    `scores`: a row per match with variant, model, cell and points, all of one game; every model has played every variant.
    First table: variant, model, value (mean), n (matches), rank (1: most points), rank_low, rank_high (in 95 % of the draws).
    Second table: variant; tau with the known one's order; low, high (95 % of the draws, in each of which sampling errs
    once more, so that the middle of the interval lies below tau); apart (tau between half of the matches here and half of them there,
    on average) beside alike (between two halves of one variant, likewise).
    """
    dice, means, halves, rows = np.random.default_rng(seed), dict[str, Any](), dict[str, Any](), list[dict[str, Any]]()
    models = sorted(set(scores.model))
    for variant, here in scores.groupby("variant", sort=True):
        own = [here[here.model == model] for model in models]
        values = np.array([each.points.mean() for each in own])
        drawn = np.stack([_mean(each, resampled(each.cell, dice)) for each in own], axis=-1)
        split = [[_mean(each, part) for part in halved(each.cell, dice)] for each in own]
        means[str(variant)], halves[str(variant)] = (values, drawn), np.moveaxis(np.array(split), 0, -1)
        low, high = (
            np.quantile(rankdata(-drawn.round(9), way, axis=1), at, axis=0, method="inverted_cdf").astype(int)
            for way, at in zip(("min", "max"), TAIL, strict=True)
        )
        for place, model in enumerate(models):
            rank = int((values > values[place]).sum()) + 1
            said = {"variant": variant, "model": model, "value": values[place], "n": len(own[place]), "rank": rank}
            rows.append(said | {"rank_low": low[place], "rank_high": high[place]})
    taus = []
    for variant in means:
        if variant != known:
            (value, drawn), (first, other) = means[variant], (halves[known], halves[variant])
            low, high = np.quantile(tau(means[known][1], drawn), TAIL)
            apart = np.mean([tau(*pair).mean() for pair in product(first, other)])
            alike = np.mean([tau(*both).mean() for both in (first, other)])
            said = {"variant": variant, "models": len(models), "tau": float(tau(means[known][0], value))}
            taus.append(said | {"low": low, "high": high, "apart": apart, "alike": alike})
    return pd.DataFrame(rows), pd.DataFrame(taus)


def _mean(rows: pd.DataFrame, weights: Numbers) -> Numbers:
    found: Numbers = weights @ rows.points.to_numpy(dtype=float) / weights.sum(axis=1)
    return found


def by_chance(scores: pd.DataFrame, one: str, other: str, seed: int = 1) -> tuple[float, tuple[float, float]]:
    """How often the orders in two variants would be as far apart as they are if every model earned the same in both (p), and the
    middle 95 % of tau then; absent for one model.

    What a model earns is then its mean over both. Those means lie as far apart as they do for the chance of sampling too, so they are
    drawn together by as much; around them are the deviations of matches that are drawn anew within each variant.
    """
    dice, seen, drawn = np.random.default_rng(seed), list[list[float]](), list[list[Numbers]]()
    for _, rows in scores.groupby("model", sort=True):
        own = [rows[rows.variant == variant] for variant in (one, other)]
        seen.append([each.points.mean() for each in own])
        drawn.append([_mean(each, resampled(each.cell, dice)) for each in own])
    means, draws = np.array(seen), np.array(drawn)
    if len(means) < 2:
        return np.nan, (np.nan, np.nan)
    middle, noise = means.mean(axis=1), draws.mean(axis=1).var(axis=1).mean()
    true = max(0.0, 1 - noise / middle.var(ddof=1)) ** 0.5
    alike = (middle.mean() + true * (middle - middle.mean()))[:, None, None] + draws - means[:, :, None]
    taus = tau(*np.moveaxis(alike, 0, -1))
    low, high = np.quantile(taus, TAIL)
    count = int((taus <= tau(*means.T) + 1e-9).sum())
    return (count + 1) / (DRAWS + 1), (float(low), float(high))


def lost(scores: pd.DataFrame, known: str, twin: str) -> dict[str, float]:
    """What players earn more in the game that is known than in its twin, per round: value, low, high, known, twin, n (matches).

    Student's t within cells, which weigh by their matches; a cell of one game, model, opponent and style has both.
    """
    cells = [
        (rows.points[rows.variant == twin].to_numpy(float), rows.points[rows.variant == known].to_numpy(float))
        for _, rows in scores.groupby(["model", "cell"], sort=True)
    ]
    whole = [pair for pair in cells if all(map(len, pair))]
    found = estimate(whole)
    value = found.second - found.first
    counts = {"known": found.second, "twin": found.first, "n": sum(len(one) + len(other) for one, other in whole)}
    return {"value": value, "low": found.low, "high": found.high, **counts}


# ---- what is done where


def form_of(game: Game[Any]) -> NormalForm:
    """The payoff table of one round. Raises AgonError for a game without one."""
    if game.normal_form is None:
        raise AgonError(
            f"{game.name} has no payoff table: which situations match, and what solves it, is not known here"
        )
    return game.normal_form


class Place(NamedTuple):
    """Where a game stands to the one that it was made of."""

    base: Game[Any]
    game: Game[Any]

    def seat(self, seat: int) -> int:
        """A seat, in the base."""
        return self.game.map.inverse.seat(seat) if isinstance(self.game, Twin) else seat

    def words(self) -> dict[str, str]:
        """The game's options -> the base's; by their place where the game says nothing of how it was made."""
        own, its = form_of(self.game).options, form_of(self.base).options
        if isinstance(self.game, Twin):
            return {option: self.game.map.inverse.text(option) for option in own}
        return dict(zip(own, its, strict=True))


def behaviour(turns: pd.DataFrame, places: Mapping[tuple[str, str], Place], last: int | None = None) -> pd.DataFrame:
    """What models did in normal-form games: match, game, variant, model, agent, situation, and mix, in the words of the base.

    `places`: of (game, variant). `situation`: the seat and all that was done before, or in the `last` rounds alone. `mix`: the
    probabilities of the base's options, in their order; exact where they were weighed, else 1 for what was done. A void action has no row.
    """
    found = []
    for key, here in turns.groupby(["game", "variant"], observed=True, sort=True):
        place = places[str(key[0]), str(key[1])]
        words, options = place.words(), form_of(place.base).options
        here = here.sort_values(["match", "round", "seat"], kind="stable")
        actions = [words.get(each) if isinstance(each, str) else None for each in decoded(here.action)]
        weighed = chances([*here.detail], [next(new for new in words if words[new] == old) for old in options])
        rows = zip(here.itertuples(), actions, weighed, strict=True)
        for _, match in groupby(rows, lambda each: each[0].match):
            past: list[list[tuple[int, str | None]]] = []
            for _, asked in groupby(match, lambda each: each[0].round):
                now = [(place.seat(row.seat), action, row, mix) for row, action, mix in asked]
                for seat, action, row, mix in now:
                    done = mix if mix[0] == mix[0] else np.array([float(each == action) for each in options])
                    if isinstance(row.model, str) and done.any():
                        before = past if last is None else past[len(past) - last :] if len(past) > last else past
                        found.append((row.match, *key, row.model, row.agent, f"{seat} {before}", done))
                past.append(sorted((seat, str(action)) for seat, action, _, _ in now))
    return pd.DataFrame(found, columns=["match", "game", "variant", "model", "agent", "situation", "mix"])


def solved(game: Game[Any], seat: int = 0) -> Numbers:
    """What the solver of the game's family does at the start: a probability for each option. Raises AgonError for a game without table."""
    options, state = form_of(game).options, game.start(seat_dice(0, -1))
    mix = SOLVER.make(game)(game.observe(state, seat))
    return np.array([float(mix.get(option, 0)) for option in options])


def sums(done: pd.DataFrame, situations: Sequence[str], matches: Sequence[str]) -> Numbers:
    """How often what was done where: matches x situations x options; of one player in one variant."""
    found = np.zeros((len(matches), len(situations), len(done["mix"].iloc[0])))
    at = pd.Index(matches).get_indexer(done["match"]), pd.Index(situations).get_indexer(done.situation)
    np.add.at(found, at, np.stack([*done["mix"]]))
    return found


def distance(one: Numbers, other: Numbers) -> Numbers:
    """Total variation of what is done in situations that both know (... x situations x options: how often), on average over these.

    A situation weighs by how often it occurred, where it occurred less often.
    """
    return _averaged(one, other, lambda first, second: np.abs(first - second).sum(axis=-1) / 2)


def followed(one: Numbers, other: Numbers, before: Numbers, after: Numbers) -> Numbers:
    """How much nearer to the solution `after` players are in `other` than in `one`, as a part of the way, situation by situation.

    The way is from the solution `before`, or from what the player does in `one` where this is farther off.
    """
    way = np.abs(before - after).sum() / 2

    def nearer(first: Numbers, second: Numbers) -> Numbers:
        far, left = (np.abs(each - after).sum(axis=-1) / 2 for each in (first, second))
        found: Numbers = (far - left) / np.maximum(way, far)
        return found

    return _averaged(one, other, nearer)


def _averaged(one: Numbers, other: Numbers, measure: Callable[[Numbers, Numbers], Numbers]) -> Numbers:
    counts = [each.sum(axis=-1, keepdims=True) for each in (one, other)]
    weights = np.minimum(*counts)[..., 0]
    first, second = (each / np.where(count > 0, count, 1) for each, count in zip((one, other), counts, strict=True))
    found: Numbers = (weights * measure(first, second)).sum(axis=-1) / weights.sum(axis=-1)
    return found


def placed(
    done: pd.DataFrame, cells: Mapping[str, str], solutions: Mapping[str, Numbers], seed: int = 1
) -> pd.DataFrame:
    """Where a player stands in one of the paper's games: metric (invariance, sensitivity), value, n (matches of a variant), low, high.

    `done`: `behaviour` of one player in the variants default, label, payoff and joint; `cells`: of its matches; `solutions`: `solved`
    of each variant. Invariance is 1 less the distance from default to its twin label, of which what two halves of one variant are apart is
    taken away (1: no further apart than these; 0: nothing in common). Sensitivity is the mean of default to payoff and label to
    joint, where the words stay and the solution moves; it has no interval where all matches of a variant are alike.
    """
    dice, situations = np.random.default_rng(seed), sorted(set(done.situation))
    counts, drawn, halves = {}, {}, {}
    for variant, own in done.groupby("variant", observed=True, sort=True):
        matches = sorted(set(own["match"]))
        cell = pd.Series([cells[each] for each in matches])
        found = sums(own, situations, matches).reshape(len(matches), -1)
        shape = (-1, len(situations), len(own["mix"].iloc[0]))
        counts[variant] = found.sum(axis=0).reshape(shape)
        drawn[variant] = (resampled(cell, dice) @ found).reshape(shape)
        halves[variant] = [(part @ found).reshape(shape) for part in halved(cell, dice)]
    alike = np.mean([distance(*halves[variant]).mean() for variant in ("default", "label")])
    across = np.mean([distance(*pair).mean() for pair in product(halves["default"], halves["label"])])
    spread = distance(drawn["default"], drawn["label"]).std() / (1 - alike)
    near = [("default", "payoff"), ("label", "joint")]
    values, draws = (
        np.mean([followed(of[a], of[b], solutions[a], solutions[b]) for a, b in near], axis=0) for of in (counts, drawn)
    )
    n = min(done[done.variant == variant]["match"].nunique() for variant in ("default", "label"))
    value = min(1 - (across - alike) / (1 - alike), 1.0)
    rows = [
        ("invariance", value, n, *ends(value, spread, n - 1, n, limits=SHARE)),
        ("sensitivity", values[0], n, *ends(values[0], draws.std(), n - 1, n)),
    ]
    return pd.DataFrame(rows, columns=["metric", "value", "n", "low", "high"])


def matched(
    done: pd.DataFrame, claims: Mapping[tuple[str, str], bool], solutions: Mapping[tuple[str, str], Numbers]
) -> pd.DataFrame:
    """A row for each twin and situation that its game came into as well: game, variant, metric, situation, value.

    `done`: `behaviour` of one player, exact; `claims`: (game, variant) -> whether it is a twin of the game, or else a near-twin, of which
    value is a sensitivity; near-twins whose solution (`solutions`) is the game's have no row. The game is what stands before the `~`.
    """
    mixes = done.groupby(["game", "variant", "situation"], observed=True, sort=True)["mix"].first()
    rows = []
    for (game, variant), claimed in claims.items():
        known, own = mixes[game, variant.partition("~")[0]], mixes[game, variant]
        before, after = (solutions[game, each] for each in (variant.partition("~")[0], variant))
        for situation in sorted(set(known.index) & set(own.index)):
            one, other = known[situation], own[situation]
            if claimed:
                rows.append((game, variant, "invariance", situation, float(1 - distance(one[None], other[None]))))
            elif not np.allclose(before, after):
                rows.append(
                    (game, variant, "sensitivity", situation, float(followed(one[None], other[None], before, after)))
                )
    return pd.DataFrame(rows, columns=["game", "variant", "metric", "situation", "value"])
