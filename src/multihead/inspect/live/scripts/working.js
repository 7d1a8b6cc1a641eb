// One worked cell for every formula: how a number of this model comes about, step by step.

const working = h("section", { class: "card", id: "working", "aria-live": "off" });
const work = { place: null, reply: null, timer: 0 };

/** Formulas as they are written, _ and ^ for what is lowered and raised. */
const FORMULAS = {
  embed: "x = E_token + PE_position",
  norm: "γ (x − μ) / √(σ^2 + ε) + β",
  query: "q = x W^Q",
  key: "k = x W^K",
  score: "s = q · k / √d_k",
  softmax: "α = softmax(s)",
  value: "v = x W^V",
  mix: "head = Σ α v",
  project: "[head_1 … head_h] W^O",
  add: "x + sublayer(x)",
  inner: "max(0, x W_1 + b_1)",
  outer: "h W_2 + b_2",
  logit: "z = x · w_token",
  probability: "softmax(z)",
};
/** The vectors that a step multiplies or adds, and its result. */
const OPERANDS = {
  embed: ["E", "PE", "x"],
  norm: ["x", null, "LayerNorm(x)"],
  query: ["x", "W^Q", "q"],
  key: ["x", "W^K", "k"],
  score: ["q", "k", "s"],
  value: ["x", "W^V", "v"],
  mix: ["α", "v", "head"],
  project: ["heads", "W^O", "y"],
  add: ["x", "y", "x + y"],
  inner: ["x", "W_1", "h"],
  outer: ["h", "W_2", "y"],
  logit: ["x", "w", "z"],
};
const PARTS = { embed: "input", inner: "network", outer: "network", logit: "output", probability: "output" };

const formula = (text) =>
  text.split(/([_^]\w+)/).map((part) => {
    if (/^[_^]\w/.test(part)) return h(part[0] === "_" ? "sub" : "sup", {}, part.slice(1));
    return part;
  });

const decimals = (x) => x.toFixed(Math.abs(x) >= 1000 ? 0 : 3).replace("-", "−");

/** The rows of a side, as the maps name them. */
const rowsOf = (side) => (side === "encoder" ? view.explained.source : view.explained.target).map(spelt);
const columnsOf = ({ side, part }) =>
  (side === "decoder" && part === "own" ? view.explained.read : view.explained.source).map(spelt);
const kindOf = ({ side, part }) => (side === "encoder" ? "encoder" : part);
const attends = (place) => place.part === "own" || place.part === "cross";

/** Begin at a step of the head and the cell that are drawn, or at that cell of the map. */
function openWork(step, cell = null, kind = view.kind) {
  const maps = weightsOf(kind);
  if (!maps) return;
  const side = kind === "encoder" && !["logit", "probability"].includes(step) ? "encoder" : "decoder";
  const row = cell?.row ?? (side === "decoder" ? (view.word ?? 0) : 0);
  let [layer, head] = chosenHead(kind, maps);
  if (!head) {
    // The map is the mean of the heads: take the head with the largest weight.
    const weight = (one) => Math.max(...maps.columns.map((_, j) => (cell && j !== cell.column ? 0 : maps.at(layer, one)(row, j))));
    head = Array.from({ length: maps.heads }, (_, i) => i + 1).reduce((best, one) => (weight(one) > weight(best) ? one : best));
  }
  const part = PARTS[step] ?? (kind === "cross" ? "cross" : "own");
  goTo({ side, part, layer: ["input", "output"].includes(part) ? 0 : layer, step, head: head - 1, row, column: cell?.column ?? null, component: null });
  if (cell || !work.reply) working.scrollIntoView({ behavior: "smooth", block: "nearest" });
}

function goTo(change) {
  work.place = { ...work.place, ...change };
  requestWork();
}

/** Ask the worker for the numbers of the place, with the sentence as it is now. */
function requestWork() {
  const found = view.explained;
  if (!work.place || !found) return;
  const { place } = work;
  place.row = Math.min(place.row, rowsOf(place.side).length - 1);
  const id = place.side === "decoder" ? found.ids[place.row] : null;
  worker.postMessage({
    type: "work", number, sentence: found.sentence, direction: view.direction, ids: found.ids,
    place: { ...place, id, temperature: view.method === "sample" ? Math.max(view.temperature, 0.05) : 1 },
  });
}

/** The same for a new sentence; a large model waits until typing pauses. */
function followWork() {
  clearTimeout(work.timer);
  work.timer = setTimeout(requestWork, work.reply ? Math.min(2 * work.reply.milliseconds, 1500) : 0);
}

function closeWork() {
  Object.assign(work, { place: null, reply: null });
  paintAttention();
}

/** Show the place on the maps too. */
function receiveWork(data) {
  if (data.number !== number || !work.place) return;
  work.reply = { ...data, explained: view.explained };
  const kind = kindOf(work.place);
  if (attends(work.place)) {
    view.kind = kind;
    view.heads[kind] = [work.place.layer, work.place.head + 1];
  }
  paintAttention();
  document.documentElement.dataset.worked = data.step;
}

const partName = ({ part, layer }) => (["input", "output"].includes(part) ? t(`${part}Part`) : `${t("layer", layer + 1)} · ${t(`${part}Part`)}`);

function paintWorking() {
  const { reply, place } = work;
  const keep = document.activeElement?.dataset?.keep;
  const head = h("div", { class: "row" }, h("h2", {}, t("working")), place ? button(t("close"), closeWork) : "");
  if (!view.explained) return working.replaceChildren(head, h("p", { class: "lead" }, t("workingLead")));
  if (!place || !reply) {
    const steps = Object.keys(FORMULAS).map((step) => stepButton(step, () => openWork(step)));
    return working.replaceChildren(head, h("p", { class: "lead" }, t("workingLead")), h("div", { class: "steps" }, steps));
  }
  if (reply.explained !== view.explained) return undefined; // the new sentence's numbers are on their way
  const { route } = reply;
  const at = route.findIndex((one) => one.part === reply.place.part && one.layer === reply.place.layer && one.step === reply.step);
  const steps = route.filter((one) => one.part === reply.place.part && one.layer === reply.place.layer);
  const move = (by, text) =>
    button(text, () => goTo({ ...route[at + by], component: null }), { disabled: !route[at + by], "data-keep": `move${by}` });
  working.replaceChildren(
    head,
    placeChoices(reply),
    h("div", { class: "steps" }, steps.map((one) => stepButton(one.step, () => goTo({ step: one.step, component: null }), one.step === reply.step))),
    h("div", { class: "walk" }, move(-1, t("back")), h("span", { class: "faint" }, t("stepOf", at + 1, route.length)), move(1, t("next"))),
    h(
      "div",
      { class: "worked" },
      h("div", {}, h("h3", {}, t(`${reply.step}Title`)), h("p", { class: "formula", tabindex: 0 }, formula(FORMULAS[reply.step])), h("p", { class: "lead" }, formula(aboutStep(reply)))),
      h("div", { class: "numbers" }, reply.figure === "softmax" ? softmaxTable(reply) : [strips(reply), termsTable(reply)]),
    ),
  );
  if (keep) working.querySelector(`[data-keep="${keep}"]`)?.focus({ preventScroll: true });
  return undefined;
}

const stepButton = (step, click, current = false) =>
  h(
    "button",
    { type: "button", class: "step", "data-step": step, "data-keep": step, title: t(`${step}Title`), "aria-current": current ? "step" : null, click },
    formula(FORMULAS[step]),
  );

function selectOf(label, options, value, changed, key) {
  const choice = h("select", { "data-keep": key, change: (event) => changed(Number(event.target.value)) });
  options.forEach((text, i) => choice.append(h("option", { value: i, selected: i === value }, text)));
  return h("label", {}, h("span", {}, label), choice);
}

/** Where in the model: side, part, token, head, and what is attended to. */
function placeChoices({ place, route, column }) {
  const parts = route.filter((one, i) => !i || one.part !== route[i - 1].part || one.layer !== route[i - 1].layer);
  const here = parts.findIndex((one) => one.part === place.part && one.layer === place.layer);
  const numbered = (names) => names.map((name, i) => `${i + 1}. ${name}`);
  const toPart = (i) => {
    const same = route.some((one) => one.part === parts[i].part && one.step === place.step);
    goTo({ ...parts[i], step: same ? place.step : parts[i].step, component: null });
  };
  const toSide = (i) => goTo({ side: ["encoder", "decoder"][i], part: "input", layer: 0, step: "embed", row: 0, column: null, component: null });
  return h(
    "div",
    { class: "controls" },
    selectOf(t("stack"), [t("encoderStack"), t("decoderStack")], place.side === "encoder" ? 0 : 1, toSide, "side"),
    selectOf(t("part"), parts.map(partName), here, toPart, "part"),
    selectOf(t(place.side === "encoder" ? "row" : "writes"), numbered(rowsOf(place.side)), place.row, (row) => goTo({ row, column: null }), "row"),
    attends(place)
      ? [
          selectOf(t("headName"), Array.from({ length: view.facts.heads }, (_, i) => i + 1), place.head, (head) => goTo({ head, column: null, component: null }), "head"),
          selectOf(t("attendsTo"), numbered(columnsOf(place)).slice(0, place.side === "decoder" && place.part === "own" ? place.row + 1 : undefined), column, (to) => goTo({ column: to }), "column"),
        ]
      : "",
  );
}

function aboutStep({ step, place, column, result, a, b, temperature, factor }) {
  const row = step === "embed" && place.side === "decoder" ? view.explained.read[place.row] : rowsOf(place.side)[place.row];
  const other = attends(place) ? columnsOf(place)[column] : "";
  const width = { score: a?.length, project: view.facts.heads, inner: result?.length, outer: result?.length }[step];
  return t(`${step}About`, spelt(row), other, width, step === "probability" ? temperature : factor);
}

/** The vectors as strips of colour; a click chooses the component of the result that is worked out. */
function strips({ step, figure, a, b, result, component }) {
  const names = OPERANDS[step];
  const inputs = figure === "dot" ? null : component; // of a product, every component counts
  const strip = (values, name, mark, click) => {
    const most = Math.max(1e-9, ...values.map(Math.abs));
    const canvas = h("canvas", { width: values.length, height: 1 });
    paint(canvas, 1, values.length, (_, i) => channelsOf(values[i] / most));
    const index = (event) => Math.min(values.length - 1, Math.max(0, Math.floor((event.offsetX / canvas.clientWidth) * values.length)));
    canvas.addEventListener("pointermove", (event) => showTip(`${index(event) + 1}: ${decimals(values[index(event)])}`, event.clientX, event.clientY));
    canvas.addEventListener("pointerleave", hideTip);
    if (click) canvas.addEventListener("click", (event) => goTo(click(index(event))));
    const marker = mark === null ? "" : h("i");
    if (marker) marker.style.cssText = `left:${(100 * mark) / values.length}%;width:max(5px,${100 / values.length}%)`;
    return [h("span", { class: "name" }, formula(name)), h("div", { class: click ? "strip click" : "strip" }, canvas, marker)];
  };
  const list = (values) => Array.from(values);
  const chosen = step === "score" ? (column) => ({ column }) : (one) => ({ component: one });
  return h(
    "div",
    { class: "strips" },
    strip(list(a), names[0], inputs, null),
    names[1] ? strip(list(b), names[1], inputs, null) : "",
    strip(list(result), names[2], component, step === "logit" ? null : chosen),
    step === "score" || step === "logit" ? "" : componentChoice(result.length, component),
  );
}

const channelsOf = (share) => between(DIVERGING[isDark() ? "dark" : "light"], (share + 1) / 2);

function componentChoice(count, component) {
  const change = (event) => goTo({ component: Math.min(count, Math.max(1, Math.round(Number(event.target.value) || 1))) - 1 });
  const input = h("input", { type: "number", min: 1, max: count, value: component + 1, "data-keep": "component", change });
  return [h("span", {}), h("label", { class: "faint" }, t("component"), " ", input, " ", t("ofCount", count))];
}

const tableOf = (head, rows, foot) =>
  h(
    "table",
    { class: "terms-table" },
    head.some(Boolean) ? h("thead", {}, h("tr", {}, head.map((text) => (text ? h("th", { scope: "col" }, formula(text)) : h("td"))))) : null,
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, i) => h(i ? "td" : "th", i ? {} : { scope: "row" }, cell))))),
    h("tfoot", {}, foot.map(([text, value]) => h("tr", {}, h("th", { scope: "row", colspan: head.length - 1 }, typeof text === "string" ? formula(text) : text), h("td", {}, value)))),
  );

/** The chosen component as a sum that one can check by hand. */
function termsTable(reply) {
  const { step, figure, a, b, result, component, place } = reply;
  const [first, second, name] = OPERANDS[step];
  const total = [h("b", {}, formula(name), step === "logit" || step === "score" ? "" : h("sub", {}, String(component + 1))), h("b", { id: "worked-result" }, decimals(result[component]))];
  if (figure === "sum") return tableOf(["", ""], [[formula(first), decimals(a[component])], [formula(second), decimals(b[component])]], [total]);
  if (figure === "norm") {
    const { mean, variance, deviation, gamma, beta } = reply;
    const x = decimals(a[component]);
    const line = `${decimals(gamma)} · (${x} − ${bracketed(mean)}) / ${decimals(deviation)} + ${bracketed(beta)}`;
    const rows = [["x", x], [t("meanName"), decimals(mean)], [t("varianceName"), decimals(variance)], ["√(σ² + ε)", decimals(deviation)], ["γ", decimals(gamma)], ["β", decimals(beta)]];
    return tableOf(["", ""], rows, [[line, ""], total]);
  }
  const label = (i) => (step === "mix" ? columnsOf(place)[i] : String(i + 1));
  const rows = reply.shown.map(([i, x, y, product]) => [label(i), decimals(x), decimals(y), decimals(product)]);
  const sum = reply.shown.reduce((all, term) => all + term[3], 0) + reply.rest;
  const foot = [
    ...(reply.others ? [[t("otherTerms", reply.others), decimals(reply.rest)]] : []),
    ...(reply.bias ? [[t("bias"), decimals(reply.bias)]] : []),
    ...(reply.factor && reply.factor !== 1 ? [[t("sum"), decimals(sum)], [t("dividedBy", (1 / reply.factor).toFixed(3)), decimals(sum * reply.factor)]] : []),
    ...(reply.relu && result[component] === 0 ? [[t("sum"), decimals(sum + reply.bias)], [t("relu"), "0"]] : []),
    total,
  ];
  return tableOf([t(step === "mix" ? "token" : "place"), first, second, `${first} · ${second}`], rows, foot);
}

const bracketed = (x) => (x < 0 ? `(${decimals(x)})` : decimals(x));

/** A softmax, row by row. */
function softmaxTable({ step, place, scores, logits, powers, weights, sum, highest, component, names, others, temperature = 1 }) {
  const labels = step === "probability" ? names.map(pieceText) : columnsOf(place);
  const hot = step === "probability" && temperature !== 1;
  const rows = Array.from(weights, (weight, i) => {
    const bar = h("i");
    bar.style.width = `${100 * weight}%`;
    const cells = [...(hot ? [decimals(logits[i])] : []), decimals(scores[i]), decimals(powers[i]), h("span", { class: "bar" }, bar), decimals(weight)];
    const click = step === "softmax" ? () => goTo({ column: i }) : null;
    return h("tr", { "aria-current": i === component ? "true" : null, click }, h("th", { scope: "row" }, labels[i]), cells.map((cell) => h("td", {}, cell)));
  });
  const head = [t("token"), ...(hot ? ["z"] : []), hot ? "z / T" : step === "probability" ? "z" : "s", `exp(${step === "probability" ? "z" : "s"} − max)`, "", step === "probability" ? "P" : "α"];
  const all = powers.reduce((total, one) => total + one, 0);
  const rest = others ? [[t("otherTokens", others), decimals(sum - all)]] : [];
  const result = h("b", { id: "worked-result" }, decimals(weights[component]));
  return [
    tableOf(head, [], [...rest, [t("sum"), decimals(sum)], [h("b", {}, `${decimals(powers[component])} / ${decimals(sum)}`), result]]),
  ].map((table) => {
    table.querySelector("tbody").replaceChildren(...rows);
    return scrolling(head.join(", "), table, h("p", { class: "note" }, t("highestFirst", decimals(highest))));
  });
}
