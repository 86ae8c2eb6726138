"""Languages: a game is told in German as in English. Wrong numbers, names and quotes in a translation are found."""

import re
import runpy
from dataclasses import replace

import pytest
from harness import PD

import agon_twins.languages
from agon import ROOT, AgonError
from agon.agents.languages import ENGLISH, language_for, language_of
from agon.agents.llm import LLM
from agon.conf import expand_settings, load, names
from agon.games.strict import read_strictly
from agon.plan import plan
from agon_twins.languages import language_fault, names_of, text_fault
from agon_twins.walks import deal

GERMAN = language_of("de")
UNTOLD = re.compile("rating|.*_unquoted")
"""Ratings show a whole record and quote examples: a test of its own leaves these out. Unquoted words of players cannot be
told from those of prose."""
TOLD = [expand_settings([name])[0] for name in names("game") if not UNTOLD.match(name)]
CONVERSATIONS = runpy.run_path(str(ROOT / ".ci/prompts.py"))["conversations"]


@pytest.mark.parametrize("name", TOLD)
def test_a_game_is_told_in_german_as_in_english(name):
    game = load("game", name)
    assert language_for(game, "de") == GERMAN
    assert language_fault(game, "de") == ""


BORDER = "=" * 20
QUOTED = re.compile(rf"(?s){BORDER}\n.*?{BORDER}\n|(?:For instance|Zum Beispiel): [^\n]*")
"""The record between its borders, which no language changes, and an example of what a player may say."""


@pytest.mark.parametrize("name", ["rating", "rating_full"])
def test_a_rating_is_asked_for_in_german_as_in_english(name, monkeypatch):
    quoted, texts = [], agon_twins.languages.texts

    def prose(*given):
        for what, text in texts(*given):
            quoted.append(QUOTED.findall(text))
            yield what, QUOTED.sub("", text)

    monkeypatch.setattr(agon_twins.languages, "texts", prose)
    game = load("game", expand_settings([name])[0])
    assert language_for(game, "de") == GERMAN
    assert language_fault(game, "de") == ""
    records = {each[0] for each in quoted if each and each[0].startswith(BORDER)}
    assert len(records) == 2 and len({re.sub("Turn|Zug", "", each) for each in records}) == 1
    assert {len(each) for each in quoted} == {0, 1, 3}  # rules, and questions with and without examples


@pytest.mark.parametrize(
    ("name", "agent"),
    [
        *[
            (name, "beliefs")
            for name in ("pd", "prisoner3/01", "public_goods/02", "cost_sharing/01", "undercover/01-undercover")
        ],
        *[
            (f"chameleon/01-{side}", agent)
            for side in ("chameleon", "crowd")
            for agent in ("beliefs", "beliefs_matrix")
        ],
        *[
            ("tradecraft_brief/minecraft-01", f"tradecraft_{agent}")
            for agent in ("competitive", "cooperative", "unprimed", "called")
        ],
    ],
)
def test_an_agent_asks_in_german_what_it_asks_in_english(name, agent):
    game, state = load("game", name), load("game", name).start(deal(0))
    known = set().union(*[names_of(game.observe(state, seat)) for seat in game.to_move(state)])
    english, german = (CONVERSATIONS(name, agent, prompts) for prompts in ("ours", GERMAN.prompts))
    assert english.keys() == german.keys() and any(len(messages) > 4 for messages in english.values())
    for seat, messages in english.items():
        pairs = list(zip(messages, german[seat], strict=True))
        assert [one.role for one, _ in pairs] == [other.role for _, other in pairs]
        told = [(one.text, other.text) for one, other in pairs if one.role != "assistant"]
        assert [fault for one, other in told if (fault := text_fault(one, other, known, GERMAN.words))] == []


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("pd", "bekommst du 4 ", "bekommst du 5 "),
        ("pd", "bekommst du 1 und der andere Spieler bekommt 6", "bekommt der andere Spieler 6 und du bekommst 1"),
        ("pd", "Du hast cooperation gewählt", "Du hast Kooperation gewählt"),
        ("pd", "# Ziel", "# Zweck"),
        ("pd", "[move] (", "[Zug] ("),
        ("prisoner3/01", "Runde 2 von 5", "Runde 3 von 5"),
        ("prisoner3/01", "Player 3 hat sich", "Player 2 hat sich"),
        ("public_goods/02", "Du hast noch", "Du hast noch 7 von"),
        ("cost_sharing/01", "3,25 Stunden", "3,5 Stunden"),
        ("cost_sharing/01", "Größe large", "Größe groß"),
        ("chameleon/01-crowd", "bekommen je 2 Punkte", "bekommen je 3 Punkte"),
        ("chameleon/01-crowd", 'den Hinweis gegeben: "', 'den Hinweis gegeben: "nicht '),
        (
            "undercover/01-undercover",
            "Der Undercover bekommt 3, jeder Zivilist 0",
            "Jeder Zivilist bekommt 3, der Undercover 0",
        ),
        ("tradecraft/minecraft-01", "drei Teile", "vier Teile"),
        ("tradecraft/minecraft-01", '"reject"', '"ablehnen"'),
        ("tradecraft/minecraft-01", "craft_apply erlaubt", "craft_done erlaubt"),
        ("pd", "Alle wählen im selben Moment", "All choose at the same moment\nund"),
    ],
)
def test_a_wrong_translation_is_found(name, old, new, monkeypatch):
    found, texts = [], agon_twins.languages.texts

    def changed(view, since, everything, prompt_set="ours"):
        for what, text in texts(view, since, everything, prompt_set):
            found.append(prompt_set == GERMAN.prompts and old in text)
            yield what, text.replace(old, new) if found[-1] else text

    monkeypatch.setattr(agon_twins.languages, "texts", changed)
    fault = language_fault(load("game", name), "de")
    assert any(found) and fault


def test_a_line_that_stays_in_english_is_found(monkeypatch):
    texts = agon_twins.languages.texts
    monkeypatch.setattr(
        agon_twins.languages, "texts", lambda view, since, everything, prompt_set="ours": texts(view, since, everything)
    )
    assert "is not translated" in language_fault(PD, "de")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("", "Die Antwort ist leer."),
        ("Ich überlege noch.", "Das Zeichen [move] fehlt."),
        ("[move] stag\n[move] hare", "Das Zeichen [move] steht 2-mal da."),
        ("[move] weder noch", "nicht ein erlaubter Zug und sonst nichts."),
        ("<note>\n[move] cooperation\n</note>", "steht innerhalb von <note>."),
    ],
)
def test_the_fault_of_an_answer_is_said_in_german(answer, told):
    view = PD.observe(PD.start(deal(0)), 0)
    fault = read_strictly(answer, view.legal).fault
    again = LLM.texts(PD, prompts=GERMAN.prompts).again(fault, view)
    assert told in again.splitlines()[0] and again.startswith("Deine Antwort kann nicht verwendet werden: ")


def test_a_fraction_has_a_comma_where_it_is_prose():
    half = replace(PD, payoff=(((2.5, 2.5), (0, 4)), ((4, 0), (1, 1))))
    told = LLM.texts(half, prompts=GERMAN.prompts).system(half.observe(half.start(deal(0)), 0))
    assert "bekommst du 2,5 und der andere Spieler bekommt 2,5" in told and language_fault(half, "de") == ""


def test_the_frame_of_a_twin_stands_in_german_rules_too():
    game = load("game", "pd~program")
    told = LLM.texts(game, prompts=GERMAN.prompts).system(game.observe(game.start(deal(0)), 0))
    assert "# Regeln\nThe other player is a computer program.\n" in told


def test_models_play_in_german_under_an_id_of_its_own():
    pairing = {"games": ["pd"], "seats": [["zs"], ["cot"]], "models": ["ollama"]}
    ids = {
        plan({"name": "x", "repetitions": 1, "pairings": [pairing], "prompts": name})[0].id
        for name in ("ours", "german")
    }
    assert len(ids) == 2


@pytest.mark.parametrize(
    ("games", "fault"),
    [
        ("{prompts: german}", "games: Object missing required field `words`"),
        (
            "{prompts: german, words: {rules: Regeln}}",
            "games.words has no the game, no move line, no objective, no your answer, no your part",
        ),
    ],
)
def test_a_language_that_is_not_whole_is_refused(tmp_path, games, fault):
    (tmp_path / "language").mkdir()
    (tmp_path / "language/xx.yaml").write_text(f"games: {games}\n")
    with pytest.raises(AgonError, match=fault):
        language_of("xx", tmp_path)


def test_a_language_without_prompts_is_english():
    assert language_for(PD, "fr") is ENGLISH and language_for(PD, "en") is ENGLISH
    with pytest.raises(AgonError, match=r"no conf/language/fr\.yaml with games"):
        language_fault(PD, "fr")
