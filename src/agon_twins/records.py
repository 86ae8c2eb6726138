"""Does the order of players survive the clothes of a game? Orders with their sampling error, and the position of a player
between remembering a game and solving it.

Matches are drawn anew, or split in halves, within fixed cells (such as opponent and prompting style).
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
"""Number of times that matches are drawn anew or split."""
TAIL = (0.025, 0.975)
"""Quantiles of draws: the ends of a 95 % interval."""


def bootstrap_weights(cells: pd.Series, dice: np.random.Generator, draws: int = DRAWS) -> Numbers:
    """Weights of matches (draws x matches): from the n of a cell n - 1 are drawn with replacement.

    The variance is then that of the cell's mean, however few its matches are (Rao and Wu 1988). The only match of a cell is in every
    draw.
    """
    weights = np.ones((draws, len(cells)))
    for places in _places(cells):
        if (n := len(places)) > 1:
            weights[:, places] = dice.multinomial(n - 1, np.full(n, 1 / n), size=draws) * n / (n - 1)
    return weights


def split_weights(cells: pd.Series, dice: np.random.Generator, draws: int = DRAWS) -> tuple[Numbers, Numbers]:
    """Weights of matches (draws x matches) in two halves of every cell. If their number is odd, one match is in neither half."""
    one, other = np.zeros((2, draws, len(cells)))
    for places in _places(cells):
        n, half = len(places), len(places) // 2
        order = dice.permuted(np.tile(np.arange(n), (draws, 1)), axis=1)
        one[:, places], other[:, places] = ((part * n / max(half, 1)) for part in (order < half, order >= n - half))
    return one, other


def _places(cells: pd.Series) -> list[NDArray[np.intp]]:
    return [*pd.Series(range(len(cells))).groupby(cells.to_numpy(), sort=True).indices.values()]


def tau(one: Numbers, other: Numbers) -> Numbers:
    """Kendall's tau (a) of two rankings of the same players, or of many (... x players); NaN for one player."""
    if one.shape[-1] < 2:
        return np.full(one.shape[:-1], np.nan)
    pairs = np.triu_indices(one.shape[-1], 1)
    ways = [np.sign(numbers[..., pairs[0]] - numbers[..., pairs[1]]) for numbers in (one, other)]
    mean: Numbers = (ways[0] * ways[1]).mean(axis=-1)
    return mean


def orders(scores: pd.DataFrame, known: str = "default", seed: int = 1) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The order of models in each variant, and its agreement with the order in the `known` variant.

    `scores`: a row per match with variant, model, cell and points, all of one game; every model has played every variant.
    First table: variant, model, value (mean), n (matches), rank (1: most points), rank_low, rank_high (in 95 % of the draws).
    Second table: variant; tau with the known order; low, high (of 95 % of the draws; each draw adds the sampling error once more, so
    that the middle of the interval lies below tau); apart (mean tau between half of the matches of one variant and half of the other)
    beside alike (mean tau between two halves of one variant).
    """
    dice, models = np.random.default_rng(seed), sorted(set(scores.model))
    means, halves, rows = dict[str, Any](), dict[str, Any](), list[dict[str, Any]]()
    for variant, of_variant in scores.groupby("variant", sort=True):
        of_models = [of_variant[of_variant.model == model] for model in models]
        values = np.array([sample.points.mean() for sample in of_models])
        draws = np.stack([_mean(sample, bootstrap_weights(sample.cell, dice)) for sample in of_models], axis=-1)
        split = [[_mean(sample, weights) for weights in split_weights(sample.cell, dice)] for sample in of_models]
        means[str(variant)], halves[str(variant)] = (values, draws), np.moveaxis(np.array(split), 0, -1)
        low, high = (
            np.quantile(rankdata(-draws.round(9), way, axis=1), at, axis=0, method="inverted_cdf").astype(int)
            for way, at in zip(("min", "max"), TAIL, strict=True)
        )
        for place, model in enumerate(models):
            rank = int((values > values[place]).sum()) + 1
            row = {"variant": variant, "model": model, "value": values[place], "n": len(of_models[place]), "rank": rank}
            rows.append(row | {"rank_low": low[place], "rank_high": high[place]})
    taus = []
    for variant in means:
        if variant != known:
            (value, draws), (first, other) = means[variant], (halves[known], halves[variant])
            low, high = np.quantile(tau(means[known][1], draws), TAIL)
            apart = np.mean([tau(*pair).mean() for pair in product(first, other)])
            alike = np.mean([tau(*both).mean() for both in (first, other)])
            row = {"variant": variant, "models": len(models), "tau": float(tau(means[known][0], value))}
            taus.append(row | {"low": low, "high": high, "apart": apart, "alike": alike})
    return pd.DataFrame(rows), pd.DataFrame(taus)


def _mean(rows: pd.DataFrame, weights: Numbers) -> Numbers:
    mean: Numbers = weights @ rows.points.to_numpy(dtype=float) / weights.sum(axis=1)
    return mean


def chance_of_orders(scores: pd.DataFrame, one: str, other: str, seed: int = 1) -> tuple[float, tuple[float, float]]:
    """The test of equal orders in two variants: p, and the middle 95 % of tau if every model earned the same in both.

    p is the chance of a tau as low as the observed one. Each model then earns its mean over both variants. Sampling error spreads these
    means too far, so they are shrunk; around them are the deviations of matches drawn anew within each variant. NaN for one model.
    """
    dice, values, draws_of_models = np.random.default_rng(seed), list[list[float]](), list[list[Numbers]]()
    for _, rows in scores.groupby("model", sort=True):
        parts = [rows[rows.variant == variant] for variant in (one, other)]
        values.append([part.points.mean() for part in parts])
        draws_of_models.append([_mean(part, bootstrap_weights(part.cell, dice)) for part in parts])
    means, draws = np.array(values), np.array(draws_of_models)
    if len(means) < 2:
        return np.nan, (np.nan, np.nan)
    middle, noise = means.mean(axis=1), draws.mean(axis=1).var(axis=1).mean()
    true = max(0.0, 1 - noise / middle.var(ddof=1)) ** 0.5
    alike = (middle.mean() + true * (middle - middle.mean()))[:, None, None] + draws - means[:, :, None]
    taus = tau(*np.moveaxis(alike, 0, -1))
    low, high = np.quantile(taus, TAIL)
    count = int((taus <= tau(*means.T) + 1e-9).sum())
    return (count + 1) / (DRAWS + 1), (float(low), float(high))


def loss(scores: pd.DataFrame, known: str, twin: str) -> dict[str, float]:
    """The loss of players in a twin, in points per round, against the known game: value, low, high, known, twin, n (matches).

    The interval is Student's t within cells, which weigh by their matches. Cells without matches of both variants do not count.
    """
    cells = [
        (rows.points[rows.variant == twin].to_numpy(float), rows.points[rows.variant == known].to_numpy(float))
        for _, rows in scores.groupby(["model", "cell"], sort=True)
    ]
    complete = [pair for pair in cells if all(map(len, pair))]
    difference = estimate(complete)
    value = difference.second - difference.first
    counts = {
        "known": difference.second,
        "twin": difference.first,
        "n": sum(len(one) + len(other) for one, other in complete),
    }
    return {"value": value, "low": difference.low, "high": difference.high, **counts}


# ---- behaviour in situations


def form_of(game: Game[Any]) -> NormalForm:
    """The payoff table of one round. Raises AgonError for a game without one, and where players have different actions."""
    if game.normal_form is None:
        raise AgonError(
            f"{game.name} has no payoff table: which situations match, and what solves it, is not known here"
        )
    if len(set(game.normal_form.action_sets)) > 1:
        raise AgonError(f"in {game.name} the players have different actions: their mixes cannot be compared")
    return game.normal_form


class Place(NamedTuple):
    """A game, and the base that it is made of."""

    base: Game[Any]
    game: Game[Any]

    def seat(self, seat: int) -> int:
        """The seat in the base of a seat in the game."""
        return self.game.map.inverse.seat(seat) if isinstance(self.game, Twin) else seat

    def words(self) -> dict[str, str]:
        """The game's options -> the base's. Options of a game that is no twin are matched by their position."""
        options, base_options = form_of(self.game).action_sets[0], form_of(self.base).action_sets[0]
        if isinstance(self.game, Twin):
            return {option: self.game.map.inverse.text(option) for option in options}
        return dict(zip(options, base_options, strict=True))


def behaviour(turns: pd.DataFrame, places: Mapping[tuple[str, str], Place], last: int | None = None) -> pd.DataFrame:
    """The mixes of models in normal-form games: match, game, variant, model, agent, situation, mix, in the words of the base.

    `places`: (game, variant) -> Place. `situation`: the seat and the history, or its `last` rounds alone. `mix`: the probabilities of the
    base's options, in their order: from log-probabilities where the turn has them, else 1 for the action. A void action has no row.
    """
    rows_of_mixes = []
    for key, of_game in turns.groupby(["game", "variant"], observed=True, sort=True):
        place = places[str(key[0]), str(key[1])]
        words, options = place.words(), form_of(place.base).action_sets[0]
        of_game = of_game.sort_values(["match", "round", "seat"], kind="stable")
        actions = [words.get(item) if isinstance(item, str) else None for item in decoded(of_game.action)]
        weighed = chances([*of_game.detail], [next(new for new in words if words[new] == old) for old in options])
        rows = zip(of_game.itertuples(), actions, weighed, strict=True)
        for _, match in groupby(rows, lambda item: item[0].match):
            past: list[list[tuple[int, str | None]]] = []
            for _, of_round in groupby(match, lambda item: item[0].round):
                now = [(place.seat(row.seat), action, row, mix) for row, action, mix in of_round]
                for seat, action, row, mix in now:
                    chosen_mix = mix if mix[0] == mix[0] else np.array([float(item == action) for item in options])
                    if isinstance(row.model, str) and chosen_mix.any():
                        before = past if last is None else past[len(past) - last :] if len(past) > last else past
                        rows_of_mixes.append((row.match, *key, row.model, row.agent, f"{seat} {before}", chosen_mix))
                past.append(sorted((seat, str(action)) for seat, action, _, _ in now))
    return pd.DataFrame(rows_of_mixes, columns=["match", "game", "variant", "model", "agent", "situation", "mix"])


def solver_mix(game: Game[Any], seat: int = 0) -> Numbers:
    """The solver's mix at the start: a probability for each option. Raises AgonError for a game without a payoff table."""
    options, state = form_of(game).action_sets[0], game.start(seat_dice(0, -1))
    mix = SOLVER.make(game)(game.observe(state, seat))
    return np.array([float(mix.get(option, 0)) for option in options])


def sums(behaviours: pd.DataFrame, situations: Sequence[str], matches: Sequence[str]) -> Numbers:
    """Sums of mixes (matches x situations x options) of one player in one variant."""
    totals = np.zeros((len(matches), len(situations), len(behaviours["mix"].iloc[0])))
    positions = (
        pd.Index(matches).get_indexer(behaviours["match"]),
        pd.Index(situations).get_indexer(behaviours.situation),
    )
    np.add.at(totals, positions, np.stack([*behaviours["mix"]]))
    return totals


def distance(one: Numbers, other: Numbers) -> Numbers:
    """The mean total variation of two behaviours (... x situations x options: counts) over the situations of both.

    The weight of a situation is the smaller of its two counts.
    """
    return _weighted_mean(one, other, lambda first, second: np.abs(first - second).sum(axis=-1) / 2)


def sensitivity(one: Numbers, other: Numbers, before: Numbers, after: Numbers) -> Numbers:
    """How far a player moves from `one` to `other` towards the solution `after`: 0 is not at all, 1 is all the way; the
    mean over situations.

    The way starts at the solution `before`, or at the player's behaviour in `one`, whichever is farther from `after`.
    """
    way = np.abs(before - after).sum() / 2

    def nearer(first: Numbers, second: Numbers) -> Numbers:
        far, rest = (np.abs(mix - after).sum(axis=-1) / 2 for mix in (first, second))
        part: Numbers = (far - rest) / np.maximum(way, far)
        return part

    return _weighted_mean(one, other, nearer)


def _weighted_mean(one: Numbers, other: Numbers, measure: Callable[[Numbers, Numbers], Numbers]) -> Numbers:
    counts = [totals.sum(axis=-1, keepdims=True) for totals in (one, other)]
    weights = np.minimum(*counts)[..., 0]
    first, second = (totals / np.where(count > 0, count, 1) for totals, count in zip((one, other), counts, strict=True))
    mean: Numbers = (weights * measure(first, second)).sum(axis=-1) / weights.sum(axis=-1)
    return mean


def positions(
    behaviours: pd.DataFrame, cells: Mapping[str, str], solutions: Mapping[str, Numbers], seed: int = 1
) -> pd.DataFrame:
    """The position of a player in one of the paper's games: metric (invariance, sensitivity), value, n (matches of a variant), low, high.

    `behaviours`: `behaviour` of one player in the variants default, label, payoff and joint. `cells`: match -> cell. `solutions`: variant
    -> `solver_mix`. Invariance is 1 less the distance from default to its twin label, less the distance of two halves of one variant
    (1: no farther apart than these; 0: nothing in common). Sensitivity is the mean of default to payoff and label to joint, where the
    words stay and the solution moves. It has no interval where all matches of a variant are alike.
    """
    dice, situations = np.random.default_rng(seed), sorted(set(behaviours.situation))
    counts, draws_by_variant, halves = {}, {}, {}
    for variant, rows_of_variant in behaviours.groupby("variant", observed=True, sort=True):
        matches = sorted(set(rows_of_variant["match"]))
        cell = pd.Series([cells[match] for match in matches])
        counted = sums(rows_of_variant, situations, matches).reshape(len(matches), -1)
        shape = (-1, len(situations), len(rows_of_variant["mix"].iloc[0]))
        counts[variant] = counted.sum(axis=0).reshape(shape)
        draws_by_variant[variant] = (bootstrap_weights(cell, dice) @ counted).reshape(shape)
        halves[variant] = [(part @ counted).reshape(shape) for part in split_weights(cell, dice)]
    alike = np.mean([distance(*halves[variant]).mean() for variant in ("default", "label")])
    across = np.mean([distance(*pair).mean() for pair in product(halves["default"], halves["label"])])
    spread = distance(draws_by_variant["default"], draws_by_variant["label"]).std() / (1 - alike)
    near = [("default", "payoff"), ("label", "joint")]
    values, draws = (
        np.mean([sensitivity(of[a], of[b], solutions[a], solutions[b]) for a, b in near], axis=0)
        for of in (counts, draws_by_variant)
    )
    n = min(behaviours[behaviours.variant == variant]["match"].nunique() for variant in ("default", "label"))
    value = min(1 - (across - alike) / (1 - alike), 1.0)
    rows = [
        ("invariance", value, n, *ends(value, spread, n - 1, n, limits=SHARE)),
        ("sensitivity", values[0], n, *ends(values[0], draws.std(), n - 1, n)),
    ]
    return pd.DataFrame(rows, columns=["metric", "value", "n", "low", "high"])


def compare_situations(
    behaviours: pd.DataFrame, claims: Mapping[tuple[str, str], bool], solutions: Mapping[tuple[str, str], Numbers]
) -> pd.DataFrame:
    """A row for each twin or near-twin, and situation of both games: game, variant, metric, situation, value.

    `behaviours`: `behaviour` of one player, from log-probabilities. `claims`: (game, variant) -> whether it is a twin; the value is then
    an invariance, and for a near-twin a sensitivity. A near-twin with the solution of its game has no row. `solutions`: (game, variant)
    -> `solver_mix`. The base is the part of the variant before the `~`.
    """
    mixes = behaviours.groupby(["game", "variant", "situation"], observed=True, sort=True)["mix"].first()
    rows = []
    for (game, variant), claimed in claims.items():
        base, twin = mixes[game, variant.partition("~")[0]], mixes[game, variant]
        before, after = (solutions[game, name] for name in (variant.partition("~")[0], variant))
        for situation in sorted(set(base.index) & set(twin.index)):
            one, other = base[situation], twin[situation]
            if claimed:
                rows.append((game, variant, "invariance", situation, float(1 - distance(one[None], other[None]))))
            elif not np.allclose(before, after):
                rows.append(
                    (game, variant, "sensitivity", situation, float(sensitivity(one[None], other[None], before, after)))
                )
    return pd.DataFrame(rows, columns=["game", "variant", "metric", "situation", "value"])
