"""A rehearsal at real browsers: the same participants, who press the buttons of pages that Playwright shows them."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agon.errors import AgonError

BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
"""The first on PATH is used; that one is made for tests, and needs less than half of the second's time."""
PRESS = """([sent]) => {
  const has = (form, name, value) => [...form.elements].some((each) => each.name === name && each.value === value);
  const key = "do" in sent ? "do" : "form";
  const form = [...document.forms].find((each) => has(each, key, sent[key]) && (!sent.question || has(each, "question", sent.question)));
  if (!form) return false;  // the page has changed meanwhile
  for (const each of form.elements) {
    if (!(each.name in sent) || each.type === "hidden" || each.tagName === "BUTTON") continue;
    if (each.type === "radio" || each.type === "checkbox") each.checked = each.value === sent[each.name];
    else each.value = sent[each.name];
  }
  const button = [...form.querySelectorAll("button:not([hidden])")].find((each) => !each.name || each.value === sent[each.name]);
  (button || form.querySelector("button")).click();
  return true;
}"""
SENT = "() => document.querySelector('main') && !document.querySelector('[data-sending]')"


class BrowserPages:
    """A tab of somebody at a browser of their own."""

    def __init__(self, page: Any) -> None:
        self._page, self._faults = page, list[str]()
        page.on("pageerror", lambda error: self._faults.append(f"a script fails: {error}"))
        page.on("response", lambda reply: self._heard(reply.status, reply.url))

    def _heard(self, status: int, url: str) -> None:
        if status not in (200, 302, 303, 304, 307, 422):
            self._faults.append(f"{url.partition('?')[0]} answered {status}")

    async def get(self, at: str) -> str:
        """Opens an address; the page as it is shown. One of a match that is open already is looked at as it is."""
        if not (at.startswith("/seat") and self._page.url.endswith(at)):
            await self._going(self._page.goto(at))
        return await self._shown()

    async def post(self, at: str, sent: dict[str, str]) -> str:
        """Fills in a form of the page as `sent` says, and presses its button."""
        await self.get(at)
        await self._going(self._page.evaluate(PRESS, [sent]))
        return await self._shown()

    async def close(self) -> None:
        """Closes the browser, with all that it keeps."""
        await self._page.context.close()

    async def _shown(self) -> str:
        """The page once nothing of it is on its way."""
        found: str = ""

        async def shows() -> None:
            nonlocal found
            await self._page.wait_for_load_state()
            await self._page.wait_for_function(SENT)
            found = await self._page.content()

        for _ in range(5):
            if await self._going(shows()):
                if self._faults:
                    raise AgonError(self._faults[0])
                return found
        raise AgonError(f"the page {self._page.url.partition('?')[0]} is never still")

    async def _going(self, what: Any) -> bool:
        """Whether something was done: not where the page goes on to another one by itself just then. Raises AgonError for a fault."""
        from playwright.async_api import Error

        try:
            await what
            return True
        except Error as error:
            told = str(error).splitlines()[0]
            if not any(
                words in told for words in ("context was destroyed", "ERR_ABORTED", "interrupted", "is navigating")
            ):
                raise AgonError(f"the browser at {self._page.url.partition('?')[0]}: {told}") from None
            return False


@asynccontextmanager
async def browser() -> AsyncIterator[Any]:
    """A browser without a window. Raises AgonError where Playwright or a browser is missing."""
    try:
        from playwright.async_api import async_playwright
    except ModuleNotFoundError:
        raise AgonError("--browser needs Playwright, which is not installed: pip install playwright") from None
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        raise AgonError(f"--browser needs one of {', '.join(BROWSERS)}, and none is on PATH")
    async with async_playwright() as running:
        found = await running.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield found
        finally:
            await found.close()
