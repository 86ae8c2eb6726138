// The moves of any game for stepper.js. data: games (agon_papers.report.stepper.match_data, and title, result, rules, silent, echo), filters {column: label}.
const opening = "Nobody has moved yet.";

/** What an action is, by the phase in which games ask for it: [sign, verb], and for private answers what they are about. */
const PHASES = {clue: ["“", "gives the clue"], vote: ["☑", "votes for"], guess: ["?", "guesses"], propose: ["⅓", "proposes"], contribute: ["+", "gives"],
  identify: ["?", "thinks:", "whose role it thinks it knows"], evaluate: ["?", "thinks that each suspects:", "whom it thinks that each player suspects"]};
const phase = (move) => PHASES[move.phase] || ["•", "plays"];
const sign = (move) => phase(move)[0];
const signed = (points) => `${points > 0 ? "+" : ""}${+points.toFixed(2)}`;

/** What was done; a clue in quotation marks. */
const done = (move, act) => (move.phase === "clue" && act.does !== data.unreadable ? `“${act.does}”` : act.does);

function told(move) {
  const [, verb, about] = phase(move);
  const names = move.acts.map((act) => game.players[act.seat].name);
  const acts = about ? `${names.join(", ")}: each says to nobody else ${about}` : move.acts.map((act, place) => `${names[place]} ${act.does === data.unreadable ? "gives no readable answer" : `${verb} ${done(move, act)}`}`).join("; ");
  return acts + (move.given ? " (given by the setting)" : "") + (move.paid.some(Boolean) ? `. Points: ${move.paid.map(signed).join(", ")}` : "");
}

const quoted = (words) => words.map((word) => `“${word}”`).join(", ");

function details() {
  return [el("p", {class: "soft"}, [game.rules, game.pays].filter(Boolean).join(" ")), el("p", {class: "soft"}, [game.secrets.length ? `Secret: ${quoted(game.secrets)}.` : "", game.silent, game.echo].filter(Boolean).join(" "))];
}

/** What the short names of the match mean. */
function explained() {
  const means = Object.entries(game.names);
  return means.length ? [el("details", {class: "notes"}, el("summary", null, "What the short names of this match mean"), el("dl", null, means.map(([name, said]) => [el("dt", null, name), el("dd", null, said)])))] : [];
}

/** The tiles of moves with few options, and what they mean. */
function key() {
  const acts = game.moves.filter((move) => move.phase === "move").flatMap((move) => move.acts).filter((act) => act.place !== undefined);
  const known = [...new Map(acts.sort((one, other) => one.place - other.place).map((act) => [act.does, act]))];
  return el("p", {class: "key soft"}, known.map(([does, act]) => [el("span", {class: `tile look${act.place}`}, act.tile), ` ${does}  `]));
}

/** A column for every move, with a tile for every player that moved. */
function strip(at) {
  return el("div", {class: "strip"},
    el("span", {class: "column side", "aria-hidden": "true"}, el("span", null, "move"), game.players.map((player) => el("span", {class: "tile"}, player.name))),
    game.moves.map((move, place) => el("button", {type: "button", class: "column", "aria-label": `move ${place + 1}, ${heading(move)}`, "aria-current": place + 1 === at ? "step" : null, onclick: () => go(place + 1, true)},
      el("span", {class: "count"}, String(place + 1)),
      game.players.map((_, seat) => {
        const act = move.acts.find((each) => each.seat === seat);
        const seen = act && place < at;
        const look = !seen ? 1 : act.does === data.unreadable ? "less" : act.place ?? 1;
        return el("span", {class: act ? `tile look${look}` : "tile none"}, seen ? (act.tile === "…" ? sign(move) : act.tile) : "");
      }))));
}

/** What the seat last left of something, up to this move. */
function latest(at, seat, name) {
  return game.moves.slice(0, at).flatMap((move) => move.acts).filter((act) => act.seat === seat && name in act).pop()?.[name];
}

function suspicion(row) {
  return [el("p", {class: "soft"}, "Suspects:"), el("dl", {class: "suspects"}, row.map((share, seat) => {
    const part = el("span", {class: "holds"});
    part.style.width = `${100 * share}%`;
    return share === null ? [] : [el("dt", null, game.players[seat].name), el("dd", null, el("span", {class: "bar", "aria-hidden": "true"}, part), ` ${Math.round(100 * share)} %`)];
  }))];
}

function seated(seat, at) {
  const player = game.players[seat];
  const act = at ? game.moves[at - 1].acts.find((each) => each.seat === seat) : null;
  const sum = game.moves.slice(0, at).reduce((points, move) => points + move.paid[seat], 0);
  const paid = at ? game.moves[at - 1].paid[seat] : 0;
  const believes = latest(at, seat, "believes");
  const thinks = latest(at, seat, "thinks");
  return el("section", null, el("h2", null, player.name, player.role ? `, ${player.role}` : ""),
    el("p", {class: "soft"}, [player.model, player.agent, player.lacks.length ? `does not know ${quoted(player.lacks)}` : ""].filter(Boolean).join(", ")),
    el("p", null, act ? [el("span", {class: "soft"}, act.does === data.unreadable ? "" : phase(game.moves[at - 1])[1]), el("strong", {class: "did"}, done(game.moves[at - 1], act).replaceAll("; ", "\n"))] : el("span", {class: "soft"}, at ? "does not move now" : "\u00a0")),
    act && game.moves[at - 1].given ? el("p", {class: "soft"}, "(given by the setting)") : null,
    act && act.wrong ? el("p", {class: "soft"}, `(${act.wrong})`) : null,
    act && act.says && act.says !== act.does ? [el("p", {class: "soft"}, "Its whole answer:"), el("blockquote", null, act.says)] : null,
    el("p", null, `${+sum.toFixed(2)} points so far`, paid ? el("strong", null, ` (${signed(paid)})`) : ""),
    believes ? suspicion(believes[seat]) : null,
    thinks ? el("details", null, el("summary", null, "What it thought and told nobody"), el("blockquote", null, thinks)) : null);
}

function board(at) {
  return [key(), strip(at), el("div", {class: "board"}, game.players.map((_, seat) => seated(seat, at)))];
}
