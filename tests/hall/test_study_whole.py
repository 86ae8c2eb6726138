"""The two ready studies, end to end at browsers: whoever comes, leaves, reloads or loses the server ends with a code or a reason."""

import pytest
from walking import Walker, collected, ready, walk

from agon_hall.study import WHY

OF = {"counterfactual": "counterfactual_people", "tradecraft": "tradecraft_people"}
BEFORE = ("Consent", "Rules", "Questions")
LEAVING = tuple(f"leaves {stage}" for stage in ("Consent", "Rules", "Questions", "Waiting", "Match", "Survey"))
COMERS = {
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
        thread.submit(each.close).result()
    assert not [said for each in made for said in each.forbidden]


@pytest.mark.parametrize("number", COMERS)
@pytest.mark.parametrize("of", OF)
def test_everybody_comes_to_an_end_and_nothing_is_lost(server, come, of, number):
    own = ready(server, f"{of}_{number}", OF[of])
    if of == "tradecraft" and number < 12:  # people with each other only
        own = ready(server, own["name"], OF[of], cells={"people": own["cells"]["people"]})
    people = [come(server, own, habit) for habit in COMERS[number]]
    if number != 3:
        walk(people, until=lambda: sum(each.moves for each in people) >= number // 2)
        server.kill()  # with most of them in their matches
        server.start()
    walk(people)
    found = collected(server, own, number - ("leaves Survey" in COMERS[number]))
    assert sorted(found.people.index) == sorted(each.habit.replace(" ", "-") for each in people)
    assert set(found.events.participant) == set(found.people.participant)
    for each in people:
        row = found.people.loc[each.habit.replace(" ", "-")]
        why = "" if row.isna().why else row.why
        assert why in ENDS.get(each.habit, {""}) | ({"unmatched"} if each.stage not in BEFORE else set()), each.habit
        if each.habit == "leaves Survey":
            assert why == "unmatched" or (row.stage, row.exclusions) == ("survey", "left at survey")
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
