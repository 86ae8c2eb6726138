"""Short games, a server and people for everybody in this folder."""

import functools

import driving
import pytest
from patience import LONG

from agon_hall import tables


@pytest.fixture(scope="session")
def short_conf(tmp_path_factory):
    """conf/ with short games."""
    return driving.conf(tmp_path_factory.mktemp("short"))


@pytest.fixture
def short(short_conf, monkeypatch):
    """Tables of this process have short games."""
    monkeypatch.setattr(tables, "seating", functools.partial(tables.seating, conf=short_conf))
    return short_conf


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    """A copy of the project with short games."""
    return driving.folder_of(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="session")
def server(project):
    """A server without a password, which every test may use."""
    made = driving.Server(project, project / "hall")
    yield made
    made.stop()


@pytest.fixture
def person(browsing):
    """Makes people at browsers of their own, on whose pages nothing happens that their policy forbids."""
    browser, thread = browsing
    made = []

    def someone(**context):
        made.append(driving.Person(browser, **context))
        return made[-1]

    yield someone
    for each in made:
        thread.submit(each.close).result(LONG)
    assert not [said for each in made for said in each.forbidden]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Tests with people run in the browser's thread."""
    if "browsing" not in pyfuncitem.funcargs:
        return None
    _, thread = pyfuncitem.funcargs["browsing"]
    named = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    thread.submit(pyfuncitem.obj, **named).result(2 * LONG)
    return True
