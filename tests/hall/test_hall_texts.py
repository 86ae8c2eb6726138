"""Whatever is written, by people or models, stays text on every page; researchers' pages fit a phone, and keys play a game."""

import re

from driving import HOSTILE, PHONE, fits, play_on

from agon.plan import PERSON

FOUND = """() => {
  const found = [];
  const walk = root => { for (const each of root.querySelectorAll('*')) {
    const name = each.tagName.toLowerCase();
    if (name === 'script' && each.textContent.includes('evil')  && !each.type.includes('json')) found.push(each.outerHTML.slice(0, 200));
    if (name === 'plaintext') found.push(name);
    for (const one of each.attributes)
      if (one.name.startsWith('on') && one.value.includes('evil')) found.push(each.outerHTML.slice(0, 200));
    if (/evil/.test(each.getAttribute('href') || '') || each.getAttribute('src') === 'x') found.push(each.outerHTML.slice(0, 200));
    if (each.shadowRoot) walk(each.shadowRoot);
  } };
  walk(document);
  if (window.evil) found.push('it ran');
  return found;
}"""
"""Elements that somebody has smuggled in, in all shadow roots."""


def harmless(*people):
    for each in people:
        each.page.wait_for_timeout(100)
        assert each.page.evaluate(FOUND) == []
        assert each.errors == []
        assert "49" not in re.findall(r"here (\d+)", each.page.locator("main").aria_snapshot())


def test_hostile_texts_stay_texts_on_every_page(server, person):
    row = server.opened("chameleon", [PERSON, PERSON, "zs@hostile"])
    ada, bo, public, host, hall = (person(listens=True) for _ in range(5))
    public.page.goto(server.link("watch", row))
    host.page.goto(server.link("host", row))
    ada.sit(server.link("seat", row, 0), "<img src=x onerror=window.evil=1>")
    bo.sit(server.link("seat", row, 1), "<svg/onload=window.evil=1>")
    ada.clue, bo.clue = HOSTILE, HOSTILE + "x" * 100_000
    play_on({0: ada, 1: bo}, "chameleon", before="vote")
    for each in (ada, bo, public):
        text = each.page.locator("main").aria_snapshot()
        assert text.count("window.evil=1") >= 3
        assert "x" * 50_000 in each.heard()
    host.page.get_by_text("onerror=window.evil=1").wait_for()
    harmless(ada, bo, public, host)
    play_on({0: ada, 1: bo}, "chameleon")
    name = f"hostile_{row.id}"
    assert server.run("collect", f"--out=transcripts/{name}.parquet").returncode == 0
    hall.page.goto(server.url + "/transcripts")
    hall.page.get_by_label("Transcript").first.select_option(re.compile(name).pattern)
    hall.page.wait_for_timeout(1500)
    hall.page.get_by_role("heading", name="Step 1 of").wait_for()
    for _ in range(200):  # steps; a match has fewer
        if hall.page.get_by_role("link", name="Next").get_attribute("aria-disabled") is not None:
            break
        hall.page.get_by_role("link", name="Next").click()
        hall.page.wait_for_timeout(200)
        harmless(hall)
    else:
        raise AssertionError("there is no last step")
    harmless(ada, bo, public, host, hall)
    hall.page.goto(server.url)
    hall.page.get_by_role("button", name="Make the table").wait_for()
    harmless(hall)


def test_hostile_messages_stay_texts(server, person):
    row = server.opened("tradecraft", [PERSON, PERSON])
    people = {seat: person() for seat in range(2)}
    for seat, each in people.items():
        each.sit(server.link("seat", row, seat), f"P{seat}")
    people[0].page.get_by_text("Your turn").wait_for()
    people[0].fill("Message", HOSTILE)
    people[0].press("Propose nothing")
    people[1].page.get_by_text("Your turn").wait_for()
    people[1].page.get_by_text("window.evil=1").first.wait_for()
    harmless(*people.values())


def test_a_game_is_played_by_the_keyboard_alone(server, person):
    row = server.opened("pd", [PERSON, "tit_for_tat"])
    ada = person()
    ada.page.goto(server.link("seat", row, 0))
    ada.button("I agree, and sit down").wait_for()

    def tab_to(name):
        for _ in range(30):
            ada.page.keyboard.press("Tab")
            focused = ada.page.evaluate(
                "() => { let on = document.activeElement; while (on && on.shadowRoot) on = on.shadowRoot.activeElement;"
                " return on ? (on.labels?.[0]?.textContent || on.getAttribute('aria-label') || on.textContent) : ''; }"
            )
            if name in focused:
                return
        raise AssertionError(f"{name} cannot be reached by Tab")

    tab_to("A name for you")
    ada.page.keyboard.type("Ada")
    tab_to("I agree")
    ada.page.keyboard.press("Enter")
    for round_ in range(1, 4):
        ada.page.get_by_text(f"Your turn, round {round_}").wait_for()
        ada.button("cooperation").wait_for()
        tab_to("cooperation")
        ada.page.keyboard.press("Enter")
    ada.page.get_by_text("The match is over").wait_for()
    assert [action for seat, _, action in server.answers(row) if seat == 0] == ["cooperation"] * 3


def test_researchers_pages_fit_a_phone_and_their_fields_have_names(server, person, subtests):
    row, phone = server.opened("pd", [PERSON, PERSON]), person(**PHONE)
    pages = {
        f"{server.url}/": "A new table",
        f"{server.url}/annotate": "Annotate",
        f"{server.url}/transcripts": "Step 1 of",
        server.link("host", row): "Send each person",
    }
    for link, words in pages.items():
        with subtests.test(words):
            phone.page.goto(link)
            fits(phone, words)
