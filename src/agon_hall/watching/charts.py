"""What a match looks like in numbers: points over time as lines, beliefs as shaded tables. Everything is HTML that can be read in grey."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.colors import to_hex

from agon.figures import COLOURS
from agon.thoughts import Belief
from agon.viewer import escaped
from agon_hall.look import line, number, text
from agon_hall.watching.match import Watched

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 460, 170, 44, 10, 142
DASHES = ("", "8 4", "2 3", "10 3 2 3", "4 6", "12 3 2 3 2 3")


def sample(seat: int) -> str:
    """A piece of a seat's line, for a key."""
    return (
        f'<svg class="key" viewBox="0 0 34 8" width="34" height="8" aria-hidden="true">{_line(seat, "1,4 33,4")}</svg>'
    )


def _line(seat: int, path: str) -> str:
    dashes = f' stroke-dasharray="{DASHES[seat % len(DASHES)]}"' if DASHES[seat % len(DASHES)] else ""
    wide = max(2, 4 - seat)  # what is drawn first is wider, so that lines that lie upon one another are all seen
    return f'<polyline points="{path}" fill="none" stroke="{COLOURS[1:][seat % 7]}" stroke-width="{wide}"{dashes}/>'


def points(values: np.ndarray, place: int, named: Sequence[str]) -> str:
    """Points so far before every step and at the end (rows), by seat (columns), with a mark at `place`."""
    if not values.any():
        return "<p>Nothing is paid in this match.</p>"
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    across = [LEFT + (WIDTH - 10 - LEFT) * at / (len(values) - 1) for at in range(len(values))]
    down = BOTTOM - (BOTTOM - TOP) * (values - low) / (high - low)
    body = []
    for value in sorted({low, 0.0, high}):
        y = BOTTOM - (BOTTOM - TOP) * (value - low) / (high - low)
        body.append(
            f'<line x1="{LEFT}" x2="{WIDTH - 10}" y1="{y:.1f}" y2="{y:.1f}" stroke="#8a8f98"/>'
            f'<text x="{LEFT - 5}" y="{y + 5:.1f}" font-size="13" text-anchor="end">{number(value)}</text>'
        )
    body += [
        _line(seat, " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, heights, strict=True)))
        for seat, heights in enumerate(down.T)
    ]
    now = across[place]
    side = "end" if now > WIDTH - 60 else "start" if now < LEFT + 30 else "middle"
    body.append(
        f'<line x1="{now:.1f}" x2="{now:.1f}" y1="{TOP - 6}" y2="{BOTTOM + 4}" stroke="#000000" stroke-width="1.5"/>'
        f'<text x="{now:.1f}" y="{BOTTOM + 20}" font-size="14" font-weight="700" text-anchor="{side}">now</text>'
    )
    for at, name, anchor in ((LEFT, "start", "start"), (WIDTH - 10, "end", "end")):
        if abs(now - at) > 90:
            body.append(f'<text x="{at}" y="{BOTTOM + 20}" font-size="13" text-anchor="{anchor}">{name}</text>')
    said = "; ".join(f"{name} {number(float(worth))}" for name, worth in zip(named, values[place], strict=True))
    return (
        "<p><b>Points so far, from the first step to the end</b></p>"
        f'<svg role="img" aria-label="Points so far, step by step. Now: {escaped(line(said, 400))}" class="chart" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}">{"".join(body)}</svg>'
    )


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
    """What a player expects everybody to expect of everybody, in words: rows of agon.thoughts.forecasts of one turn."""
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
