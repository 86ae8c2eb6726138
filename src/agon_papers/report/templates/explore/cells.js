// Above a list of printed cells: how much of every table agrees, or of one table its numbers against the recomputed ones.
const SIDE = 340, EDGE = 48;

function picture(found) {
  if (!found.length) return null;
  return chosen.table ? [el("h2", null, `${chosen.table}: printed against recomputed`), ...against(found)] : [el("h2", null, "Table by table"), tables(found)];
}

const share = (some, name) => some.filter((row) => row[name] === "agrees").length;

/** A line per table; its name leads to its cells. */
function tables(found) {
  const groups = new Map();
  for (const row of found) groups.set(row.table, [...(groups.get(row.table) || []), row]);
  const bar = (part, all) => {
    const agreeing = el("span", {class: "holds"});
    agreeing.style.width = `${(100 * part) / all}%`;
    return el("div", {class: "bar", "aria-hidden": "true"}, agreeing);
  };
  return el("details", {open: groups.size <= 12}, el("summary", null, `${groups.size} tables and figures, each with how many cells agree`),
    el("table", {class: "rows"},
      el("thead", null, el("tr", null, ["table", "agree literally", "", "agree as reconciled", ""].map((name) => el("th", {scope: "col"}, name)))),
      el("tbody", null, [...groups].map(([name, some]) => el("tr", null,
        el("td", {"data-label": "table"}, el("button", {type: "button", onclick: () => { take({table: name}); status.scrollIntoView(); }}, name)),
        ["literal", "reconciled"].map((reading) => {
          const known = some.filter((row) => row[reading] !== "not recorded");
          const told = known.length ? `${grouped(share(known, reading))} of ${grouped(known.length)}` : "not recorded";
          return [el("td", {"data-label": reading, class: "number"}, told), el("td", {class: "drawn"}, known.length ? bar(share(known, reading), known.length) : "")];
        }))))));
}

/** The two readings side by side, on one scale; a cell that agrees lies on the line. */
function against(found) {
  const all = found.flatMap((row) => [row.published, row.first_literal, row.first_reconciled]).filter((value) => value !== null);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const at = (value) => EDGE + ((value - low) / (high - low || 1)) * (SIDE - EDGE - 12);
  return [el("div", {class: "pair"}, ["literal", "reconciled"].map((reading) => {
    const known = found.filter((row) => row[`first_${reading}`] !== null);
    const agree = share(known, reading);
    const told = `${reading}: ${grouped(agree)} of ${grouped(known.length)} agree`;
    const mark = (row) => {
      const [x, y] = [at(row[`first_${reading}`]), SIDE - at(row.published)];
      return row[reading] === "agrees" ? svg("circle", {cx: x, cy: y, r: 3, class: "agree"})
        : svg("path", {d: `M${x - 4} ${y - 4}l8 8m0 -8l-8 8`, class: "differ"});
    };
    return el("figure", null, el("figcaption", null, told),
      svg("svg", {viewBox: `0 0 ${SIDE} ${SIDE}`, width: SIDE, height: SIDE, role: "img", "aria-label": told},
        svg("line", {x1: at(low), y1: SIDE - at(low), x2: at(high), y2: SIDE - at(high), class: "axis"}),
        known.map(mark),
        [low, high].map((value, place) => [
          svg("text", {x: at(value), y: SIDE - EDGE + 20, "text-anchor": place ? "end" : "start"}, String(+value.toFixed(2))),
          svg("text", {x: EDGE - 8, y: SIDE - at(value) + (place ? 8 : 0), "text-anchor": "end"}, String(+value.toFixed(2)))]),
        svg("text", {x: SIDE / 2, y: SIDE - 8, "text-anchor": "middle"}, "recomputed"),
        svg("text", {x: 14, y: SIDE / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${SIDE / 2})`}, "printed")));
  })), el("p", {class: "soft"}, "A dot agrees and lies on the line. A cross differs. Means only.")];
}
