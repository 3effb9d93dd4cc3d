"use strict";
// Draws one jump of the rollout at a time; the element `content` holds everything it shows.
const content = JSON.parse(document.getElementById("content").textContent);
const byId = (id) => document.getElementById(id);
const RAMP = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
const ROW = 24, TOP = 34, LEFT = 26, RADIUS = 7.5;
let current = 0;
let pinned = null;

// Goals that hold before every jump: the changes are accumulated from the initial state.
const before = [new Set(content.reached)];
for (const step of content.steps) {
  const goals = new Set(before[before.length - 1]);
  step.gained.forEach((goal) => goals.add(goal));
  step.lost.forEach((goal) => goals.delete(goal));
  before.push(goals);
}

function make(parent, kind, attributes = {}, text = null) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== null) element.textContent = text;
  parent.append(element);
  return element;
}

function add(parent, kind, text, className = "") {
  const element = document.createElement(kind);
  element.textContent = text;
  if (className) element.className = className;
  parent.append(element);
  return element;
}

function colour(share) {
  const place = Math.min(1, Math.max(0, share)) * (RAMP.length - 1);
  const i = Math.min(RAMP.length - 2, Math.floor(place));
  const mixed = RAMP[i].map((value, k) => Math.round(value + (RAMP[i + 1][k] - value) * (place - i)));
  return `rgb(${mixed.join(" ")})`;
}

const share = (step, q) => (q === null ? 0 : step.high > step.low ? (q - step.low) / (step.high - step.low) : 1);
const shown = (q) => (q === null ? "–" : Number(q.toPrecision(4)).toString());
const count = (n, word) => `${n.toLocaleString("en-GB")} ${n === 1 ? word : word + "s"}`;

// An edge of the tree is an action, or a list of moves that ends with the action they serve.
const listed = (edge) => (Array.isArray(edge) ? edge : [edge]);
const actionOf = (edge) => content.names[listed(edge).at(-1)];
const movesOf = (edge) => listed(edge).slice(0, -1).map((number) => content.names[number]);
const lengthOf = (edges) => edges.reduce((sum, edge) => sum + listed(edge).length, 0);
const folded = (edge) => actionOf(edge) + (movesOf(edge).length ? ` after ${count(movesOf(edge).length, "move")}` : "");

function fullPath(step, node) {
  const edges = [];
  for (; node > 0; node = step.parent[node]) edges.unshift(...step.path[node]);
  return edges;
}

function listEdges(list, edges) {
  list.textContent = "";
  for (const edge of edges) {
    const item = add(list, "li", "");
    const moves = movesOf(edge);
    if (!moves.length) { item.textContent = actionOf(edge); continue; }
    const details = add(item, "details", "", "walk");
    const summary = add(details, "summary", `${actionOf(edge)} `);
    add(summary, "span", `after ${count(moves.length, "move")}`, "soft");
    const walk = add(details, "ol", "");
    moves.forEach((move) => add(walk, "li", move));
  }
}

function describe(step, node) {
  const box = byId("node");
  box.textContent = "";
  if (node === null) { box.textContent = "none selected"; return; }
  if (node === 0) { add(box, "div", `the current state; ${step.goals[0]} of ${content.goals.length} goals`); return; }
  const gain = step.goals[node] - step.goals[0];
  const change = `${gain < 0 ? "" : "+"}${gain}`;
  const edges = fullPath(step, node);
  const length = lengthOf(edges) > edges.length ? ` · ${count(lengthOf(edges), "action")}` : "";
  const figures = `Q ${shown(step.q[node])} · depth ${step.depth[node]}${length}`;
  add(box, "div", `${figures} · goals ${step.goals[node]} (${change})`);
  listEdges(add(box, "ol", ""), edges);
}

function drawTree(step) {
  const svg = byId("tree");
  svg.textContent = "";
  const depths = Math.max(...step.depth);
  const wanted = (svg.parentElement.clientWidth - 2 * LEFT - 20) / Math.max(1, depths);
  const gap = Math.max(38, Math.min(130, wanted));
  const rows = Math.max(...step.row);
  const width = Math.ceil(depths * gap + 2 * LEFT + 24), height = Math.ceil(rows * ROW + TOP + 54);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  const x = (node) => LEFT + step.depth[node] * gap;
  const y = (node) => TOP + 8 + step.row[node] * ROW;
  for (let depth = 0; depth <= depths; depth++) {
    const place = LEFT + depth * gap;
    make(svg, "line", { class: "column", x1: place, x2: place, y1: TOP - 8, y2: height - 26 });
    make(svg, "text", { class: "depth", x: place, y: 14, "text-anchor": "middle" }, depth === 0 ? "now" : depth);
    if (step.hidden[depth]) {
      const middle = { class: "hidden", x: place, y: height - 10, "text-anchor": "middle" };
      const text = make(svg, "text", middle, `+${step.hidden[depth]}`);
      make(text, "title", {}, `${count(step.hidden[depth], "node")} at depth ${depth} not shown`);
    }
  }
  const taken = new Set();
  for (let node = step.jump; node > 0; node = step.parent[node]) taken.add(node);
  const edge = (node) => {
    const parent = step.parent[node], a = x(parent), b = y(parent), c = x(node), d = y(node), middle = (a + c) / 2;
    const kind = `edge${taken.has(node) ? " taken" : ""}${step.path[node].length > 1 ? " skips" : ""}`;
    make(svg, "path", { class: kind, d: `M${a} ${b}C${middle} ${b} ${middle} ${d} ${c} ${d}` });
  };
  const nodes = step.depth.map((_, node) => node);
  nodes.slice(1).filter((node) => !taken.has(node)).forEach(edge);
  [...taken].reverse().forEach(edge);
  for (const node of nodes) {
    const isJump = node === step.jump;
    const kind = `node${node === 0 ? " root" : ""}${taken.has(node) ? " taken" : ""}${isJump ? " jump" : ""}`;
    const radius = isJump ? RADIUS + 1.5 : RADIUS;
    const circle = make(svg, "circle", { class: kind, cx: x(node), cy: y(node), r: radius, "data-node": node });
    if (node > 0) circle.style.fill = colour(share(step, step.q[node]));
    const last = step.path[node].length ? folded(step.path[node].at(-1)) : "";
    const figures = `Q ${shown(step.q[node])}, depth ${step.depth[node]}, goals ${step.goals[node]}`;
    make(circle, "title", {}, node === 0 ? "current state" : `${last}\n${figures}`);
    circle.addEventListener("mouseenter", () => describe(step, node));
    circle.addEventListener("mouseleave", () => describe(step, pinned));
    circle.addEventListener("click", () => {
      svg.querySelectorAll(".picked").forEach((other) => other.classList.remove("picked"));
      pinned = pinned === node ? null : node;
      if (pinned !== null) circle.classList.add("picked");
      describe(step, pinned === null ? node : pinned);
    });
    const centre = { class: "number", x: x(node), y: y(node) + 3.7, "text-anchor": "middle" };
    if (taken.has(node)) make(svg, "text", centre, step.depth[node]);
  }
  const canvas = svg.parentElement;
  canvas.scrollLeft = Math.max(0, x(step.jump) - canvas.clientWidth + 80);
  canvas.scrollTop = Math.max(0, y(step.jump) - canvas.clientHeight / 2);
}

function drawLegend(step) {
  const box = byId("legend");
  box.textContent = "";
  const lowest = step.low !== step.high ? `Q ≤ ${shown(step.low)}` : "";
  add(box, "span", lowest);
  const ramp = add(box, "span", "", "ramp");
  ramp.style.background = `linear-gradient(90deg, ${RAMP.map((entry) => `rgb(${entry.join(" ")})`).join(", ")})`;
  add(box, "span", `Q ${shown(step.high)}`);
  add(box, "span", "columns: depth · dashed: nodes in between are hidden · +n: hidden nodes at that depth");
}

function drawGoals(step) {
  const box = byId("goals");
  box.textContent = "";
  const now = before[current], gained = new Set(step.gained), lost = new Set(step.lost);
  const order = content.goals.map((_, goal) => goal);
  const weight = (goal) => (gained.has(goal) || lost.has(goal) ? 0 : now.has(goal) ? 2 : 1);
  order.sort((a, b) => weight(a) - weight(b) || a - b);
  for (const goal of order) {
    const item = add(box, "li", content.goals[goal]);
    if (now.has(goal) || gained.has(goal)) item.classList.add("reached");
    if (gained.has(goal)) item.classList.add("gained");
    if (lost.has(goal)) { item.classList.remove("reached"); item.classList.add("lost"); }
  }
  byId("goal-count").textContent = `${now.size} → ${before[current + 1].size} of ${content.goals.length}`;
}

function drawJump(step) {
  const hidden = step.hidden.reduce((sum, n) => sum + n, 0);
  const size = `${count(step.size, "node")}, depth ${step.hidden.length - 1}`;
  byId("caption").textContent = `Lookahead tree of jump ${current + 1}: ${size}` +
    (hidden ? `; ${count(hidden, "node")} hidden` : "") +
    (step.left_out ? `; ${count(step.left_out, "node")} left out` : "") + (step.cut ? "; the tree was truncated" : "");
  let reason = "the best Q in the tree";
  if (step.solved) reason = "a goal state, taken regardless of its Q";
  else if (step.rank > 1)
    reason = `rank ${step.rank} by Q: the states ranked higher have been visited or are dead ends`;
  const actions = count(lengthOf(step.actions), "action");
  byId("summary").textContent = `${actions}, Q ${shown(step.q[step.jump])}: ${reason}`;
  listEdges(byId("actions"), step.actions);
  const [added, deleted] = step.changes;
  const rest = (atoms, all) => (all > atoms.length ? ` and ${all - atoms.length} more` : "");
  const joined = (atoms, all) => (atoms.join(" ") || "nothing") + rest(atoms, all);
  byId("change-count").textContent = `${count(added, "atom")} added, ${deleted} deleted`;
  byId("changes").textContent = `Added: ${joined(step.added, added)}. Deleted: ${joined(step.deleted, deleted)}.`;
}

function drawTimeline() {
  const svg = byId("timeline");
  const steps = content.steps.length, width = 1000, height = 54, slot = width / steps;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("preserveAspectRatio", "none");
  content.steps.forEach((_, i) => {
    const goals = before[i + 1].size, part = content.goals.length ? goals / content.goals.length : 1;
    const group = make(svg, "g", { "data-step": i });
    const bar = Math.min(40, slot * 0.8), x = i * slot + (slot - bar) / 2, tall = Math.max(2, part * (height - 4));
    make(group, "rect", { class: "back", x: i * slot, y: 0, width: slot, height });
    make(group, "rect", { x, y: height - tall, width: bar, height: tall });
    make(group, "title", {}, `after jump ${i + 1}: ${goals} of ${content.goals.length} goals`);
    group.addEventListener("click", () => show(i));
  });
}

function show(number) {
  current = Math.min(content.steps.length - 1, Math.max(0, number));
  pinned = null;
  const step = content.steps[current];
  byId("where").textContent = `jump ${current + 1} of ${content.steps.length}`;
  byId("previous").disabled = current === 0;
  byId("next").disabled = current === content.steps.length - 1;
  document.querySelectorAll("#timeline g").forEach((group, i) => group.classList.toggle("now", i === current));
  drawJump(step);
  drawTree(step);
  drawLegend(step);
  drawGoals(step);
  describe(step, null);
  history.replaceState(null, "", `#${current + 1}`);
}

if (content.steps.length) {
  byId("stage").hidden = false;
  drawTimeline();
  byId("previous").addEventListener("click", () => show(current - 1));
  byId("next").addEventListener("click", () => show(current + 1));
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const places = { ArrowLeft: current - 1, ArrowRight: current + 1, Home: 0, End: content.steps.length - 1 };
    if (event.key in places) { event.preventDefault(); show(places[event.key]); }
  });
  window.addEventListener("resize", () => drawTree(content.steps[current]));
  show((Number.parseInt(location.hash.slice(1), 10) || 1) - 1);
} else {
  byId("nothing").hidden = false;
}
