"""Checks a preregistration against the plan, before anything is asked: does what it names exist, and can the matches answer it?"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from agon.agents.scripts import anything
from agon.conf import suggest
from agon.errors import AgonError
from agon.games.tables import games_table
from agon.plan import Match, Seat
from agon.play import play_now
from agon.play import turns_table as turns_of
from agon.scores import all_metrics, games_with, measure, require_metrics, with_all
from agon_design.compare import Question, question, units_asked
from agon_design.prereg import Exclusion, Preregistration, Until, condition_now
from agon_design.units import OPPONENTS, in_both, texts
from agon_design.until import blocks
from agon_design.words import explain_missing_pair

RANDOM = Seat("anything", anything)
"""The player of a trial match."""


class Plan(NamedTuple):
    """What is known of planned matches before they are played."""

    matches: Sequence[Match]
    seats: pd.DataFrame
    """One row per match and seat, with the columns of turns that do not depend on play."""
    games: pd.DataFrame
    """agon.games.tables.games_table of the matches."""

    @classmethod
    def of(cls, matches: Sequence[Match]) -> "Plan":
        """The plan of these matches."""
        rows = [
            {"experiment": match.experiment, "match": match.id, "game": match.game.name, "variant": match.game.variant}
            | {"rules": match.game.rules, "repetition": match.repetition, "config": match.config, "seat": place}
            | {"role": match.game.roles[place] if match.game.roles else "", "agent": seat.agent, "model": seat.model}
            | {"prompts": seat.prompts}
            for match in matches
            for place, seat in enumerate(match.seats)
        ]
        return cls(matches, texts(pd.DataFrame(rows)), games_table([match.game for match in matches]))


def check(content: Preregistration, matches: Sequence[Match]) -> list[str]:
    """Notes on what cannot be known before the matches are played.

    Raises AgonError for a metric, agent, model or column that does not exist or that the planned matches do not have, for two
    conditions that no match allows to compare, and for a range that some match can leave.
    """
    plan, notes = Plan.of(matches), list[str]()
    for number, hypothesis in enumerate(content.hypotheses, 1):
        try:
            require_metrics([hypothesis.metric])
            asked = question(hypothesis.metric, hypothesis.by, within=hypothesis.within, alike=hypothesis.alike)
            notes += _check_question(asked, plan)
        except AgonError as error:
            raise AgonError(f"hypothesis {number}, {hypothesis}: {error}") from None
    for exclusion in content.exclusions:
        if isinstance(exclusion, Exclusion):
            _check_exclusion(exclusion, plan)
    _check_sides(content, plan)
    if content.until is not None:
        try:
            require_metrics([content.until.metric])
            units_asked(plan.seats, plan.games, question(content.until.metric, content.until.by))
        except AgonError as error:
            raise AgonError(f"until.by={content.until.by}: {error}") from None
        notes += check_range(content.until, matches)
    return list(dict.fromkeys(notes))


def _check_question(asked: Question, plan: Plan) -> Iterator[str]:
    """A note for a metric without a value in a trial match. Raises AgonError for a question that the matches cannot answer."""
    [name], columns = asked.metrics, [*plan.seats.columns.drop("match"), *OPPONENTS]
    if unknown := [column for column in (asked.column, *asked.strata) if column not in columns]:
        raise AgonError(f"no seat has {unknown[0]!r} before it plays: {suggest(unknown[0], columns)}")
    units = _comparable_units(asked, plan)
    if name in {metric.name for metric in all_metrics() if metric.of_asking}:
        return
    trials = {(match.game.name, match.game.variant): match for match in plan.matches}
    played = [
        replace(trials[key], seats=(RANDOM,) * trials[key].game.seats)
        for key in dict.fromkeys(units.kind[units[name].notna()])
    ]
    turns = with_all(turns_of([(match, play_now(match)) for match in played]))
    values = measure(turns, plan.games, [name]).groupby("match")[name].count()
    if without := [f"{match.game.name} {match.game.variant}" for match in played if not values[match.id]]:
        yield f"a trial match of {', '.join(without)} with random moves has no {name}: see whether it fits (agon list metrics)"


def _comparable_units(asked: Question, plan: Plan) -> pd.DataFrame:
    """The units of a question, with `kind` (game and variant), and 0 as the metric of those that can have it.

    Raises AgonError where no two of both conditions can be compared.
    """
    [name] = asked.metrics
    units, conditions = units_asked(plan.seats, plan.games, asked)
    game_of = plan.seats.drop_duplicates("match").set_index("match")[["game", "variant"]].agg(tuple, axis=1)
    game, able = units["match"].map(game_of), games_with(name, plan.games)
    if not able:
        games = ", ".join(metric.games for metric in all_metrics() if metric.name == name)
        raise AgonError(f"no planned match has the metric {name}, which is for games: {games} (agon list metrics)")
    units = units.assign(**{name: np.where(game.isin(able), 0.0, np.nan)}, silent=False, kind=game)
    pair = conditions[0], conditions[1]
    if not in_both(units, name, pair, asked.strata)[1]:
        raise AgonError(explain_missing_pair(units, name, pair, asked.strata))
    return units


def _check_exclusion(exclusion: Exclusion, plan: Plan) -> None:
    """Raises AgonError for an agent or model that no planned match has."""
    for column, name in (("agent", exclusion.agent), ("model", exclusion.model)):
        existing = sorted({*plan.seats[column]} - {""})
        if name is not None and condition_now(column, name) not in existing:
            raise AgonError(f"exclusion of {exclusion}: no match has {column} {name!r}: {suggest(name, existing)}")


def _check_sides(content: Preregistration, plan: Plan) -> None:
    """Raises AgonError where the exclusions leave a hypothesis nothing to compare, as far as the plan shows it."""
    excluded = {
        match.id
        for match in plan.matches
        for item in content.exclusions
        if isinstance(item, Exclusion) and _excludes(item, match)
    }
    if not excluded:
        return
    kept = [match for match in plan.matches if match.id not in excluded]
    if not kept:
        raise AgonError("the exclusions leave out every planned match: take one of them out of the file")
    for number, hypothesis in enumerate(content.hypotheses, 1):
        asked = question(hypothesis.metric, hypothesis.by, within=hypothesis.within, alike=hypothesis.alike)
        try:
            _comparable_units(asked, Plan.of(kept))
        except AgonError as error:
            raise AgonError(
                f"hypothesis {number}, {hypothesis}: the exclusions leave nothing to compare ({error}): change one of the two"
            ) from None


def _excludes(exclusion: Exclusion, match: Match) -> bool:
    """Whether an exclusion leaves out a match however it is played."""
    if exclusion.rounds is not None:
        return match.game.fixed_rounds is not None and match.game.fixed_rounds < exclusion.rounds
    return any(
        name is not None and condition_now(column, name) in [getattr(seat, column) for seat in match.seats]
        for column, name in (("agent", exclusion.agent), ("model", exclusion.model))
    )


def check_range(until: Until, matches: Sequence[Match]) -> list[str]:
    """A note if nothing says which values the metric can have. Raises AgonError for a range that some match can leave."""
    [known] = [metric.range for metric in all_metrics() if metric.name == until.metric]
    low, high = until.range
    unknown = set[str]()
    for match, seat in dict.fromkeys(side for block in blocks(matches, until) for side in block):
        bounds = known or _payoff_bounds(match, seat, until.metric)
        if bounds is None:
            unknown.add(match.game.name)
        elif not low <= bounds[0] <= bounds[1] <= high:
            raise AgonError(
                f"until.range=[{low:g}, {high:g}]: {until.metric} of {match.game.name} {match.game.variant} can be "
                f"{bounds[0]:g} to {bounds[1]:g}: the range must hold all values, because the first beyond it stops the study for good"
            )
    if not unknown:
        return []
    return [
        f"which {until.metric} a match of {', '.join(sorted(unknown))} can have is not known: a value outside of "
        f"until.range=[{low:g}, {high:g}] stops record-until for good, so choose a range that no match can leave"
    ]


def _payoff_bounds(match: Match, seat: int, metric: str) -> tuple[float, float] | None:
    """The least and the greatest value of points or points_per_round for a seat, with unreadable answers. None: not known."""
    form, rounds = match.game.normal_form, match.game.fixed_rounds
    if form is None or rounds is None or metric not in ("points", "points_per_round"):
        return None
    pays = [form.payoffs(profile)[seat] for profile in product(*((*actions, None) for actions in form.action_sets))]
    times = rounds if metric == "points" else 1
    return float(min(pays) * times), float(max(pays) * times)
