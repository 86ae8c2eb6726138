// The moves of TradeCraft for templates/explore/stepper.js. data: games (agon_papers.report.tradecraft).
const LOOKED = {item_info: "look-ups of items", possible_recipes_from_hand: "questions what the hand can make",
  craft_check: "checks of a craft", "craft_check, refused": "checks of a craft that cannot be", craft_done: "ends of crafting"};
const FAULTS = {"bad partner": "it names no other player", "beyond the hand": "it is more than somebody holds"};
const SIGNS = {submit_proposal: "→", accept: "✓", reject: "✗", craft_apply: "⚒", craft_done: "★"};

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

const opening = "The hands as they were dealt. Each player knows its own target, and not the others'.";

function details(move) {
  const looked = Object.entries(move?.looked || {}).map(([tool, count]) => `${LOOKED[tool] || tool}: ${count}`);
  return [el("p", {class: "soft"}, looked.length ? `Calls before it: ${looked.join("; ")}.` : "\u00a0"), move?.says ? el("blockquote", null, move.says) : null];
}

function board(at) {
  const [now, before] = [hands(at), hands(Math.max(0, at - 1))];
  return [el("div", {class: "board"}, game.players.map((_, seat) => held(seat, now[seat], before[seat])))];
}
