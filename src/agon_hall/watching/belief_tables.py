"""What players believe of one another, as shaded tables that can be read in grey, or in their own words."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.colors import to_hex

from agon.figures.viewer import Belief
from agon.games.html import text
from agon_hall.watching.match import Watched


def shaded(belief: Belief, named: Sequence[str], scale: tuple[float, float], when: str) -> str:
    """A matrix of beliefs as a table: the darker a cell the less is suspected, which its number says too."""
    low, high = scale
    rows = []
    short = [name.replace("Player ", "P") for name in named]
    for view, cells in enumerate(belief.matrix):
        shades = "".join(_cell(float(cell), (float(cell) - low) / ((high - low) or 1.0)) for cell in cells)
        rows.append(f'<tr><th scope="row">{text(short[view])}</th>{shades}</tr>')
    head = "".join(f'<th scope="col">{text(name)}</th>' for name in short[: belief.matrix.shape[1]])
    return (
        f'<table class="shades"><caption>{text(named[belief.seat])}, {text(when)}</caption>'
        f'<thead><tr><th scope="col">suspects</th>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    )


def _cell(value: float, share: float) -> str:
    if np.isnan(value):
        return "<td></td>"
    red, green, blue, _ = colormaps["cividis"](min(1.0, max(0.0, share)))
    ink = "#ffffff" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.45 else "#000000"
    return f'<td style="background:{to_hex((red, green, blue))};color:{ink}">{value:.3f}</td>'


def expected(words: pd.DataFrame, player: str, named: Sequence[str], when: str) -> str:
    """What a player expects everybody to expect of everybody, in words: rows of agon.figures.viewer.forecasts of one turn."""
    cells = {(row.view, row.of): row.forecast for row in words.itertuples()}
    head = "".join(f'<th scope="col">of {text(name)}</th>' for name in named)
    body = [(text(view), "".join(f"<td>{text(cells.get((view, of), ''))}</td>" for of in named)) for view in named]
    rows = "".join(f'<tr><th scope="row">{view}</th>{row}</tr>' for view, row in body)
    return (
        f"<table><caption>{text(player)}, {text(when)}</caption>"
        f'<thead><tr><th scope="col">expects</th>{head}</tr></thead><tbody>{rows}</tbody></table>'
    )


def beliefs(watched: Watched, place: int) -> str:
    """What everybody who keeps beliefs believes at a place: the latest ones, its own included. Empty where nobody does."""
    until = watched.numbers[min(place, len(watched.numbers) - 1)]
    latest = {each.seat: each for each in watched.beliefs if each.turn <= until}
    words = watched.forecasts[watched.forecasts.turn <= until]
    if not watched.beliefs and watched.forecasts.empty:
        return ""
    made = ["<h2>Beliefs</h2>"]
    if latest:
        every = [each.matrix for each in watched.beliefs]
        scale = float(min(map(np.nanmin, every))), float(max(map(np.nanmax, every)))
        when = {seat: _when(each.turn, until, each.phase) for seat, each in latest.items()}
        tables = [shaded(each, watched.named, scale, when[seat]) for seat, each in sorted(latest.items())]
        made.append(
            "<p>Row: whose view, as the player sees it; column: who is suspected. Rows sum to 1; lighter is more suspected.</p>"
            f'<div class="cards">{"".join(tables)}</div>'
        )
    told = [rows[rows.turn == rows.turn.max()] for _, rows in words.groupby("player", sort=False)]
    tables = [
        expected(rows, rows.player.iloc[0], watched.named, _when(int(rows.turn.iloc[0]), until, "")) for rows in told
    ]
    if tables:
        made.append(f'<p>What each expects, as the player sees it.</p><div class="cards">{"".join(tables)}</div>')
    return "".join(made) if len(made) > 1 else "<h2>Beliefs</h2><p>Nobody has left any so far.</p>"


def _when(turn: int, until: int, phase: str) -> str:
    return f"{'new at' if turn == until else 'unchanged since'} step {turn}{f' ({phase})' if phase else ''}"
