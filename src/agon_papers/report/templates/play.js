"use strict";
// A game of two, against the script that plays the best reply to the last action, and begins at random.
// Data: actions, points (row: mine), rounds, best, rule, models.
(() => {
  const game = JSON.parse(document.getElementById("game").textContent);
  const place = document.getElementById("play");
  const made = (tag, text, attributes = {}) => {
    const element = Object.assign(document.createElement(tag), attributes);
    element.textContent = text;
    return element;
  };
  let round, points, lines, next;

  function show() {
    place.textContent = "";
    place.append(made("p", game.rule));
    if (round < game.rounds) {
      place.append(made("p", `Round ${round + 1} of ${game.rounds}. Your points: ${points}.`));
      for (const action of game.actions) place.append(made("button", action, {type: "button", onclick: () => play(action)}));
    } else {
      const best = game.best * game.rounds;
      place.append(made("p", `You have ${points} of ${best} possible points, ${Math.round(100 * points / best)} % of the best total. ${game.models}`));
      place.append(made("button", "Again", {type: "button", onclick: begin}));
    }
    const status = made("p", lines.slice(round < game.rounds ? -4 : 0).join(" · "), {className: "small"});
    status.setAttribute("role", "status");
    place.append(status);
  }

  function play(action) {
    const [mine, other] = [game.actions.indexOf(action), game.actions[next]];
    const paid = game.points[mine][next];
    next = game.points.reduce((best, row, place) => (row[mine] > game.points[best][mine] ? place : best), 0);
    points += paid;
    round += 1;
    lines.push(`${round}: you ${action}, script ${other}, ${paid > 0 ? "+" : ""}${paid}`);
    show();
    place.querySelector("button").focus();
  }

  function begin() {
    [round, points, lines, next] = [0, 0, [], Math.floor(Math.random() * game.actions.length)];
    show();
  }

  begin();
})();
