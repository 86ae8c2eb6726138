"""What every page of the report must be: whole, light, told in words, and no dead end."""

import re
from base64 import b64decode

import nbformat
import pandas as pd
import pytest
from links import Page, dead

from agon import ROOT

PAGES = sorted((ROOT / "reports").glob("*.html"))
NOTEBOOKS = sorted(path for path in (ROOT / "reports").glob("*.ipynb") if ".failed." not in path.name)
HEAVIEST = 3_000_000
CUT = re.compile(r"\d+ rows . \d+ columns|<t[dh]>(?:\.\.\.|…)</t[dh]>|<td>[^<]{40,}(?:\.\.\.|…)</td>")
"""What pandas writes where it leaves out rows, columns, or the end of a text."""
SHORT = re.compile(
    r"(?<!\w)(?:[A-Z]{2,}(?![a-z])[\w-]*|[A-Z]+\d[\w.()-]*|srep|mf|ap|pp|tft|zs|cot|spp|pd|rps|sc-\w+)(?!\w)"
)
"""What looks like an abbreviation."""

pytestmark = pytest.mark.skipif(not PAGES, reason="no reports yet: make repro")
every_page = pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def outputs(path, kind):
    """What the cells of an executed notebook gave, of one kind, with its metadata."""
    cells = nbformat.read(path, as_version=4).cells
    given = [output for cell in cells for output in cell.get("outputs", []) if kind in output.get("data", {})]
    return [(output.data[kind], output.get("metadata", {}).get(kind, {})) for output in given]


@every_page
def test_a_page_has_a_title_in_words(path):
    title = Page(path).title
    assert " " in title and title != path.stem


@every_page
def test_a_page_is_light(path):
    assert path.stat().st_size < HEAVIEST


@every_page
def test_every_picture_is_told_in_words(path):
    told = [picture.get("alt") for picture in Page(path).pictures]
    assert None not in told and "No description has been provided for this image" not in told
    assert path.stem == "index" or all(told)  # there some stand beside the words that tell them


@every_notebook
def test_no_table_is_cut(path):
    assert [CUT.search(table)[0] for table, _ in outputs(path, "text/html") if CUT.search(table)] == []


@every_notebook
def test_no_cell_warns(path):
    cells = nbformat.read(path, as_version=4).cells
    streams = [output for cell in cells for output in cell.get("outputs", []) if output.output_type == "stream"]
    assert [output.text for output in streams if output.name == "stderr"] == []  # a warning names a process


@every_notebook
def test_no_output_is_bare(path):
    outputs = [output for cell in nbformat.read(path, as_version=4).cells for output in cell.get("outputs", [])]
    assert [output.data for output in outputs if [*output.get("data", {})] == ["text/plain"]] == []


@every_notebook
def test_no_page_names_a_place_of_the_machine(path):
    assert re.search(r"/tmp/|/home/|/root/| at 0x[0-9a-f]{6}", path.read_text(encoding="utf-8")) is None


def test_every_link_of_the_report_leads_somewhere():
    assert dead({path: Page(path) for path in PAGES}, ROOT) == []


def test_titles_of_figures_have_no_abbreviation_that_is_not_explained():
    known = (ROOT / "docs/glossary.md").read_text()
    told = [" ".join(meta["alt"].split()) for path in NOTEBOOKS for _, meta in outputs(path, "image/png")]
    plain = [re.sub(r"STAND-IN, NOT A MODEL|SAMPLE|PARTIAL|\b[MG]B\b", "", each) for each in told]
    unknown = {word for each in plain for word in SHORT.findall(each) if word not in known}
    assert len(told) > 50 and unknown == set()


def test_a_cut_table_would_be_seen():
    for text in ["<td>...</td>", "<p>9 rows \u00d7 5 columns</p>", f"<td>{'so ' * 20}...</td>"]:
        assert CUT.search(text)


def test_an_abbreviation_would_be_seen():
    for text, found in [("C4S(T) and srep", ["C4S(T)", "srep"]), ("A model of MAgIC, n 3", [])]:
        assert SHORT.findall(text) == found


SMALLEST = 12
"""Pixels of the text of a figure on a phone."""


def texts_of(page):
    """The size in pixels of the smallest text of each figure of a page, as it is seen."""
    sizes = []
    for picture in page.locator("figure img").all():
        source = picture.get_attribute("src").partition("base64,")[2]
        drawing = b64decode(source).decode()
        wide = float(re.search(r'viewBox="\S+ \S+ (\S+)', drawing)[1])
        scale = picture.evaluate("image => image.getBoundingClientRect().width") / wide
        sizes.append(scale * min(float(size) for size in re.findall(r"font-size: ([\d.]+)px", drawing)))
    return sizes


@pytest.mark.parametrize("paper", ["counterfactual", "magic", "tradecraft"])
def test_text_in_figures_of_findings_can_be_read_on_a_phone(paper, visit):
    sizes = visit(ROOT / f"reports/{paper}_findings.html", texts_of, viewport={"width": 390, "height": 800})
    assert len(sizes) > 3 and min(sizes) >= SMALLEST


@pytest.mark.parametrize(("name", "many"), [("counterfactual_findings", 1), ("magic_tables", 1), ("index", 2)])
def test_a_figure_fills_the_screen_on_a_tap_until_it_is_closed(name, many, visit):
    def tapped(page):
        page.evaluate("document.querySelectorAll('main details').forEach((part) => { part.open = true; })")
        seen = []
        for kind in ("wide", "narrow")[:many]:
            figure = page.locator(f"figure.{kind}" if many > 1 else "figure").first
            picture, screen, title = (figure.locator(part) for part in ("img", ".larger", ".title"))
            picture.scroll_into_view_if_needed()
            page.evaluate("scrollBy(0, 31)")
            boxes = [picture.bounding_box()]
            picture.click()
            boxes.append(picture.bounding_box())
            screen.locator("button").first.evaluate("(box) => box.scrollTo(box.scrollWidth, box.scrollHeight)")
            boxes.append(picture.bounding_box())
            seen.append(
                (
                    boxes,
                    screen.bounding_box(),
                    title.bounding_box(),
                    title.inner_text(),
                    picture.get_attribute("alt"),
                )
            )
            page.get_by_role("button", name="Close", exact=True).click()
            boxes.append(picture.bounding_box())
            picture.click()
            page.keyboard.press("Escape")
            assert picture.bounding_box() == pytest.approx(boxes[0], abs=2)  # pixels
            assert screen.locator("button").first.evaluate("(button) => button === document.activeElement")
        return seen, page.evaluate("innerWidth - document.documentElement.scrollWidth")

    seen, spare = visit(ROOT / f"reports/{name}.html", tapped, viewport={"width": 390, "height": 800})
    assert spare == 0 and len(seen) == many
    for (small, large, moved, again), screen, title, told, alt in seen:
        assert large["width"] >= 1.5 * small["width"] or large["width"] > 390
        assert (screen["x"], screen["y"], screen["width"], screen["height"]) == (0, 0, 390, 800)
        assert alt and alt in told and title["y"] >= 0 and title["x"] + title["width"] <= 390
        assert large["x"] >= 0 and moved["x"] + moved["width"] <= 390 and moved["y"] + moved["height"] <= 800
        assert again == pytest.approx(small, abs=2)


@pytest.mark.parametrize("name", ["magic_findings", "index"])
def test_back_closes_an_enlarged_figure_before_it_leaves_the_page(name, visit):
    def walked(page):
        picture = page.locator("figure img").first
        picture.scroll_into_view_if_needed()
        here, seen = picture.bounding_box(), []
        steps = {
            "tap": picture.click,
            "back": page.go_back,
            "forward": page.go_forward,
            "close": lambda: page.get_by_role("button", name="Close", exact=True).click(),
            "tap again": picture.click,
            "escape": lambda: page.keyboard.press("Escape"),
        }
        for step, do in steps.items():
            do()
            page.wait_for_function("(open) => !!history.state === open", arg=step in ("tap", "forward", "tap again"))
            seen.append(page.locator(".larger:popover-open").count())
            assert seen[-1] or picture.bounding_box() == pytest.approx(here, abs=2), step  # pixels
        page.go_back()
        return seen, page.url

    seen, url = visit(ROOT / f"reports/{name}.html", walked, viewport={"width": 390, "height": 800})
    assert (seen, url) == ([1, 0, 1, 0, 1, 0], "about:blank")


def test_no_picture_of_the_gallery_is_cut(visit):
    def cut(page):
        page.evaluate("document.querySelectorAll('main details').forEach((part) => { part.open = true; })")
        return page.evaluate("""() => [...document.querySelectorAll(".figures figure")].map((figure) => {
          const [frame, picture] = [".frame", "img"].map((part) => figure.querySelector(part).getBoundingClientRect());
          return [figure.id, picture.height - frame.height, picture.width - frame.width, frame.width];
        })""")

    for width in (390, 1280):
        places = visit(ROOT / "reports/index.html", cut, viewport={"width": width, "height": 800})
        assert len(places) > 50 and all(frame > 200 for *_, frame in places)
        assert [name for name, higher, wider, _ in places if max(higher, wider) > 1] == []


THINGS = "matche|game|statement|model|turn|round|decision|offer|player|answer|number|row|call"
ONE = re.compile(rf"(?<![\w.,/\u2212-])(?<!Table )(?<!Figure )1 (?:(?:{THINGS})s|are|were|have|lack)\b")
"""One of something, in the plural."""


@every_notebook
def test_one_of_something_is_no_plural(path):
    texts = [text for text, _ in outputs(path, "text/markdown")]
    texts += [cell for table, _ in outputs(path, "text/html") for cell in re.findall(r"<t[dh]>(.*?)</t[dh]>", table)]
    assert [text[found.start() - 40 : found.end() + 20] for text in texts for found in ONE.finditer(text)] == []


def test_a_wrong_plural_would_be_seen():
    assert ONE.search("in 1 matches") and ONE.search("and 1 were") and not ONE.search("in 11 matches of 1 game")


BROKEN = """() => {
  const split = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) for (const word of texts.currentNode.data.matchAll(/\\p{L}{2,}/gu)) {
    const range = document.createRange();
    range.setStart(texts.currentNode, word.index);
    range.setEnd(texts.currentNode, word.index + word[0].length);
    const lines = new Set([...range.getClientRects()].filter((box) => box.width).map((box) => Math.round(box.top)));
    if (lines.size > 1) split.push(`${word[0]} in ${texts.currentNode.data.slice(0, 80)}`);
  }
  return split;
}"""
"""Words that are on two lines."""


@every_page
def test_no_word_is_broken_on_a_phone(path, visit):
    def broken(page):
        page.evaluate("document.querySelectorAll('main details').forEach((part) => { part.open = true; })")
        found = {}
        for width in (320, 390):
            page.set_viewport_size({"width": width, "height": 800})
            found[width] = page.evaluate(BROKEN)[:5]
        return found

    assert visit(path, broken) == {320: [], 390: []}


ALIKE = "tr:nth-child(n+4), .square:nth-child(n+9), .code, li:nth-child(n+12), #explorer details:nth-of-type(n+6)"
"""What is left out before axe looks, because the same stands before it: axe needs minutes for thousands of cells."""
SCROLLING = """() => [...document.querySelectorAll("body *")].filter((box) => box.scrollWidth > box.clientWidth + 1
  && ["auto", "scroll"].includes(getComputedStyle(box).overflowX) && box.tabIndex < 0
  && !box.querySelector("a, button, input, select")).map((box) => box.outerHTML.slice(0, 200))"""
"""Boxes that scroll sideways and that the keyboard does not reach."""


def barred(page):
    """What bars readers on a page: scrolling boxes without a way in, and what axe finds."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is missing: pages are not tested")
    page.wait_for_load_state()
    unreached = page.evaluate(SCROLLING)
    page.evaluate("(alike) => document.querySelectorAll(alike).forEach((each) => each.remove())", ALIKE)
    found = axe.Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return unreached + [(each["id"], each["nodes"][0]["html"]) for each in found]


@every_page
def test_no_page_bars_anybody(path, visit):
    assert visit(path, barred, viewport={"width": 390, "height": 800}, color_scheme="dark") == []


def told(page):
    """The gains in percent that the radar tells: mean of gains, gain of the mean area, printed."""
    return [int(number) for number in re.findall(r"(\d+) %", page.locator(".radar [role=status]").inner_text())[:3]]


def test_axes_of_the_radar_can_be_moved_to_what_the_table_says(visit):
    orders = pd.read_csv(ROOT / "results/tables/magic_axis_orders.csv")

    def moved(page):
        seen = [told(page)]
        for name in ("smallest gain", "largest gain", "the paper's order"):
            page.get_by_role("button", name=name).click()
            seen.append(told(page))
        return seen

    first, least, most, again = visit(ROOT / "reports/magic_findings.html", moved)
    assert first == again == [*map(round, (orders.mean_gain[0], orders.pooled_gain[0])), 37]
    assert [least[0], most[0]] == [round(orders.mean_gain.min()), round(orders.mean_gain.max())]


@pytest.mark.parametrize("way", ["keys", "mouse"])
def test_an_axis_of_the_radar_is_moved_by_keys_or_dragged(way, visit):
    def moved(page):
        axis = page.get_by_role("slider", name="rationality")
        before = axis.get_attribute("aria-valuenow"), told(page)
        if way == "keys":
            axis.press("ArrowLeft")
        else:
            axis.scroll_into_view_if_needed()
            other = page.get_by_role("slider", name="coordination").bounding_box()
            axis.hover()
            page.mouse.down()
            page.mouse.move(other["x"] + other["width"] / 2, other["y"] + other["height"] / 2, steps=4)
            page.mouse.up()
        return before, (axis.get_attribute("aria-valuenow"), told(page))

    orders = pd.read_csv(ROOT / "results/tables/magic_axis_orders.csv").set_index("order")
    swapped = orders.loc["judgement reasoning deception self_awareness cooperation rationality coordination"]
    before, after = visit(ROOT / "reports/magic_findings.html", moved)
    assert (before[0], after[0]) == ("7", "6")
    assert after[1] == [*map(round, (swapped.mean_gain, swapped.pooled_gain)), 37] != before[1]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("paper", ["counterfactual", "magic", "tradecraft"])
def test_no_page_of_findings_scrolls_sideways(paper, scheme, visit):
    def wider(page):
        return page.evaluate("document.documentElement.scrollWidth - innerWidth")

    for width in (320, 390, 1100, 1366):
        path = ROOT / f"reports/{paper}_findings.html"
        assert visit(path, wider, viewport={"width": width, "height": 800}, color_scheme=scheme) <= 0
