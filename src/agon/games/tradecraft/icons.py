"""Small pictures of items, by the words in their names: a shape for the kind of thing, and a colour for its material."""

import json
from html import escape
from importlib.resources import files
from zlib import crc32

DRAWINGS = json.loads(files("agon.games.tradecraft").joinpath("icons.json").read_text(encoding="utf-8"))
"""colours: material -> its colour. shapes: last words of names -> the drawing, as SVG."""
_SHAPES = {word: shape for words, shape in DRAWINGS["shapes"].items() for word in words.split()}


def icon(item: str) -> str:
    """A picture of 20 x 20 pixels as HTML; it says nothing that the name beside it does not say."""
    words = item.lower().split("_")
    made_of = ["_".join(words[:2]), *words]
    ink = next((DRAWINGS["colours"][word] for word in made_of if word in DRAWINGS["colours"]), "")
    shape = next((_SHAPES[word] for word in ("_".join(words[-2:]), words[-1]) if word in _SHAPES), "")
    if not ink:
        ink = f"hsl({crc32(item.encode()) % 360} 45% 70%)"
    if not shape:
        light = ' class="light"' if ink[1:3] < "80" and ink.startswith("#") else ""
        letter = f'<text x="10" y="14.5" text-anchor="middle" font-size="12" stroke="none"{light}>{escape(item[:1].upper())}</text>'
        shape = f'<rect x="2" y="2" width="16" height="16" rx="3"/>{letter}'
    return f'<svg class="icon" viewBox="0 0 20 20" width="20" height="20" fill="{ink}" stroke="#55585e" aria-hidden="true">{shape}</svg>'
