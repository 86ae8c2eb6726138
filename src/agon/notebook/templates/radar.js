"use strict";
// A radar whose axes a reader drags, or moves by arrow keys. Data: axes, models [{name, without, with}] (percent), printed (percent).
(() => {
  const place = document.currentScript.parentElement;
  const {axes, models, printed} = JSON.parse(place.querySelector("[type='application/json']").textContent);
  const SIZE = 360, MIDDLE = SIZE / 2, RADIUS = 115, LOW = 30, HIGH = 65;
  const filled = (element, attributes, ...children) => {
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const html = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, ...children);
  const svg = (tag, attributes, ...children) =>
    filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, ...children);
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const whole = (percent) => `${percent.toFixed(0)} %`;

  /** Ability of each axis, clockwise from the top, as places in `axes`. */
  let order = axes.map((_, at) => at);

  const area = (radii, by) => by.reduce((sum, axis, at) => sum + radii[axis] * radii[by[(at + 1) % by.length]], 0);
  const gain = (before, after) => 100 * (after / before - 1);
  function gains(by) {
    const before = models.map((model) => area(model.without, by)), after = models.map((model) => area(model.with, by));
    return {mean: mean(before.map((value, at) => gain(value, after[at]))), pooled: gain(mean(before), mean(after))};
  }
  const grows = (model) => gain(area(model.without, order), area(model.with, order));
  /** The model whose radar is seen; at first the one that gains most. */
  let shown = models.reduce((one, other) => (grows(other) > grows(one) ? other : one));

  /** All orders that are different: the first axis stays. */
  function orders(rest = order.slice(1)) {
    return rest.length < 2 ? [rest] : rest.flatMap((axis) => orders(rest.filter((other) => other !== axis)).map((others) => [axis, ...others]));
  }

  const point = (at, far) => {
    const angle = 2 * Math.PI * at / axes.length - Math.PI / 2;
    return [MIDDLE + far * Math.cos(angle), MIDDLE + far * Math.sin(angle)];
  };
  const polygon = (radii, attributes) =>
    svg("polygon", {points: order.map((axis, at) => point(at, radii[axis] / 100 * RADIUS).join()).join(" "), ...attributes});

  const picture = svg("svg", {viewBox: `0 30 ${SIZE} ${SIZE - 60}`, width: SIZE, height: SIZE - 60, class: "axes", role: "group", "aria-label": "radar of seven abilities"});
  const drawn = svg("g", {});
  picture.append(drawn);
  const names = axes.map((name, axis) => {
    const label = svg("text", {role: "slider", tabindex: 0, "aria-label": name, "aria-valuemin": 1, "aria-valuemax": axes.length, "text-anchor": "middle"}, name);
    label.addEventListener("keydown", (event) => {
      const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
      if (!step) return;
      event.preventDefault();
      move(axis, (order.indexOf(axis) + step + axes.length) % axes.length);
    });
    label.addEventListener("pointerdown", (event) => { label.setPointerCapture(event.pointerId); event.preventDefault(); label.focus(); });
    label.addEventListener("pointermove", (event) => {
      if (!label.hasPointerCapture(event.pointerId)) return;
      const box = picture.getBoundingClientRect();
      const turn = Math.atan2(event.clientY - box.top - box.height / 2, event.clientX - box.left - box.width / 2) + Math.PI / 2;
      move(axis, (Math.round(turn / (2 * Math.PI) * axes.length) + axes.length) % axes.length);
    });
    picture.append(label);
    return label;
  });

  const scale = svg("svg", {viewBox: "0 0 360 78", width: 360, height: 78, "aria-hidden": "true"});
  const across = (percent) => 24 + 312 * (percent - LOW) / (HIGH - LOW);
  const status = html("p", {role: "status"});
  const choice = html("select", {}, ...models.map((model) => html("option", {}, model.name)));
  choice.selectedIndex = models.indexOf(shown);
  choice.addEventListener("change", () => { shown = models[choice.selectedIndex]; show(); });

  function move(axis, to) {
    if (order.indexOf(axis) === to) return;
    order = order.filter((other) => other !== axis);
    order.splice(to, 0, axis);
    show();
  }

  function show() {
    drawn.textContent = "";
    for (const far of [0.25, 0.5, 0.75, 1]) {
      const ring = axes.map((_, at) => point(at, far * RADIUS).join()).join(" ");
      drawn.append(svg("polygon", {points: ring, fill: "none", stroke: "currentColor", "stroke-opacity": 0.25}));
    }
    drawn.append(
      polygon(shown.without, {fill: "#8a8a8a", "fill-opacity": 0.45, stroke: "currentColor", "stroke-dasharray": "4 3"}),
      polygon(shown.with, {fill: "var(--blue, #0072b2)", "fill-opacity": 0.2, stroke: "var(--blue, #0072b2)", "stroke-width": 2}));
    names.forEach((label, axis) => {
      const at = order.indexOf(axis), [x, y] = point(at, RADIUS + 24);
      filled(label, {x: Math.min(SIZE - 54, Math.max(54, x)), y: y + 5, "aria-valuenow": at + 1, "aria-valuetext": `place ${at + 1} of ${axes.length}`});
    });
    const now = gains(order);
    scale.textContent = "";
    const mark = (percent, y, text, colour) => scale.append(
      svg("line", {x1: across(percent), x2: across(percent), y1: y - 12, y2: 58, stroke: colour, "stroke-width": 3}),
      svg("text", {x: across(percent) + (percent > 55 ? -6 : 6), y, "text-anchor": percent > 55 ? "end" : "start"}, text));
    scale.append(svg("line", {x1: 24, x2: 336, y1: 58, y2: 58, stroke: "currentColor"}));
    for (const percent of [30, 40, 50, 60]) scale.append(svg("text", {x: across(percent), y: 74, "text-anchor": "middle"}, whole(percent)));
    mark(printed, 14, "printed", "var(--orange, #d55e00)");
    mark(now.pooled, 32, "mean area", "currentColor");
    mark(now.mean, 50, "mean gain", "var(--blue, #0072b2)");
    status.textContent = `With this order of the axes, beliefs enlarge the area by ${whole(now.mean)} (mean of the models' gains) `
      + `or ${whole(now.pooled)} (gain of their mean area). The paper prints ${whole(printed)}. `
      + `The area of ${shown.name} grows by ${whole(grows(shown))}.`;
  }

  /** The order with the least or the largest mean gain. */
  function best(sign) {
    const all = orders().map((others) => [order[0], ...others]);
    return all.reduce((one, other) => (sign * gains(other).mean > sign * gains(one).mean ? other : one));
  }
  const button = (text, found) => {
    const made = html("button", {type: "button"}, text);
    made.addEventListener("click", () => { order = found(); show(); });
    return made;
  };
  place.append(
    picture,
    html("p", {}, "Drag an ability to another place, or move it with the arrow keys. Grey is without beliefs, blue with beliefs."),
    html("p", {}, html("label", {}, "Model: ", choice)),
    scale, status,
    html("p", {}, button("the paper's order", () => axes.map((_, at) => at)), button("smallest gain", () => best(-1)), button("largest gain", () => best(1))));
  show();
})();
