// Steps through matches of TradeCraft. data: games (agon.games.tradecraft.explorer), filters {column: label}.
const games = data.games;
const LOOKED = {item_info: "look-ups of items", possible_recipes_from_hand: "questions what the hand can make",
  craft_check: "checks of a craft", "craft_check, refused": "checks of a craft that cannot be", craft_done: "ends of crafting"};
const FAULTS = {"bad partner": "it names no other player", "beyond the hand": "it is more than somebody holds"};
const SIGNS = {submit_proposal: "→", accept: "✓", reject: "✗", craft_apply: "⚒", craft_done: "★"};
const chosen = {};
let game = null, step = 0, timer = null;

const plain = (item) => item.replaceAll("_", " ");
const named = (seat) => `${game.players[seat]} (${game.agents[seat]})`;

function listed(hand) {
  const parts = Object.entries(hand || {}).map(([item, amount]) => `${amount} ${plain(item)}`);
  return parts.length ? parts.join(", ") : "nothing";
}

/** Amounts may be fractions such as 7/8. */
function worth(amount) {
  const [above, below] = String(amount || 0).split("/").map(Number);
  return above / (below || 1);
}

/** All hands after so many moves. */
function hands(moves) {
  const held = game.start.slice();
  for (const move of game.moves.slice(0, moves)) for (const [seat, hand] of Object.entries(move.hands || {})) held[seat] = hand;
  return held;
}

/** What was done, in a sentence. */
function told(move) {
  const failed = move.wrong && !move.wrong.startsWith("nothing done") ? `, which is refused: ${FAULTS[move.wrong] || move.wrong}` : "";
  const late = move.wrong && !failed ? ` (${move.wrong})` : "";
  const wins = move.pays ? " and holds its target" : "";
  const words = {
    submit_proposal: () => `offers ${listed(move.gives)} for ${listed(move.wants)}`,
    decide: () => (move.decision === "accept" ? "accepts" : "rejects"),
    craft_apply: () => (move.recipe ? `crafts ${move.recipe}` : `makes ${listed(move.outputs)} of ${listed(move.inputs)}`),
    craft_done: () => "is done crafting",
  };
  return `${named(move.seat)} ${(words[move.does] || (() => "does nothing"))()}${failed}${late}${wins}.`;
}

function sign(move) {
  if (move.wrong) return move.does === "decide" ? "?" : "·";
  return SIGNS[move.does === "decide" ? move.decision : move.does] || "·";
}

function held(seat, now, before) {
  const items = [...new Set([...Object.keys(before), ...Object.keys(now), ...Object.keys(game.targets[seat] || {})])].sort();
  return el("section", null, el("h2", null, named(seat)),
    el("p", {class: "soft"}, `wants ${listed(game.targets[seat])}${game.models[seat] ? `; ${game.models[seat]}` : ""}`),
    el("table", null, el("thead", null, el("tr", null, [["item", null], ["holds", "number"]].map(([name, kind]) => el("th", {scope: "col", class: kind}, name)))),
      el("tbody", null, items.map((item) => {
        const by = worth(now[item]) - worth(before[item]);
        const target = (game.targets[seat] || {})[item];
        const reached = target && worth(now[item]) >= worth(target);
        return el("tr", null, el("td", null, plain(item), target ? el("strong", null, reached ? " ✓ target" : " target") : ""),
          el("td", {class: "number"}, by ? el("strong", null, `${by > 0 ? "▲ +" : "▼ "}${+by.toFixed(3)}  `) : "", String(now[item] || 0)));
      }))));
}

function go(to) {
  step = Math.max(0, Math.min(game.moves.length, to));
  address.write({...chosen, game: game.match, step: String(step)}, true);
  draw();
}

function draw() {
  const move = game.moves[step - 1];
  const [now, before] = [hands(step), hands(Math.max(0, step - 1))];
  slider.max = game.moves.length;
  slider.value = step;
  slider.setAttribute("aria-valuetext", place());
  where.textContent = place();
  first.disabled = back.disabled = step === 0;
  last.disabled = next.disabled = step === game.moves.length;
  const looked = move ? Object.entries(move.looked || {}).map(([tool, count]) => `${LOOKED[tool] || tool}: ${count}`) : [];
  happened.replaceChildren(
    el("p", {class: "status"}, move ? told(move) : "The hands as they were dealt. Each player knows its own target, and not the others'."),
    el("p", {class: "soft"}, looked.length ? `Calls before it: ${looked.join("; ")}.` : " "),
    ...(move && move.says ? [el("blockquote", null, move.says)] : []));
  board.replaceChildren(...game.players.map((_, seat) => held(seat, now[seat], before[seat])));
  moves.replaceChildren(...game.moves.map((each, number) => el("li", null,
    el("button", {type: "button", "aria-current": number + 1 === step ? "step" : null, onclick: () => { go(number + 1); slider.focus(); }},
      el("span", {class: "sign", "aria-hidden": "true"}, sign(each)), ` turn ${each.turn}: ${told(each)}`))));
}

/** Starts or ends the play: a move every 1.2 seconds. */
function plays(on) {
  clearInterval(timer);
  timer = on ? setInterval(() => (step < game.moves.length ? go(step + 1) : plays(false)), 1200) : null;
  play.textContent = on ? "❚❚ Pause" : "▶ Play";
}

const place = () => (step ? `Move ${step} of ${game.moves.length}, turn ${game.moves[step - 1].turn}` : `Start, ${game.moves.length} moves to come`);

/** The games that are left; the one in view stays if it is among them. */
function choose(wanted, at) {
  narrowed.update();
  const left = narrowed.passing();
  select.replaceChildren(...left.map((each) => el("option", {value: each.match}, `${each.title}: ${each.result} (${each.match})`)));
  const found = left.find((each) => each.match === wanted) || left[0];
  shown.hidden = !found;
  status.textContent = left.length ? `${grouped(left.length)} of ${grouped(games.length)} games` : "No game fits. Choose less.";
  if (!found) return;
  const same = game === found;
  if (!same) plays(false);
  game = found;
  select.value = game.match;
  title.textContent = `${game.title}: ${game.result}`;
  go(at !== undefined ? at : same ? step : 0);
}

function follow() {
  const said = address.read();
  narrowed.follow(said);
  choose(said.game, Number.parseInt(said.step, 10) || 0);
}

const button = (label, to) => el("button", {type: "button", onclick: () => go(to())}, label);
const narrowed = facets(games, data.filters, chosen, () => true, (name, value) => { chosen[name] = value; choose(game && game.match); });
const select = el("select", {onchange: () => choose(select.value, 0)});
const status = el("p", {class: "soft", role: "status"});
const title = el("h2");
const slider = el("input", {type: "range", min: 0, step: 1, "aria-label": "Move", oninput: () => go(Number(slider.value))});
const where = el("p", {class: "soft"});
const [first, back] = [button("|◀ Start", () => 0), button("◀ Back", () => step - 1)];
const play = el("button", {type: "button", onclick: () => {
  if (step === game.moves.length) go(0);
  plays(!timer);
}}, "▶ Play");
const [next, last] = [button("Next ▶", () => step + 1), button("End ▶|", () => game.moves.length)];
const happened = el("div", {"aria-live": "polite"});
const board = el("div", {class: "board"});
const moves = el("ol", {class: "moves"});
const shown = el("div", null, title, el("div", {class: "controls"}, first, back, play, next, last, el("label", {class: "wide"}, where, slider)),
  happened, board, el("h2", null, "All moves"), moves);

main.append(el("div", {class: "controls"}, narrowed.labels, el("label", {class: "wide"}, "Game", select)), status, shown);
window.addEventListener("hashchange", follow);
follow();
