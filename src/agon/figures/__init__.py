"""Metric tables to figures: titles, axes with units, n, intervals; told apart without colour. PNG and SVG, byte-stable."""

import functools
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.ticker
import numpy as np
import pandas as pd
from IPython.display import Image
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path as Outline
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Bbox, IdentityTransform
from numpy.typing import NDArray

MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "h", "p", "d", "8"]
DASHES = ["-", "--", "-.", ":"]
COLOURS = ["#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a7d00"]
"""Okabe and Ito's colours, safe for colour-blind readers (yellow darkened); markers and dashes say the same in grey."""

STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.dpi": 110,
    "savefig.dpi": 110,
    "svg.hashsalt": "agon",
    "legend.frameon": False,
}

ID = re.compile(r"(?<=[\"#])[a-zA-Z][0-9a-f]{10}\b")
"""What matplotlib calls a clip or a marker in an SVG."""

styled = mpl.rc_context(STYLE)
"""Decorator of every function that draws: matplotlib reads its settings when it makes a text or a line, not when it saves."""


@styled
def figure(rows: int, columns: int, size: tuple[float, float], share: bool = False) -> tuple[Figure, list[Axes]]:
    """An empty figure of `size` inches, with its axes row by row; `share` gives them one y axis."""
    made = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(made)
    axes = made.subplots(rows, columns, squeeze=False, sharey=share)
    return made, list(axes.flat)


@styled
def save(made: Figure, path: Path) -> Image:
    """Writes `path`.png and `path`.svg (the same figure gives the same bytes); returns the picture, to be shown."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if (engine := made.get_layout_engine()) is not None:
        engine.execute(made)
        made.set_layout_engine("none")
    # each canvas draws once; Figure.savefig would draw everything once more for each file
    vectors: Any = FigureCanvasSVG(made)
    vectors.print_svg(f"{path}.svg", metadata={"Date": None})
    _settled(Path(f"{path}.svg"))
    made.set_dpi(STYLE["figure.dpi"])  # which the line above set to 72
    pixels: Any = FigureCanvasAgg(made)
    pixels.print_png(f"{path}.png", metadata={"Software": None})
    title = made.get_suptitle() or made.axes[0].get_title(loc="left")
    return Image(f"{path}.png", alt=" ".join(title.split()))  # type: ignore[no-untyped-call]


def _settled(file: Path) -> None:
    """An SVG without what differs between processors: ids are numbered (matplotlib hashes floats to the last bit), and
    coordinates have 3 decimals instead of 6.
    """
    text = file.read_text(encoding="utf-8")
    text = re.sub(r"(?<![\w.#])-?\d+\.\d{4,}", lambda found: f"{float(found[0]):.3f}", text)
    names = {name: f"{name[0]}{place}" for place, name in enumerate(dict.fromkeys(ID.findall(text)))}
    file.write_text(ID.sub(lambda found: names[found[0]], text), encoding="utf-8", newline="\n")


@functools.cache
def _letter(letter: str) -> tuple[NDArray[np.float64], NDArray[np.uint8], float]:
    """A letter's outline (vertices and codes) and how far it moves the next one, at size 1."""
    font = FontProperties(size=1)
    vertices, codes = text_to_path.get_text_path(font, letter)
    width, _, _ = text_to_path.get_text_width_height_descent(letter, font, False)
    return np.asarray(vertices) / text_to_path.FONT_SCALE, np.asarray(codes), width


class CellTexts(Artist):
    """A heatmap's texts, centred on its cells, and the names of its rows, left of them: what hundreds of Text would show.

    Letter by letter, each laid out once: to lay out every text anew takes most of a table's time.
    """

    def __init__(self, texts: pd.DataFrame, light: pd.DataFrame, size: float) -> None:
        super().__init__()
        self.texts, self.light, self.size = texts, light, size
        self.set(zorder=3, clip_on=False)

    def draw(self, renderer: RendererBase) -> None:
        """Every letter at all its places in one go, light ones apart from dark ones."""
        if not self.get_visible():
            return
        size = float(np.asarray(renderer.points_to_pixels(self.size)))
        places: dict[tuple[str, bool], list[tuple[float, float]]] = defaultdict(list)
        for text, light, x, y in self._placed(size):
            for letter in text:
                places[letter, light].append((x, y))
                x += size * _letter(letter)[2]
        context = renderer.new_gc()
        context.set_linewidth(0)
        context.set_snap(False)
        for (letter, light), at in places.items():
            vertices, codes, _ = _letter(letter)
            if len(vertices):
                colour = (1.0, 1.0, 1.0, 1.0) if light else (0.0, 0.0, 0.0, 1.0)
                outline = Outline(size * vertices, codes)
                renderer.draw_markers(context, outline, IdentityTransform(), Outline(at), IdentityTransform(), colour)
        context.restore()

    def get_window_extent(self, renderer: RendererBase | None = None) -> Bbox:
        """What the names of the rows take up, for the layout."""
        axes: Any = self.axes
        box, size = axes.get_window_extent(renderer), self.size * axes.figure.dpi / 72
        return Bbox([[box.x0 - size * (0.5 + max(map(_width, self._names()))), box.y0], [box.x0, box.y1]])

    def _names(self) -> list[str]:
        """What the rows are, then the name of every row."""
        return [str(self.texts.index.name or ""), *self.texts.index]

    def _placed(self, size: float) -> Iterator[tuple[str, bool, float, float]]:
        """Every text, whether it is light, and where it starts (pixels)."""
        axes: Any = self.axes
        to_pixels, low = axes.transData.transform, size * 0.73 / 2  # half the height of a digit
        for row, name in enumerate(self._names(), start=-1):
            x, y = to_pixels((-0.5, max(row, -0.5)))
            yield name, False, x - size * (0.5 + _width(name)), y + (size / 2 if row < 0 else -low)
        for (row, column), light in np.ndenumerate(self.light.to_numpy()):
            text = self.texts.iat[row, column]
            x, y = to_pixels((column, row))
            yield text, bool(light), x - size * _width(text) / 2, y - low


def _width(text: str) -> float:
    return sum(_letter(letter)[2] for letter in text)


@styled
def heatmap(
    axes: Axes,
    values: pd.DataFrame,
    text: pd.DataFrame,
    title: str,
    unit: str,
    *,
    outlined: pd.DataFrame | None = None,
    limits: tuple[float, float] | None = None,
) -> None:
    """Values as shades of grey-safe cividis with their text; cells where `outlined` is true get a red frame and an asterisk.

    The axes bear the names of `text`'s columns and index.
    """
    low, high = limits or (np.nanmin(values.to_numpy()), np.nanmax(values.to_numpy()))
    image = axes.imshow(
        values.to_numpy(dtype=float),
        cmap="cividis",
        aspect="auto",
        vmin=low,
        vmax=high if high > low else low + 1,
        interpolation_stage="rgba",
    )
    names = [str(name) for name in values.columns]
    leaning: dict[str, Any] = (
        {"rotation": 40, "ha": "left", "rotation_mode": "anchor"} if max(map(len, names)) > 12 else {}
    )
    axes.set_xticks(range(values.shape[1]), names, fontsize=8, **leaning)
    axes.set_yticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.xaxis.set_ticks_position("top")
    axes.xaxis.set_label_position("top")
    axes.set_xlabel(text.columns.name or "")
    axes.set_title(title, loc="left", pad=8)
    marked = outlined if outlined is not None else pd.DataFrame(False, index=values.index, columns=values.columns)
    axes.add_artist(CellTexts(text.astype(str).mask(marked, text + " *"), values - low < 0.55 * (high - low), 7.2))
    for row, column in np.argwhere(marked.to_numpy()):
        frame = mpl.patches.Rectangle((column - 0.48, row - 0.48), 0.96, 0.96, fill=False, ec="#d62728", lw=2)
        axes.add_patch(frame)
    bar = axes.figure.colorbar(image, ax=axes, fraction=0.025, pad=0.02)
    bar.set_label(unit)


@styled
def lines(
    axes: Axes,
    table: pd.DataFrame,
    x: str,
    by: str,
    title: str,
    labels: tuple[str, str],
    *,
    order: Sequence[str] | None = None,
) -> None:
    """One line per value of `by` over `x` (columns value, and low, high for a bar where they are there), told apart thrice."""
    names = list(order or pd.unique(table[by].astype(str)))
    places = list(dict.fromkeys(table[x]))
    numeric = all(isinstance(place, int | float | np.number) for place in places)
    for number, name in enumerate(names):
        rows = table[table[by] == name]
        at = rows[x].to_numpy() if numeric else np.array([places.index(place) for place in rows[x]], dtype=float)
        shift = 0 if numeric else (number - (len(names) - 1) / 2) * 0.05
        style = {"color": COLOURS[number % 8], "marker": MARKERS[number % 14], "ls": DASHES[number % 4], "label": name}
        axes.plot(at + shift, rows.value, ms=4.5, lw=1.3, **style)
        if {"low", "high"} <= set(rows):
            axes.vlines(at + shift, rows.low, rows.high, color=style["color"], lw=0.8, alpha=0.7)
    if numeric:
        axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(integer=True))
    else:
        axes.set_xticks(range(len(places)), places)
    axes.set_title(title, loc="left")
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.grid(axis="y", lw=0.4, color="#dddddd")


@styled
def dots(
    axes: Axes, table: pd.DataFrame, y: str, by: str, title: str, unit: str, order: Sequence[str] | None = None
) -> None:
    """A row per value of `y`, a mark per value of `by`, with intervals (columns value, low, high)."""
    rows = list(dict.fromkeys(table[y]))
    names = list(order or pd.unique(table[by].astype(str)))
    for number, name in enumerate(names):
        part = table[table[by] == name]
        at = np.array([rows.index(row) for row in part[y]]) + (number - (len(names) - 1) / 2) * 0.16
        axes.hlines(at, part.low, part.high, color=COLOURS[number % 8], lw=1.2)
        axes.plot(part.value, at, ls="", marker=MARKERS[number % 14], color=COLOURS[number % 8], ms=5, label=name)
    axes.set_yticks(range(len(rows)), rows)
    axes.invert_yaxis()
    axes.set_title(title, loc="left")
    axes.set_xlabel(unit)
    axes.grid(axis="x", lw=0.4, color="#dddddd")


@styled
def spans(axes: Axes, table: pd.DataFrame, y: str, title: str, unit: str) -> None:
    """A row per value of `y`: a mark with its interval (value, low, high) upon a grey span (lowest, highest)."""
    rows = list(dict.fromkeys(table[y]))
    at = np.array([rows.index(row) for row in table[y]])
    axes.hlines(at, table.lowest, table.highest, color="#bbbbbb", lw=5, label="the paper's models, lowest to highest")
    axes.hlines(at, table.low, table.high, color=COLOURS[0], lw=1.2)
    axes.plot(table.value, at, ls="", marker=MARKERS[3], color=COLOURS[0], ms=4, label="played here")
    axes.set_yticks(range(len(rows)), rows)
    axes.invert_yaxis()
    axes.set_title(title, loc="left")
    axes.set_xlabel(unit)
    axes.grid(axis="x", lw=0.4, color="#dddddd")


@styled
def distributions(axes: Axes, table: pd.DataFrame, by: str, title: str, unit: str) -> None:
    """Cumulative distributions of column `value`, a line per value of `by`."""
    for number, (name, rows) in enumerate(table.groupby(by, observed=True, sort=False)):
        values = np.sort(rows.value.to_numpy())
        axes.step(
            values,
            np.arange(1, len(values) + 1) / len(values),
            where="post",
            color=COLOURS[number % 8],
            ls=DASHES[number % 4],
            label=f"{name} (n = {len(values):,})",
        )
    axes.set_title(title, loc="left")
    axes.set_xlabel(unit)
    axes.set_ylabel("share of matches at or below")
    axes.grid(lw=0.4, color="#dddddd")


@styled
def legend(made: Figure, axes: Axes, columns: int = 4) -> None:
    """One legend below all axes, from the labels of one of them."""
    handles, labels = axes.get_legend_handles_labels()
    made.legend(handles, labels, loc="outside lower center", ncols=columns)


UNITS = {
    "total_points": "points per match",
    "opponent_comprehension": "round of comprehension m (N + 1: never)",
    "cooperation_rate": "share of rounds with the first action",
    "efficiency": "points per 1000 tokens of the largest round",
    "validity_rate": "% of rounds that were valid",
}


def published_table(table: pd.DataFrame, differing: Sequence[tuple[str, str]] = ()) -> Figure:
    """One printed table as recomputed: a row per model and style, a column per opponent or variant, mean ± sd as text.

    `table`: agon_papers.counterfactual.cells.with_intervals of one table; `differing`: (row, column) that do not agree.
    """
    first = table.iloc[0]
    decimals, styled = _decimals(first.metric), table.prompt.ne("all").any()
    column = "opponent" if table.opponent.nunique() > 1 else "captioned_variant"
    shown = table.assign(
        row=table.model + " " + table.prompt if styled else table.model,
        column=table[column].where(table[column] != "all", "all matches"),
        text=[f"{value:.{decimals}f} ± {sd:.{decimals}f}" for value, sd in table[["value", "sd"]].to_numpy()],
    )
    order = {"index": "row", "columns": "column"}
    values = shown.pivot(**order, values="value").reindex(index=shown.row.unique(), columns=shown.column.unique())
    text = shown.pivot(**order, values="text").reindex_like(values).where(values.notna(), "none")
    text.index.name = "model and style" if styled else "model"
    text.columns.name = column.replace("_", " ") if len(text.columns) > 1 else ""
    frames = pd.DataFrame(False, index=values.index, columns=values.columns)
    for row, place in differing:
        if row in frames.index and place in frames.columns:  # else there is no cell to frame
            frames.loc[row, place] = True
    made, axes = figure(1, 1, (max(8.0, 2.6 + 0.95 * values.shape[1]), 1.9 + 0.21 * values.shape[0]))
    game = {"pd": "prisoner's dilemma family", "rps": "rock, paper, scissors family"}[first.game]
    title = f"Table {first.table}: {first.metric.replace('_', ' ')}, {game}\n{_captioned(table)}\n"
    title += f"mean ± standard deviation over {_sizes(table)}" + ("; *: not as printed" if differing else "")
    heatmap(axes[0], values, text, title, UNITS[first.metric], outlined=frames)
    return made


def _decimals(metric: str) -> int:
    return 2 if metric == "efficiency" else 1


def _captioned(table: pd.DataFrame) -> str:
    pairs = table[["captioned_variant", "variant"]].drop_duplicates()
    wrong = pairs[pairs.captioned_variant != pairs.variant]
    if len(pairs) > 1:
        truth = ", ".join(f"{said} shows {true}" for said, true in wrong.to_numpy())
        return f"by captioned variant; in truth {truth}" if truth else "by variant"
    said, true = pairs.iloc[0]
    return (
        "all variants"
        if said == "all"
        else f"{said} variant"
        if said == true
        else f"captioned {said}, in truth the {true} variant"
    )


def _sizes(table: pd.DataFrame) -> str:
    sizes = sorted(table.n.dropna().astype(int).unique())
    return f"{' or '.join(map(str, sizes)) if len(sizes) < 4 else f'{sizes[0]} to {sizes[-1]}'} matches"
