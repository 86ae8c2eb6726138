"""Here so that tests/ is on the path and every test can `import harness`; and what holds for all tests."""

import functools
import gc
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import settings
from patience import LONG

os.environ["PYTHONPATH"] = str(Path(__file__).parents[1] / "src")  # what tests start is this clone's too

EXAMPLES = 100 if os.environ.get("AGON_FULL") == "1" else 40
"""Cases of a property that does not say itself how many; on a shared machine a case may wait for its turn."""
settings.register_profile("agon", deadline=None, max_examples=EXAMPLES)
settings.load_profile("agon")


@pytest.fixture(autouse=True)
def no_caveats():
    """What a notebook that ran in this process said of its data does not stand on the figures of the next test."""
    yield
    if "agon.report.caveats" in sys.modules:
        sys.modules["agon.report.caveats"].show_caveats()


def pytest_collection_finish():
    """What is there for good is never looked through again, and garbage is looked for less often: a twentieth of all time goes there."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_collection_modifyitems(items):
    """First come files with slow tests, and those with a server or a browser: one worker has most of these, and none waits at the end."""

    def takes_long(item):
        return {"server", "browsing"} & set(getattr(item, "fixturenames", ())) or item.get_closest_marker("slow")

    if {"AGON_FULL", "AGON_FUZZ", "AGON_KILLS"} & os.environ.keys():  # tests in their full size
        for item in items:
            item.add_marker(pytest.mark.timeout(6 * 3600))
    first = {item.path for item in items if takes_long(item)}
    items.sort(key=lambda item: item.path not in first)


BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
"""The first on PATH is used; that one is made for tests, and needs less than half of the second's time."""
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--no-first-run"),
    *("--in-process-gpu", "--enable-features=NetworkServiceInProcess2"),  # fewer processes
]


@pytest.fixture(scope="session")
def browsing():
    """A browser and the thread in which it is used: Playwright keeps an event loop running there, as no other test may have one."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is missing: pages are not tested")
    chromium = next(filter(None, map(shutil.which, BROWSERS)), None)
    if chromium is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is on PATH: pages are not tested")
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(playwright.sync_playwright().start).result(LONG)
        launched = functools.partial(running.chromium.launch, executable_path=chromium, args=FLAGS)
        browser = thread.submit(launched).result(LONG)
        yield browser, thread
        thread.submit(browser.close).result(LONG)
        thread.submit(running.stop).result(LONG)


@pytest.fixture
def visit(browsing):
    """Opens a page and does something there. Nothing may be asked of a network, nothing may fail, nothing be forbidden."""
    browser, thread = browsing

    def opened(path, do, place="", **context):
        seen = browser.new_context(**context)
        page, said = seen.new_page(), []
        page.on("console", lambda each: said.append(each.text))
        page.on("pageerror", lambda each: said.append(str(each)))
        page.on("request", lambda each: each.url.startswith(("file:", "data:")) or said.append(each.url))
        page.goto(path.as_uri() + place)
        found = do(page)
        seen.close()
        assert said == []
        return found

    return lambda *given, **context: thread.submit(opened, *given, **context).result(LONG)
