// Heads tabs: every layer and head of one kind as small maps, one or two of them enlarged.

const chosenHeads = {}; // by kind: [first, second], each [layer, head]
let lastHead = null; // [kind, layer, head] that was shown last
let comparing = false;
let order = "layer";

function headsTab(id, title, kind, lead) {
  return {
    id,
    title,
    available: () => layersOf(kind).length > 0,
    render(root, room) {
      const layers = layersOf(kind);
      chosenHeads[kind] ||= [startHead(kind), null];
      const [first, second] = chosenHeads[kind];
      const count = Math.max(...layers.map((one) => one.heads));
      const side = count <= 6 && room > 900 ? 76 : count > 8 ? 58 : 70;
      const orders = [
        ["layer", t`layer`],
        ["entropy", t`lowest entropy`],
        ["distance", t`longest distance`],
      ];
      root.append(
        h("p", { class: "lead" }, t(lead)),
        h(
          "div",
          { class: "controls" },
          segments(t`Order`, orders, order, (value) => {
            order = value;
            update({});
          }),
          onOff(t`Two side by side`, comparing, (on) => {
            comparing = on;
            chosenHeads[kind][1] = null;
            update({});
          }),
          switches(),
        ),
      );
      const maps = all(layers).map(([layer, head]) => smallMap(kind, layer, head, side));
      const shape = order === "layer" ? inLayers(layers, maps) : h("div", { class: "ranked" }, ranked(maps));
      const grid = figure({
        name: `${id}-heads`,
        title: t`${t(title)}: every head`,
        caption:
          t`Below each map: entropy in bits, mean attention distance in ${t(kindOf(kind).unit)}` +
          (kind === "cross" ? t` (from the diagonal)` : "") +
          t`, and the pattern that holds at least half of the weight, if there is one.`,
        body: h("div", { class: "heads" }, shape),
        svg: () => gridSvg(maps, layers, side),
        json: () =>
          maps.map(({ view, layer, head, measures }) => ({
            layer,
            head,
            ...measures,
            ...viewAsJson(view),
          })),
        table: () => ({
          caption: t`${t(title)}: every head`,
          head: [t`layer and head`, t`entropy (bits)`, t`mean distance`, t`pattern`],
          rows: maps.map(({ layer, head, measures }) => [
            t`layer ${layer}, head ${head}`,
            measures.entropy,
            measures.distance,
            t(measures.pattern || "none"),
          ]),
        }),
      });
      const beside = count * (side + 14) + 480 < room && order === "layer";
      const free = beside ? room - count * (side + 16) - 130 : room;
      const large = [first, comparing ? second : null]
        .filter(Boolean)
        .map(([layer, head]) =>
          matrixFigure(
            viewOf(kind, layerOf(kind, layer), head),
            `${id}-layer-${layer}-head-${head}`,
            comparing && second && !beside ? Math.max(420, free / 2 - 14) : free,
            t`Layer ${layer}, head ${head}`,
          ),
        );
      const overview = h("div", { class: "heads" }, grid);
      if (beside) overview.style.width = `${count * (side + 16) + 110}px`;
      root.append(h("div", { class: "grids" }, overview, h("div", { class: "large" }, large)));
    },
  };
}

/** The head to start with: lowest entropy among those that do not mostly attend to special symbols. */
function startHead(kind, layers = null) {
  if (!layers && kind === content.start.kind && state.head) return [state.layer, state.head];
  const found = all(layers || layersOf(kind)).map(([layer, head]) => ({ layer, head, ...layer.measures[head - 1] }));
  const rank = (one) => one.entropy + (one.pattern === "special symbols" ? 100 : 0);
  const best = found.sort((a, b) => rank(a) - rank(b))[0];
  return [best.layer.layer, best.head];
}

const all = (layers) =>
  layers.flatMap((layer) => Array.from({ length: layer.heads }, (_, i) => [layer, i + 1]));

function smallMap(kind, layer, head, side) {
  const view = viewOf(kind, layer, head);
  const { rows, columns } = view.matrix;
  const most = topOf(view);
  const colours = palette();
  const none = channels(colour("none"));
  const canvas = h("canvas", { width: columns, height: rows });
  paint(canvas, rows, columns, (i, j) =>
    view.allowed(i, j) ? colours[Math.min(255, Math.round((255 * view.matrix.at(i, j)) / most))] : none,
  );
  canvas.style.width = `${side}px`;
  canvas.style.height = `${Math.round(Math.min(1.6, Math.max(0.6, rows / columns)) * side)}px`;
  const measures = layer.measures[head - 1];
  const same = (one) => one && one[0] === layer.layer && one[1] === head;
  const [first, second] = chosenHeads[kind];
  const element = h(
    "button",
    {
      type: "button",
      class: "mini",
      "data-head": `${layer.layer}.${head}`,
      "aria-pressed": String(same(first)),
      "data-second": comparing && same(second),
      title:
        t`Layer ${layer.layer}, head ${head}: entropy ${measures.entropy} bits, mean distance ${measures.distance}` +
        (measures.pattern ? t`; ${Math.round(100 * measures.share)}% on ${t(measures.pattern)}` : ""),
      click: () => {
        lastHead = [kind, layer.layer, head];
        chosenHeads[kind] =
          comparing && !same(first)
            ? [first, [layer.layer, head]]
            : [[layer.layer, head], comparing ? second : null];
        update({}, `[data-head="${layer.layer}.${head}"]`);
      },
    },
    canvas,
    h(
      "small",
      {},
      order === "layer" ? null : `${layer.layer}.${head}  `,
      t`entropy ${measures.entropy.toFixed(1)}`,
      h("br"),
      t`distance ${measures.distance.toFixed(1)}`,
      h("br"),
      h("em", {}, t(measures.pattern) || "\u00a0"),
    ),
  );
  element.querySelector("small").style.maxWidth = `${side}px`;
  return { element, canvas, view, layer: layer.layer, head, measures };
}

function ranked(maps) {
  const value = ({ measures }) => (order === "entropy" ? measures.entropy : -measures.distance);
  return [...maps].sort((a, b) => value(a) - value(b)).map((one) => one.element);
}

function inLayers(layers, maps) {
  const count = Math.max(...layers.map((one) => one.heads));
  return headedTable(
    Array.from({ length: count }, (_, i) => (count > 1 ? t`head ${i + 1}` : "")),
    layers.map(({ layer }) => [
      t`layer ${layer}`,
      maps.filter((one) => one.layer === layer).map((one) => one.element),
    ]),
  );
}

function gridSvg(maps, layers, side) {
  const count = Math.max(...layers.map((one) => one.heads));
  const tall = Math.max(...maps.map((one) => parseInt(one.canvas.style.height, 10)));
  const svg = canvasSvg(60 + count * (side + 14), 26 + layers.length * (tall + 30));
  const faint = { fill: colour("faint") };
  layers.forEach((layer, row) =>
    svg.append(label(t`layer ${layer.layer}`, 4, 26 + row * (tall + 30) + tall / 2, 11, faint)),
  );
  for (let i = 0; i < count; i++)
    svg.append(
      label(t`head ${i + 1}`, 60 + i * (side + 14) + side / 2, 16, 11, { ...faint, "text-anchor": "middle" }),
    );
  for (const { canvas, layer, head, measures } of maps) {
    const [x, y] = [
      60 + (head - 1) * (side + 14),
      26 + layers.findIndex((one) => one.layer === layer) * (tall + 30),
    ];
    svg.append(
      pixels(canvas.toDataURL(), { x, y, width: side, height: tall }),
      label(`${measures.entropy.toFixed(1)} · ${measures.distance.toFixed(1)}`, x, y + tall + 13, 10, faint),
    );
  }
  return svg;
}

const headTabs = content.kinds.map(({ tab, title, kind, lead }) => headsTab(tab, title, kind, lead));
