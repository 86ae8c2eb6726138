"""What people and networks do: no answer is lost, and none is counted twice."""

from driving import answered, checked, play_on

from agon.plan import PERSON
from agon.turns import read

LATE = """button => setTimeout(() => {
  const held = new XMLHttpRequest(); held.open("GET", "/held", false); held.send(); button.click(); }, 0)"""
"""A page that hears nothing until its request is answered, and then is clicked."""

ENTER = "box => box.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}))"


def pair(server, person, kind="pd", **more):
    row = server.opened(kind, [PERSON, PERSON], **more)
    people = {seat: person() for seat in range(2)}
    for seat, each in people.items():
        each.sit(server.link("seat", row, seat), f"P{seat}")
    return row, people


def asked_for(each, round_):
    each.page.get_by_text(f"Your turn, round {round_}").wait_for()


def test_reload_back_and_double_click_lose_and_double_nothing(server, person, monkeypatch):
    row, people = pair(server, person)
    asked_for(people[0], 1)
    people[0].page.reload()
    asked_for(people[0], 1)
    people[0].page.goto(server.link("watch", row))
    people[0].page.get_by_text("Waiting for Player 1, Player 2").wait_for()
    people[0].page.go_back()
    asked_for(people[0], 1)
    people[1].press("cooperation")
    assert len(server.answers(row)) == 1
    people[0].button("defection").dblclick()
    asked_for(people[0], 2)
    people[0].page.wait_for_timeout(300)
    assert server.answers(row) == [(0, 0, "defection"), (1, 0, "cooperation")]
    people[0].page.reload()  # after an answer: nothing is sent again
    asked_for(people[0], 2)
    assert len(server.answers(row)) == 2
    play_on(people, "pd")
    assert len(checked(server, row, monkeypatch)) == 6


def test_of_two_tabs_on_one_seat_the_late_one_changes_nothing(server, person, monkeypatch):
    row, people = pair(server, person)
    asked_for(people[0], 1)
    other = people[0].tab()
    other.goto(server.link("seat", row, 0))
    late = other.get_by_role("button", name="defection")
    late.wait_for()
    held = []
    other.route("**/held", lambda route: held.append(route))  # playwright writes on what it is given: no builtin
    late.element_handle().evaluate(LATE)
    people[0].press("cooperation")
    with other.expect_response(lambda response: response.request.method == "POST"):
        held[0].fulfill(body="")
    assert server.answers(row) == [(0, 0, "cooperation")]
    late.wait_for(state="hidden")  # both tabs show that the seat has answered
    other.get_by_text("Waiting for Player 2").wait_for()
    people[1].press("cooperation")
    other.get_by_text("Your turn, round 2").wait_for()
    other.get_by_role("button", name="defection").click()  # each of them can answer
    people[0].page.get_by_text("Waiting for Player 2").wait_for()
    play_on(people, "pd")
    turns = checked(server, row, monkeypatch)
    assert list(turns[turns.seat == 0].action)[:2] == ["cooperation", "defection"]


def test_why_an_answer_was_not_taken_is_said_in_words(server, person):
    row, people = pair(server, person)
    asked_for(people[0], 1)
    page, own = people[0].page, people[0].page.url
    why = page.request.get(f"{server.url}/seat?key=none").text()
    for status, body, kind, said in (
        (403, why, "text/html", "Ask whoever gave it to you."),
        (503, "Too many pages are open: try again in a minute.", "text/plain", "Too many pages are open"),
    ):
        reply = {"status": status, "body": body, "content_type": kind}
        page.route(own, lambda route, *_, reply=reply: route.fulfill(**reply))
        people[0].button("cooperation").click()
        page.locator("#answer-form .sent", has_text=said).wait_for()
        assert "<" not in page.locator("#answer-form .sent").inner_text()
        page.unroute(own)
    assert not server.answers(row)
    people[0].press("cooperation")
    assert server.answers(row) == [(0, 0, "cooperation")]


def test_enter_pressed_twice_is_one_answer(server, person, monkeypatch):
    row = server.opened("public_goods", [PERSON, "anything", "anything"])
    ada = person()
    ada.sit(server.link("seat", row, 0), "Ada")
    asked_for(ada, 1)
    for round_ in (1, 2):
        ada.page.wait_for_timeout(300)
        ada.fields("textbox")[0].fill(str(round_))
        box = ada.fields("textbox")[0].element_handle()
        for _ in range(4):  # as a slow connection brings them: when the next question is there, and the box hidden
            box.evaluate(ENTER)
            ada.page.wait_for_timeout(80)
        ada.page.get_by_text(f"Your turn, round {round_ + 1}").or_(ada.page.get_by_text("The match is over")).wait_for()
        ada.page.wait_for_timeout(400)
        assert [action for seat, _, action in server.answers(row) if seat == 0] == list(range(1, round_ + 1))
    ada.page.get_by_text("The match is over").wait_for()
    checked(server, row, monkeypatch)


def test_a_lost_connection_is_told_and_comes_back_by_itself(server, person, monkeypatch):
    row = server.opened("pd", [PERSON, "uniform"])
    ada = person()
    ada.sit(server.link("seat", row, 0), "Ada")
    asked_for(ada, 1)
    ada.press("defection")
    asked_for(ada, 2)
    ada.context.set_offline(True)
    ada.page.get_by_text("Not connected").wait_for()
    ada.button("defection").click()
    ada.page.get_by_text("Not sent: there is no connection").wait_for()
    ada.context.set_offline(False)
    ada.page.get_by_text("Not connected").wait_for(state="hidden")
    asked_for(ada, 2)
    play_on({0: ada}, "pd")
    assert list(checked(server, row, monkeypatch).seat) == [0, 1] * 3


def test_a_server_that_is_killed_amid_a_match_goes_on_where_it_was(server, person, monkeypatch):
    row, people = pair(server, person, "tradecraft")
    other, others = pair(server, person, "pd")
    for seat, phase in enumerate(("propose", "decide")):
        asked_for(people[seat], 1)
        answered(people[seat], seat, 1, phase, "tradecraft")
    others[0].press("defection")
    kept = server.answers(row), server.answers(other)
    assert len(kept[0]) == 2
    server.kill()
    people[0].page.get_by_text("Not connected").wait_for()
    server.start()
    for each in (*people.values(), *others.values()):  # pages find it again by themselves
        each.page.get_by_text("Not connected").wait_for(state="hidden")
    assert (server.answers(row), server.answers(other)) == kept
    asked_for(others[1], 1)
    assert others[0].asked() is None
    play_on(people, "tradecraft")
    play_on(others, "pd")
    assert set(checked(server, row, monkeypatch).phase) == {"propose", "decide", "craft"}
    turns = checked(server, other, monkeypatch)
    assert turns[turns.seat == 0].action.iloc[0] == "defection"


def test_every_question_shows_its_clock(server, person):
    row = server.opened("pd", [PERSON, "tit_for_tat"], seconds=60.0)
    ada = person()
    ada.sit(server.link("seat", row, 0), "Ada")
    ada.press("I have read the rules")
    for round_ in (1, 2, 3):  # the script answers at once, and each clock begins with the words of the one before
        asked_for(ada, round_)
        ada.page.get_by_role("timer").get_by_text("Time left").wait_for(timeout=30_000)  # before the 60 s end
        ada.button("cooperation").click()


def test_a_person_who_does_not_answer_in_time_is_told_so(server, person):
    row = server.opened("rps", [PERSON, "uniform"], seconds=2.0)
    slow = person()
    slow.sit(server.link("seat", row, 0), "Slow")
    slow.page.get_by_text("Your time begins when").wait_for()  # the clock waits for who reads
    slow.page.wait_for_timeout(2500)
    assert slow.asked() == (1, "move")
    slow.button("I have read the rules").click()
    slow.page.get_by_role("timer").get_by_text("Time left").wait_for()
    slow.page.get_by_text("The match is over").wait_for()
    turns = read(server.folder / "played" / f"{row.match}.parquet")
    own = turns[turns.seat == 0]
    assert own.action.isna().all()
    assert set(own.fallback) == {"time is up"}
    assert "no answer that counts" in slow.page.locator("main").aria_snapshot()
