"""The MAgIC paper's printed numbers that follow from other ones: radar areas, gains, copies, bounds, totals."""

from collections.abc import Sequence
from itertools import permutations

import pandas as pd

from agon.games.prisoner3.game import prisoner3
from agon_papers.cells import COLUMNS
from agon_papers.magic.abilities import area
from agon_papers.magic.bounds import roles
from agon_papers.magic.facts import ABILITIES, AVERAGE, MODELS, PAPER, PGM, SECOND, STRONGEST, WEAKEST, Facts
from agon_papers.magic.origins import figure_5, table_1
from agon_papers.propositions import printed_as

READINGS = ("literal", "reconciled")


def areas(table: pd.DataFrame, order: Sequence[str] = ABILITIES) -> pd.Series:
    """The area of every row's radar polygon. The axes are its abilities in percent, in this order.

    Seven times 100 gives 27,364.
    """
    return area([table[ability] for ability in order])


def pairs(table: pd.DataFrame | pd.Series) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Table 4 (or a column) without and with beliefs, for models that have both.

    Index: the model's name (last level).
    """
    names = table.index.get_level_values(-1)
    before = table[(names + PGM).isin(names)]
    others = [before.index.get_level_values(level) for level in range(table.index.nlevels - 1)]
    models = before.index.get_level_values(-1) + PGM
    after = table.reindex(pd.MultiIndex.from_arrays([*others, models]) if others else models)
    return before, after.set_axis(before.index)


def area_gains(table: pd.DataFrame) -> pd.DataFrame:
    """The gain of the area by beliefs. Index: model. Columns: vanilla, enhanced, gain (percent)."""
    before, after = pairs(areas(table))
    return pd.DataFrame({"vanilla": before, "enhanced": after, "gain": 100 * (after / before - 1)})


def pooled_gain(gains: pd.DataFrame) -> float:
    """The gain of the mean area in percent (instead of the mean gain)."""
    return float(100 * (gains.enhanced.mean() / gains.vanilla.mean() - 1))


def axis_orders(facts: Facts) -> pd.DataFrame:
    """The ratios and gains of areas for each of the 360 different orders of the seven axes, the paper's first.

    Columns: order, strongest_to_weakest and second_to_weakest (area over that of the weakest), mean_gain, pooled_gain,
    correlation (of area and win rate over the rows of Table 1).
    """
    orders = [
        (ABILITIES[0], *rest)
        for rest in permutations(ABILITIES[1:])
        if ABILITIES.index(rest[0]) < ABILITIES.index(rest[-1])
    ]

    def by_order(rows: pd.DataFrame) -> pd.DataFrame:
        radii = {ability: rows[ability].to_numpy(dtype=float) for ability in ABILITIES}
        return pd.DataFrame([area([radii[ability] for ability in order]) for order in orders], columns=rows.index)

    table = facts.wide(1).reindex(MODELS)
    of_models, vanilla, enhanced = map(by_order, (table, *pairs(facts.wide(4))))
    return pd.DataFrame(
        {
            "order": [" ".join(order) for order in orders],
            "strongest_to_weakest": of_models[STRONGEST] / of_models[WEAKEST],
            "second_to_weakest": of_models[SECOND] / of_models[WEAKEST],
            "mean_gain": (100 * (enhanced / vanilla - 1)).mean(axis=1),
            "pooled_gain": 100 * (enhanced.mean(axis=1) / vanilla.mean(axis=1) - 1),
            "correlation": [areas_now.corr(table.win_rate) for _, areas_now in of_models.iterrows()],
        }
    )


def last_row(facts: Facts) -> pd.DataFrame:
    """The averages in Table 4, and for those that do not follow from its rows, single errors that would explain them.

    Columns: metric, published, recomputed (mean of the pairs), agrees. If it does not agree: left_out (models whose
    change, counted as 0, gives the printed average) and turned (models whose change, with the other sign, gives it).
    """
    before, after = pairs(facts.wide(4))
    rows = []
    for cell in facts.tables[4][facts.tables[4].model == AVERAGE].itertuples():
        changes = after[cell.metric] - before[cell.metric]
        mean = changes.mean()
        agrees = printed_as(mean, cell.value)
        without, turned = (
            [name for name, change in changes.items() if printed_as(mean - times * change / len(changes), cell.value)]
            for times in (1, 2)
        )
        slips = {"left_out": "" if agrees else ", ".join(without), "turned": "" if agrees else ", ".join(turned)}
        rows.append({"metric": cell.metric, "published": cell.value, "recomputed": mean, "agrees": agrees, **slips})
    columns = ["metric", "published", "recomputed", "agrees", "left_out", "turned"]
    return pd.DataFrame(rows, columns=columns).astype({"agrees": bool})


def cells(facts: Facts, reading: str) -> pd.DataFrame:
    """Every printed number that follows from other numbers, a count or an analysis, beside its recomputed value; see
    COLUMNS.

    Statistics: mean; copy (printed twice); gain (percent); ratio; total; more than (agrees if recomputed is larger);
    least and most (bounds by the parts; they agree if the printed number lies within); counted and analysis
    (`origins`). If parts are missing, recomputed is absent and the number does not agree.
    """
    averages = [
        ("4", AVERAGE, row.metric, "mean", row.published, row.recomputed) for row in last_row(facts).itertuples()
    ]
    parts = [*averages, *_copies(facts), *_text(facts, reading), *_areas(facts, reading)]
    parts += [*_win_rates(facts, reading), *_totals(facts)]
    table = pd.DataFrame(parts, columns=["table", "row", "column", "statistic", "published", "recomputed"])
    table["recomputed"] = table.recomputed.astype(float)
    agrees = [_agrees(*row) for row in zip(table.statistic, table.published, table.recomputed, strict=True)]
    table["published"] = table.published.astype(float)
    table = table.assign(paper=PAPER, agrees=agrees, reading=reading)[COLUMNS]
    return pd.concat([table, table_1(facts, reading), figure_5(facts, reading)], ignore_index=True)


def _agrees(statistic: str, printed: str, value: float) -> bool:
    if statistic == "more than":
        return value > float(printed)
    within = {"least": value <= float(printed), "most": value >= float(printed)}
    return within.get(statistic, False) or printed_as(value, printed)


Rows = list[tuple[object, ...]]


def _copies(facts: Facts) -> Rows:
    """Rows of Table 1 in Table 4, and Cooperation of Table 4 in Table 2, which calls it a win rate."""
    rows = facts.tables[2]
    wins = rows[rows.metric == "cost_sharing_wr"].assign(original="cooperation")
    of_table_1 = facts.tables[4].merge(facts.tables[1], on=["model", "metric"], suffixes=("", "_1"))
    of_table_2 = wins.merge(
        facts.tables[4], left_on=["model", "original"], right_on=["model", "metric"], suffixes=("", "_1"), how="left"
    )
    return [
        (table, cell.model, cell.metric, "copy", cell.value, cell.value_1)
        for table, cells in (("4", of_table_1), ("2", of_table_2))
        for cell in cells.itertuples()
    ]


def _text(facts: Facts, reading: str) -> Rows:
    """Numbers of the text. Reconciled: if another row of the column has the number, it belongs to that row."""
    table, gains = facts.wide(1), last_row(facts).set_index("metric").recomputed
    rows: Rows = []
    for cell in facts.text.dropna(subset="model").itertuples():
        column = table[cell.metric]
        printers = column[column == float(cell.value)]
        copied = printers.iloc[0] if reading == "reconciled" and len(printers) else column.get(cell.model)
        statistic, value = ("mean", gains.get(cell.metric)) if cell.model == AVERAGE else ("copy", copied)
        rows.append((f"text {cell.section}", cell.model, cell.metric, statistic, cell.value, value))
    return rows


def _areas(facts: Facts, reading: str) -> Rows:
    """Ratios and gains of areas. Reconciled: the gain of the mean area, which is nearer to the printed gain."""
    text, gains = facts.text.set_index("key").value, area_gains(facts.wide(4))
    model_areas = areas(facts.wide(1)).reindex(MODELS)
    strongest, second = (model_areas[model] / model_areas[WEAKEST] for model in (STRONGEST, SECOND))
    over_others = model_areas[SECOND] / model_areas.drop(SECOND).max()
    gain = gains.gain.mean() if reading == "literal" else pooled_gain(gains)
    rows = [
        ("abstract", f"{STRONGEST} over {WEAKEST}", "more than", "gap", strongest),
        ("5.1", f"{SECOND} over {WEAKEST}", "more than", "turbo_gap", second),
        ("7", f"{SECOND} over the best other", "ratio", "conclusion_gap", over_others),
        ("abstract", AVERAGE, "gain", "area_gain", gain),
    ]
    return [
        (f"text {section}", row, "area", statistic, text[key], value) for section, row, statistic, key, value in rows
    ]


def _win_rates(facts: Facts, reading: str) -> Rows:
    text = facts.tables[4].set_index(["model", "metric"]).value
    return [
        ("4", row.model, "win_rate of its roles", end, text[row.model, "win_rate"], getattr(row, end))
        for row in roles(facts, reading).itertuples()
        for end in ("least", "most")
    ]


def _totals(facts: Facts) -> Rows:
    games = facts.tables[3]
    competitions = games[games.field == "competitions"].value.astype(int).sum()
    cases = str(int(facts.text_number("cases")))
    rows: Rows = [("text 1", "all scenarios", "competitions", "more than", cases, competitions)]
    for variant in ("pgm", "vanilla"):
        printed = facts.figure_text(8, f"final_scores_{variant}").split()
        totals = dilemma_scores(facts, facts.figure_text(8, f"moves_{variant}"))
        rows += [
            ("figure 8", variant, f"Player {seat}", "total", text, points)
            for seat, (text, points) in enumerate(zip(printed, totals, strict=True), start=1)
        ]
    return rows


def dilemma_scores(facts: Facts, moves: str) -> list[int]:
    """The totals of three seats with Figure 8's points.

    moves: 'CCD DDD' are two rounds, with a letter for each seat.
    """
    points = (float(facts.figure_text(8, name)) for name in ("cooperate", "one_defect", "two_defect", "defect"))
    cooperate, one_defect, two_defect, defect = points
    game = prisoner3("figure 8", "", cooperate, one_defect, two_defect, defect)
    words = {"C": "cooperate", "D": "defect"}
    rounds = [game.payoffs([words[move] for move in actions]) for actions in moves.split()]
    return [round(sum(points)) for points in zip(*rounds, strict=True)]
