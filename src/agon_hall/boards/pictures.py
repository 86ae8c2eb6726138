"""Pictures of boards: inline SVG with every name written beside what it names, to be read in grey and by ear."""

from collections.abc import Sequence

from agon.viewer import escaped
from agon_hall.look import line, number

WIDTH = 420
INKS = ("#0b4f9e", "#a3161b", "#14652d", "#6b3fa0", "#7a4a00", "#00606b")
DASHES = ("", "7 4", "2 4", "9 3 2 3", "12 4", "4 2")
FILLS = ("#cfe0f5", "#ffffff", "#d9ead3", "#f2dcc4", "#e4daf0", "#f5f5c8")


def word(value: object, most: int = 16) -> str:
    """Text for a picture: one line, cut off where it is long."""
    return escaped(line(value, most))


def drawn(title: str, desc: str, height: float, body: str) -> str:
    """A picture with its title and what it says in words; `title` and `desc` are plain text."""
    said = f"{line(title, 120)}. {line(desc, 600)}"
    return (
        f'<svg role="img" aria-label="{escaped(said)}" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" '
        f'xmlns="http://www.w3.org/2000/svg"><title>{word(title, 120)}</title><desc>{word(desc, 600)}</desc>{body}</svg>'
    )


def lines(title: str, series: Sequence[tuple[str, Sequence[float]]], unit: str = "points") -> str:
    """One line per player, by round; the name and the last number stand at its end. Nothing before two rounds."""
    if not series or len(series[0][1]) < 2:
        return ""
    left, right, top, bottom = 52, WIDTH - 140, 26, 158
    values = [value for _, each in series for value in each]
    low, high = min(0, *values), max(1, *values)
    rounds = len(series[0][1])

    def across(place: int) -> float:
        return left + (right - left) * place / (rounds - 1)

    def down(value: float) -> float:
        return bottom - (bottom - top) * (value - low) / (high - low)

    body = [f'<text x="0" y="14" font-size="14" font-weight="600">{word(title, 48)}</text>']
    body += [
        f'<line x1="{left}" x2="{right}" y1="{down(value):.1f}" y2="{down(value):.1f}" stroke="#8a8f98"/>'
        f'<text x="{left - 5}" y="{down(value) + 5:.1f}" font-size="13" text-anchor="end">{number(round(value, 1))}</text>'
        for value in sorted({low, high})
    ]
    body += [
        f'<text x="{across(place):.1f}" y="{bottom + 17}" font-size="13" text-anchor="middle">{place + 1}</text>'
        for place in (0, rounds - 1)
    ]
    body.append(f'<text x="{(left + right) / 2:g}" y="{bottom + 17}" font-size="13" text-anchor="middle">round</text>')
    for place, (_, each) in enumerate(series):
        path = " ".join(f"{across(x):.1f},{down(value):.1f}" for x, value in enumerate(each))
        body.append(
            f'<polyline points="{path}" fill="none" stroke="{INKS[place % len(INKS)]}" stroke-width="{3 if not place else 2}" '
            f'stroke-dasharray="{DASHES[place % len(DASHES)]}"/>'
        )
    for place, at in _apart([down(each[-1]) for _, each in series], 16, top, bottom + 4):
        name, each = series[place]
        body.append(
            f'<line x1="{right + 3}" x2="{right + 11}" y1="{down(each[-1]):.1f}" y2="{at:.1f}" stroke="{INKS[place % len(INKS)]}"/>'
            f'<text x="{right + 14}" y="{at + 5:.1f}" font-size="13">{word(name, 12)} {number(round(each[-1], 1))}</text>'
        )
    ends = "; ".join(f"{name} {number(round(each[-1], 2))} {unit}" for name, each in series)
    return drawn(title, f"After {rounds} rounds: {ends}", bottom + 24, "".join(body))


def _apart(heights: Sequence[float], least: float, top: float, bottom: float) -> list[tuple[int, float]]:
    """Places of labels in their order down the picture, moved so that none covers another: (which, where)."""
    placed: list[tuple[int, float]] = []
    for which in sorted(range(len(heights)), key=lambda each: heights[each]):
        placed.append((which, max(heights[which], placed[-1][1] + least if placed else top)))
    for back in range(len(placed) - 1, -1, -1):
        which, at = placed[back]
        limit = bottom if back == len(placed) - 1 else placed[back + 1][1] - least
        placed[back] = which, min(at, limit)
    return placed


def bars(title: str, rows: Sequence[tuple[str, Sequence[float] | None]], parts: Sequence[str], total: float) -> str:
    """A bar for each row, cut into `parts` by their shares of `total`; the name and the number stand in or under a part."""
    most = max([total, *(sum(shares) for _, shares in rows if shares)]) or 1
    body, y, said = [], 4.0, []
    for name, shares in rows:
        body.append(f'<text x="0" y="{y + 13:g}" font-size="14">{word(name, 40)}</text>')
        y += 18
        if shares is None:
            body.append(
                f'<text x="6" y="{y + 15:g}" font-size="13" font-style="italic">no proposal that could be read</text>'
            )
            said.append(f"{name}: none")
        else:
            body.append(_bar(shares, parts, most, y))
            said.append(f"{name}: " + ", ".join(f"{part} {number(s)}" for part, s in zip(parts, shares, strict=True)))
        y += 34
    return drawn(title, "; ".join(said), y, "".join(body))


def _bar(shares: Sequence[float], parts: Sequence[str], most: float, y: float) -> str:
    """One bar, 26 high."""
    x, body = 1.0, []
    for place, (part, share) in enumerate(zip(parts, shares, strict=True)):
        wide = (WIDTH - 2) * max(share, 0) / most
        body.append(
            f'<rect x="{x:.1f}" y="{y:g}" width="{wide:.1f}" height="26" fill="{FILLS[place % len(FILLS)]}" stroke="#1a1a1a"/>'
        )
        for label in (f"{line(part, 14)} {number(share)}", number(share)):
            if len(label) * 7.5 < wide - 4:
                body.append(
                    f'<text x="{x + wide / 2:.1f}" y="{y + 18:g}" font-size="13" text-anchor="middle">{escaped(label)}</text>'
                )
                break
        x += wide
    return "".join(body)
