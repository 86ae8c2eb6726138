"""Participants of a study at browsers: each goes their own way, from the link to the end or to where they leave."""

from time import monotonic, sleep
from typing import NamedTuple

import pandas as pd
import yaml
from driving import Person
from patience import LONG

from agon import ROOT
from agon.agents.languages import say_in
from agon.turns import read
from agon_hall.keys import Keys
from agon_hall.store import Store

STAGES = ("Consent", "Rules", "Questions", "Pages", "Waiting", "Match", "Survey", "End")
"""As English pages name them."""
LIKED = ("Accept", "Finish without crafting", "Propose nothing")
"""The buttons of TradeCraft that end a turn soonest; of other games each in its turn."""
OPINION = "7,5"
"""What is written into every field of an own page."""
WHERE = """() => {
  const seen = (each) => each && each.offsetParent !== null;
  if (location.pathname === "/seat") {
    if ([...document.querySelectorAll("main a.button.main")].some(seen)) return ["Match", "way"];
    const form = document.querySelector("#answer-form:not([data-sending])");
    return ["Match", seen(form) ? form.querySelector("[name=question]").value : ""];
  }
  const step = document.querySelector("[aria-current=step]");
  return [step ? step.textContent : document.querySelector("main") ? "End" : "", ""];
}"""
"""The stage that a page shows, and the number of the question that is open there; `way` where the match is over."""


def ready(server, name, of, away=8, **changes):
    """One of the two studies, faster, as a file in the server's conf/study; what it says. After `away` seconds somebody has left."""
    own = yaml.safe_load((ROOT / f"conf/study/{of}.yaml").read_text()) | {"name": name, "idle": away} | changes
    own["lobby"]["seconds"], own["dropout"]["away"] = 12, away
    (server.project / f"conf/study/{name}.yaml").write_text(yaml.safe_dump(own))
    return own


class Walker(Person):
    """A participant who agrees, reads, answers rightly and plays on, but for their `habit`.

    `leaves STAGE` closes the browser there, `reloads` every page, `twice` opens each stage in a second tab and goes on there; `slow`
    has a line of half a second; `declines`, `guesses` at the quiz, `withdraws` in the match. Who `stays` does nothing of this.
    """

    def __init__(self, browser, server, own, habit):
        super().__init__(browser)
        self.server, self.own, self.habit = server, own, habit
        self.stage, self.gone, self.moves, self.pressed = "", False, 0, ("", 0.0)
        self.say = say_in(own["language"], {})
        self.stages = {self.say(stage): stage for stage in STAGES}
        if habit == "slow":
            line = {"offline": False, "latency": 500, "downloadThroughput": 50_000, "uploadThroughput": 20_000}
            self.context.new_cdp_session(self.page).send("Network.emulateNetworkConditions", line)
        self.page.goto(self.link)

    @property
    def link(self):
        """What the platform gives them, whose number for them is their habit."""
        return f"{self.server.url}/join/{self.own['name']}?PROLIFIC_PID={self.habit.replace(' ', '-')}"

    @property
    def done(self):
        """Whether they are at the end, or have left."""
        return self.gone or self.stage == "End"

    def goes(self):
        """Does what the page asks for; whether it asked for something."""
        try:
            stage, question = self.page.evaluate(WHERE)
        except Exception as error:
            if "context was destroyed" in str(error):  # the page is just going on to another one
                return False
            raise
        if self.page.url.startswith("chrome-error"):  # the server was not there: a person reloads
            self.page.goto(self.link)
            return True
        if not stage:
            return False
        stage = self.stages.get(stage, stage)  # of a seat and of the end it is in English already
        if stage != self.stage:
            self.stage = stage
            return self._arrives(stage)
        if stage == "Match":
            return self._plays(question)
        if stage in ("Waiting", "End"):
            return False
        return self._answers(stage)

    def _arrives(self, stage):
        name, _, where = self.habit.partition(" ")
        if name == "leaves" and STAGES.index(stage) >= STAGES.index(where):
            self.leaves()
        elif self.habit == "reloads":
            self.page.reload()
        elif self.habit == "twice" and stage != "End":
            for each in self.context.pages[
                :-1
            ]:  # two at most: a browser has six connections to a server, each tab keeps one
                each.close()
            self.page = self.tab()
            self.page.goto(self.link)
        return True

    def leaves(self):
        """Closes the browser."""
        self.gone = True
        self.context.close()

    def _sends(self, name):
        with self.page.expect_navigation():
            self.page.get_by_role("button", name=self.say(name), exact=True).click()
        return True

    def _answers(self, stage):
        if stage == "Consent":
            return self._sends("I do not want to take part" if self.habit == "declines" else "I agree, and take part")
        if stage == "Rules":
            return self._sends("I have read the rules")
        if stage == "Pages":
            for each in self.page.get_by_role("group").all():  # a scale
                each.get_by_role("radio").last.check()
            for each in self.page.get_by_role("textbox").all():
                each.fill(OPINION)
            return self._sends("Go on")
        for each in self.own["quiz"]["questions"] if stage == "Questions" else self.own["survey"]:
            if options := each.get("options"):
                answer = each.get("right", options[0])
                if self.habit == "guesses":
                    answer = next(option for option in options if option != answer)
                self.page.get_by_role("group", name=each["ask"], exact=True).get_by_label(answer, exact=True).check()
        return self._sends("Send")

    def _plays(self, question):
        if question == "way":
            with self.page.expect_navigation():
                self.page.locator("main a.button.main").first.click()
            return True
        known, since = self.pressed
        if not question or (question == known and monotonic() < since + 3):
            return False
        if self.habit == "withdraws" and self.moves:
            self.page.get_by_role("link", name=self.say("Leave the study")).click()
            return self._sends("Leave for good")
        form = self.page.locator("#answer-form")
        names = [each.strip() for each in form.locator("button:not([hidden])").all_inner_texts()]
        name = next((name for name in LIKED if name in names), names[self.moves % len(names)])
        form.get_by_role("button", name=name, exact=True).click()
        self.moves += question != known  # what was not sent is pressed again
        self.pressed = question, monotonic()
        return True


def walk(people, until=lambda: False, patience=LONG):
    """Everybody goes on until all are at their ends, or until something is so."""
    end = monotonic() + patience
    while not (until() or all(each.done for each in people)):
        assert monotonic() < end, "\n".join(
            f"{each.habit}: {each.page.url}\n{each.page.locator('body').aria_snapshot()}"
            for each in people
            if not each.done
        )
        went = [each.goes() for each in people if not each.done]
        if not any(went):
            next(each for each in people if not each.gone).page.wait_for_timeout(150)


class Found(NamedTuple):
    """What `collect` writes."""

    people: pd.DataFrame
    """By the number by which they came."""
    events: pd.DataFrame
    turns: pd.DataFrame | None


def collected(server, own, ended, patience=240):
    """What `collect` writes of a study once that many have come to an end or left, and all matches are over."""
    name, end = own["name"], monotonic() + patience
    out = server.project / "transcripts/studies" / name
    while True:
        said = server.run("collect", name)
        assert said.returncode == 0, said.stderr
        people = pd.read_csv(out / "participants.csv")
        store = Store(server.folder, read_only=True)
        tables = [row for row in store.tables() if row.match in set(people.match)]
        if people.stage.isin(["out", "debrief"]).sum() == ended and {row.status for row in tables} <= {"over"}:
            break
        store.close()
        assert monotonic() < end, people[["stage", "why"]]
        sleep(2)
    came = {Keys(server.folder / "secret").pseudonym(who): pid for who, (_, pid) in store.sources(name).items()}
    store.close()
    people.index = people.participant.map(came)
    turns = read(out / "turns.parquet") if (out / "turns.parquet").exists() else None
    return Found(people, pd.read_parquet(out / "events.parquet"), turns)
