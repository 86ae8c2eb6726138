// Matches of repeated games of two, one picture each. data: columns (agon_papers.report.matrix.courses, packed),
// rules; filters, key, saved and sorts: see templates/explore/base.js.
const rows = unpacked(data.columns);
const rules = new Map(data.rules.map((each) => [`${each.name}/${each.variant}`, each]));
const chosen = {match: "", sort: "", round: ""};

const rule = (row) => rules.get(`${row.game}/${row.variant}`);

/** Which of the three looks an action has: the same word looks the same in all variants, where it can. */
function look(game, option) {
  const usual = (rules.get(`${game.name}/default`) || game).options;
  return usual.includes(option) ? usual.indexOf(option) : game.options.indexOf(option);
}

/** Points of both after every round; a round in which a move is missing pays nothing. */
function sofar(row) {
  const sums = [0, 0];
  return [...row.own].map((own, round) => {
    const [a, b] = [own, row.other[round]].map(Number);
    const paid = own === "." || row.other[round] === "." ? [0, 0] : rule(row).payoff[a][b];
    return [0, 1].map((seat) => (sums[seat] += paid[seat]));
  });
}

const options = [...new Set(data.rules.flatMap((each) => each.options))];

/** As many letters of an action as tell it from every other: St is stag, Sc scissors. */
function letters(option) {
  let many = 1;
  while (many < option.length && options.some((other) => other !== option && other.startsWith(option.slice(0, many)))) many += 1;
  return option[0].toUpperCase() + option.slice(1, many);
}

const styles = new Set(rows.map((row) => row.agent));
/** Whom it met: a script, or itself, asked in one of the ways that models are asked. */
const against = (row) => (styles.has(row.opponent) ? `itself (${row.opponent})` : row.opponent);

function tile(game, move) {
  const option = move === "." ? null : game.options[Number(move)];
  return el("span", {class: `tile look${option === null ? "less" : look(game, option)}`}, option === null ? "·" : letters(option));
}

/** A column for every round: own move, the other's, and the points so far. A tap shows the round, and the match alone. */
function strip(row, sums) {
  const game = rule(row), alone = chosen.match === row.match;
  const name = (round) => `round ${round + 1}`;
  const open = (round) => take({match: row.match, round: String(round + 1)});
  return el("div", alone ? {class: "strip", role: "group", "aria-label": "rounds"} : {class: "strip", role: "img", "aria-label": `own moves ${words(game, row.own)}; the other's ${words(game, row.other)}`},
    el("span", {class: "round side", "aria-hidden": "true"}, el("span", null, "round"), el("span", {class: "tile"}, "own"), el("span", {class: "tile"}, "other"), el("span", null, "own sum"), el("span", null, "other's")),
    [...row.own].map((own, round) => el(alone ? "button" : "span",
      {class: "round", title: name(round), onclick: () => open(round), ...(alone ? {type: "button", "aria-label": name(round), "aria-current": chosen.round === String(round + 1) ? "step" : null} : {})},
      el("span", {class: "count"}, String(round + 1)), tile(game, own), tile(game, row.other[round]),
      el("span", {class: "count"}, String(sums[round][0])), el("span", {class: "count"}, String(sums[round][1])))));
}

/** What happened in the chosen round of a match, and links to the points of all moves and to more matches. */
function explained(row, sums) {
  const game = rule(row), round = Number(chosen.round) - 1;
  const before = round > 0 ? sums[round - 1] : [0, 0];
  const move = (moves, seat) => `${moves[round] === "." ? "no readable move" : game.options[Number(moves[round])]} (${sums[round][seat] - before[seat]} points)`;
  const alike = Object.fromEntries([...narrowed.names, "sort"].map((name) => [name, name === "sort" ? "" : row[name]]));
  const points = {points: game.payoff.flat(2).join(" "), names: game.options.join("|")};
  return [el("p", {"aria-live": "polite"}, chosen.round ? `Round ${chosen.round} of ${sums.length}: own move ${move(row.own, 0)}, the other's move ${move(row.other, 1)}. So far ${sums[round].join(" to ")} points.` : "Choose a round to see what happened in it."),
    el("p", null, el("a", {href: `explore_matrix.html#${address.of(points)}`}, "the points of all moves in this game"), " · ",
      el("a", {href: `#${address.of(alike)}`}, "all matches of this pairing"), " · ", el("a", {href: "#"}, "all matches"))];
}

const words = (game, moves) => [...moves].map((move) => (move === "." ? "none" : game.options[Number(move)])).join(", ");

/** The points so far of both as lines, each with its name at its end. */
function lines(sums) {
  const [width, height, left, right] = [340, 110, 34, 74];
  const all = [0, ...sums.flat()];
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const x = (round) => left + (round / sums.length) * (width - left - right);
  const y = (value) => height - 14 - ((value - low) / (high - low || 1)) * (height - 28);
  const path = (seat) => `M${x(0)} ${y(0)}` + sums.map((each, round) => `L${x(round + 1).toFixed(1)} ${y(each[seat]).toFixed(1)}`).join("");
  const ends = [0, 1].map((seat) => y(sums[sums.length - 1][seat]));
  const apart = Math.abs(ends[0] - ends[1]) < 15 ? (ends[0] <= ends[1] ? [-8, 8] : [8, -8]) : [0, 0];
  return svg("svg", {viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true"},
    svg("line", {x1: left, x2: width - right, y1: y(0), y2: y(0), class: "axis"}),
    [low, high].map((value) => svg("text", {x: left - 4, y: y(value) + 4, "text-anchor": "end"}, String(value))),
    svg("text", {x: (left + width - right) / 2, y: height - 3, "text-anchor": "middle", class: "tiny"}, "points after each round"),
    svg("path", {d: path(1), class: "line theirs"}), svg("path", {d: path(0), class: "line ours"}),
    [0, 1].map((seat) => svg("text", {x: width - right + 4, y: ends[seat] + apart[seat] + 4}, `${["own", "other"][seat]} ${sums[sums.length - 1][seat]}`)));
}

function pictured(row) {
  const sums = sofar(row);
  return el("section", {class: "match"},
    el("h2", null, `${row.model}, ${row.agent}, against ${against(row)}: ${row.points} to ${row.points_other} points`),
    el("p", {class: "soft"}, `${row.family}, ${row.variant}, repetition ${row.repetition + 1} (`, link(row, row.match), ")"),
    strip(row, sums), chosen.match === row.match ? explained(row, sums) : null, lines(sums));
}

/** What the matches have in common: how often every action was taken in each round, if all have the same actions. */
function together(found) {
  const [game] = found.map(rule);
  if (found.some((row) => rule(row).options.join() !== game.options.join())) {
    return el("p", {class: "soft"}, "Choose a game and a variant to see all its matches in one picture.");
  }
  const rounds = Math.max(...found.map((row) => row.own.length));
  const [wide, tall, left] = [24, 120, 42];
  const bars = Array.from({length: rounds}, (_, round) => {
    let top = 10;
    return game.options.map((option, place) => {
      const share = found.filter((row) => row.own[round] === String(place)).length / found.length;
      const bar = svg("rect", {x: left + round * wide, y: top, width: wide - 3, height: share * tall, class: `look${look(game, option)}`},
        svg("title", null, `round ${round + 1}, ${option}: ${Math.round(100 * share)} %`));
      top += share * tall;
      return bar;
    });
  });
  const all = found.map((row) => row.own).join("");
  const shares = [...game.options.map((option, place) => [option, String(place)]), ["no readable move", "."]]
    .map(([name, move]) => [name, [...all].filter((each) => each === move).length])
    .filter(([name, taken]) => taken || game.options.includes(name))
    .map(([name, taken]) => `${name} ${taken && taken / all.length < 0.0005 ? "less than 0.1" : (100 * taken / all.length).toFixed(1)} %`);
  return [el("p", null, `All rounds of these ${grouped(found.length)} matches, own moves: ${shares.join(", ")}.`),
    svg("svg", {viewBox: `0 0 ${left + rounds * wide} ${tall + 48}`, width: left + rounds * wide, height: tall + 48, role: "img", "aria-label": `Share of own moves by round: ${shares.join(", ")} over all rounds`},
      svg("defs", null, svg("pattern", {id: "hatched", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)"}, svg("rect", {width: 6, height: 6, class: "paper"}), svg("line", {y2: 6, class: "axis"}))),
      svg("text", {x: left + rounds * wide / 2, y: tall + 43, "text-anchor": "middle", class: "tiny"}, "round"),
      bars, [["100 %", 16], ["0 %", tall + 10]].map(([text, y]) => svg("text", {x: left - 4, y, "text-anchor": "end", class: "tiny"}, text)),
      Array.from({length: rounds}, (_, round) => (round % 4 === 3 || round === 0 ? svg("text", {x: left + round * wide + wide / 2 - 2, y: tall + 27, "text-anchor": "middle", class: "tiny"}, String(round + 1)) : null)))];
}

function show() {
  wanted.value = chosen.match;
  narrowed.update();
  order.value = chosen.sort;
  const found = ordered(narrowed.passing(), chosen.sort);
  status.textContent = found.length ? `${grouped(found.length)} of ${grouped(rows.length)} matches` : narrowed.unknown() || "No match fits. Choose less, or clear all.";
  const games = [...new Set(found.map(rule))];
  key.replaceChildren(...games.length ? [...new Map(games.flatMap((game) => game.options.map((option) => [option, tile(game, String(game.options.indexOf(option)))])))]
    .flatMap(([option, made]) => [made, ` ${option}  `]).concat(["· no readable move. Parts of bars look like these boxes."]) : []);
  above.replaceChildren(...found.length > 1 ? [together(found)].flat() : []);
  list.replaceChildren(...found.slice(0, pages.limit).map(pictured));
  pages.update(found.length);
}

/** What was chosen; a choice of other matches ends the view of one round. */
const take = (values) => pages.take({round: "", ...values});
const narrowed = facets(rows, data.filters, chosen, () => true, (name, value) => take({[name]: value}));
const wanted = el("input", {type: "search", autocomplete: "off", spellcheck: "false", onchange: () => take({match: wanted.value.trim()})});
const order = sorter((sort) => take({sort}));
const status = el("p", {class: "status", role: "status"});
const key = el("p", {class: "key"});
const above = el("div");
const list = el("div");
const pages = paged(12, chosen, show, (place) => list.children[place], (said) => {
  narrowed.follow(said);
  chosen.sort = said.sort in data.sorts ? said.sort : "";
  const one = chosen.match && rows.find((row) => row.match === chosen.match);
  chosen.round = one && /^[1-9]\d*$/.test(said.round) && Number(said.round) <= one.own.length ? said.round : "";
});

main.append(el("div", {class: "controls"}, narrowed.labels, el("label", null, "Match (its id)", wanted), el("label", null, "Order", order),
  el("button", {type: "button", onclick: () => take(Object.fromEntries(["match", "sort", ...narrowed.names].map((name) => [name, ""])))}, "Clear all"),
  download(narrowed.passing, "matches")),
  status, key, above, list, pages.more);
pages.follow();
