"use strict";
// What all explorers share. Text is put in as text and never as HTML: it may come from a model.
const data = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("explorer");
main.textContent = "";

/** The bar of all pages: where the reader is, and a search. It is folded on a phone. */
const bar = document.querySelector("nav .menu");
const phone = matchMedia("(max-width: 600px)");
const fold = () => { bar.open = !phone.matches; };
phone.addEventListener("change", fold);
fold();
for (const way of bar.querySelectorAll("a")) if (way.pathname === location.pathname) way.setAttribute("aria-current", "page");
if (!bar.querySelector('a[aria-current][href="explore_claims.html"]')) {
  const words = el("input", {type: "search", "aria-label": "Search all statements", placeholder: "Search all statements"});
  bar.append(el("form", {role: "search", onsubmit: (event) => {
    event.preventDefault();
    location.href = `explore_claims.html#q=${encodeURIComponent(words.value)}`;
  }}, words));
}

/** An element with attributes (on...: what happens then) and children, which are elements or text. */
function el(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same of a picture. */
function svg(tag, attributes, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.flat(Infinity).filter((each) => each !== null && each !== undefined));
  return made;
}

/** A text whose long words, such as paths, may go on in a new line after a sign. */
const breakable = (words) => words.split(/(?<=\w[/_.=])(?=[a-z_])/i).flatMap((part, place) => (place ? [el("wbr"), part] : [part]));

/** The rows of a table that agon_papers.report.explore.packed has packed. */
function unpacked(columns) {
  const whole = Object.entries(columns).map(([name, column]) => [name,
    Array.isArray(column) ? column : column.codes.map((code) => (code < 0 ? null : column.values[code]))]);
  const length = whole.length ? whole[0][1].length : 0;
  return Array.from({length}, (_, place) => Object.fromEntries(whole.map(([name, column]) => [name, column[place]])));
}

/** What is chosen stands in the address behind #, so that a link leads to it, and Back undoes a choice. */
const address = {
  read() {
    return Object.fromEntries(new URLSearchParams(location.hash.slice(1).replaceAll("+", "%2B")));
  },
  /** The part behind # that says these choices. */
  of(values) {
    return Object.entries(values).filter(([, value]) => value !== "" && value !== null)
      .map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  },
  /** `typed`: the address replaces the one before, so that Back does not undo single letters. */
  write(values, typed = false) {
    const said = this.of({...values, from: from || ""});
    if (`#${said}` === (location.hash || "#")) return;
    history[typed ? "replaceState" : "pushState"](null, "", `#${said}`);
  },
};

/** The page of this report from which a link led here, if its address says so: it stays in the address, and a link leads back. */
const [from] = (address.read().from || "").match(/^\w+\.html(#[\w%-]*)?$/) || [];
if (from) main.append(el("p", null, el("a", {href: from}, "◀ Back to the finding")));

/** Choices that narrow rows down: every one offers what the others have left, with how often it is there.
 * `filters`: {column: label}; `chosen`: what is chosen of each, "" for all; `fits(row)`: what else must be so.
 * `data.key` {name, column}: an address with #name=VALUE shows the one row with this value in the column. */
function facets(rows, filters, chosen, fits, changed) {
  const names = Object.keys(filters);
  const {key} = data;
  const passing = (but) => rows.filter((row) => (!key || but || !chosen[key.name] || row[key.column] === chosen[key.name]) && fits(row) && names.every((name) => name === but || !chosen[name] || String(row[name]) === chosen[name]));
  const selects = Object.fromEntries(names.map((name) => [name, el("select", {onchange: (event) => changed(name, event.target.value)})]));
  const known = Object.fromEntries(names.map((name) => [name, [...new Set(rows.map((row) => row[name]))].filter((value) => value !== null)]));
  return {
    names, passing,
    /** What to say of a row that an address or the reader names, and that is not here; null if it is here. */
    unknown: () => (key && chosen[key.name] && !rows.some((row) => row[key.column] === chosen[key.name]) ? `There is no ${key.name} “${chosen[key.name]}” here. Clear all to see every ${key.name}.` : null),
    labels: names.map((name) => el("label", null, filters[name], selects[name])),
    /** Takes what an address says; a filter that does not know the value lets all pass. Of an unknown row, no row is shown. */
    follow(said) {
      if (key) chosen[key.name] = said[key.name] || "";
      for (const name of names) chosen[name] = known[name].some((value) => String(value) === said[name]) ? said[name] : "";
    },
    update() {
      for (const name of names) {
        const left = new Map();
        for (const row of passing(name)) left.set(row[name], (left.get(row[name]) || 0) + 1);
        const all = [...left.values()].reduce((sum, count) => sum + count, 0);
        const offered = known[name].filter((value) => left.has(value) || String(value) === chosen[name]);
        selects[name].replaceChildren(el("option", {value: ""}, key && chosen[key.name] ? "all" : `all (${grouped(all)})`),
          ...offered.map((value) => el("option", {value}, `${value} (${grouped(left.get(value) || 0)})`)));
        selects[name].value = chosen[name] || "";
      }
    },
  };
}

/** Rows of which `step` more are shown at a time, as many as `limit`. `show()` draws them; `row(place)` is where the keyboard goes on;
 * `chosen` is what is chosen, and `follow(said)` takes what the address says of it. */
function paged(step, chosen, show, row, follow) {
  const pages = {
    limit: step,
    more: el("button", {type: "button", onclick: () => {
      const before = pages.limit;
      pages.limit += step;
      show();
      const first = row(before);
      if (!first) return;
      if (first.tagName !== "SUMMARY") first.tabIndex = -1;
      first.focus();
    }}),
    /** Says how many of the rows that were found are not shown. */
    update(found) {
      pages.more.hidden = found <= pages.limit;
      pages.more.textContent = `Show ${grouped(Math.min(step, found - pages.limit))} more of ${grouped(found - pages.limit)}`;
    },
    /** What was chosen, into the address and onto the page. A new choice ends the view of one row. */
    take(values, typed = false) {
      Object.assign(chosen, data.key ? {[data.key.name]: ""} : {}, values);
      pages.limit = step;
      address.write(chosen, typed);
      show();
    },
    follow() {
      follow(address.read());
      pages.limit = step;
      show();
      if (data.key && chosen[data.key.name]) row(0)?.scrollIntoView();
    },
  };
  window.addEventListener("hashchange", pages.follow);
  return pages;
}

const grouped = (number) => number.toLocaleString("en-US");

/** The address of one row. */
const link = (row, text) => el("a", {href: `#${address.of({[data.key.name]: row[data.key.column]})}`, title: `link to this ${data.key.name}`}, text);

/** `rows` in the order of a column; "-column": from the greatest. What is absent comes last, and first from the greatest. */
function ordered(rows, sort) {
  const [, down, by] = sort.match(/^(-?)(.*)$/);
  const order = (a, b) => (a === null || b === null ? (a === null) - (b === null) : typeof a === "number" && typeof b === "number" ? a - b
    : String(a).localeCompare(String(b), "en", {numeric: true}));
  return by ? rows.slice().sort((a, b) => (down ? order(b[by], a[by]) : order(a[by], b[by]))) : rows;
}

/** A choice of the order of rows; `data.sorts`: {column or -column: its name}. */
const sorter = (changed) => el("select", {onchange: (event) => changed(event.target.value)},
  Object.entries({"": "as found", ...data.sorts}).map(([value, name]) => el("option", {value}, name)));

/** A button that saves rows as CSV, with what its columns mean: `data.saved` {column: meaning}. `found()` gives the rows. */
function download(found, name) {
  const quoted = (value) => (/[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  return [el("button", {type: "button", onclick: () => {
    const columns = Object.keys(data.saved);
    const lines = found().map((row) => columns.map((column) => quoted(String(row[column] ?? ""))).join(","));
    const file = URL.createObjectURL(new Blob([[columns.join(","), ...lines, ""].join("\n")], {type: "text/csv"}));
    el("a", {href: file, download: `${name.replaceAll(" ", "_")}.csv`}).click();
    URL.revokeObjectURL(file);
  }}, "Save these rows (CSV)"), el("details", {class: "notes"}, el("summary", null, "What the columns of the saved file mean"),
    el("dl", null, Object.entries(data.saved).map(([column, meaning]) => [el("dt", null, column), el("dd", null, meaning)])))];
}
