"""What pages link to, and which of it is not there."""

import os
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """A page's links, what can be linked to on it, its pictures, and its title."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors, self.pictures, self.title, self._tag = set(), set(), [], "", ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        self._tag = tag
        if tag == "img":
            self.pictures.append(dict(attrs))
        for name, value in attrs:
            if name in ("id", "name"):
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.add(value)

    def handle_data(self, data):
        if self._tag == "title" and not self.title:
            self.title = data.strip()


def dead(pages, root):
    """Links of some pages (path -> Page) that lead nowhere, or out of `root`. A fragment with = is what a page is asked for."""
    found = []
    for path, page in pages.items():
        for link in page.links:
            place = urlsplit(link)
            if place.scheme or place.netloc:
                continue
            target = Path(os.path.normpath(path.parent / unquote(place.path))) if place.path else path
            if target.is_dir() and (target / "index.html").exists():
                target /= "index.html"
            known, anchor = pages.get(target), place.fragment
            lost = known and anchor and "=" not in anchor and not {anchor, unquote(anchor)} & known.anchors
            if not target.is_relative_to(root) or not target.exists() or lost:
                found.append(f"{path.relative_to(root)}: {link}")
    return sorted(found)


WIDTHS = (320, 390, 768, 1024, 1100, 1280, 1366, 1440, 1600, 1720, 1920)
"""Pixels: phones, tablets, and the usual screens."""


def widths(page):
    """How much wider than the window the page is, at each width."""
    wider = {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        wider[width] = page.evaluate("document.documentElement.scrollWidth") - width
    return wider
