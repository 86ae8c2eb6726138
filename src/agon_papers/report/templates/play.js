"use strict";
// Rock, paper, scissors with other words, against a script that repeats a cycle. Data: actions, points (row: mine), cycle, rounds, best, rule, models.
(() => {
  const game = JSON.parse(document.getElementById("game").textContent);
  const place = document.getElementById("play");
  const made = (tag, text, attributes = {}) => {
    const element = Object.assign(document.createElement(tag), attributes);
    element.textContent = text;
    return element;
  };
  let round, points, lines;

  function show() {
    place.textContent = "";
    place.append(made("p", game.rule));
    if (round < game.rounds) {
      place.append(made("p", `Round ${round + 1} of ${game.rounds}. Your points: ${points}.`));
      for (const action of game.actions) place.append(made("button", action, {type: "button", onclick: () => play(action)}));
    } else {
      const best = game.best * game.rounds;
      place.append(made("p", `You have ${points} of ${best} possible points. The script repeats ${game.cycle.join(", ")}. ${game.models}`));
      place.append(made("button", "Again", {type: "button", onclick: begin}));
    }
    const status = made("p", lines.slice(round < game.rounds ? -4 : 0).join(" · "), {className: "small"});
    status.setAttribute("role", "status");
    place.append(status);
  }

  function play(action) {
    const other = game.cycle[round % game.cycle.length];
    const paid = game.points[game.actions.indexOf(action)][game.actions.indexOf(other)];
    points += paid;
    round += 1;
    lines.push(`${round}: you ${action}, script ${other}, ${paid > 0 ? "+" : ""}${paid}`);
    show();
    place.querySelector("button").focus();
  }

  function begin() {
    [round, points, lines] = [0, 0, []];
    show();
  }

  begin();
})();
