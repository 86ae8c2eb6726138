// Keeps a page up to date and sends its forms in the background. Without this file every form still works, with reloads.
"use strict";
(() => {
  const by = (id) => document.getElementById(id);
  const main = document.querySelector("main");
  const ahead = Date.now() - main.dataset.at / 1000;  // how far this clock is ahead of the server's, in milliseconds
  const words = JSON.parse(document.body.dataset.words), phrase = (which, number) => words[which].replace("{}", number);
  const fields = (part) => [...part.querySelectorAll("input[name], select[name], textarea[name]")];
  const tick = (field) => field.type === "checkbox" || field.type === "radio";
  const fieldKey = (field) => field.name + (tick(field) ? "=" + field.value : "");
  const value = (field) => (tick(field) ? field.checked : field.value);
  const fresh = (field) => tick(field) ? field.checked === field.defaultChecked
    : field.tagName === "SELECT" ? field.selectedOptions[0]?.defaultSelected ?? true : field.value === field.defaultValue;
  const question = (part) => part.querySelector("[name=question]")?.value;

  // ---- puts changed parts into the page; focus, typed text and folded details stay as they are
  function put(part, html, keeps) {
    const at = document.activeElement, inside = part.contains(at) && at !== part;
    const which = inside && (at.name ? `[name="${CSS.escape(at.name)}"]` + (tick(at) || at.tagName === "BUTTON" ? `[value="${CSS.escape(at.value)}"]` : "")
      : at.id ? "#" + CSS.escape(at.id) : at.tagName.toLowerCase());
    const caret = inside && typeof at.selectionStart === "number" ? [at.selectionStart, at.selectionEnd] : null;
    const before = new Map(fields(part).map((element) => [fieldKey(element), element])), oldQuestion = question(part);
    const folds = new Map([...part.querySelectorAll("details[data-touched]")].map((element) => [element.firstElementChild?.textContent, element.open]));
    part.innerHTML = html;
    if (question(part) === oldQuestion) for (const element of fields(part)) {
      const old = before.get(fieldKey(element));
      if (old && old.type !== "hidden" && keeps(old)) { if (tick(element)) element.checked = old.checked; else element.value = old.value; }
    }
    for (const element of part.querySelectorAll("details")) {
      const open = folds.get(element.firstElementChild?.textContent);
      if (open !== undefined) { element.open = open; element.dataset.touched = ""; }
    }
    if (inside) {
      const again = part.querySelector(which) || part.querySelector("[autofocus]") || part.querySelector("input:not([type=hidden]), select, textarea, button")
        || (part === main && (part.tabIndex = -1, part));
      again?.focus?.({ preventScroll: true });
      if (caret && again.setSelectionRange) try { again.setSelectionRange(...caret); } catch { /* a field without a caret */ }
    }
  }
  const shown = new Map([...document.querySelectorAll("[data-part]")].map((part) => [part.id, part.innerHTML]));  // part -> its HTML as it came
  const normal = (html) => { const holder = document.createElement("template"); holder.innerHTML = html; return holder.innerHTML; };
  const asks = () => by("ask") && question(by("ask"));
  function show(parts, keeps = (field) => !fresh(field), reply = false) {
    const ask = by("ask"), before = asks(), earlier = shown.get("ask"), height = ask?.offsetHeight, focus = document.activeElement;
    for (const [id, html] of Object.entries(parts)) {
      const part = by(id), wanted = normal(html);
      if (!part) return reload();
      if (shown.get(id) === wanted && !(reply && fields(part).some((field) => !fresh(field)))) continue;  // a button under a finger stays
      shown.set(id, wanted);
      put(part, html, keeps);
    }
    if (ask) {
      const waits = document.querySelector("[data-waits]");
      ask.style.minHeight = waits ? Math.max(height, parseFloat(ask.style.minHeight) || 0) + "px" : "";  // what stands below does not jump
      const now = document.activeElement, lost = now === document.body && (focus !== now || shown.get("ask") !== earlier);
      const heading = (lost || (asks() !== before && ask.contains(now))) && ask.querySelector("h2, p");
      if (heading) { heading.tabIndex = -1; heading.focus({ preventScroll: true }); heading.scrollIntoView({ block: "nearest" }); }
    }
    ready();
  }
  function scrolled() {  // makes wide elements scroll by keys, also after a change of window or zoom
    for (const element of document.querySelectorAll(".scroll")) if (element.scrollWidth > element.clientWidth) element.tabIndex = 0;
  }
  addEventListener("resize", scrolled);
  function ready() {  // after every change
    scrolled();
    for (const element of document.querySelectorAll("[data-left]")) {
      element.dataset.until = Date.now() + 1000 * element.dataset.left;
      element.removeAttribute("data-left");
    }
    const go = document.querySelector("[data-go]");  // a match begins, or another tab has gone on; an open form goes on by itself
    if (go && !document.querySelector("[data-sending]")) location.replace(go.dataset.go);
    const title = document.querySelector("[data-title]");
    if (title) document.title = title.dataset.title;
  }
  const lasting = (time) => time >= 120 ? phrase("minutes", Math.floor(time / 60)) : phrase(time === 1 ? "second" : "seconds", time);
  setInterval(() => {
    for (const element of document.querySelectorAll("[data-until]")) {
      const left = Math.max(0, Math.round((element.dataset.until - Date.now()) / 1000));
      element.textContent = lasting(left);
      element.parentElement.classList.toggle("bad", left <= 10);
    }
    for (const element of document.querySelectorAll("[data-since]"))
      element.textContent = `(${lasting(Math.max(0, Math.round((Date.now() - ahead - element.dataset.since) / 1000)))})`;
  }, 1000);
  document.addEventListener("click", (event) => { const fold = event.target.closest?.("summary")?.parentElement; if (fold) fold.dataset.touched = ""; }, true);

  function isOld(at) {  // whether the page shows something newer already
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
  function take(html, keeps) {
    const page = new DOMParser().parseFromString(html, "text/html"), parts = {};
    if (isOld(page.querySelector("main")?.dataset.at)) return;  // the stream has brought something newer meanwhile
    if (live) live.dataset.seen = page.querySelector("main").dataset.seen || "";
    const newParts = [...page.querySelectorAll("[data-part]")];
    if (!newParts.length || newParts.some((element) => !by(element.id))) put(main, page.querySelector("main").innerHTML, keeps);
    else for (const element of newParts) parts[element.id] = element.innerHTML;
    show(parts, keeps, true);
  }

  // ---- forms
  const requests = new WeakMap();  // form -> the controller that stops its last request
  let timer;
  async function send(form, button) {
    clearTimeout(timer);
    requests.get(form)?.abort();
    const stop = new AbortController(), data = new FormData(form);
    if (button?.name) data.append(button.name, button.value);
    const then = new Map(fields(form).map((element) => [fieldKey(element), value(element)]));
    const keeps = (field) => button ? then.has(fieldKey(field)) && then.get(fieldKey(field)) !== value(field) : !fresh(field);
    requests.set(form, stop);
    if (button) form.dataset.sending = "";
    const slow = setTimeout(() => note(form, button ? phrase("sending") : ""), 400), late = setTimeout(() => stop.abort("late"), 20000);
    try {
      const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(data), headers: { "X-Hall": "1" }, signal: stop.signal });
      if (elsewhere(answer)) { location.href = answer.url; return; }
      const html = await answer.text();
      if (answer.status >= 500 || [403, 404, 413, 429].includes(answer.status)) throw new Error(why(html));
      if (requests.get(form) === stop) { delete form.dataset.sending; take(html, keeps); }
    } catch (error) {
      if (button && requests.get(form) === stop) note(form, error instanceof TypeError || stop.signal.aborted
        ? phrase("unsent") : error.message);
    } finally {
      clearTimeout(slow); clearTimeout(late);
      if (requests.get(form) === stop) delete form.dataset.sending;
    }
  }
  function why(html) {  // the reason on a refusal page, or in a line of text
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
  addEventListener("pageshow", () => document.querySelectorAll("[data-sending]").forEach((element) => delete element.dataset.sending));
  document.addEventListener("keydown", (event) => {  // Enter presses the button that the field names
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

  // ---- pages without forms to answer: a link or a choice replaces the page, and the address too
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
  document.addEventListener("keydown", (event) => {  // arrows go a step back or on, where they do not move in a field or a list
    const link = !event.altKey && !event.ctrlKey && !event.metaKey && by({ ArrowLeft: "to-back", ArrowRight: "to-next" }[event.key]);
    if (link && !event.target.closest("input, select, textarea, [tabindex]")) link.click();
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-swap]")) return;
    event.preventDefault();
    go(address(event.target));
  });
  document.addEventListener("change", (event) => { if (event.target.matches("form[data-swap] :is(select, [type=checkbox], [type=number])")) go(address(event.target.form)); });
  if (document.querySelector("[data-swap]")) addEventListener("popstate", () => go(location.href, true));

  // ---- keys that answer a question with radio buttons and go on to the next; they can be turned off
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
      const fieldset = at.closest("fieldset") || all.find((element) => !element.querySelector(":checked")), radio = fieldset?.querySelector(`[data-key="${key}"]`);
      if (!radio) return;
      event.preventDefault();
      radio.checked = true;
      radio.dispatchEvent(new Event("change", { bubbles: true }));
      const next = all[all.indexOf(fieldset) + 1];
      (next ? next.querySelector(":checked") || next.querySelector("input") : document.querySelector("[data-keys] button.main")).focus();
    });
  }

  // ---- entries that are not sent survive a reload of this tab
  const form = document.querySelector("form[data-keep]"), storageKey = "unsent " + location.pathname + location.search;
  try {
    const [stage, values] = JSON.parse(sessionStorage.getItem(storageKey)) || [];
    if (stage !== form?.dataset.keep) sessionStorage.removeItem(storageKey);
    else for (const element of form ? fields(form) : []) {
      if (!fresh(element) || !(fieldKey(element) in values)) continue;
      if (tick(element)) element.checked = values[fieldKey(element)]; else if (element.type !== "hidden") element.value = values[fieldKey(element)];
    }
    form?.addEventListener("input", () => sessionStorage.setItem(storageKey,
      JSON.stringify([form.dataset.keep, Object.fromEntries(fields(form).map((element) => [fieldKey(element), value(element)]))])));
  } catch { /* a browser without storage */ }

  // ---- news, as it happens; while a button is held down it waits, so that the button is still there when it is let go
  let held = null;
  const letGo = () => { const news = held || []; held = null; for (const use of news) use(); };
  addEventListener("pointerdown", () => { held ??= []; setTimeout(letGo, 1000); }, true);  // a pointer may be let go outside of the window
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => setTimeout(letGo), true);
  const live = document.querySelector("[data-live]");
  const PLACES = 4;  // a browser has six connections to a server, and forms need one: four pages have a stream, further ones poll
  let source, lastNews, wait = 500, later, hasPlace = !navigator.locks, latest;
  const free = (place) => new Promise((resolve) => navigator.locks.request("news " + place, { ifAvailable: true }, (lock) => {
    resolve(Boolean(lock));
    return lock && new Promise(() => {});  // keeps the lock as long as the page is open
  }));
  async function listen() {
    clearTimeout(later);
    for (let place = 0; !hasPlace && place < PLACES; place += 1) hasPlace = await free(place);
    if (hasPlace) return open();
    if (!document.hidden) try { await reload(); by("lost").hidden = true; } catch { by("lost").hidden = false; }
    lastNews = Date.now();
    later = setTimeout(listen, 4000);
  }
  function open() {
    source?.close();
    latest = Object.fromEntries(shown);
    source = new EventSource(live.dataset.live + (live.dataset.live.includes("?") ? "&" : "?") + "seen=" + live.dataset.seen);
    const alive = () => { lastNews = Date.now(); wait = 500; by("lost").hidden = true; };
    source.addEventListener("open", alive);
    source.addEventListener("ping", alive);
    source.addEventListener("parts", (event) => { alive();
      const news = JSON.parse(event.data), use = () => {
        Object.assign(latest, news.parts);
        if (isOld(news.at)) return;
        live.dataset.seen = event.lastEventId;
        show("ask" in news.parts ? latest : news.parts);  // a form's reply may differ
      };
      if (held) held.push(use); else use();
    });
    source.onerror = () => {
      setTimeout(() => { if (source.readyState !== 1) by("lost").hidden = false; }, 1500);
      if (source.readyState === 2) { setTimeout(listen, wait); wait = Math.min(10000, 2 * wait); }
    };
  }
  if (live) {
    lastNews = Date.now();
    listen();
    setInterval(() => { if (Date.now() - lastNews > 40000) { lastNews = Date.now(); by("lost").hidden = false; listen(); } }, 5000);
    addEventListener("online", listen);
    addEventListener("offline", () => { by("lost").hidden = false; });
    addEventListener("pageshow", (event) => { if (event.persisted) listen(); });
  }
  ready();
})();
