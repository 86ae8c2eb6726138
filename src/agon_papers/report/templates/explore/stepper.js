// Steps through matches. data: games (each with match, title, result, moves), filters {column: label}. The script before it has
// told(move), sign(move), details(move), which is undefined before the first one, board(step), opening, and it may have explained().
const games = data.games;
const chosen = {};
let game = null, step = 0, timer = null;

/** `picked`: the reader chose this place itself, so Back undoes it. Single steps replace the address before. */
function go(to, picked = false) {
  step = Math.max(0, Math.min(game.moves.length, to));
  address.write({...chosen, match: game.match, step: String(step)}, !picked);
  draw();
}

function draw() {
  const move = game.moves[step - 1];
  slider.max = game.moves.length;
  slider.value = step;
  slider.setAttribute("aria-valuetext", place());
  where.textContent = place();
  first.disabled = back.disabled = step === 0;
  last.disabled = next.disabled = step === game.moves.length;
  happened.replaceChildren(el("p", {class: "status"}, move ? told(move) : opening), ...details(move).filter(Boolean));
  view.replaceChildren(...board(step));
  moves.replaceChildren(...game.moves.map((each, number) => el("li", null,
    el("button", {type: "button", "aria-current": number + 1 === step ? "step" : null, onclick: () => { go(number + 1, true); slider.focus(); }},
      el("span", {class: "sign", "aria-hidden": "true"}, sign(each)), ` ${heading(each)}: ${told(each)}`))));
}

const heading = (move) => (move.round ? [`round ${move.round}`, ...(move.phase === "move" ? [] : [move.phase])].join(", ") : `turn ${move.turn}`);

/** Starts or ends the play: a move every 1.2 seconds. */
function plays(on) {
  clearInterval(timer);
  timer = on ? setInterval(() => (step < game.moves.length ? go(step + 1) : plays(false)), 1200) : null;
  play.textContent = on ? "❚❚ Pause" : "▶ Play";
}

const place = () => (step ? `Move ${step} of ${game.moves.length}, ${heading(game.moves[step - 1])}` : `Start, ${game.moves.length} moves to come`);

/** The games that are left; the one in view stays if it is among them. `picked`: see `go`. An unknown game is named, and none is shown. */
function choose(wanted, at, picked = false) {
  narrowed.update();
  const left = narrowed.passing();
  select.replaceChildren(...left.map((each) => el("option", {value: each.match}, `${each.title}: ${each.result} (${each.match})`)));
  const unknown = wanted && !games.some((each) => each.match === wanted);
  const found = unknown ? null : left.find((each) => each.match === wanted) || left[0];
  shown.hidden = !found;
  status.textContent = unknown ? `There is no match “${wanted}” here. Choose one of the ${grouped(left.length)} in the menu.` : left.length ? `${grouped(left.length)} of ${grouped(games.length)} games` : "No game matches. Choose fewer filters.";
  if (!found) {
    plays(false);
    game = null;
    select.value = "";
    return;
  }
  const same = game === found;
  if (!same) plays(false);
  game = found;
  select.value = game.match;
  title.textContent = `${game.title}: ${game.result}`;
  about.replaceChildren(...(typeof explained === "function" ? explained() : []));
  go(at !== undefined ? at : same ? step : 0, picked);
}

/** An address of an earlier version has `game` in place of `match`. A link that says what to show leads to it, past all choices. */
function follow() {
  const said = address.read();
  narrowed.follow(said);
  choose(said.match || said.game, Number.parseInt(said.step, 10) || 0);
  if (game && Object.keys(said).length) title.scrollIntoView();
}

/** Left, right, Home and End step wherever the keyboard is, but in a field of words. In a menu, up and down choose. */
function typed(event) {
  const to = {ArrowLeft: step - 1, ArrowRight: step + 1, Home: 0, End: game?.moves.length}[event.key];
  if (to === undefined || !game || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.target.closest("input:not([type=range])")) return;
  event.preventDefault();
  go(to);
}

function toggle() {
  if (step === game.moves.length) go(0);
  plays(!timer);
}

const button = (label, to) => el("button", {type: "button", onclick: () => go(to())}, label);
const narrowed = facets(games, data.filters, chosen, () => true, (name, value) => { chosen[name] = value; choose(game && game.match, undefined, true); });
const select = el("select", {onchange: () => choose(select.value, 0, true)});
const status = el("p", {class: "soft", role: "status"});
const title = el("h2");
const slider = el("input", {type: "range", min: 0, step: 1, "aria-label": "Move", oninput: () => go(Number(slider.value))});
const where = el("p", {class: "soft"});
const [first, back] = [button("|◀ Start", () => 0), button("◀ Back", () => step - 1)];
const play = el("button", {type: "button", onclick: toggle}, "▶ Play");
const [next, last] = [button("Next ▶", () => step + 1), button("End ▶|", () => game.moves.length)];
const happened = el("div", {"aria-live": "polite"});
const view = el("div");
const about = el("div");
const moves = el("ol", {class: "moves"});
const shown = el("div", null, title, el("div", {class: "controls"}, first, back, play, next, last, el("label", {class: "wide"}, where, slider)),
  happened, view, about, el("h2", null, "All moves"), moves);

main.append(el("div", {class: "controls"}, narrowed.labels, el("label", {class: "wide"}, "Match", select)), status, shown);
window.addEventListener("hashchange", follow);
document.addEventListener("keydown", typed);
follow();
