// Keeps a page up to date, and sends its forms without leaving it. Without this file every form still works: one reloads instead.
"use strict";
(() => {
  const by = (id) => document.getElementById(id);
  const main = document.querySelector("main");
  const words = JSON.parse(document.body.dataset.words), said = (which, number) => words[which].replace("{}", number);
  const fields = (part) => [...part.querySelectorAll("input[name], select[name], textarea[name]")];
  const tick = (field) => field.type === "checkbox" || field.type === "radio";
  const called = (field) => field.name + (tick(field) ? "=" + field.value : "");
  const value = (field) => (tick(field) ? field.checked : field.value);
  const fresh = (field) => tick(field) ? field.checked === field.defaultChecked
    : field.tagName === "SELECT" ? field.selectedOptions[0]?.defaultSelected ?? true : field.value === field.defaultValue;
  const question = (part) => part.querySelector("[name=question]")?.value;

  // ---- what has changed is put in its place; focus, what is being typed, and what was folded away stay as they are
  function put(part, html, kept) {
    const at = document.activeElement, inside = part.contains(at) && at !== part;
    const which = inside && (at.name ? `[name="${CSS.escape(at.name)}"]` + (tick(at) || at.tagName === "BUTTON" ? `[value="${CSS.escape(at.value)}"]` : "")
      : at.id ? "#" + CSS.escape(at.id) : at.tagName.toLowerCase());
    const caret = inside && typeof at.selectionStart === "number" ? [at.selectionStart, at.selectionEnd] : null;
    const before = new Map(fields(part).map((each) => [called(each), each])), asked = question(part);
    const folds = new Map([...part.querySelectorAll("details[data-touched]")].map((each) => [each.firstElementChild?.textContent, each.open]));
    part.innerHTML = html;
    if (question(part) === asked) for (const each of fields(part)) {
      const old = before.get(called(each));
      if (old && old.type !== "hidden" && kept(old)) { if (tick(each)) each.checked = old.checked; else each.value = old.value; }
    }
    for (const each of part.querySelectorAll("details")) {
      const open = folds.get(each.firstElementChild?.textContent);
      if (open !== undefined) { each.open = open; each.dataset.touched = ""; }
    }
    if (inside) {
      const again = part.querySelector(which) || part.querySelector("[autofocus]") || part.querySelector("input:not([type=hidden]), select, textarea, button")
        || (part.tabIndex = -1, part);
      again.focus({ preventScroll: true });
      if (caret && again.setSelectionRange) try { again.setSelectionRange(...caret); } catch { /* a kind of field without a caret */ }
    }
  }
  function show(parts, kept = (field) => !fresh(field)) {
    for (const [id, html] of Object.entries(parts)) {
      const part = by(id);
      if (!part) return reload();
      put(part, html, kept);
    }
    ready();
  }
  function scrolled() {  // what keys can scroll, also after the window or its zoom has changed
    for (const each of document.querySelectorAll(".scroll")) if (each.scrollWidth > each.clientWidth) each.tabIndex = 0;
  }
  addEventListener("resize", scrolled);
  function ready() {  // after every change: what can be scrolled, the clock and the window's title
    scrolled();
    for (const each of document.querySelectorAll("[data-left]")) {
      each.dataset.until = Date.now() + 1000 * each.dataset.left;
      each.removeAttribute("data-left");
    }
    const go = document.querySelector("[data-go]");  // a match that begins, or what another tab has done; a form on its way goes on by itself
    if (go && !document.querySelector("[data-sending]")) location.replace(go.dataset.go);
    const title = document.querySelector("[data-title]");
    if (title) document.title = title.dataset.title;
  }
  setInterval(() => {
    for (const each of document.querySelectorAll("[data-until]")) {
      const left = Math.max(0, Math.round((each.dataset.until - Date.now()) / 1000));
      each.textContent = left >= 120 ? said("minutes", Math.floor(left / 60)) : said(left === 1 ? "second" : "seconds", left);
      each.parentElement.classList.toggle("bad", left <= 10);
    }
  }, 1000);
  document.addEventListener("toggle", (event) => { event.target.dataset.touched = ""; }, true);

  function old(at) {  // whether something newer is shown already
    if (at && Number(at) < Number(main.dataset.at)) return true;
    if (at) main.dataset.at = at;
    return false;
  }
  const elsewhere = (answer) => answer.redirected && answer.url.split("#")[0] !== location.href.split("#")[0];
  async function reload() {
    const answer = await fetch(location.href, { headers: { "X-Hall": "1" } });
    if (elsewhere(answer)) return location.replace(answer.url);
    take(await answer.text(), (field) => !fresh(field));
  }
  function take(html, kept) {
    const page = new DOMParser().parseFromString(html, "text/html"), parts = {};
    if (old(page.querySelector("main")?.dataset.at)) return;  // what came as news meanwhile is newer
    if (live) live.dataset.seen = page.querySelector("main").dataset.seen || "";
    const found = [...page.querySelectorAll("[data-part]")];
    if (!found.length || found.some((each) => !by(each.id))) put(main, page.querySelector("main").innerHTML, kept);
    else for (const each of found) if (by(each.id).innerHTML !== each.innerHTML) parts[each.id] = each.innerHTML;
    show(parts, kept);
  }

  // ---- forms
  const sent = new WeakMap();  // form -> what stops its last request
  let timer;
  async function send(form, button) {
    clearTimeout(timer);
    sent.get(form)?.abort();
    const stop = new AbortController(), data = new FormData(form);
    if (button?.name) data.append(button.name, button.value);
    const then = new Map(fields(form).map((each) => [called(each), value(each)]));
    const kept = (field) => button ? then.has(called(field)) && then.get(called(field)) !== value(field) : !fresh(field);
    sent.set(form, stop);
    if (button) form.dataset.sending = "";
    const slow = setTimeout(() => note(form, button ? said("sending") : ""), 400), late = setTimeout(() => stop.abort("late"), 20000);
    try {
      const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(data), headers: { "X-Hall": "1" }, signal: stop.signal });
      if (elsewhere(answer)) { location.href = answer.url; return; }
      const html = await answer.text();
      if (answer.status >= 500 || [403, 404, 413, 429].includes(answer.status)) throw new Error(why(html));
      if (sent.get(form) === stop) { delete form.dataset.sending; take(html, kept); }
    } catch (error) {
      if (button && sent.get(form) === stop) note(form, error instanceof TypeError || stop.signal.aborted
        ? said("unsent") : error.message);
    } finally {
      clearTimeout(slow); clearTimeout(late);
      if (sent.get(form) === stop) delete form.dataset.sending;
    }
  }
  function why(html) {  // of a page that says why it is none, or of a line of text
    const page = new DOMParser().parseFromString(html, "text/html");
    return (page.querySelector("main [role=alert]") || page.body).textContent.trim().slice(0, 200);
  }
  function note(form, words) {
    const place = form.querySelector(".sent");
    if (place) place.textContent = words;
  }
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post") return;
    if ("sending" in form.dataset) return event.preventDefault();  // pressed twice
    if (!form.matches("[data-stay]")) { form.dataset.sending = ""; return; }
    event.preventDefault();
    send(form, event.submitter || form.querySelector("button"));
  });
  addEventListener("pageshow", () => document.querySelectorAll("[data-sending]").forEach((each) => delete each.dataset.sending));
  document.addEventListener("keydown", (event) => {  // Enter presses what the field says
    const press = event.key === "Enter" && event.target.dataset?.press;
    const button = press && event.target.form.querySelector(`button[value="${CSS.escape(press)}"]`);
    if (button) { event.preventDefault(); event.target.form.requestSubmit(button); }
  });
  for (const [kind, wait] of [["input", 500], ["change", 10]]) document.addEventListener(kind, (event) => {
    const form = event.target.form, typed = ["TEXTAREA", "INPUT"].includes(event.target.tagName) && !tick(event.target);
    if (!form?.matches("[data-stay]") || (kind === "input") !== typed || "sending" in form.dataset) return;
    clearTimeout(timer);
    timer = setTimeout(() => send(form, null), wait);
  });

  // ---- pages that are only looked at: a link or a choice puts the new page in place of the old one; its address stays good
  async function go(url, past) {
    try {
      const html = await (await fetch(url)).text();
      if (!past) history.pushState(null, "", url);
      put(main, new DOMParser().parseFromString(html, "text/html").querySelector("main").innerHTML, () => false);
      ready();
      by("went").textContent = main.querySelector("[role=alert], [data-said]").textContent;
    } catch { location.href = url; }
  }
  const address = (form) => location.pathname + "?" + new URLSearchParams(new FormData(form));
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-swap] a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (!link.hasAttribute("aria-disabled")) go(link.href);
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-swap]")) return;
    event.preventDefault();
    go(address(event.target));
  });
  document.addEventListener("change", (event) => { if (event.target.matches("form[data-swap] :is(select, [type=checkbox], [type=number])")) go(address(event.target.form)); });
  if (document.querySelector("[data-swap]")) addEventListener("popstate", () => go(location.href, true));

  // ---- keys that answer a question of round buttons, and go on to the next; they can be turned off
  const keys = by("keys");
  if (keys) {
    keys.closest("p").hidden = false;
    keys.checked = localStorage.getItem("keys") !== "off";
    keys.addEventListener("change", () => localStorage.setItem("keys", keys.checked ? "on" : "off"));
    document.addEventListener("keydown", (event) => {
      const at = event.target, key = event.key.toLowerCase();
      if (!keys.checked || event.ctrlKey || event.metaKey || event.altKey || !/^[0-9a-z]$/.test(key)) return;
      if (at !== document.body && !at.matches("[type=radio]")) return;
      const all = [...document.querySelectorAll("[data-keys] fieldset")];
      const own = at.closest("fieldset") || all.find((each) => !each.querySelector(":checked")), radio = own?.querySelector(`[data-key="${key}"]`);
      if (!radio) return;
      event.preventDefault();
      radio.checked = true;
      radio.dispatchEvent(new Event("change", { bubbles: true }));
      const next = all[all.indexOf(own) + 1];
      (next ? next.querySelector(":checked") || next.querySelector("input") : document.querySelector("[data-keys] button.main")).focus();
    });
  }

  // ---- what is filled in and not sent is there after a reload, in this tab
  const form = document.querySelector("form[data-keep]"), unsent = "unsent " + location.pathname + location.search;
  try {
    const [stage, known] = JSON.parse(sessionStorage.getItem(unsent)) || [];
    if (stage !== form?.dataset.keep) sessionStorage.removeItem(unsent);
    else for (const each of form ? fields(form) : []) {
      if (!fresh(each) || !(called(each) in known)) continue;
      if (tick(each)) each.checked = known[called(each)]; else if (each.type !== "hidden") each.value = known[called(each)];
    }
    form?.addEventListener("input", () => sessionStorage.setItem(unsent,
      JSON.stringify([form.dataset.keep, Object.fromEntries(fields(form).map((each) => [called(each), value(each)]))])));
  } catch { /* a browser that keeps nothing */ }

  // ---- news, as it happens
  const live = document.querySelector("[data-live]");
  const PLACES = 4;  // a browser has six connections to a server, and forms need one: so many pages listen, further ones ask again and again
  let source, heard, wait = 500, later, placed = !navigator.locks;
  const free = (place) => new Promise((done) => navigator.locks.request("news " + place, { ifAvailable: true }, (lock) => {
    done(Boolean(lock));
    return lock && new Promise(() => {});  // held as long as the page is open
  }));
  async function listen() {
    clearTimeout(later);
    for (let place = 0; !placed && place < PLACES; place += 1) placed = await free(place);
    if (placed) return open();
    if (!document.hidden) try { await reload(); by("lost").hidden = true; } catch { by("lost").hidden = false; }
    heard = Date.now();
    later = setTimeout(listen, 4000);
  }
  function open() {
    source?.close();
    source = new EventSource(live.dataset.live + (live.dataset.live.includes("?") ? "&" : "?") + "seen=" + live.dataset.seen);
    const alive = () => { heard = Date.now(); wait = 500; by("lost").hidden = true; };
    source.onopen = source.onmessage = null;
    source.addEventListener("open", alive);
    source.addEventListener("ping", alive);
    source.addEventListener("parts", (event) => { alive();
      const news = JSON.parse(event.data);
      if (!old(news.at)) { live.dataset.seen = event.lastEventId; show(news.parts); }
    });
    source.onerror = () => {
      setTimeout(() => { if (source.readyState !== 1) by("lost").hidden = false; }, 1500);
      if (source.readyState === 2) { setTimeout(listen, wait); wait = Math.min(10000, 2 * wait); }
    };
  }
  if (live) {
    heard = Date.now();
    listen();
    setInterval(() => { if (Date.now() - heard > 40000) { heard = Date.now(); by("lost").hidden = false; listen(); } }, 5000);
    addEventListener("online", listen);
    addEventListener("offline", () => { by("lost").hidden = false; });
    addEventListener("pageshow", (event) => { if (event.persisted) listen(); });
  }
  ready();
})();
