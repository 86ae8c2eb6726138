// A payoff table that can be changed, and its equilibria. data: games {name, options, payoff: [row][column] -> points of both}.
let names = [], points = [];

/** A share as a fraction where it is a simple one. */
function share(value) {
  for (let below = 1; below <= 200; below += 1) {
    const above = Math.round(value * below);
    if (Math.abs(value * below - above) < 1e-7) return above === 0 || below === 1 ? String(above) : `${above}/${below} (${(100 * value).toFixed(1)} %)`;
  }
  return `${(100 * value).toFixed(1)} %`;
}

const number = (value) => String(+value.toFixed(3));
const PLAYERS = ["Row player", "Column player"];

/** `picked`: the reader chose it, so Back undoes it. */
function take(game, picked = false) {
  names = game.options.slice();
  points = game.payoff.map((row) => row.map((cell) => cell.map(String)));
  draw(picked);
}

/** The same actions and points as far as they are there; what is new pays nothing. */
function resize(size) {
  names = Array.from({length: size}, (_, place) => names[place] || `action ${place + 1}`);
  points = names.map((_, i) => names.map((_, j) => (points[i] && points[i][j] ? points[i][j] : ["0", "0"])));
  draw(true);
}

function field(i, j, seat) {
  const input = el("input", {type: "text", inputmode: "text", size: 4, autocomplete: "off", value: points[i][j][seat],
    "aria-label": `points of the ${PLAYERS[seat].toLowerCase()}: ${names[i]} against ${names[j]}`,
    oninput: () => { points[i][j][seat] = input.value; chooser.value = ""; solve(); }});
  return input;
}

function draw(picked = false) {
  sizer.value = String(names.length);
  const cell = (i, j) => el("span", {class: "cell"}, [0, 1].map((seat) => el("span", {class: "entry"}, field(i, j, seat), el("span", {class: "best"}))));
  table.replaceChildren(
    el("thead", null, el("tr", null, el("td", null, "row, column"), names.map((name) => el("th", {scope: "col"}, name)))),
    el("tbody", null, names.map((name, i) => el("tr", null, el("th", {scope: "row"}, name), names.map((_, j) => el("td", null, cell(i, j)))))));
  solve(picked);
}

/** The numbers of one player; null, and a word on it, where a field holds none. */
function read(seat) {
  for (const [i, row] of points.entries()) {
    for (const [j, cell] of row.entries()) {
      const text = cell[seat].trim().replace(",", ".").replace("−", "-");
      if (!/^[-+]?\d+(\.\d+)?$/.test(text) || Math.abs(Number(text)) > 1e6) {
        return {wrong: `The ${PLAYERS[seat].toLowerCase()} needs a number between -1,000,000 and 1,000,000 for ${names[i]} against ${names[j]}, not “${cell[seat]}”.`};
      }
    }
  }
  return {matrix: points.map((row) => row.map((cell) => Number(cell[seat].trim().replace(",", ".").replace("−", "-"))))};
}

function mixed(mix, seat) {
  return el("div", null, el("p", {class: "soft"}, PLAYERS[seat]), el("div", {class: "bar", "aria-hidden": "true"}, mix.map((value, place) => {
    const part = el("span", {class: `look look${place}`});
    part.style.width = `${100 * value}%`;
    return part;
  })), el("p", null, mix.map((value, place) => (value ? `${names[place]} ${share(value)}` : null)).filter(Boolean).join(", ")));
}

function listed(profile, rows, columns) {
  const worth = [rows, columns].map((matrix) => matrix.reduce((sum, row, i) => sum + profile[0][i] * row.reduce((all, value, j) => all + value * profile[1][j], 0), 0));
  const pure = profile.every((mix) => mix.filter(Boolean).length === 1);
  const said = pure ? `Pure: ${profile.map((mix) => names[mix.indexOf(1)]).join(", ")}` : "Mixed";
  return el("li", null, el("strong", null, said), `, worth ${number(worth[0])} to the row player, ${number(worth[1])} to the column player`,
    pure ? null : el("div", {class: "pair"}, mixed(profile[0], 0), mixed(profile[1], 1)));
}

/** Best replies of both in a game of two actions: where the lines meet is an equilibrium. */
function replies(rows, columns, profiles) {
  const [side, edge] = [300, 56];
  const at = (value) => edge + value * (side - edge - 14);
  const up = (value) => side - at(value);
  /** For what the other does, a share of its first action: the share of one's own first action; lines of points. */
  const line = (gain) => {  // gain(q): what the first action earns more than the second
    const [none, all] = [gain(0), gain(1)];
    const best = (value) => (value > 0 ? 1 : 0);
    if (none === 0 && all === 0) return null;
    if (none * all >= 0) {
      const own = best(none || all);
      const flat = [[0, own], [1, own]];
      if (none === 0) flat.unshift([0, 1 - own]);
      if (all === 0) flat.push([1, 1 - own]);
      return flat;
    }
    const turn = none / (none - all);
    return [[0, best(none)], [turn, best(none)], [turn, best(all)], [1, best(all)]];
  };
  const first = line((q) => q * (rows[0][0] - rows[1][0]) + (1 - q) * (rows[0][1] - rows[1][1]));
  const second = line((p) => p * (columns[0][0] - columns[0][1]) + (1 - p) * (columns[1][0] - columns[1][1]));
  const path = (pairs) => pairs.map(([x, y], place) => `${place ? "L" : "M"}${at(x).toFixed(1)} ${up(y).toFixed(1)}`).join("");
  return el("figure", null, el("figcaption", null, "Best replies: where the lines meet is an equilibrium"),
    svg("svg", {viewBox: `0 0 ${side} ${side}`, width: side, height: side, role: "img", "aria-label": `Best replies of both; they meet at ${profiles.length} points`},
      svg("rect", {x: at(0), y: up(1), width: at(1) - at(0), height: up(0) - up(1), class: "frame"}),
      second ? svg("path", {d: path(second), class: "line theirs"}) : null,
      first ? svg("path", {d: path(first.map(([q, p]) => [p, q])), class: "line ours"}) : null,
      profiles.map(([x, y]) => svg("circle", {cx: at(x[0]), cy: up(y[0]), r: 6, class: "meeting"})),
      [["0", at(0), up(0) + 16, "start"], ["1", at(1), up(0) + 16, "end"], ["0", at(0) - 6, up(0), "end"], ["1", at(0) - 6, up(1) + 10, "end"]]
        .map(([text, x, y, anchor]) => svg("text", {x, y, "text-anchor": anchor}, text)),
      svg("text", {x: (at(0) + at(1)) / 2, y: side - 8, "text-anchor": "middle"}, `row player: share of ${names[0]}`),
      svg("text", {x: 14, y: (up(0) + up(1)) / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${(up(0) + up(1)) / 2})`}, `column player: share of ${names[0]}`)),
    el("p", {class: "soft"}, "Full line: the row player's best replies. Dashed: the column player's."));
}

function solve(picked = false) {
  const [first, second] = [read(0), read(1)];
  const best = [...table.querySelectorAll(".best")];
  const wrong = first.wrong || second.wrong;
  if (wrong) {
    for (const mark of best) mark.textContent = "";
    told.textContent = wrong;
    found.replaceChildren();
    return;
  }
  const [rows, columns] = [first.matrix, second.matrix];
  const size = names.length;
  for (const [place, mark] of best.entries()) {
    const [i, j, seat] = [Math.floor(place / 2 / size), Math.floor(place / 2) % size, place % 2];
    const top = seat ? Math.max(...columns[i]) === columns[i][j] : Math.max(...rows.map((row) => row[j])) === rows[i][j];
    mark.textContent = top ? "★" : "";
  }
  const {profiles, degenerate} = equilibria(rows, columns);
  const mixes = profiles.filter((profile) => profile.some((mix) => mix.filter(Boolean).length > 1)).length;
  told.textContent = `${profiles.length} ${profiles.length === 1 ? "equilibrium" : "equilibria"}: ${profiles.length - mixes} pure, ${mixes} mixed.`
    + (degenerate ? " The game is degenerate: some action ties with another, so there may be more, even infinitely many." : "");
  found.replaceChildren(el("ol", null, profiles.map((profile) => listed(profile, rows, columns))), ...(size === 2 ? [replies(rows, columns, profiles)] : []));
  address.write({points: points.flat(2).map((text) => text.trim()).join(" "), names: names.join("|")}, !picked);
}

function follow() {
  const said = address.read();
  const given = (said.points || "").split(" ");
  const size = {8: 2, 18: 3}[given.length];
  if (!size) { chooser.value = "0"; return take(data.games[0]); }
  const known = (said.names || "").split("|");
  names = Array.from({length: size}, (_, place) => (known[place] || `action ${place + 1}`).slice(0, 40));
  points = names.map((_, i) => names.map((_, j) => [0, 1].map((seat) => given[2 * (i * size + j) + seat].slice(0, 12))));
  const place = data.games.findIndex((game) => game.options.join("|") === names.join("|") && game.payoff.flat(2).join() === points.flat(2).join());
  chooser.value = place < 0 ? "" : String(place);
  return draw();
}

const chooser = el("select", {onchange: () => chooser.value && take(data.games[Number(chooser.value)], true)},
  el("option", {value: ""}, "your own"), data.games.map((game, place) => el("option", {value: String(place)}, game.name)));
const sizer = el("select", {onchange: () => { chooser.value = ""; resize(Number(sizer.value)); }}, [2, 3].map((size) => el("option", {value: String(size)}, `${size} by ${size}`)));
const table = el("table", {class: "payoffs"});
const told = el("p", {class: "status", role: "status"});
const found = el("div", {class: "found"});

main.append(el("div", {class: "controls"}, el("label", null, "Begin with", chooser), el("label", null, "Size", sizer)),
  el("div", {class: "wide"}, table), el("p", {class: "soft"}, "★ the best reply to what the other does. In every cell: points of the row player, then of the column player."), told, found);
window.addEventListener("hashchange", follow);
follow();
