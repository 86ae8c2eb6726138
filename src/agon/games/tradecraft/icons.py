"""Small pictures of items, drawn by what their names say: a shape for the kind of thing, a colour for what it is made of."""

from html import escape
from zlib import crc32

INKS = {
    **{"white": "#f4f4f4", "orange": "#e8852b", "magenta": "#c25bc0", "light_blue": "#6fb7e8", "yellow": "#f0cf3a"},
    **{"lime": "#86c232", "pink": "#eda6bd", "gray": "#70757c", "light_gray": "#a9adb3", "cyan": "#2a9da5"},
    **{"purple": "#8446b8", "blue": "#4560c4", "brown": "#87603c", "green": "#5c8a2f", "red": "#c23b34"},
    **{"black": "#3a3a40", "oak": "#b08b57", "spruce": "#80603c", "birch": "#d8c98f", "jungle": "#b98565"},
    **{"acacia": "#c0683a", "dark_oak": "#5a3d22", "mangrove": "#8c3b3a", "cherry": "#e7b3b0", "bamboo": "#c9b54f"},
    **{"crimson": "#8c3a58", "warped": "#2f8b86", "iron": "#d5d5d8", "gold": "#f3cf4a", "golden": "#f3cf4a"},
    **{"diamond": "#63d8d2", "copper": "#cf7a52", "stone": "#8d8f94", "cobblestone": "#84868b", "coal": "#33343a"},
    **{"redstone": "#b8251c", "emerald": "#2bb55a", "lapis": "#3557b0", "quartz": "#ece6df", "brick": "#a9573f"},
    **{"clay": "#a3a9b8", "sand": "#dccf9c", "glass": "#cfe6ee", "leather": "#a5683c", "paper": "#eeeae0"},
}
"""What a thing is made of -> its colour."""
SHAPES = {
    "log wood stem hyphae": '<rect x="4" y="3" width="12" height="14" rx="2"/><circle cx="10" cy="7" r="2.5" fill="none"/>',
    "planks slab stairs": '<rect x="2" y="4" width="16" height="12"/><path d="M2 8h16M2 12h16M8 4v4M13 8v4M6 12v4" fill="none"/>',
    "dye powder dust sugar gunpowder": '<path d="M10 2c4 5 6 8 6 11a6 6 0 0 1-12 0c0-3 2-6 6-11z"/>',
    "ingot brick nugget": '<path d="M5 6h10l3 8H2z"/>',
    "stick rod arrow string": '<path d="M3 15 15 3l2 2L5 17z"/>',
    "sword pickaxe axe shovel hoe shears bow": '<path d="M12 2l6 6-2 2-6-6zM10 8l2 2-8 8-2-2z"/>',
    "bottle potion bucket bowl": '<path d="M8 2h4v4l4 6v6H4v-6l4-6z"/>',
    "tulip flower poppy dandelion orchid rose lilac": '<circle cx="10" cy="7" r="4.5"/><path d="M10 11v7M10 15l4-3" fill="none"/>',
    "book map paper banner": '<path d="M4 3h12v14H4zM7 3v14" />',
    "apple bread carrot potato melon cake cookie egg": '<circle cx="10" cy="11" r="6.5"/><path d="M10 5c0-2 2-3 3-3" fill="none"/>',
    "button pressure_plate coal charcoal flint slime_ball": '<ellipse cx="10" cy="11" rx="7" ry="5"/>',
}
"""Last words of names -> what is drawn."""
_SHAPES = {word: shape for words, shape in SHAPES.items() for word in words.split()}


def icon(item: str) -> str:
    """A picture of 20 x 20 pixels as HTML; it says nothing that the name beside it does not say."""
    words = item.lower().split("_")
    made_of = ["_".join(words[:2]), *words]
    ink = next((INKS[word] for word in made_of if word in INKS), "")
    shape = next((_SHAPES[word] for word in ("_".join(words[-2:]), words[-1]) if word in _SHAPES), "")
    if not ink:
        ink = f"hsl({crc32(item.encode()) % 360} 45% 70%)"
    if not shape:
        light = ' class="light"' if ink[1:3] < "80" and ink.startswith("#") else ""
        letter = f'<text x="10" y="14.5" text-anchor="middle" font-size="12" stroke="none"{light}>{escape(item[:1].upper())}</text>'
        shape = f'<rect x="2" y="2" width="16" height="16" rx="3"/>{letter}'
    return f'<svg class="icon" viewBox="0 0 20 20" width="20" height="20" fill="{ink}" stroke="#55585e" aria-hidden="true">{shape}</svg>'
