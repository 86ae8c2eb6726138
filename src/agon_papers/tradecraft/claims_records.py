# ruff: noqa: D103 - what each function decides is said in tradecraft_claims.toml, under its name
"""The paper's statements on rules, settings, measures and the assessor (sections 1, 2, 3.2, 4, 4.3, B, C; Table 1)."""

import pandas as pd
from scipy.stats import kruskal

from agon_papers.counterfactual.evidence import listed, part
from agon_papers.statements import Missing
from agon_papers.tradecraft import cells as tradecraft
from agon_papers.tradecraft.counts import BARS, first_seat, invalid_definitions
from agon_papers.tradecraft.evidence import Evidence, Result, chance
from agon_papers.tradecraft.facts import DIMENSIONS, MODELS, PANELS, PERSONAS, Facts
from agon_papers.tradecraft.scores import coverage

LEVEL = 0.05


def nine_dimensions(evidence: Evidence) -> Result:
    found = evidence.whole.scores.dimension.nunique()
    return (
        True if found == evidence.facts.said("dimensions") else None
    ), f"{found} dimensions have scores in the records"


def five_states(evidence: Evidence) -> Result:
    players, hands = evidence.whole.players, _hands(evidence.facts)
    found, targets = players.problem.nunique(), players.target.nunique()
    text = f"{found} problems, with {hands} pair of hands and {targets} targets in all"
    return found == evidence.facts.said("states"), text


def _hands(facts: Facts) -> int:
    logged = facts.games[facts.games.logged]
    return len(logged[["hand_0", "hand_1"]].drop_duplicates())


def states_differ_in_difficulty(evidence: Evidence) -> Result:
    games = evidence.whole.players.drop_duplicates("match")
    length = games.turns.where(~games.cut.astype(bool), 15)
    parts = [list(length[games.problem == problem]) for problem in sorted(games.problem.unique())]
    p = float(kruskal(*parts).pvalue)
    means = ", ".join(f"{sum(each) / len(each):.1f}" for each in parts)
    sizes = " or ".join(str(size) for size in sorted({len(each) for each in parts}))
    text = f"mean turns by problem: {means} (Kruskal-Wallis p = {p:.2f}, {sizes} games each)"
    return (True if p < LEVEL else None), text


def forty_setups(evidence: Evidence) -> Result:
    found = evidence.whole.players.problem.nunique()
    return None, f"{found} of {evidence.facts.said('setups'):.0f} are in the recorded games"


def every_pair_plays_every_state(evidence: Evidence) -> Result:
    players = evidence.whole.players
    seats = players[players.seat == 0].groupby(["matchup", "problem"]).name.agg(["size", "nunique"])
    return bool(
        (seats == 2).all(axis=None)
    ), f"{part((seats == 2).all(axis=1), 'pairs and problems')} have one game in either seating"


def players_gain_by_trade(evidence: Evidence) -> Result:
    calls = evidence.whole.calls
    given = calls[(calls.tool == "submit_proposal") & calls.ok].assign(seat=lambda table: 1 - table.seat)
    taken = calls[(calls.tool == "decide") & (calls.effect == "accept")][["match", "round"]]
    done = given.merge(taken, on=["match", "round"])
    gains = [(row.match, 1 - row.seat) for row in done.itertuples() if row.call["request"]]
    gains += [(row.match, row.seat) for row in done.itertuples() if row.call["offer"]]
    ends = evidence.replayed.ends
    won = ends[ends.won & ends.holds]
    with_trade = pd.Series([(row.match, row.seat) in set(gains) for row in won.itertuples()])
    return bool(
        with_trade.all()
    ), f"{part(with_trade, 'winners')} whose win is in the log had received something by a trade"


def first_to_craft_wins(evidence: Evidence) -> Result:
    both = int(evidence.heads.both.sum())
    return both == 0, f"{both} of {int(evidence.heads.games.sum())} games have two winners: everybody finishes the turn"


def proposers_rotate(evidence: Evidence) -> Result:
    calls = evidence.whole.calls
    sent = calls[(calls.tool == "submit_proposal") & calls.ok]
    turned = sent.seat == (sent["round"] - 1) % 2
    return bool(turned.all()), f"{part(turned, 'proposals')} come from the seat whose turn it is"


def one_proposal_a_turn(evidence: Evidence) -> Result:
    calls = evidence.whole.calls
    proposals = calls[calls.tool == "submit_proposal"].groupby(["match", "round"]).ok.agg(["sum", "size"])
    text = f"{part(proposals['sum'] == 1, 'turns')} have one proposal that reached the partner"
    return bool(
        (proposals["sum"] == 1).all()
    ), f"{text}; {int((proposals['size'] - 1).sum())} were refused before, up to 5 tries a turn"


def hands_are_rounded_down(evidence: Evidence) -> Result:
    hands = evidence.replayed.hands
    done = hands[hands.logged == "craft_done"]
    text = f"{part(done.equal, 'hands')} after crafting, {part(hands.equal, 'logged hands')} in all"
    return bool(hands.equal.all()), f"{text} follow from the calls with exact fractions and a floor"


def winners_hold_their_targets(evidence: Evidence) -> Result:
    ends = evidence.replayed.ends.merge(evidence.whole.players[["match", "seat", "cut"]], on=["match", "seat"])
    whole = ends[~ends.cut.astype(bool)]
    games, cut = whole.match.nunique(), ends[ends.cut.astype(bool)]
    text = f"{part(whole.holds == whole.won, 'players')} of the {games} games whose log is whole"
    return bool(
        (whole.holds == whole.won).all()
    ), f"{text}; {int(cut.won.sum())} wins lie beyond the logs of {cut.match.nunique()} others"


def only_allowed_crafts_are_done(evidence: Evidence) -> Result:
    calls, ends = evidence.whole.calls, evidence.replayed.ends
    done = calls.detail.map(lambda detail: bool(detail.get("applied")))
    applied = calls[(calls.tool == "craft_apply") & ~calls.ok & done]
    text = f"{len(applied)} refused crafts were done all the same, in {applied.match.nunique()} games"
    return applied.empty, f"{text}; {int((ends.gift & ends.won).sum())} winners got their target by one"


def decisions_are_taken_as_said(evidence: Evidence) -> Result:
    calls = evidence.whole.calls
    decided = calls[calls.tool == "decide"]
    same, said = decided.effect == decided.decision, int((decided.decision == "accept").sum())
    words = sorted({detail["spelled"] for detail in decided.detail[~same]})
    return bool(
        same.all()
    ), f"{int((~same).sum())} of {said} acceptances were taken for rejections, spelled {' or '.join(words)}"


def setup_is_fair(evidence: Evidence) -> Result:
    seats = first_seat(evidence.whole).iloc[-1]
    alone = seats["first"] - seats.both, seats.second - seats.both
    p = chance(*map(int, alone))
    text = f"the first seat wins {seats['first']} of {seats.games} games, the second {seats.second}"
    return bool(p >= LEVEL), f"{text} (both: {seats.both}); of those won alone {alone[0]} and {alone[1]}, p = {p:.1g}"


def scores_lie_within_bounds(evidence: Evidence) -> Result:
    scores = evidence.whole.scores
    inside = scores.score.between(0, 1)
    return bool(inside.all()), f"{part(inside, 'scores')}; {int(scores.as_text.sum())} were written as text"


def every_turn_is_scored(evidence: Evidence) -> Result:
    rows = coverage(evidence.whole)
    texts = [
        f"{row['pass']} {row.scored:,} of {row.due:,}, and {row.beyond} of turn 13, which is not in the logs ({row.nought:.0%} of them 0)"
        for _, row in rows.iterrows()
    ]
    return bool((rows.scored == rows.due).all()), "; ".join(texts)


def radars_are_mean_scores(evidence: Evidence) -> Result:
    table = tradecraft.cells(evidence.whole, "reconciled")
    radar = table[table.table.isin([f"figure 4{panel}" for panel in PANELS])]
    literal = tradecraft.cells(evidence.whole, "literal")
    other = literal[literal.table.isin(radar.table.unique())]
    text = f"second pass, logged turns pooled: {part(radar.agrees, 'values')}"
    return bool(radar.agrees.mean() > 0.95), f"{text}; first pass, mean of games: {part(other.agrees, 'values')}"


def scores_are_averaged_over_games(evidence: Evidence) -> Result:
    games = (
        evidence.scores(2)
        .groupby(["matchup", "name", "dimension", "game"])
        .score.mean()
        .groupby(level=[0, 1, 2])
        .mean()
    )
    printed = evidence.facts.figure_4[evidence.facts.figure_4.panel.isin(list(PANELS))]
    values = printed.astype({"value": float}).set_index(["matchup", "name", "measure"]).value
    near = (games.reindex(values.index) - values).abs() <= tradecraft.RADAR
    return bool(
        near.mean() > 0.5
    ), f"{part(near, 'values')} are means of the games' means; long games weigh more, as turns are pooled"


def invalid_bars_count_violations(evidence: Evidence) -> Result:
    flags = [detail["flag"] for detail in evidence.whole.calls.detail if "flag" in detail]
    found = invalid_definitions(evidence.whole, evidence.counted)
    texts = []
    for name, rows in found.groupby("definition", sort=False):
        span = f"{rows.needed.min():.1f} to {rows.needed.max():.1f}"
        texts.append(f"{name}: {int(rows.possible.sum())} of {len(rows)} bars possible, {span} per unlogged turn")
    held = found[found.definition == "refused calls"].possible.all()
    return bool(held), f"{flags.count('invalid')} of {len(flags)} craft checks were flagged invalid; {'; '.join(texts)}"


def rejection_bars_are_shares(evidence: Evidence) -> Result:
    bars = evidence.bars["rejection"]
    own = {name: evidence.rate(name, "rejection") for name in (*MODELS, *PERSONAS)}
    return bool(
        (bars <= 1).all()
    ), f"printed {listed(bars, 2)}; shares in the logs {listed(own, 2)}; those of personas are sums over four players"


def turn_bars_are_means(evidence: Evidence) -> Result:
    bars = evidence.bars["turns"]
    own = pd.Series({name: evidence.rate(name, "turns") for group in BARS.values() for name in group})
    ratios = bars[list(PERSONAS)] / own[list(PERSONAS)]
    text = f"printed {listed(bars, 1)}; mean turns {listed(own, 1)}"
    return bool(
        (ratios < 1.5).all()
    ), f"{text}; those of personas are {ratios.min():.2f} to {ratios.max():.2f} times the mean"


def humans_agree_on_theory_of_mind(evidence: Evidence) -> Result:
    raise Missing("neither the human annotations nor the assessor's judgements of theory of mind are published")


def _human(evidence: Evidence, dimension: str) -> Result:
    row = evidence.retest.loc[dimension]
    return None, f"the assessor against itself: {DIMENSIONS[dimension]} {row.mae:.3f} ({row.n:.0f} scores twice)"


def humans_agree_on_persuasion(evidence: Evidence) -> Result:
    return _human(evidence, "persuasion")


def humans_agree_on_adaptability(evidence: Evidence) -> Result:
    return _human(evidence, "adaptability")


def assessor_is_reliable(evidence: Evidence) -> Result:
    row = evidence.retest.loc["all"]
    lowest = evidence.retest.drop("all").alpha
    text = f"two passes over the same turns: mean difference {row.mae:.3f}, {row.same:.0%} equal, Krippendorff's alpha {row.alpha:.2f}"
    return None, f"{text} ({lowest.min():.2f} to {lowest.max():.2f} by dimension, lowest {DIMENSIONS[lowest.idxmin()]})"
