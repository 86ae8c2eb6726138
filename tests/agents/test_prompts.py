"""What a model is told: right from its seat's side, in this variant's words, and never more than the seat may know."""

import re
from dataclasses import replace
from functools import partial
from itertools import product

import pytest
from harness import MATRIX, PD, Told, at_the_table, in_turn, seated, small
from hypothesis import given, settings
from hypothesis import strategies as st

from agon import ROOT, AgonError
from agon.agents import seat_dice
from agon.agents.llm import LLM
from agon.agents.prompts import OWN, Source, Template
from agon.games.spaces import Choice, Form, Number, Text

GOLDEN = ROOT / "tests/golden/prompts"
STYLES = sorted(path.stem for path in (ROOT / "src/agon/agents/prompts/styles").glob("*.md"))
THREE = small(
    [[[[9, 1, 0], [2.5, 2, 2]], [[3, 0, 4], [1, 5, 6]]], [[[7, 0.5, 1], [0, -1, 2]], [[8, 4, 3], [10_000_000, 1, 2]]]],
    options=("north", "south"),
)
every_game = pytest.mark.parametrize("name", MATRIX)


@pytest.mark.parametrize(
    ("legal", "told"),
    [
        (Number(0, 100), "NUMBER is a whole number from 0 to 100."),
        (Number(0, 100, 5), "NUMBER is a whole number from 0 to 100 in steps of 5."),
        (Form((("bid", Number(0, 20)),)), 'After "bid:" write a whole number from 0 to 20.'),
        (
            Form((("bid", Number(1, 21, 4)), ("why", Text(9)))),
            'After "bid:" write a whole number from 1 to 21 in steps of 4.',
        ),
        (
            Form((("vote", Choice(("a", "b"))), ("why", Text(9)))),
            'After "vote:" write one of: a; b.\nAfter "why:" write a few words.',
        ),
    ],
)
def test_how_an_answer_is_written_says_all_that_is_legal(legal, told):
    said = Template(Source("_reply.md", (OWN,)), ("form", "line", "refuse")).render("form", legal)
    assert told in said and f"\n{said}".count("\n[move] ") == 1


def conversations(game, style="zs"):
    """Every seat's whole conversation: a re-ask, a round that counts, then rounds void through each seat and through all."""
    void = {round_: {seat} for seat, round_ in enumerate(range(3, 3 + game.seats))}
    void[3 + game.seats] = set(range(game.seats))

    def say(request):
        view, again = request.view, request.messages[-1].text.startswith("Your answer cannot be used")
        if view.seat in void.get(view.round, ()) or (view.round == 1 and not again):
            return "I would rather not say."
        return f"[move] (because) {game.options[(view.seat + view.round + 1) % len(game.options)]}"

    models = [Told(say) for _ in range(game.seats)]
    player = partial(LLM, style=style, attempts=2)
    at_the_table(seated(*[player] * game.seats, game=replace(game, rounds=4 + game.seats)), *models)
    return ["\n\n".join(f"--- {m.role}\n{m.text}" for m in model.asked[-1].messages) + "\n" for model in models]


def texts(game=PD, **settings):
    """The prompts of a language model with these settings."""
    return LLM.texts(game, **settings)


def system(game, seat=0, style="zs", **settings):
    """What the seat is told before all else."""
    return texts(game, style=style, **settings).system(game.observe(game.start(seat_dice(0, -1)), seat))


# --- read by a human once

CASES = {f"{name}_seat{seat}": (name, "zs", seat) for name, seat in product(MATRIX, (0, 1))}
CASES |= {f"three_players_seat{seat}": ("three", "zs", seat) for seat in range(3)}
CASES |= {f"style_{style}": ("pd", style, 0) for style in STYLES}


@pytest.mark.parametrize("case", CASES)
def test_a_model_is_told_what_a_human_has_read(case):
    name, style, seat = CASES[case]
    path, found = GOLDEN / f"{case}.txt", conversations(MATRIX.get(name, THREE), style)[seat]
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text(found)
        pytest.fail(f"{path.name} was not there and is now written: read it, commit it, and run this again")
    assert found == path.read_text(), f"if that is meant, delete tests/golden/prompts/{path.name} and run this twice"


# --- right, from the seat's side


@pytest.mark.parametrize("seat", [0, 1])
@every_game
def test_every_payoff_is_told_as_the_game_pays_it(name, seat):
    game = MATRIX[name]
    line = r"- if you choose (\w+) and the other player chooses (\w+), you get (\S+) and the other player gets (\S+)\n"
    told = {
        (own, other): (float(mine), float(theirs)) for own, other, mine, theirs in re.findall(line, system(game, seat))
    }
    paid = {pair: game.payoffs(pair if seat == 0 else pair[::-1]) for pair in product(game.options, repeat=2)}
    assert told == {pair: (points[seat], points[1 - seat]) for pair, points in paid.items()}


@pytest.mark.parametrize("seat", [0, 1, 2])
def test_every_payoff_of_a_game_for_three_is_told_as_the_game_pays_it(seat):
    line = r"- if you choose (\w+) and the other players choose (\w+) and (\w+), you get (\S+) and the other players get (\S+) and (\S+)\n"
    told = {labels[:3]: tuple(map(float, labels[3:])) for labels in re.findall(line, system(THREE, seat))}
    order = [seat, *(other for other in range(3) if other != seat)]
    paid = {pair: THREE.payoffs(pair) for pair in product(THREE.options, repeat=3)}
    assert told == {tuple(p[i] for i in order): tuple(points[i] for i in order) for p, points in paid.items()}


@every_game
@given(st.data())
@settings(max_examples=10, deadline=None)
def test_after_each_round_the_seat_is_told_the_choices_and_its_score(name, data):
    game = MATRIX[name]
    played = st.lists(st.tuples(*[st.sampled_from(game.options)] * 2), min_size=1, max_size=min(6, game.rounds - 1))
    rounds = data.draw(played)
    state = game.start(seat_dice(0, -1))
    for number, pair in enumerate(rounds, 1):
        state, paid = game.step(state, dict(enumerate(pair)))
        for seat in (0, 1):
            news, question = texts(game).turn(game.observe(state, seat), number - 1).splitlines()
            chose = f"Round {number}: you chose {pair[seat]}, the other player chose {pair[1 - seat]}."
            assert news == f"{chose} You scored {paid[seat]} point{'s' if paid[seat] != 1 else ''}."
            assert question == f"Round {number + 1}: choose your action."


def test_all_that_has_happened_since_is_told_in_order():
    game, state = MATRIX["pd_label"], MATRIX["pd_label"].start(seat_dice(0, -1))
    for pair in [("stag", "hare"), (None, "hare"), ("hare", "hare")]:
        state, _ = game.step(state, dict(enumerate(pair)))
    lines = texts(game).turn(game.observe(state, 1), 0).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["Round 1", "Round 2 does not count", "Round 3", "Round 4"]


# --- never more than the seat may know


@every_game
@pytest.mark.parametrize("rounds", [1, 3, 100])
def test_nothing_shows_how_many_rounds_there_are(name, rounds):
    game = MATRIX[name]
    shorter, state = replace(game, rounds=rounds), game.start(seat_dice(0, -1))
    assert system(shorter) == system(game) and str(game.rounds) not in re.findall(r"\d+", system(game))
    assert texts(shorter).turn(shorter.observe(state, 0), 0) == texts(game).turn(game.observe(state, 0), 0)


@pytest.mark.parametrize("name", ["pd_label", "pd_joint"])
def test_the_words_of_the_default_variant_are_not_in_a_relabelled_prompt(name):
    words = r"(?i)cooperat|defect|prisoner|dilemma"
    assert not any(re.search(words, text) for style in STYLES for text in conversations(MATRIX[name], style))
    assert re.search(words, conversations(MATRIX["pd"])[0])


@pytest.mark.parametrize("name", ["pd", "pd_payoff"])
def test_the_words_of_a_relabelled_variant_are_not_in_the_default_prompt(name):
    assert not any(re.search(r"(?i)\bstag|\bhare|\bhunt", text) for text in conversations(MATRIX[name]))


@every_game
def test_no_prompt_names_the_game_that_it_is(name):
    assert not re.search(
        r"(?i)prisoner|dilemma|hunt|\bpd\b|\brps\b|zero.sum|nash|variant", conversations(MATRIX[name])[0]
    )


def asked_when(seat, answers, game=PD):
    """Every conversation in which `seat` was asked, when the other one plays `answers`."""
    models = [Told(lambda request: f"[move] {game.options[request.view.round % 2]}") for _ in range(2)]
    models[1 - seat] = Told(lambda request: f"[move] (mumble) {answers[request.view.round - 1]}")
    at_the_table(seated(LLM, LLM, game=replace(game, rounds=len(answers))), *models)
    return [request.messages for request in models[seat].asked]


@pytest.mark.parametrize("changed", range(4))
@pytest.mark.parametrize("seat", [0, 1])
def test_what_the_other_does_shows_in_the_next_round_and_not_before(seat, changed):
    kind = PD.options[0]
    one, other = (asked_when(seat, [kind] * changed + [now] + [kind] * (4 - changed)) for now in PD.options)
    assert one[: changed + 1] == other[: changed + 1]
    assert all(a != b for a, b in zip(one[changed + 1 :], other[changed + 1 :], strict=True))


@pytest.mark.parametrize("seat", [0, 1])
def test_what_the_other_says_beside_its_action_is_not_told(seat):
    assert not any("mumble" in message.text for message in asked_when(seat, [PD.options[0]] * 4)[-1])


# --- a user's own templates

FULL = (
    "{% macro system(view, style) %}Mine. {{ style }}{% endmacro %}{% macro turn(view, since) %}Go.{% endmacro %}"
    "{% macro again(fault, view) %}No: {{ fault }}{% endmacro %}"
)


@pytest.fixture
def folder(tmp_path):
    """Makes a folder of templates."""

    def made(**files):
        for name, text in files.items():
            path = tmp_path / f"{name.replace('__', '/')}.md"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return str(tmp_path)

    return made


def broken(folder, game=PD, **settings):
    """The one line that says what is wrong with a template."""
    with pytest.raises(AgonError) as caught:
        prompts = texts(game, folder=folder, **settings)
        view = game.observe(game.start(seat_dice(0, -1)), 0)
        _ = prompts.system(view), prompts.turn(view, 0), prompts.again("why", view)
    assert "\n" not in str(caught.value)
    if re.match(r"prompt \S+\.md", str(caught.value)):
        assert str(caught.value).startswith(f"prompt {folder}/"), "a file is named with its folder"
    return str(caught.value).replace(f"prompt {folder}/", "prompt ", 1)


def test_a_users_template_comes_before_ours_and_ours_fill_in(folder):
    assert system(PD, folder=folder(matrix=FULL)) == "Mine. " + texts().system(PD.observe(((), ()), 0)).splitlines()[-1]


def test_a_users_style_goes_with_our_template(folder):
    mine = system(PD, style="haiku", folder=folder(styles__haiku="Answer in verse."))
    assert mine == system(PD).replace("Give the move line and nothing else.", "Answer in verse.")


def test_a_users_template_for_one_game_leaves_the_others(folder):
    own = folder(pd=FULL)
    assert system(PD, folder=own).startswith("Mine") and system(MATRIX["rps"], folder=own) == system(MATRIX["rps"])


def test_a_template_may_include_others_and_their_text_counts(folder):
    own = folder(matrix=FULL.replace("Mine.", "{% include 'more.md' %}"), more="One.")
    before = texts(folder=own)
    assert before.system(PD.observe(((), ()), 0)).startswith("One.") and "One." in before.text


def test_a_folder_that_is_not_there_is_named(tmp_path):
    assert str(tmp_path / "none") in broken(str(tmp_path / "none"))


def test_a_style_that_is_not_there_is_named(folder):
    assert broken(folder(), style="rhyme").startswith("there is no prompt styles/rhyme.md in ")


@pytest.mark.parametrize("name", ["system", "turn", "again"])
def test_a_template_that_lacks_a_macro_says_which(folder, name):
    line = broken(folder(matrix=FULL.replace(f"macro {name}(", "macro other(")))
    assert line == f"prompt matrix.md has no macro {name}: it needs system, turn and again"


def test_a_syntax_error_is_named_with_its_line(folder):
    assert re.fullmatch(r"prompt matrix.md: .*endmacro.* \(line 2\)", broken(folder(matrix=FULL + "\n{% endmacro %}")))


def test_a_syntax_error_in_a_style_is_named_with_its_file(folder):
    assert broken(folder(styles__zs="{{ oops")).startswith("prompt styles/zs.md: ")


@pytest.mark.parametrize("macro", ["Mine.", "Go.", "No:"])
def test_a_slot_that_nobody_fills_is_named(folder, macro):
    line = broken(folder(matrix=FULL.replace(macro, "{{ view.payoffs_of_mine }}")))
    assert line.startswith("prompt matrix.md: ") and "payoffs_of_mine" in line


def test_a_slot_in_a_style_that_nobody_fills_is_named_with_its_file(folder):
    assert broken(folder(styles__zs="{{ view.round }}")) == "prompt styles/zs.md: 'view' is undefined"


def test_a_template_that_includes_what_is_not_there_says_so(folder):
    assert broken(folder(matrix=FULL + "{% include 'lost.md' %}")) == "prompt matrix.md: there is no template lost.md"


def test_a_template_that_computes_nonsense_is_named(folder):
    assert broken(folder(matrix=FULL.replace("Go.", "{{ 1 + view }}"))).startswith("prompt matrix.md: ")


def test_a_template_that_is_no_text_is_named(folder):
    own = folder(matrix=FULL)
    (ROOT / own / "matrix.md").write_bytes(b"\xff\xfe")
    assert broken(own).startswith("prompt matrix.md: ")


# --- text is text

ODD = ["{{ 7*7 }}", "{% for x in y %}", "{# gone #}", "<script>alert(1)</script> &amp; &", "%s {0} \\n ${HOME}"]


@pytest.mark.parametrize("text", ODD)
def test_what_a_model_says_stays_as_it_is(text):
    model = Told(in_turn(text, f"{text}\n[move] cooperation"))
    at_the_table(seated(LLM, lambda view, dice: "defection", game=replace(PD, rounds=2)), model)
    said = [message.text for message in model.asked[-1].messages if message.role == "assistant"]
    assert said == [text, f"{text}\n[move] cooperation"]


@pytest.mark.parametrize("label", ODD)
def test_labels_stay_as_they_are(label):
    game = small([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], options=(label, "b"), rounds=2)
    model = Told(in_turn(f"[move] {label}"))
    at_the_table(seated(LLM, lambda view, dice: label, game=game), model)
    told = [message.text for message in model.asked[-1].messages]
    assert f"if you choose {label} and the other player chooses {label}, you get 1" in told[0]
    assert told[-1].startswith(f"Round 1: you chose {label}, the other player chose {label}. You scored 1 point.")
