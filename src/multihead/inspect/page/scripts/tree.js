// The search: every step's branches, kept and pruned; the hypotheses found; the decoding, token by token.

let shownPruned = true;
let at = null; // the step that is played; null: the end
let timer = null;

const tree = {
  id: "search",
  title: "Search",
  available: () => content.tree.steps.length > 0,
  render(root, room) {
    const path = pathOf(hypothesis());
    const last = content.tree.steps.length - 1;
    const step = Math.min(at ?? last, last);
    const svg = treeSvg(path, step);
    const attended = at === null ? null : attendedLine(step);
    root.append(
      h("p", { class: "lead" }, `Beam search with ${content.tree.beam_size} hypotheses alive at a time, length penalty ${content.tree.length_penalty}. Choose a hypothesis: all tabs then show its attention.`),
      h("div", { class: "card" }, h("h2", {}, "Hypotheses, best first"), h("ol", { class: "nbest" }, content.hypotheses.map(candidate))),
      h("div", { class: "controls" },
        h("label", { class: "switch", "data-control": "Pruned branches" },
          h("input", { type: "checkbox", role: "switch", checked: shownPruned, change: (event) => { shownPruned = event.target.checked; update({}); } }), h("i"), "Pruned branches")),
      player(step, last),
      ...(attended ? [attended] : []),
      figure({
        name: "search-tree",
        title: "The beam, step by step",
        caption: "A column is a step: what was kept, likeliest on top; below the line the likeliest that were pruned. Percentages are the probability of a token after what stands before it. A ring: the hypothesis ended there. Orange: the chosen one.",
        body: svg,
        svg: () => svg,
        json: () => ({ ...content.tree, hypotheses: content.hypotheses.map(({ text, score, sum, cut }) => ({ text, score, log_probability: sum, cut })) }),
        table: () => ({ caption: "The beam, step by step", head: ["step", "token", "what became of it", "log-probability so far", "goes on from"],
          rows: content.tree.steps.flatMap((branches, i) => branches.map((one) => [`${i + 1}`, one.text, one.fate, one.sum.toFixed(2), i ? parentOf(i, one)?.text ?? "" : "the beginning"])) }),
      }),
    );
    const box = svg.parentElement;
    if (at !== null) requestAnimationFrame(() => (box.scrollLeft = Math.max(0, (step + 2) * WIDE - box.clientWidth)));
  },
};

function candidate(one, number) {
  const score = one.score === null ? `log P ${one.sum.toFixed(2)}` : `score ${one.score.toFixed(3)} · log P ${one.sum.toFixed(2)}`;
  return h("li", {}, h("button", { type: "button", "data-hypothesis": number, "aria-pressed": String(number === state.hypothesis), disabled: !one.layers, title: one.layers ? null : "Its attention is not in this page; the option --full embeds it",
    click: () => { stop(); at = null; update({ hypothesis: number }, `[data-hypothesis="${number}"]`); } },
    h("small", {}, one.score === null ? "given" : `${number + (content.hypotheses[0].score === null ? 0 : 1)}.`),
    h("span", { dir: "auto" }, one.text || "(nothing)", one.cut ? " [cut]" : ""), h("small", {}, score)));
}

function stop() {
  clearInterval(timer);
  timer = null;
}

function player(step, last) {
  const go = (to) => { at = to; update({}, "#step"); };
  return h("div", { class: "player" },
    h("button", { type: "button", class: "plain", id: "play", click: () => {
      if (timer) { stop(); update({}, "#play"); return; }
      at = step >= last ? 0 : step;
      timer = setInterval(() => { if (at >= last || state.tab !== "search") { stop(); update({}); } else { at += 1; update({}, "#play"); } }, 700);
      update({}, "#play");
    } }, timer ? "Pause" : "Play"),
    h("input", { type: "range", id: "step", min: 0, max: last, value: step, "aria-label": "Step", input: (event) => { stop(); go(+event.target.value); } }),
    h("small", {}, `step ${step + 1} of ${last + 1}`));
}

/** What the token that the chosen hypothesis writes at this step looked at. */
function attendedLine(step) {
  const layer = layersOf("cross").length ? layerOf("cross", state.layer) : null;
  const row = Math.min(step, hypothesis().target.pieces.length - 1);
  if (!layer || row >= layer.queries) return null;
  const weights = combined(layer, headIn(layer), state.combine);
  const token = hypothesis().target.pieces[row];
  return h("div", { class: "card" },
    h("h2", {}, "While it writes ", h("bdi", {}, `“${token.text}”`), " it looks at"),
    h("p", { class: "running", dir: "auto" }, content.source.pieces.slice(0, layer.keys).flatMap((one, j) => {
      const span = h("span", { class: "word" }, one.text);
      span.style.background = `color-mix(in srgb, var(--accent) ${Math.round(65 * weights.at(row, j))}%, transparent)`;
      return j && content.source.pieces[j - 1].word === one.word ? [span] : [" ", span];
    })));
}

const parentOf = (step, branch) => content.tree.steps[step - 1]?.find((one) => one.fate === "kept" && one.row === branch.parent);

/** The branches of a hypothesis, one a step, as far as the beam holds it. */
function pathOf(chosen) {
  const found = [];
  let row = 0;
  for (const [step, id] of chosen.ids.entries()) {
    const branch = content.tree.steps[step]?.find((one) => one.parent === row && one.id === id && one.fate !== "pruned");
    if (!branch) break;
    found.push(branch);
    row = branch.row;
  }
  return found;
}

const WIDE = 126; // of a column, and of a node in it
const NODE = 98;
const TALL = 32;

function treeSvg(path, until) {
  const steps = content.tree.steps.slice(0, until + 1);
  const kept = Math.max(...content.tree.steps.map((branches) => branches.filter((one) => one.fate !== "pruned").length));
  const pruned = shownPruned ? Math.max(...content.tree.steps.map((branches) => branches.filter((one) => one.fate === "pruned").length)) : 0;
  const top = 26;
  const line = top + kept * TALL + 6;
  const svg = canvasSvg((content.tree.steps.length + 1) * WIDE, line + (pruned ? pruned * 24 + 22 : 4));
  svg.setAttribute("aria-label", "The beam, step by step");
  const place = new Map();
  steps.forEach((branches, step) => {
    let [k, p] = [0, 0];
    for (const one of branches) {
      const dead = one.fate === "pruned";
      const y = dead ? line + 16 + p++ * 24 + 8 : top + k++ * TALL + TALL / 2;
      place.set(one, { x: (step + 1) * WIDE + 4, y });
    }
  });
  const root = { x: 40, y: top + (kept * TALL) / 2 };
  const edges = [];
  const nodes = [nodeOf({ text: content.hypotheses[0].read.pieces[0].text, fate: "root" }, { x: 4, y: root.y }, true, "")];
  steps.forEach((branches, step) => {
    svg.append(label(`${step + 1}`, (step + 1) * WIDE + 4 + NODE / 2, 14, 10.5, { fill: colour("faint"), "text-anchor": "middle" }));
    for (const one of branches) {
      const dead = one.fate === "pruned";
      if (dead && !shownPruned) continue;
      const parent = step ? parentOf(step, one) : null;
      const from = step ? (parent ? { x: place.get(parent).x + NODE, y: place.get(parent).y } : null) : { x: 4 + NODE, y: root.y };
      const to = place.get(one);
      const chosen = path[step] === one;
      const share = Math.exp(one.sum - (parent ? parent.sum : 0));
      if (from) edges.push([chosen, s("path", { d: `M${from.x} ${from.y}C${from.x + 16} ${from.y} ${to.x - 18} ${to.y} ${to.x} ${to.y}`, fill: "none", stroke: chosen ? colour("choice") : dead ? colour("rule") : colour("accent"), "stroke-width": chosen ? 2.6 : dead ? 0.9 : 1.3, "stroke-opacity": chosen || dead ? 1 : 0.55, "stroke-dasharray": dead ? "3 3" : null })]);
      nodes.push(nodeOf(one, to, chosen, `${Math.round(100 * share)}%`));
    }
  });
  edges.sort((a, b) => a[0] - b[0]);
  if (pruned) svg.append(s("line", { x1: WIDE, x2: "100%", y1: line + 4, y2: line + 4, stroke: colour("rule") }), label("pruned", WIDE - 8, line + 24, 10.5, { fill: colour("faint"), "text-anchor": "end" }));
  svg.append(...edges.map((edge) => edge[1]), ...nodes);
  return svg;
}

function nodeOf(branch, { x, y }, chosen, share) {
  const dead = branch.fate === "pruned";
  const ended = branch.fate === "finished" || branch.fate === "cut";
  const size = dead ? 11 : 12.5;
  const tall = dead ? 20 : 25;
  const ink = dead ? colour("faint") : chosen ? colour("choice") : colour("ink");
  const group = s("g", { "data-fate": branch.fate },
    s("rect", { x, y: y - tall / 2, width: NODE, height: tall, rx: ended ? tall / 2 : 6, fill: dead ? colour("card") : colour("soft"), stroke: chosen ? colour("choice") : ended ? colour("accent") : dead ? colour("rule") : "none", "stroke-width": chosen || ended ? 1.8 : 1, "stroke-dasharray": dead ? "3 3" : null }),
    label(fitted(branch.text, size, share ? NODE - 38 : NODE - 14), x + 8, y, size, { fill: ink, "dominant-baseline": "central", "font-weight": chosen ? 600 : 400 }),
    label(share, x + NODE - 5, y, 9.5, { fill: colour("faint"), "text-anchor": "end", "dominant-baseline": "central" }));
  if (branch.sum !== undefined) group.append(s("title", {}, `${branch.text}: ${branch.fate}, log-probability so far ${branch.sum.toFixed(3)}`));
  return group;
}
