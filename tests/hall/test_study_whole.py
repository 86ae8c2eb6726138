"""Whole studies at browsers: whoever comes, leaves, reloads or loses the server ends with a code or a reason."""

import shutil

import pandas as pd
import prepared
import pytest
from driving import PHONE, Server, fits
from patience import LONG
from walking import OPINION, Walker, collected, ready, walk

from agon import ROOT
from agon_hall.gather import TOMBSTONE
from agon_hall.study import WHY

OF = {"counterfactual": "counterfactual_people", "tradecraft": "tradecraft_people"}
BEFORE = ("Consent", "Rules", "Questions")
LEAVING = tuple(f"leaves {stage}" for stage in ("Consent", "Rules", "Questions", "Waiting", "Match", "Survey"))
NEWCOMERS = {
    2: ("reloads", "twice"),
    3: ("stays", "leaves Match", "slow"),
    12: (*LEAVING, "declines", "guesses", "withdraws", "reloads", "twice", "slow"),
}
"""By how many come: the habits of each."""
ENDS = {
    "leaves Consent": {"left"},
    "leaves Rules": {"left"},
    "leaves Questions": {"left"},
    "leaves Waiting": {"left", "dropped"},  # the match may have begun
    "leaves Match": {"dropped"},
    "declines": {"declined"},
    "guesses": {"screened"},
    "withdraws": {"withdrew"},
}
"""Why who has such a habit is out; nobody else is, unless nobody else came."""


@pytest.fixture
def come(browsing):
    """Makes participants, on whose pages nothing happens that their policy forbids."""
    browser, thread = browsing
    made = []

    def someone(*given):
        made.append(Walker(browser, *given))
        return made[-1]

    yield someone
    for each in made:
        thread.submit(each.close).result(LONG)
    assert not [said for each in made for said in each.forbidden]


@pytest.mark.parametrize(("of", "number"), [("tradecraft", 2), ("counterfactual", 3), ("tradecraft", 12)])
def test_everybody_comes_to_an_end_and_nothing_is_lost(server, come, of, number):
    own = ready(server, f"{of}_{number}", OF[of])
    if of == "tradecraft" and number < 12:  # people with each other only
        own = ready(server, own["name"], OF[of], cells={"people": own["cells"]["people"]})
    people = [come(server, own, habit) for habit in NEWCOMERS[number]]
    if number != 3:
        walk(people, until=lambda: sum(each.moves for each in people) >= number // 2)
        server.kill()  # with most of them in their matches
        server.start()
    walk(people)
    found = collected(server, own, number - ("leaves Survey" in NEWCOMERS[number]))
    assert sorted(found.people.index) == sorted(each.habit.replace(" ", "-") for each in people)
    assert set(found.events.participant) == set(found.people.participant)
    for each in people:
        row = found.people.loc[each.habit.replace(" ", "-")]
        why = "" if row.isna().why else row.why
        assert why in ENDS.get(each.habit, {""}) | ({"unmatched"} if each.stage not in BEFORE else set()), each.habit
        if each.habit == "leaves Survey":
            assert why == "unmatched" or (row.stage, row.exclusions) == ("survey", "not at the end: survey")
        if not each.gone:
            shown, codes = each.page.locator("main").inner_text(), own["finish"]["codes"]
            code = codes["complete"] if not why else codes["unmatched"] if why == "unmatched" else ""
            assert code in shown and (not why or WHY[why] in shown)
        if each.moves:
            own_turns = found.turns[(found.turns.match == row.match) & (found.turns.seat == row.seat)]
            asked = own_turns[own_turns.legal.notna()]
            assert (asked.valid & asked.fallback.eq("")).sum() == each.moves, each.habit
            assert asked.action.notna().all() and (bool(why) or asked.valid.all())
        assert not each.errors


OPINIONS = {"ask": "How sure are you?", "scale": [0, 20], "ends": ["not at all", "fully"]}
GERMAN = {
    "title": "Entscheidungen zu zweit",
    "language": "de",
    "intro": "Du triffst Entscheidungen mit anderen.",
    "cells": {"paare": {"games": ["pd"], "seats": ["human", "human"], "quota": 6}},
    "matches": {"number": 3, "group": 6, "paid": "one", "seconds": 120},
    "pages": [
        {
            "name": "meinung",
            "text": "Denk an die letzte Partie.",
            "questions": [
                {"ask": "Hast du der anderen Person vertraut?", "scale": [1, 7], "ends": ["gar nicht", "ganz"]},
                {"ask": "Wie viele Punkte erwartest du?", "number": [0, 50]},
                {"ask": "Warum?", "optional": True},
            ],
        }
    ],
    "quiz": {
        "questions": [
            {"ask": "Wer entscheidet zuerst?", "options": ["Beide zugleich", "Ich"], "right": "Beide zugleich"}
        ]
    },
    "survey": [{"ask": "Was war dein Plan?", "optional": True}],
}
"""A study of six people who meet three others, one after another."""


def test_a_german_session_of_six_outlives_its_server(server, come, tmp_path):
    """One leaves, the server is killed, a backup is opened elsewhere, and one who was in it is forgotten."""
    own = ready(server, "sitzung", OF["counterfactual"], away=20, **GERMAN)
    habits = ("stays", "stays too", "stays again", "reloads", "twice", "stays as well")
    people = [come(server, own, habit) for habit in habits]
    walk(people, until=lambda: all(each.moves for each in people))
    said = server.run("backup", str(tmp_path / "copy"))
    assert said.returncode == 0, said.stderr
    gone = people.pop()
    gone.leaves()
    walk(people, until=lambda: sum(each.moves for each in people) > 9)
    server.kill()
    server.start()
    walk(people)
    found = collected(server, own, len(habits))
    out = server.project / "transcripts/studies/sitzung"
    matches, answers, wide = (pd.read_csv(out / f"{name}.csv") for name in ("matches", "answers", "wide"))
    left, stayed = found.people.loc[gone.habit.replace(" ", "-")], found.people[found.people.why.isna()]
    assert left.why == "dropped" and len(stayed) == 5
    assert not set(stayed.exclusions) - {"another left the match"}  # they are a group
    assert set(matches[matches.participant.isin(stayed.participant)].groupby("participant").size()) == {3}
    for each in people:
        row = stayed.loc[each.habit.replace(" ", "-")]
        theirs = matches[matches.participant == row.participant].set_index("number")
        assert row.points == theirs.points[row["paid match"]] and list(theirs.paid[theirs.paid]) == [True]
        assert row.bonus == pytest.approx(row.points * own["pay"]["point"])
        turns = found.turns[found.turns.match.isin(theirs.match) & (found.turns.agent == "human")]
        asked = turns.merge(theirs[["match", "seat"]], on=["match", "seat"])
        assert len(asked) == each.moves == 9 and asked.valid.all()
        assert asked.payoff.sum() == theirs.points.sum()
        assert set(answers.answer[answers.participant == row.participant]) == {"7", OPINION, OPINION.replace(",", ".")}
        shown = each.page.locator("main").inner_text()
        assert (
            own["finish"]["codes"]["complete"] in shown and f"Partie {row['paid match']:.0f} wurde ausgelost" in shown
        )
        assert not each.errors
    met = matches.groupby("match").participant.apply(frozenset)
    assert met[met.map(len) == 2].is_unique  # nobody meets anybody twice
    assert wide.filter(like="stood in").notna().sum().sum() == found.people["stood in"].sum()

    server.stop()
    before, number = pd.read_csv(out / "participants.csv").set_index("participant"), "stays-too"
    said = server.run("forget", own["name"], number, "--yes")
    assert said.returncode == 0, said.stderr
    server.start()
    after = collected(server, own, len(habits)).people.set_index("participant")
    erased = found.people.participant[number]
    tomb = after.loc[erased].dropna()
    assert tomb.exclusions == "forgotten" and set(tomb.index) <= {*TOMBSTONE, "missed", "stood in"}
    pd.testing.assert_frame_equal(after.drop(erased), before.drop(erased), check_dtype=False)
    for name in ("participants", "answers", "pages", "wide", "chat", "matches"):
        assert number not in (out / f"{name}.csv").read_text(), name

    restored = server.folder.with_name("restored")
    said = prepared.run(["backup", str(restored), f"--folder={tmp_path / 'copy'}"], server.project, server.environment)
    assert said.returncode == 0, said.stderr
    elsewhere = Server(server.project, restored)
    try:
        again = come(elsewhere, own, "stays")  # alone: the others count as away, and the script plays for them
        walk([again])
        assert own["finish"]["codes"]["complete"] in again.page.locator("main").inner_text()
        copied = collected(elsewhere, own, len(habits))
        assert copied.people.stage.value_counts().to_dict() == {"out": 5, "debrief": 1}
        row = copied.people.loc["stays"]
        assert (row["paid match"], row.seed) == tuple(found.people.loc["stays", ["paid match", "seed"]])
    finally:
        elsewhere.stop()


FOCUS = """() => {
  const at = document.activeElement, group = at.type === "radio" ? at.closest("fieldset").querySelector("legend").textContent + ": " : "";
  return (group + (at.labels?.[0] || at).textContent).trim();
}"""
"""What has the focus, by its words."""


def test_a_study_is_done_by_keys_alone_on_all_screens(server, come):
    """320 px, and 640 as 1,280 px are at 200 %; after the code neither the back key nor an old form changes anything."""
    own = ready(server, "keys", OF["counterfactual"])
    ada = come(server, own, "stays")
    page = ada.page

    def shows(wanted):
        for width in (640, 320):
            page.set_viewport_size({"width": width, "height": 640})
            fits(ada, wanted)

    def tab_to(wanted, key="Enter"):
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate(FOCUS).startswith(wanted):
                return page.keyboard.press(key)
        raise AssertionError(f"no key leads to {wanted}:\n{page.locator('body').aria_snapshot()}")

    def chooses(asked):
        for each in asked:
            if options := each.get("options"):
                tab_to(f"{each['ask']}: {options[0]}", "Space")
                for _ in range(options.index(each.get("right", options[0]))):
                    page.keyboard.press("ArrowDown")
        tab_to("Send")

    shows("I agree, and take part")
    tab_to("I agree, and take part")
    shows("How it goes")
    tab_to("I have read the rules")
    shows("Some questions about the rules")
    old = page.url
    chooses(own["quiz"]["questions"])
    page.wait_for_url("**/seat?*")
    for number in range(1, 4):
        shows(f"Round {number}: choose")
        tab_to(page.locator("#answer-form button:not([hidden])").first.inner_text())
    shows("The match is over")
    tab_to("Go on with the study")
    shows("Some questions at the end")
    chooses(own["survey"])
    shows("COMPLETE1")
    for _ in range(3):
        page.go_back()
    page.goto(old)
    page.get_by_text("COMPLETE1").wait_for()
    for form in ({"do": "survey", "0": "A person", "2": "Rarely"}, {"do": "withdraw"}, {"do": "agree"}):
        assert "COMPLETE1" in page.request.post(old, form=form).text()
    found = collected(server, own, 1)
    assert list(found.people.stage) == ["debrief"] and found.turns[found.turns.agent == "human"].valid.all()


def test_rare_pages_and_pages_of_researchers_fit_a_phone(server, person, come):
    """Links to nothing, wrong answers, the way out before and after it is taken, the lobby, and the page Studies."""
    own = ready(server, "seldom", OF["tradecraft"])
    own = ready(server, own["name"], OF["tradecraft"], cells={"people": own["cells"]["people"]})
    looker = person(**PHONE)
    for link, wanted in (("/join/seldom", "number"), ("/join/unknown?PROLIFIC_PID=1", "study")):
        looker.page.goto(server.url + link)
        fits(looker, wanted)
    assert "404" in looker.forbidden.pop()
    for habit, why in (("declines", "declined"), ("guesses", "screened")):
        each = come(server, own, habit)
        each.page.set_viewport_size(PHONE["viewport"])
        walk([each])
        fits(each, WHY[why])
    ada = come(server, own, "stays")
    ada.page.set_viewport_size(PHONE["viewport"])
    walk([ada], until=lambda: ada.stage == "Waiting")
    fits(ada, "Waiting")
    ada.page.get_by_role("link", name="Leave the study").click()
    fits(ada, "Leave for good")
    with ada.page.expect_navigation():
        ada.page.get_by_role("button", name="Leave for good").click()
    fits(ada, WHY["withdrew"])
    shutil.copy(ROOT / "docs/img/magic_orders.png", server.project / "conf/study/wide.png")
    page = {"name": "scene", "image": "wide.png", "alt": "A scene", "after": [0], "questions": [OPINIONS]}
    shown = come(server, ready(server, "pictured", OF["counterfactual"], pages=[page]), "stays")
    shown.page.set_viewport_size(PHONE["viewport"])
    walk([shown], until=lambda: shown.stage == "Pages")
    fits(shown, "How sure are you?")
    for link, wanted in (("/monitor", "Studies"), ("/monitor?study=seldom", "seldom")):
        looker.page.goto(server.url + link)
        fits(looker, wanted)


def test_a_host_pays_and_ends_a_part_on_a_phone(server, person):
    """Its page fits, axe finds nothing, and what the host does reaches the participant."""
    own = ready(server, "hands", OF["counterfactual"])
    ada, host = person(), person(**PHONE)
    ada.page.goto(f"{server.url}/join/{own['name']}?PROLIFIC_PID=ada")
    with ada.page.expect_navigation():
        ada.page.get_by_role("button", name="I agree, and take part").click()
    host.page.goto(f"{server.url}/monitor?study={own['name']}")
    for number in ("bob", "ada"):
        host.page.get_by_role("textbox", name="Find a participant").fill(number)
        host.page.get_by_role("button", name="Find").click()
        if number == "bob":
            fits(host, "Nobody has come with the number bob.")
    host.page.wait_for_url("**who=*")
    fits(host, "Pay by hand")
    host.page.get_by_role("textbox", name="Amount in GBP").fill("1,50")
    host.page.get_by_role("textbox", name="Reason").fill("a slow line")
    host.page.get_by_role("button", name="Set the amount").click()
    host.page.get_by_text("1.50 GBP: a slow line").wait_for()
    host.page.get_by_text("End their part now").click()
    host.page.get_by_role("checkbox", name="I am sure").check()
    host.page.get_by_role("button", name="End their part", exact=True).click()
    host.page.get_by_text("out: removed").wait_for()
    ada.page.get_by_text("The host of the study has ended your part in it.").wait_for()
