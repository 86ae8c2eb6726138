"""Recordings are read by the rule with which they were made; another rule shows what would change."""

from dataclasses import replace
from functools import partial

import pytest
from test_record import ROUNDS, Says, matches, recorded

from agon import AgonError
from agon.agents.llm import LLM
from agon.conf.building import build
from agon.games.tradecraft.roles import Roles
from agon.models import Answer
from agon.models.ledger import Replayed
from agon.models.recording import FILE, Recording
from agon.plan.seats import identity_of
from agon.play import play
from agon_audit.reread import Reread, reread_matches

LENIENT = "[move] cooperation (it pays)"


def read_by(rule, found):
    """The matches, whose agent reads by a rule and asks once."""
    player = partial(LLM, attempts=1, reading_rule=rule)
    seats = [tuple(replace(seat, player=player) if seat.model else seat for seat in match.seats) for match in found]
    return [replace(match, seats=own) for match, own in zip(found, seats, strict=True)]


def turns_of(folder, found, model):
    replayed = Replayed("standin", model.identity, Recording(folder))
    turns = play(found, folder / "journal", {"standin": replayed})
    return turns[turns.model.notna()]


def forget_rules(folder):
    """Makes a recording one from before the strict rule."""
    file = folder / FILE
    file.write_text(file.read_text().replace(',"reading_rule":"strict"', ""))


@pytest.mark.parametrize(("rule", "read"), [("strict", 0), ("as_done", ROUNDS)])
def test_a_replay_reads_as_the_recording_did_whatever_the_agent_says_now(tmp_path, rule, read):
    found, model = matches(1, "zs_once"), Says(text=LENIENT)
    recorded(tmp_path, read_by(rule, found), {"standin": model})
    assert ('"reading_rule":"strict"' in (tmp_path / FILE).read_text()) == (rule == "strict")
    turns = turns_of(tmp_path, read_by("strict", found), model)
    assert turns.action.notna().sum() == read and len(turns) == ROUNDS


def test_the_usual_rule_is_not_in_ids_and_another_is():
    told = {"_target_": "agon.agents.llm.LLM", "style": "zs"}
    for kind in (LLM, Roles):
        hashed = partial(identity_of, idle=kind.idle, usual=kind.usual)
        assert hashed(told | {"reading_rule": "strict"}) == hashed(told) != hashed(told | {"reading_rule": "as_done"})


@pytest.mark.parametrize("kind", [LLM, Roles])
def test_another_word_for_a_rule_is_refused(kind):
    settings = {"_target_": f"{kind.__module__}.{kind.__name__}", "_partial_": True, "reading_rule": "kind"}
    with pytest.raises(AgonError, match=r"^reading_rule does not fit: it is 'kind', and must be as_done or strict$"):
        build(settings)


def reread(folder, found, model, rule):
    table, unchanged, incomplete = reread_matches(
        found, {"standin": Reread("standin", model.identity, Recording(folder), rule=rule)}
    )
    return table, unchanged, incomplete


def test_another_rule_says_what_it_reads_otherwise_and_where(tmp_path):
    found = read_by("as_done", matches(3, "zs_once"))
    said = {found[0].id: "[move] **defection**", found[1].id: LENIENT}

    class Various(Says):
        async def answer(self, request):
            return Answer(said.get(request.sample.partition("/")[0], self.text), tokens_in=9, tokens_out=5)

    model = Various()
    recorded(tmp_path, found, {"standin": model})
    table, unchanged, incomplete = reread(tmp_path, found, model, "strict")
    changes = table.groupby("match").change.unique().map(list).to_dict()
    assert changes == {found[0].id: ["gained"], found[1].id: ["lost"], found[2].id: [""]}
    assert len(table) == 3 * ROUNDS and set(table.recorded) == {"as_done"} and set(table.agent) == {"zs_once"}
    assert [match.id for match, _ in unchanged] == [found[2].id] and incomplete == []
    assert reread(tmp_path, found, model, "as_done")[0].change.eq("").all()


def test_matches_that_are_not_whole_are_left_out(tmp_path):
    found, model = matches(2, "zs_once"), Says()
    recorded(tmp_path, found[:1], {"standin": model})
    table, unchanged, incomplete = reread(tmp_path, found, model, "as_done")
    assert set(table.match) == {found[0].id} and [match.id for match in incomplete] == [found[1].id]
    assert len(unchanged) == 1
