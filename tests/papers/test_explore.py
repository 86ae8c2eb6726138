"""Explorers: nothing is lost, hostile text stays text, and a reader finds what a link or a word promises."""

import json
import re
from html import unescape
from pathlib import Path
from urllib.parse import quote, unquote

import numpy as np
import pandas as pd
import pytest
from links import WIDTHS, widths

from agon import ROOT, AgonError
from agon.conf.building import load
from agon.games.equilibria import equilibria
from agon.games.matrix import MatrixGame
from agon.games.tables import games_table
from agon.games.tradecraft import story
from agon.replay import one_match, replay_match
from agon.turns import read, read_games
from agon_papers.report import agreement, explore, matrix, tradecraft
from agon_papers.report.matrix import EQUILIBRIA
from agon_papers.report.stepper import match_data, pays

REPORTS = ROOT / "reports"
PAGES = sorted(REPORTS.glob("explore_*.html"))
CLAIMS, CELLS = (ROOT / f"results/replication/{name}.csv" for name in ("claims", "cells"))
needs_pages = pytest.mark.skipif(not (PAGES and CLAIMS.exists()), reason="no explorers yet: make repro")
HOSTILE = "</script><script>alert('x')</script><!--<img src=x onerror=alert(1)>"


def data_of(path):
    [told] = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', path.read_text(encoding="utf-8"), re.DOTALL
    )
    return json.loads(told)


def column(data, name):
    packed = data["columns"][name]
    return packed if isinstance(packed, list) else [packed["values"][code] for code in packed["codes"]]


def statements(**columns):
    """A small page of statements."""
    table = pd.DataFrame(
        {"claim": ["Most cooperate", "Few cooperate at once"], "verdict": ["holds", "fails"], **columns}
    )
    return explore.browser(
        columns=explore.packed(table),
        noun="statement",
        nouns="statements",
        search=["claim"],
        filters={"verdict": "Verdict"},
        signs={"holds": ["holds", "+"], "fails": ["fails", "-"]},
        key={"name": "statement", "column": "claim"},
        cards={"head": "claim", "sign": "verdict", "line": [], "details": {"verdict": "It"}},
        saved={"claim": "what is said"},
        sorts={"verdict": "by its letters"},
    )


def written(folder, **columns):
    data, scripts = statements(**columns)
    path = folder / "page.html"
    path.write_text(explore.page("T", ["About"], {}, data, scripts), encoding="utf-8")
    return path


def test_columns_are_packed_without_loss():
    table = pd.DataFrame({"word": ["a", "b", "a", None, "a"], "number": [1.0, 2.5, None, 4, 5], "own": list("vwxyz")})
    packed = json.loads(json.dumps(explore.packed(table)))
    assert packed["word"] == {"values": ["a", "b"], "codes": [0, 1, 0, -1, 0]}
    assert packed["number"] == [1, 2.5, None, 4, 5] and packed["own"] == list("vwxyz")


def test_a_number_that_is_none_is_refused():
    with pytest.raises(AgonError, match=r"explorer 'T': .*not JSON compliant"):
        explore.page("T", [], {}, {"columns": {"a": [float("inf")]}}, [])


def test_the_same_rows_give_the_same_bytes(tmp_path):
    assert written(tmp_path).read_bytes() == written(tmp_path).read_bytes()


def test_hostile_text_ends_no_element_and_runs_nothing(tmp_path, visit):
    path = written(tmp_path, claim=[HOSTILE, f"{HOSTILE}!"], verdict=[HOSTILE, "holds"])
    source = path.read_text()
    assert source.count("<script") == 2 and "<img" not in source and "<!--" not in source
    shown, pictures = visit(path, lambda page: (page.inner_text("main"), page.locator("main img, main script").count()))
    assert shown.count(HOSTILE) >= 2 and pictures == 0


def test_hostile_titles_and_words_of_the_page_are_escaped():
    data, scripts = statements()
    page = explore.page(HOSTILE, [HOSTILE], {HOSTILE: HOSTILE}, data, scripts, {HOSTILE: {HOSTILE: HOSTILE}})
    assert page.count("<script") == 2 and "<img" not in page


def test_hostile_players_of_a_match_stay_text(tmp_path, visit):
    path = ROOT / "tests/smoke/counterfactual_turns.parquet"
    turns, games = read(path), read_games(path)
    courses = matrix.courses(turns, games).head(3).assign(model=HOSTILE, agent=HOSTILE, family=HOSTILE)
    data = {"columns": explore.packed(courses), "rules": matrix.rules(games), "filters": {"model": HOSTILE}}
    data |= {"key": {"name": "match", "column": "match"}, "saved": {"match": HOSTILE}, "sorts": {"points": HOSTILE}}
    told, pictures = opened(tmp_path, visit, data, [matrix.MATCHES])
    assert told.count(HOSTILE) >= 9 and pictures == 0


def test_hostile_words_of_a_trade_stay_text(tmp_path, visit):
    turns = read(ROOT / "tests/smoke/tradecraft/turns.parquet")
    [game, *_] = tradecraft.games(turns)
    game |= {"agents": [HOSTILE] * 2, "models": [HOSTILE] * 2, "title": HOSTILE, "result": HOSTILE}
    game["moves"] = [move | {"says": HOSTILE, "wrong": HOSTILE} for move in game["moves"]]
    told, pictures = opened(
        tmp_path, visit, *explore.stepper(tradecraft.SCRIPT, games=[game], filters={"title": HOSTILE}), "#step=1"
    )
    assert told.count(HOSTILE) > len(game["moves"]) and pictures == 0


def test_hostile_addresses_stay_text(tmp_path, visit):
    game = {"name": "g", "options": ["a", "b"], "payoff": [[[1, 1], [0, 0]], [[0, 0], [1, 1]]]}
    place = f"#points={quote('1 1 0 0 0 0 1 1')}&names={quote(f'{HOSTILE[9:40]}|b')}"
    told, pictures = opened(tmp_path, visit, {"games": [game]}, [matrix.EQUILIBRIA, matrix.TABLE], place)
    assert HOSTILE[9:40] in told and pictures == 0


def opened(folder, visit, data, scripts, place=""):
    """What a page says, and how many elements there are that no page has."""
    path = folder / "page.html"
    path.write_text(explore.page("T", [], {}, data, scripts), encoding="utf-8")
    return visit(path, lambda page: (page.inner_text("main"), page.locator("main img, main script").count()), place)


def test_no_script_runs_but_the_pages_own(tmp_path, visit):
    path = written(tmp_path)
    path.write_text(path.read_text().replace("</body>", "<script>document.title = 'owned'</script></body>"))
    with pytest.raises(AssertionError, match="Content Security Policy"):
        visit(path, lambda page: None)
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', path.read_text())[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-") and "unsafe" not in policy


def test_words_filters_and_keys_find_a_row(tmp_path, visit):
    def searched(page):
        page.get_by_label("Search for words").focus()
        page.keyboard.type("once cooperate")
        first = page.inner_text("[role=status]"), page.locator("main details[open] summary").all_inner_texts()
        page.keyboard.press("Tab")
        page.keyboard.type("holds")  # it has none of these words, so it is not offered
        page.get_by_role("button", name="Clear all").press("Enter")
        page.get_by_label("Verdict").select_option("holds")
        return *first, page.inner_text("[role=status]"), page.url.partition("#")[2]

    assert visit(written(tmp_path), searched) == (
        "1 of 2 statements",
        ["- fails: Few cooperate at once"],
        "1 of 2 statements",
        "verdict=holds",
    )


def test_the_search_takes_any_apostrophe_or_none(tmp_path, visit):
    data, scripts = statements()
    path = tmp_path / "page.html"
    path.write_text(explore.page("T", [], {}, data, scripts), encoding="utf-8")

    def counts(page):
        said = []
        for words in ("cooperate", "co\u2019operate", "co'operate"):
            page.get_by_label("Search for words").fill(words)
            said.append(page.inner_text("[role=status]"))
        return said

    said = visit(path, counts)
    assert len(set(said)) == 1 and "No statement" not in said[0]


def test_a_statement_has_an_address_and_back_undoes_a_choice(tmp_path, visit):
    def followed(page):  # an option of a filter leads away from the one statement
        first = page.inner_text("[role=status]"), page.locator("main details[open] summary").all_inner_texts()
        page.get_by_label("Verdict").select_option("holds")
        chosen = page.url.partition("#")[2], page.inner_text("[role=status]")
        page.go_back()
        page.wait_for_url(re.compile("#statement="))
        return *first, *chosen, page.inner_text("[role=status]"), page.get_by_text("link to this statement").count()

    assert visit(written(tmp_path), followed, f"#statement={quote('Few cooperate at once')}") == (
        "1 of 2 statements",
        ["- fails: Few cooperate at once"],
        "verdict=holds",
        "1 of 2 statements",
        "1 of 2 statements",
        1,
    )


def test_a_table_is_sorted_and_saved(tmp_path, visit):
    table = pd.DataFrame({"name": ["b, c", "a", None], "size": [10, 9, 2.5], "own": [1, 2, 3]})
    settings = {"noun": "row", "nouns": "rows", "search": ["name"], "filters": {}, "signs": {}, "marked": {}}
    settings |= {"saved": {"name": "what it is called", "size": "metres"}}
    data, scripts = explore.browser(
        columns=explore.packed(table), table={"name": "Name", "size": "Size"}, numbers=["size"], **settings
    )

    def sorted_and_saved(page):
        orders = []
        for _ in range(2):
            page.get_by_role("button", name="Size").click()
            orders.append(page.locator("tbody td:first-child").all_inner_texts())
        with page.expect_download() as download:
            page.get_by_role("button", name="Save these rows").click()
        page.get_by_text("What the columns of the saved file mean").click()
        return orders, Path(download.value.path()).read_text(), page.locator(".notes dd").all_inner_texts()

    (tmp_path / "page.html").write_text(explore.page("T", [], {}, data, scripts), encoding="utf-8")
    orders, saved, meanings = visit(tmp_path / "page.html", sorted_and_saved)
    assert orders == [["not given", "a", "b, c"], ["b, c", "a", "not given"]]
    assert saved == 'name,size\n"b, c",10\na,9\n,2.5\n' and meanings == ["what it is called", "metres"]


def test_cards_are_put_in_order_and_back(tmp_path, visit):
    def put(page):
        page.get_by_label("Order").select_option("verdict")
        shown = page.locator("details:has(.sign) summary").all_inner_texts(), page.url.partition("#")[2]
        page.go_back()
        page.wait_for_function("!location.hash")
        return *shown, page.get_by_label("Order").input_value()

    shown, address, before = visit(written(tmp_path), put)
    assert [each.split(":")[0] for each in shown] == ["- fails", "+ holds"] and (address, before) == (
        "sort=verdict",
        "",
    )


@pytest.mark.parametrize(("width", "folded"), [(390, True), (1280, False)])
def test_the_bar_is_folded_on_a_phone_alone(width, folded, tmp_path, visit):
    def seen(page):
        search = page.get_by_label("Search all statements")
        before = search.is_visible()
        if not before:
            page.get_by_text("Menu and search").click()
        return before, search.is_visible()

    assert visit(written(tmp_path), seen, viewport={"width": width, "height": 800}) == (not folded, True)


def test_the_bar_searches_all_statements(tmp_path, visit):
    def searched(page):
        page.get_by_label("Search all statements").fill("a & b")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        here = page.locator("nav a[aria-current]").all_inner_texts(), page.get_by_label("Search all statements").count()
        return page.url.rpartition("/")[2], *here

    written(tmp_path).rename(tmp_path / "explore_claims.html")
    written(tmp_path)
    found = visit(tmp_path / "page.html", searched)
    assert found == ("explore_claims.html#q=a%20%26%20b", ["statements"], 0)


def test_what_finds_nothing_says_so(tmp_path, visit):
    told = visit(written(tmp_path), lambda page: page.inner_text("main"), "#q=nobody")
    assert "No statement matches" in told and "cooperate" not in told


def test_an_address_that_names_an_unknown_value_shows_all(tmp_path, visit):
    told = visit(written(tmp_path), lambda page: page.inner_text("[role=status]"), "#verdict=odd&other=1")
    assert told == "2 of 2 statements"


@needs_pages
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
class TestEveryExplorer:
    def test_weighs_less_than_three_megabytes(self, path):
        assert path.stat().st_size < 3e6

    def test_scrolls_nowhere_sideways(self, path, visit):
        def measured(page):
            page.wait_for_selector("main [role=status]")
            return widths(page)

        assert visit(path, measured, color_scheme="dark") == dict.fromkeys(WIDTHS, 0)

    def test_has_no_serious_fault_that_axe_finds(self, path, visit):
        axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()

        def faults(page):
            page.wait_for_selector("main [role=status]")
            found = axe.run(page).response["violations"]
            return [
                (each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in {"serious", "critical"}
            ]

        for scheme in ("light", "dark"):
            assert visit(path, faults, color_scheme=scheme, bypass_csp=True) == []

    def test_says_what_the_columns_of_a_saved_file_are(self, path):
        data = data_of(path)
        assert ("saved" in data) == ("columns" in data)
        own = [data["key"]["column"]] if "of" in data.get("key", {}) else []
        assert set(data.get("saved", {})) <= {*data.get("columns", {}), *own} and all(data.get("saved", {}).values())

    def test_links_to_files_that_are_there(self, path):
        links = re.findall(r'href="(.*?)"', path.read_text(encoding="utf-8"))
        assert links and all((REPORTS / unescape(link).partition("#")[0]).resolve().exists() for link in links)

    def test_is_linked_from_the_first_page(self, path):
        assert f'href="{path.name}"' in (REPORTS / "index.html").read_text(encoding="utf-8")


@needs_pages
def test_every_match_is_there():
    data, turns = data_of(REPORTS / "explore_matches.html"), read(ROOT / "transcripts/counterfactual.parquet")
    assert sorted(column(data, "match")) == sorted(turns.match.unique())
    points = sum(column(data, "points")) + sum(column(data, "points_other"))
    assert points == turns.payoff.sum()
    voids = sum(each.count(".") for name in ("own", "other") for each in column(data, name))
    assert voids == turns.action.isna().sum()


@needs_pages
def test_points_shown_are_those_recorded(visit):
    def sums(page):
        return page.locator(".match").evaluate_all(
            "all => all.map(each => [each.querySelector('h2').innerText, ...[4, 5].map(line => "
            "each.querySelector('.strip .round:last-child').children[line - 1].innerText)])"
        )

    for title, own, other in visit(REPORTS / "explore_matches.html", sums, "#opponent=tft&variant=payoff"):
        assert title.endswith(f": {own.strip()} to {other.strip()} points")


@needs_pages
def test_a_game_is_stepped_by_keys_to_the_hands_of_the_records(visit):
    [game] = [each for each in data_of(REPORTS / "explore_tradecraft.html")["games"] if each["match"] == "OU4TJ178"]

    def stepped(page):
        page.get_by_label("Move").focus()
        for _ in game["moves"]:
            page.keyboard.press("ArrowRight")
        hands = page.locator(".board section").all_inner_texts()
        return page.url.partition("#")[2], page.inner_text(".status"), hands

    address, told, hands = visit(REPORTS / "explore_tradecraft.html", stepped, "#game=OU4TJ178&step=0")
    assert address == f"match=OU4TJ178&step={len(game['moves'])}"
    assert told == "Player 2 (claude) is done crafting and holds its target."
    assert "lever ✓ target" in hands[1] and re.search(r"bucket target\s+0", hands[0])


@needs_pages
def test_a_link_to_a_game_shows_it_on_the_first_screen_of_a_phone(visit):
    def top(page):
        return page.locator("#explorer h2").first.bounding_box()["y"]

    page, phone = REPORTS / "explore_tradecraft.html", {"width": 390, "height": 800}
    assert visit(page, top, "#match=OU4TJ178", viewport=phone) < 100 < visit(page, top, viewport=phone)


@needs_pages
def test_a_game_plays_by_itself_until_it_is_paused(visit):
    def played(page):
        page.get_by_role("button", name="▶ Play").click()
        page.wait_for_url(re.compile("step=2$"))
        page.get_by_role("button", name="❚❚ Pause").click()
        before = page.url
        page.wait_for_timeout(1500)
        return page.url == before, page.get_by_role("button", name="▶ Play").count()

    assert visit(REPORTS / "explore_tradecraft.html", played, "#game=OU4TJ178&step=0") == (True, 1)


@needs_pages
def test_every_game_of_tradecraft_ends_with_the_recorded_hands():
    turns = read(ROOT / "transcripts/tradecraft.parquet")
    shown = {each["match"]: each for each in data_of(REPORTS / "explore_tradecraft.html")["games"]}
    for told in story.stories(turns):
        held = dict(enumerate(shown[told.match]["start"]))
        for move in shown[told.match]["moves"]:
            held |= {int(seat): hand for seat, hand in move.get("hands", {}).items()}
        ends = [{item: str(amount) for item, amount in hand.items()} for hand in told.turns[-1].after]
        assert list(held.values()) == ends
    assert len(shown) == turns.match.nunique() == 90


@needs_pages
def test_every_deviation_is_there():
    rows = pd.read_csv(ROOT / "docs/deviations/differences.csv")
    data = data_of(REPORTS / "explore_deviations.html")
    shown = sorted(each.strip().replace("`", "") for each in column(data, "where"))
    assert len(rows) > 100 and shown == sorted(rows["where"].str.replace("`", ""))
    assert "same" not in column(data, "decided in")


def test_equilibria_of_a_changed_table_are_those_that_are_computed(tmp_path, visit):
    dice = np.random.default_rng(11)
    games = [
        dice.integers(-most, most + 1, (2, size, size)).tolist()
        for size in (2, 3)
        for most in (2, 9)
        for _ in range(60)
    ]
    asked = f"games => {{ {EQUILIBRIA} return games.map(([rows, columns]) => equilibria(rows, columns)) }}"
    shown = visit(written(tmp_path), lambda page: page.evaluate(asked, games))
    alone = 0
    for (rows, columns), found in zip(games, shown, strict=True):
        game = MatrixGame("g", "test", tuple("abc"[: len(rows)]), np.stack([rows, columns], axis=-1).tolist(), 1)
        theirs = [np.array([[float(each) for each in mix] for mix in profile]) for profile in equilibria(game).profiles]
        assert all(any(np.allclose(each, other) for other in theirs) for each in found["profiles"])
        assert found["degenerate"] or len(found["profiles"]) == len(theirs)
        alone += not found["degenerate"]
    assert 60 < alone < len(games)


@needs_pages
def test_the_game_on_the_first_page_is_against_the_last_move_script(visit):
    path = REPORTS / "index.html"
    game = json.loads(re.search(r'id="game">(.*?)</script>', path.read_text(encoding="utf-8"))[1])

    def played(page):
        own = [game["actions"][place % 3] for place in range(game["rounds"])]
        for action in own:
            page.locator("#play").get_by_role("button", name=action, exact=True).click()
        return own, page.inner_text("#play")

    own, told = visit(path, played)
    rounds = re.findall(r"\d+: you (\w+), script (\w+), ([+-]?\d+)", told)
    assert [action for action, _, _ in rounds] == own
    place = {action: number for number, action in enumerate(game["actions"])}
    for last, (_, other, _) in zip(own, rounds[1:], strict=False):
        assert game["points"][place[other]][place[last]] == game["best"]
    points, best = sum(int(paid) for _, _, paid in rounds), game["best"] * game["rounds"]
    share = re.search(r"You have (-?\d+) of (\d+) possible points, (-?\d+) % of the best total", told).groups()
    assert share[:2] == (str(points), str(best)) and abs(int(share[2]) - 100 * points / best) <= 0.5
    assert "last-move script" in told


@needs_pages
def test_shares_of_all_moves_add_up(visit):
    def told(page):
        return page.get_by_text("All rounds of these").inner_text()

    said = visit(REPORTS / "explore_matches.html", told, "#family=prisoner%27s%20dilemma&variant=default")
    shares = [float(each) for each in re.findall(r"([\d.]+) %", said)]
    assert "no readable move" in said and len(shares) == 3 and sum(shares) == pytest.approx(100, abs=0.15)


@needs_pages
def test_back_undoes_the_choice_of_a_table(visit):
    def undone(page):
        begin, size = page.get_by_label("Begin with"), page.get_by_label("Size")
        before = begin.input_value(), size.input_value()
        begin.select_option("chicken")
        chicken = unquote(page.url.partition("#")[2])
        size.select_option("3")
        page.go_back()
        page.wait_for_function("!location.hash.includes('action')")
        again = unquote(page.url.partition("#")[2]), begin.locator("option:checked").inner_text()
        page.go_back()
        page.wait_for_function("!location.hash.includes('swerve')")
        return chicken, again, before, (begin.input_value(), size.input_value())

    chicken, again, before, after = visit(REPORTS / "explore_matrix.html", undone)
    assert again == (chicken, "chicken") and "swerve" in chicken and after == before


@needs_pages
def test_a_changed_table_is_solved_and_a_wrong_number_named(visit):
    def changed(page):
        first = page.inner_text("[role=status]")
        field = page.get_by_label("points of the row player: defection against cooperation")
        field.fill("3")
        second = page.inner_text("[role=status]"), unquote(page.url.partition("#")[2])
        field.fill("3,5x")
        return first, *second, page.inner_text("[role=status]"), page.locator(".found li").count()

    before, after, address, wrong, left = visit(REPORTS / "explore_matrix.html", changed)
    assert before == "1 equilibrium: 1 pure, 0 mixed." and after.startswith("1 equilibrium")
    assert address.startswith("points=4 4 1 6 3 1 2 2")
    assert "needs a number" in wrong and "“3,5x”" in wrong and left == 0


def test_the_rest_of_a_card_is_folded(tmp_path, visit):
    data, scripts = statements(rest=["a : b", ""])
    data["cards"] |= {"folded": {"rest": "The rest"}}
    path = tmp_path / "page.html"
    path.write_text(explore.page("T", [], {}, data, scripts), encoding="utf-8")

    def unfolded(page):
        before = page.get_by_text("a : b").is_visible()
        page.get_by_text("All numbers").first.click()
        return before, page.get_by_text("a : b").is_visible()

    assert visit(path, unfolded, f"#statement={quote('Most cooperate')}") == (False, True)


@needs_pages
def test_every_statement_is_there_those_of_the_abstract_first():
    data, claims = data_of(REPORTS / "explore_claims.html"), pd.read_csv(CLAIMS)
    names = ["paper", "claim", "verdict", "why", "rule"]
    told = list(zip(*(column(data, name) for name in names), strict=True))
    assert sorted(told) == sorted(claims[names].itertuples(index=False, name=None))
    ranks = [agreement.WEIGHTS.index(weight) for weight in column(data, "importance")]
    assert ranks == sorted(ranks) and set(ranks) == {0, 1, 2}


@needs_pages
def test_every_printed_cell_is_there():
    data, cells = data_of(REPORTS / "explore_cells.html"), pd.read_csv(CELLS, low_memory=False)
    keys = ["paper", "table", "row", "column"]
    whole = cells.groupby([*keys, "reading"]).agrees.all()
    for reading in ("literal", "reconciled"):
        told = pd.Series(column(data, reading))
        assert len(told) == len(whole.xs(reading, level="reading"))
        assert (told == "agrees").sum() == whole.xs(reading, level="reading").sum()
    first = cells[cells.reading.eq("literal")].drop_duplicates(keys)
    assert sorted(column(data, "published")) == sorted(first.published)
    assert sum("not recorded" not in each for each in column(data, "told_literal")) == first.recomputed.notna().sum()


@needs_pages
def test_links_of_findings_open_their_statement(visit):
    pages = [path.read_text(encoding="utf-8") for path in sorted(REPORTS.glob("*_findings.html"))]
    asked = sorted(
        {unescape(each) for page in pages for each in re.findall(r'explore_claims\.html#statement=([^"&]*)["&]', page)}
    )
    assert len(asked) > 10

    def first(page):
        page.wait_for_selector("main details[open] summary")
        return page.locator("details[open]:has(.sign) > summary").all_inner_texts()

    claims = pd.read_csv(CLAIMS)
    claim = dict(zip(claims.paper + "." + claims.statement, claims.claim, strict=True))
    for each in asked:
        [shown] = visit(REPORTS / "explore_claims.html", first, f"#statement={each}")
        assert claim[unquote(each)] in shown


@needs_pages
def test_a_cell_has_an_address(visit):
    data = data_of(REPORTS / "explore_cells.html")
    parts = list(zip(*(column(data, name) for name in data["key"]["of"]), strict=True))
    assert len(set(parts)) == len(parts)

    def shown(page):
        return page.inner_text("[role=status]"), page.locator("td[data-label=link] a").count()

    address = quote("/".join(map(str, parts[-1])), safe="")
    assert visit(REPORTS / "explore_cells.html", shown, f"#cell={address}") == (f"1 of {len(parts):,} printed cells", 1)


@needs_pages
def test_a_match_has_an_address(visit):
    match = column(data_of(REPORTS / "explore_matches.html"), "match")[7]

    def shown(page):
        return page.inner_text("[role=status]"), page.locator("section.match").all_inner_texts()

    status, [text] = visit(REPORTS / "explore_matches.html", shown, f"#match={match}")
    assert status.startswith("1 of ") and match in text


@needs_pages
@pytest.mark.parametrize("width", [390, 1280])
def test_a_tap_on_a_round_leads_to_the_round_and_on_to_its_game(width, visit):
    data, turns = data_of(REPORTS / "explore_matches.html"), read(ROOT / "transcripts/counterfactual.parquet")
    match = column(data, "match")[7]
    own, other = (
        turns[(turns.match == match) & (turns["round"] == 3) & (turns.seat == seat)].iloc[0] for seat in (0, 1)
    )

    def tapped(page):
        page.locator(".strip .round:not(.side)").nth(2).click()
        said = [page.inner_text(".match [aria-live]"), page.url.partition("#")[2], page.inner_text("[role=status]")]
        first = page.locator("select").first.evaluate("(filter) => filter.options[0].text")
        page.get_by_role("button", name="round 4", exact=True).press("Enter")
        fourth = page.inner_text(".match [aria-live]")
        page.get_by_role("link", name="the points of all moves").click()
        page.wait_for_url(re.compile("explore_matrix"))
        return [*said, first, fourth], page.inner_text("[role=status]")

    view = {"viewport": {"width": width, "height": 800}}
    (told, address, status, first, fourth), solved = visit(
        REPORTS / "explore_matches.html", tapped, f"#match={match}", **view
    )
    for row in (own, other):
        assert f"{row.action} ({row.payoff:g} points)" in told
    assert told.startswith("Round 3 of ") and fourth.startswith("Round 4 of ")
    assert address == f"match={match}&round=3" and status.startswith("1 of ")
    assert first == "all" and "equilibri" in solved


@needs_pages
def test_a_match_leads_to_its_pairing_and_back_to_the_finding(visit):
    data = data_of(REPORTS / "explore_matches.html")
    names = [*data["filters"]]
    rows = list(zip(*(column(data, name) for name in names), strict=True))

    def led(page):
        page.get_by_role("link", name="all matches of this pairing").click()
        page.wait_for_function("!location.hash.includes('match=')")
        return page.inner_text("[role=status]"), page.get_by_text("Back to the finding").get_attribute("href")

    finding = "counterfactual_findings.html#Do-they-find-the-new-equilibrium%3F"
    place = f"#match={column(data, 'match')[7]}&from={quote(finding, safe='')}"
    status, back = visit(REPORTS / "explore_matches.html", led, place)
    assert status == f"{rows.count(rows[7])} of {len(rows):,} matches" and rows.count(rows[7]) > 1
    page = (REPORTS / "counterfactual_findings.html").read_text(encoding="utf-8")
    assert back == finding and f'id="{unquote(finding).partition("#")[2]}"' in page


@pytest.mark.parametrize("from_", ["javascript:alert(1)", "//e.org/x.html", "../x.html", "a.html#<b>", "https://e.org"])
def test_an_address_leads_back_to_a_page_of_the_report_alone(from_, tmp_path, visit):
    links = visit(written(tmp_path), lambda page: page.locator("main a").count(), f"#from={quote(from_, safe='')}")
    assert links == 2  # those of the two statements


def watched(folder, visit, do, place="", **changes):
    """Does something on a page with one recorded match of a small model; `changes` are of each act."""
    path = ROOT / "tests/smoke/pocket_magic.parquet"
    turns = read(path)
    turns = one_match(turns, turns.match[turns.game == "undercover"].iloc[0])
    data = match_data(replay_match(turns, read_games(path)), turns)
    for move in data["moves"]:
        move["acts"] = [act | changes for act in move["acts"]]
    data |= {"title": "T", "result": "R", "silent": "no words"}
    told, scripts = explore.stepper(explore.part("match.js"), games=[data], filters={"game": "Game"}, unreadable="-")
    (folder / "page.html").write_text(explore.page("T", [], {}, told, scripts), encoding="utf-8")
    return turns, visit(folder / "page.html", do, place)


def test_a_match_is_stepped_by_keys_and_shows_what_was_recorded(tmp_path, visit):
    def stepped(page):
        shown = []
        for _ in range(int(page.get_by_label("Move", exact=True).get_attribute("max"))):
            page.keyboard.press("ArrowRight")
            shown.append(page.locator(".board").inner_text())
        return page.url.partition("#")[2], shown, page.locator(".tile:not(.none)").count()

    turns, (address, shown, tiles) = watched(tmp_path, visit, stepped)
    name, last = turns.match.iloc[0], turns.turn.nunique()
    chosen = [board for board in shown if "(given by the setting)" not in board]
    assert address == f"match={name}&step={len(shown)}" and len(chosen) == last
    assert "does not know" in shown[0]
    asked = turns[turns.asked]
    given = len(shown) - last
    assert tiles == len(asked) + given + turns.seat.nunique(), "and the names at the left"
    for row in asked[asked.reply.notna()].itertuples():
        place = sorted(turns.turn.unique()).index(row.turn)
        assert all(line.strip() in chosen[place] for line in row.reply.split("\n"))
    sums = [f"{points:.4g} points so far" for points in turns.groupby("seat").payoff.sum()]
    assert [line.partition(" (")[0] for line in shown[-1].split("\n") if "so far" in line] == sums


@needs_pages
@pytest.mark.parametrize(("name", "menu"), [("games", "Chosen for"), ("tradecraft", "Problem")])
def test_keys_step_while_a_menu_has_the_focus_and_back_undoes_its_choice(name, menu, visit):
    def stepped(page):
        matches = page.locator("label", has_text=re.compile("^Match")).locator("select")
        before, seen = matches.input_value(), []
        matches.select_option(index=3)
        for focus in ("Match", menu):
            page.locator("label", has_text=re.compile(f"^{focus}")).locator("select").focus()
            for key in ("End", "Home", "ArrowRight", "ArrowRight", "ArrowLeft"):
                page.keyboard.press(key)
                seen.append((matches.input_value(), int(page.get_by_label("Move", exact=True).input_value())))
        page.go_back()
        page.wait_for_function(f"location.hash.includes('{before}')")
        return before, seen, matches.input_value()

    path = REPORTS / f"explore_{name}.html"
    before, seen, after = visit(path, stepped)
    [moves] = [len(game["moves"]) for game in data_of(path)["games"] if game["match"] == seen[0][0]]
    assert seen[0][0] != before == after
    assert seen == [(seen[0][0], step) for step in (moves, 0, 1, 2, 1)] * 2


@needs_pages
@pytest.mark.parametrize(("name", "shown"), [("games", ".board"), ("tradecraft", ".board"), ("matches", ".match")])
def test_an_unknown_match_is_named(name, shown, visit):
    def told(page):
        unknown = page.locator("main [role=status]").first.inner_text(), page.locator(f"{shown}:visible").count()
        page.locator("main select").first.select_option(index=1)
        return *unknown, page.locator(f"{shown}:visible").count() > 0

    said, count, found = visit(REPORTS / f"explore_{name}.html", told, "#match=zz")
    assert said.startswith("There is no match \u201czz\u201d here.") and count == 0 and found


def test_moves_that_the_setting_gives_are_listed():
    path = ROOT / "tests/smoke/magic_scripted.parquet"
    turns, games, names = read(path), read_games(path), set()
    for _, rows in turns.groupby("match", observed=True):
        rows = rows.reset_index(drop=True)
        replay = replay_match(rows, games)
        moves = match_data(replay, rows)["moves"]
        told = [(move["phase"], act["seat"]) for move in moves if move.get("given") for act in move["acts"]]
        game = replay.game
        phase = {"cost_sharing": "propose", "chameleon": "clue", "undercover": "clue"}.get(game.name)
        first = {"propose": game.seats, "clue": min(game.tested, default=0)}.get(phase, 0)
        assert told == [(phase, seat) for seat in range(first) if seat not in game.tested]
        names |= {game.name} if told else set()
    assert "cost_sharing" in names and names & {"chameleon", "undercover"}


def test_rules_of_a_game_to_watch_have_its_numbers():
    def told(name):
        return pays(load("game", name))

    assert "rock beats paper and earns 3" in told("rps_joint") and "rock beats scissors and earns 1" in told("rps")
    assert "Player 2 is airline B" in told("cost_sharing/01") and "pays every player 1 point" in told("cost_sharing/01")
    public = load("game", "public_goods/01")
    assert f"has {public.endowment} points" in pays(public) and f"by {public.multiplier:g}," in pays(public)
    three = load("game", "prisoner3/06")
    alone = ", ".join(f"{points:g}" for points in three.payoffs(("cooperate", "cooperate", "defect")))
    assert f"cooperate, cooperate, defect pays {alone};" in pays(three)
    assert "0 and 2 if the chameleon is accused" in told("chameleon/01-crowd") and told("pd") == ""


def test_hostile_words_of_a_match_stay_text(tmp_path, visit):
    hostile = {"does": HOSTILE, "says": f"{HOSTILE}.", "thinks": HOSTILE, "wrong": HOSTILE, "tile": HOSTILE}
    _, (told, pictures) = watched(
        tmp_path,
        visit,
        lambda page: (page.inner_text("main"), page.locator("main img, main script").count()),
        "#step=2",
        **hostile,
    )
    assert told.count(HOSTILE) > 3 and pictures == 0


@needs_pages
def test_games_to_watch_are_of_every_family_and_say_where_words_are_missing():
    games = data_of(REPORTS / "explore_games.html")["games"]
    assert {game["game"] for game in games} == {
        *("pd", "rps", "prisoner3", "public_goods", "cost_sharing", "chameleon", "undercover")
    }
    for game in games:
        spoken = any("says" in act for move in game["moves"] for act in move["acts"])
        assert game["moves"] and bool(game["silent"]) != spoken
        assert game["rules"].endswith(".") and (spoken or not game["echo"])
    assert any(game["echo"] for game in games)
    assert any("believes" in act for game in games for move in game["moves"] for act in move["acts"])


def test_games_of_more_actions_than_digits_are_refused():
    def of_size(size):
        return games_table([MatrixGame("big", "v", tuple("abcdefghijk"[:size]), [[[0, 0]] * size] * size, 1)])

    assert [len(game["options"]) for game in matrix.rules(of_size(10))] == [10]
    with pytest.raises(AgonError, match="big v has 11 actions: the explorer shows games with at most 10"):
        matrix.rules(of_size(11))


@pytest.mark.parametrize("amount", ["many", "1/0", None, [1]])
def test_amounts_of_refused_calls_are_as_they_were_written(amount):
    call = {"tool": "submit_proposal", "partner": "B", "offer": {"coal": amount}, "request": {"stick": 2}}
    detail = {"ok": False, "fault": "bad amounts", "start": {"coal": 1}, "target": {"stick": 1}}
    second = {"ok": True, "start": {"stick": 2}, "target": {"coal": 1}}
    rows = [("propose", 0, call, detail), ("decide", 1, {"tool": "decide", "decision": "reject"}, second)]
    turns = pd.DataFrame(
        {"match": "m", "variant": "v", "agent": "zs", "model": None, "round": 1, "turn": number, "phase": phase}
        | {"seat": seat, "payoff": 0.0, "reply": None, "action": json.dumps(action), "detail": json.dumps(notes)}
        for number, (phase, seat, action, notes) in enumerate(rows, start=1)
    )
    (game,) = tradecraft.games(turns)
    assert game["moves"][0]["gives"] == {"coal": str(amount)} and game["moves"][0]["wrong"] == "bad amounts"
