"""Who is let in, and what those who forge requests get: a refusal, a line in the log without any secret, and nothing else."""

import os
from http.client import HTTPConnection
from urllib.parse import urlencode
from urllib.request import urlopen

import driving
import pytest
from driving import Server
from patience import LONG, until

from agon import AgonError
from agon.plan import PERSON
from agon_hall.server import serve

PASSWORD = "open-sesame-of-these-tests"


@pytest.fixture(scope="module")
def locked(project, tmp_path_factory):
    """A server with a password."""
    made = Server(project, tmp_path_factory.mktemp("locked") / "hall", PASSWORD)
    yield made
    made.stop()


def asked(server, path, method="GET", body=None, **headers):
    """Status, headers and text of one request; nothing is followed."""
    connection = HTTPConnection("localhost", server.port, timeout=30)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read().decode("utf-8", "replace")
    finally:
        connection.close()


def login(server, password, **headers):
    form = urlencode({"password": password})
    return asked(server, "/login", "POST", form, Content_Type="application/x-www-form-urlencoded", **headers)


def path(server, what, row, seat=None):
    return server.link(what, row, seat).removeprefix(server.url)


def silent(server, *secrets):
    """The log has none of these."""
    log = server.log.read_text()
    assert not [each for each in (PASSWORD, (server.folder / "secret").read_bytes().hex(), *secrets) if each in log]
    return log


def test_it_does_not_start_where_others_can_reach_it_without_a_password(project, tmp_path, monkeypatch):
    made = Server.__new__(Server)
    made.project, made.folder = project, tmp_path / "hall"
    made.environment = {name: value for name, value in os.environ.items() if not name.startswith("AGON")}
    made.environment["PYTHONPATH"] = str(project / "src")
    done = made.run("serve", "--address=0.0.0.0", f"--port={driving.free_port()}")
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1
    assert "AGON_PASSWORD" in done.stderr
    monkeypatch.setenv("AGON_PASSWORD", "seven77")
    with pytest.raises(AgonError, match="8 letters") as said:
        serve(tmp_path / "hall", "0.0.0.0", 1, [], False, None, print)
    assert "seven77" not in str(said.value)
    for none in (" " * 9, "\udcff" * 9):
        monkeypatch.setenv("AGON_PASSWORD", none)
        with pytest.raises(AgonError, match="AGON_PASSWORD"):
            serve(tmp_path / "hall", "0.0.0.0", 1, [], False, None, print)


def test_the_password_opens_researchers_pages_and_links_the_rest(locked):
    row = locked.opened("pd", [PERSON, PERSON])
    closed = ["/", path(locked, "host", row), "/transcripts", "/annotate"]
    for page in closed:
        status, headers, _ = asked(locked, page)
        assert (status, "/login" in headers["location"]) == (303, True), page
    assert asked(locked, "/nowhere")[0] == 303
    assert "password" in asked(locked, "/login")[2]
    for page in (path(locked, "seat", row, 0), path(locked, "watch", row)):
        assert asked(locked, page)[0] == 200
    for wrong in ("", "guess-guess-guess", PASSWORD + "x", "é"):
        status, headers, said = login(locked, wrong)
        assert (status, "set-cookie" in headers) == (403, False)
        assert "not the password" in said
    assert login(locked, PASSWORD, Origin="http://evil.example")[0] == 403
    status, headers, _ = login(locked, PASSWORD, Origin=locked.url)
    cookie = headers["set-cookie"]
    assert status == 303
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie
    own = cookie.partition(";")[0]
    for page in closed:
        assert asked(locked, page, Cookie=own)[0] == 200, page
    assert asked(locked, "/", Cookie=own[:-2] + "xx")[0] == 303
    assert asked(locked, "/", Cookie="agon=researcher")[0] == 303
    for away in (
        "//evil.example",
        "/\\evil.example",
        "https://evil.example",
        "evil",
        "/\t/evil.example",
        "/\r\n/x",
        "/é",
    ):
        form = urlencode({"password": PASSWORD})
        kind = "application/x-www-form-urlencoded"
        headers = asked(locked, f"/login?{urlencode({'next': away})}", "POST", form, Content_Type=kind)[1]
        assert headers["location"] == "/"
    unreadable = "application/x-www-form-urlencoded"
    assert asked(locked, "/login", "POST", b"password=quince-p\xe4ss", Content_Type=unreadable)[0] == 400
    assert asked(locked, f"{path(locked, 'seat', row, 0)}%ff")[0] == 403
    assert "quince" not in locked.log.read_text() and locked.key("seat", row, 0)[:30] not in locked.log.read_text()
    log = silent(locked, own.partition("=")[2], locked.key("seat", row, 0), locked.key("host", row), row.match)
    assert log.count("a wrong password") >= 4
    assert "a form of another site" in log


def test_a_key_that_was_altered_opens_nothing(locked):
    """Which keys are none is in test_hall_tables."""
    row, other = (locked.opened("pd", [PERSON, PERSON]) for _ in range(2))
    seat, host = locked.key("seat", row, 0), locked.key("host", row)
    mac = seat.rpartition(".")[2]
    for key in (f"{row.id}.1.{mac}", host, "%00"):
        status, _, said = asked(locked, f"/seat?{urlencode({'key': key})}")
        assert (status, "Player" in said) == (403, False), key
    cookie = login(locked, PASSWORD)[1]["set-cookie"].partition(";")[0]
    for key in (seat, f"{other.id}.{host.rpartition('.')[2]}"):
        assert asked(locked, f"/host?{urlencode({'key': key})}", Cookie=cookie)[0] == 403
        assert asked(locked, f"/host?{urlencode({'key': key})}")[0] == 303  # to the password
    assert asked(locked, "/seat")[0] == 403
    log = silent(locked, mac, host.rpartition(".")[2])
    assert "a seat link that is not valid" in log and "a host link that is not valid" in log


# --- every page keeps its own policy


def test_no_page_does_what_its_policy_forbids(locked, person):
    """That is said of every page of every test with a browser; here of those that a password protects, and of the login."""
    row = locked.opened("pd", [PERSON] * 2)
    ada = person()
    ada.page.goto(locked.link("host", row))
    ada.page.get_by_label("Password").fill(PASSWORD)
    ada.page.get_by_role("button", name="Open").click()
    ada.page.get_by_text("Send each person").first.wait_for()
    for link, wanted in (("/", "A new table"), ("/annotate", "make-raters"), ("/transcripts", "Step 1 of")):
        ada.page.goto(locked.url + link)
        ada.page.get_by_text(wanted).first.wait_for()
    ada.page.evaluate("document.body.append(document.createElement('iframe'))")
    ada.page.evaluate("document.querySelector('iframe').src = 'data:text/html,x'")
    ada.page.wait_for_timeout(300)
    assert "Content Security Policy" in str(ada.forbidden)  # so it would be heard
    ada.forbidden.clear()


def test_the_hall_says_once_where_its_models_are_asked(server):
    line = "asks thinker (standin-of-these-tests) on this machine, without a key\n"
    for _ in range(2):
        urlopen(server.link("watch", server.opened("pd", [PERSON, "zs@thinker"])), timeout=LONG).read()
    until(lambda: line in server.log.read_text(), "the line of the model")
    assert server.log.read_text().count("asks thinker") == 1


def test_a_typed_name_alone_is_no_consent(server, person):
    ada = person()
    ada.page.goto(server.link("seat", server.opened("pd", [PERSON, "tit_for_tat"]), 0))
    with ada.page.expect_response(lambda response: response.request.method == "POST"):  # the page sends what is typed
        ada.page.get_by_role("textbox", name="A name for you").fill("Ada")
    ada.page.reload()
    assert ada.button("I agree, and sit down").is_visible()
    ada.agree("Ada")
    ada.button("cooperation").wait_for()
