// A table to search and to filter. data: columns (packed); noun, nouns; search (columns); filters {column: label};
// and cards {head, sign, line, details {column: label}, folded {column: label}} or table {column: label}; marked {column: column with a sign};
// signs {value: [class, sign]}; numbers (columns); key {name, column, of}: see base.js, and `of`, the columns that make the column;
// saved and sorts: see base.js; links {value of column `paper`: {text: address}}.
const rows = unpacked(data.columns);
const chosen = {q: "", sort: ""};

if (data.key?.of) for (const row of rows) row[data.key.column] = data.key.of.map((name) => row[name]).join("/");
/** A text as the search compares it: phones write other apostrophes, and some people none. */
const plain = (words) => words.toLowerCase().replace(/['’‘]/g, "").replace(/\s+/g, " ").trim();
for (const row of rows) row.found = plain(data.search.map((name) => row[name] ?? "").join(" "));

const asked = () => plain(chosen.q);
const narrowed = facets(rows, data.filters, chosen, (row) => asked().split(" ").every((word) => row.found.includes(word)), (name, value) => pages.take({[name]: value}));

/** The rows that hold all words and pass all filters, sorted by a column, or else first those that hold the words as they stand. */
function passing() {
  const kept = narrowed.passing(), phrase = asked();
  return chosen.sort ? ordered(kept, chosen.sort) : kept.filter((row) => row.found.includes(phrase)).concat(kept.filter((row) => !row.found.includes(phrase)));
}

const text = (value) => (value === null || value === undefined || value === "" ? "not given" : String(value));

function signed(value) {
  const [kind, sign] = data.signs[value] || ["", ""];
  return [el("span", {class: `sign ${kind}`, "aria-hidden": "true"}, sign), ` ${value}`];
}

function card(row, open) {
  const {head, sign, line, details, folded} = data.cards;
  const listed = (names) => Object.entries(names).filter(([name]) => row[name] !== null && row[name] !== "")
    .map(([name, label]) => [el("dt", null, label), el("dd", null, breakable(text(row[name])))]);
  return el("details", {open},
    el("summary", null, ...(sign ? [el("strong", null, ...signed(row[sign])), ": "] : []), text(row[head]),
      el("span", {class: "soft"}, line.map((name) => row[name]).filter(Boolean).join(" · "))),
    el("dl", null, listed(details)), folded ? el("details", {class: "folded"}, el("summary", null, "All numbers"), el("dl", null, listed(folded))) : null,
    data.key ? el("p", {class: "soft more"}, link(row, "link to this " + data.noun),
      Object.entries((data.links || {})[row.paper] || {}).map(([said, href]) => [" · ", el("a", {href}, said)])) : null);
}

function tabled(some) {
  const named = Object.entries(data.table).filter(([name]) => !chosen[name]);
  const kind = (name) => ((data.numbers || []).includes(name) ? "number" : null);
  const mark = (row, name) => (name in data.marked ? [" ", signed(row[data.marked[name]])] : []);
  return el("table", {class: "rows"},
    el("thead", null, el("tr", null, named.map(([name, label]) => el("th", {scope: "col", class: kind(name), "aria-sort": {[name]: "ascending", [`-${name}`]: "descending"}[chosen.sort] || null},
      el("button", {type: "button", class: "head", onclick: () => pages.take({sort: chosen.sort === name ? `-${name}` : name})},
        label, {[name]: " ▲", [`-${name}`]: " ▼"}[chosen.sort] || ""))), data.key ? el("th", {scope: "col"}, "link") : null)),
    el("tbody", null, some.map((row) => el("tr", null, named.map(([name, label]) => el("td", {"data-label": label, class: kind(name)},
      el("span", null, text(row[name]), mark(row, name)))), data.key ? el("td", {"data-label": "link"}, link(row, "#")) : null))));
}

/** How many rows there are of each sign. */
function counted(some) {
  const name = data.cards ? data.cards.sign : data.counted;
  if (!name || !some.length) return null;
  const parts = Object.keys(data.signs).map((value) => [value, some.filter((row) => row[name] === value).length]).filter(([, count]) => count);
  const said = parts.map(([value, count]) => `${value} ${grouped(count)}`).join(", ");
  return [el("div", {class: "bar", role: "img", "aria-label": said}, parts.map(([value, count]) => {
    const part = el("span", {class: data.signs[value][0]});
    part.style.width = `${(100 * count) / some.length}%`;
    return part;
  })), el("p", {class: "soft"}, parts.map(([value, count]) => [...signed(value), ` ${grouped(count)}  `]))];
}

function show() {
  const found = passing();
  narrowed.update();
  order.value = chosen.sort;
  status.textContent = found.length
    ? `${grouped(found.length)} of ${grouped(rows.length)} ${data.nouns}`
    : narrowed.unknown() || `No ${data.noun} matches. Use fewer words, or clear all filters.`;
  const some = found.slice(0, pages.limit);
  const alone = found.length === 1 || (data.cards && some.length && plain(text(some[0][data.cards.head])) === asked());
  list.replaceChildren(...(data.cards ? some.map((row, place) => card(row, Boolean(alone && place === 0))) : some.length ? [tabled(some)] : []));
  overview.replaceChildren(...[counted(found)].flat(2).filter(Boolean));
  if (typeof picture === "function") drawing.replaceChildren(...[picture(found)].flat().filter(Boolean));
  pages.update(found.length);
}

function clear() {
  search.value = "";
  pages.take(Object.fromEntries(["q", "sort", ...narrowed.names].map((name) => [name, ""])));
}

const search = el("input", {type: "search", autocomplete: "off", spellcheck: "false", oninput: () => pages.take({q: search.value}, true)});
const order = sorter((sort) => pages.take({sort}));
const status = el("p", {class: "status", role: "status"});
const overview = el("div");
const drawing = el("div");
const list = el("div");
const pages = paged(60, chosen, show, (place) => list.querySelectorAll(":scope > details > summary, tbody tr")[place], (said) => {
  chosen.q = search.value = said.q || "";
  chosen.sort = (said.sort || "").replace(/^-/, "") in data.columns ? said.sort : "";
  narrowed.follow(said);
});

main.append(
  el("div", {class: "controls", role: "search"}, el("label", {class: "wide"}, "Search for words", search),
    narrowed.labels, data.sorts ? el("label", null, "Order", order) : null,
    el("button", {type: "button", onclick: clear}, "Clear all"), download(passing, data.nouns)),
  status, overview, drawing, list, pages.more);
pages.follow();
