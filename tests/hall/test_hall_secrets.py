"""Nothing that is hidden leaves the server: all that seats' and watchers' browsers are sent is searched for it."""

import re

from driving import TARGET, THOUGHT, WORDS, answered, play_on

from agon.agents import seat_dice
from agon.plan import PERSON
from agon_hall.seating import seating


def nobody_heard(secret, *people):
    for each in people:
        heard = each.heard()
        found = re.search(secret, heard)
        assert found is None, heard[max(0, found.start() - 200) : found.end() + 200]


def seated(server, person, kind, entrants):
    row = server.opened(kind, entrants)
    people = {seat: person(listens=True) for seat, entrant in enumerate(entrants) if entrant == PERSON}
    public = person(listens=True)
    public.page.goto(server.link("watch", row))
    for seat, each in people.items():
        each.sit(server.link("seat", row, seat), f"P{seat}")
    return row, people, public


def of_nobody(row, *people):
    """What nobody at a table may know before the end."""
    nobody_heard(f"{row.match}|{int(row.match, 16)}|{row.game.partition('/')[2] or 'no setting'}", *people)
    nobody_heard(f"{THOUGHT}|standin|thinker|zs@", *people)


def test_the_word_and_what_is_told_in_interviews_stay_hidden(server, person):
    row, people, public = seated(server, person, "chameleon", [PERSON, PERSON, "zs@thinker"])
    spy, other = people[0], people[1]
    play_on(people, "chameleon", before="vote")
    nobody_heard(WORDS["chameleon"], spy, public)
    nobody_heard("a balloon", other, public)
    nobody_heard("are: the chameleon|the word: a", other, public)
    assert WORDS["chameleon"] in other.heard()  # who may know it does
    for each in (*people.values(), public):
        assert "clue number 1 of seat 1" in each.heard()
        assert "clue of the model 2" in each.heard()
    of_nobody(row, *people.values(), public)
    before = len(other.traffic), len(public.traffic)
    answered(spy, 0, 1, "vote", "chameleon")  # for Player 2
    other.page.wait_for_timeout(400)
    for each, since in zip((other, public), before, strict=True):
        each.traffic = each.traffic[since:]
        nobody_heard("(?i)vote for|votes for|accused", each)
    play_on(people, "chameleon")


def test_the_other_word_and_the_roles_stay_hidden(server, person):
    row, people, public = seated(server, person, "undercover", [PERSON, PERSON, "zs@thinker"])
    play_on(people, "undercover", before="vote")
    nobody_heard(WORDS["spy"], *people.values(), public)
    nobody_heard(WORDS["undercover"], public)
    assert all(WORDS["undercover"] in each.heard() for each in people.values())  # who may know it does
    of_nobody(row, *people.values(), public)


def test_targets_and_messages_stay_hidden(server, person):
    row, people, public = seated(server, person, "tradecraft/tradecraft-three", [PERSON, PERSON, PERSON])
    play_on(people, "tradecraft", before="craft")
    item, amount = TARGET
    target = rf"(?s)\b{amount}\b.{{0,60}}{item}|{item}.{{0,60}}\b{amount}\b"
    assert re.search(target, people[1].heard())
    nobody_heard(target, people[0], people[2], public)
    assert "secret message of seat 0" in people[1].heard()
    nobody_heard("secret message|secret reply", people[2], public)
    of_nobody(row, *people.values(), public)


def test_what_is_done_at_once_is_told_when_all_have_done_it(server, person):
    for kind, mine in (("pd", "defection"), ("public_goods", "37")):
        row, people, public = seated(server, person, kind, [PERSON, PERSON] + [PERSON] * (kind == "public_goods"))
        for each in people.values():
            each.page.get_by_text("Your turn, round 1").wait_for()
        rest = [each for seat, each in people.items() if seat] + [public]
        people[0].page.wait_for_timeout(300)
        before, own = [len(each.traffic) for each in rest], len(people[0].traffic)
        if kind == "pd":
            people[0].press(mine)
        else:
            people[0].fields("textbox")[0].fill(mine)
            people[0].press("Send")
        people[0].page.wait_for_timeout(400)
        for each, since in zip(rest, before, strict=True):
            each.traffic = each.traffic[since:]
            nobody_heard(rf"\b{mine}\b", each)
        people[0].traffic = people[0].traffic[own:]
        assert re.search(rf"\b{mine}\b", people[0].heard())  # who has done it is told so
        of_nobody(row, *people.values(), public)


def test_private_values_of_a_game_that_agon_does_not_know_stay_hidden(server, person):
    row, people, public = seated(server, person, "auction", [PERSON, PERSON, PERSON])
    game = seating(row.game, row.entrants, conf=server.project / "conf").game
    values = game.start(seat_dice(int(row.match, 16), -1)).values
    play_on(people, "auction")
    for seat, own in people.items():
        assert all(str(value[seat]) in own.heard() for value in values)
        nobody_heard(
            "|".join(str(value[seat]) for value in values), public, *(people[at] for at in people if at != seat)
        )
    of_nobody(row, *people.values(), public)
