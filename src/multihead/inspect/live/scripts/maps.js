// The maps: a small one for every head of every layer, and a large one of the chosen head.

const MOST = 96; // tokens that are drawn

/** The weights of a layer's head from those of each; head 0: their mean. */
const withMean = (heads, one) => (layer, head) => {
  if (head) return one(layer, head);
  const each = Array.from({ length: heads }, (_, i) => one(layer, i + 1));
  return (i, j) => each.reduce((sum, at) => sum + at(i, j), 0) / heads;
};

/** The weights of a kind: rows attend, columns are attended to. Null: the model has none. */
function weightsOf(kind, found = view.explained) {
  if (!found) return null;
  const [encoderLayers, decoderLayers] = view.facts.layers;
  const { S, T } = found;
  const kinds = {
    cross: [found.cross, decoderLayers, found.target, found.source],
    encoder: [found.encoder, encoderLayers, found.source, found.source],
    own: [found.own, decoderLayers, found.target, found.read],
  };
  const [weights, layers, rows, columns] = kinds[kind];
  if (!weights) return null;
  const [R, C] = [kind === "encoder" ? S : T, kind === "own" ? T : S];
  const H = view.facts.heads;
  const one = (layer, head) => (i, j) => weights[((layer * H + head - 1) * R + i) * C + j];
  return {
    layers,
    heads: H,
    rows: rows.slice(0, MOST),
    columns: columns.slice(0, MOST),
    cut: Math.max(R, C) > MOST,
    at: withMean(H, one),
    future: (i, j) => kind === "own" && j > i,
  };
}

/** A kind's chosen layer and head; at first the mean of the last layer. */
const chosenHead = (kind, maps) => view.heads[kind] ?? [maps.layers - 1, 0];

/** Shade a token by a weight. */
function shadeToken(element, weight) {
  const shade = `color-mix(in srgb, var(--accent) ${Math.round(8 + 42 * weight)}%, transparent)`;
  Object.assign(element.style, weight > 0.02 ? { color: "var(--ink)", backgroundColor: shade } : { color: "", backgroundColor: "" });
}

function paintMap(canvas, maps, layer, head) {
  const [rows, columns] = [maps.rows.length, maps.columns.length];
  if (canvas.width !== columns || canvas.height !== rows) [canvas.width, canvas.height] = [columns, rows];
  const colours = palette();
  const none = channels(colour("none"));
  const at = maps.at(layer, head);
  paint(canvas, rows, columns, (i, j) =>
    maps.future(i, j) ? none : colours[Math.min(255, Math.round(255 * Math.sqrt(at(i, j))))],
  );
}

/** The grid of all heads; kept while the model's shape stays, so that only pixels change as one types. */
const grid = { element: h("div", { class: "heads" }), kind: null, cells: [] };

function paintGrid(kind, maps) {
  if (grid.kind !== `${kind} ${spoken}`) {
    grid.kind = `${kind} ${spoken}`;
    grid.cells = [];
    const cell = (layer, head) => {
      const canvas = h("canvas", { width: 1, height: 1 });
      const element = h(
        "button",
        {
          type: "button",
          class: "mini",
          "aria-label": t("mapTitle", layer + 1, head),
          title: t("mapTitle", layer + 1, head),
          "data-head": `${layer + 1}.${head}`,
          click: () => {
            view.heads[kind] = [layer, head];
            paintMaps();
          },
        },
        canvas,
      );
      grid.cells.push({ layer, head, canvas, element });
      return element;
    };
    const heads = [...Array.from({ length: maps.heads }, (_, i) => i + 1), 0];
    const rows = Array.from({ length: maps.layers }, (_, layer) => [
      t("layer", layer + 1),
      heads.map((head) => cell(layer, head)),
    ]);
    grid.element.replaceChildren(headedTable(heads.map((head) => (head ? t("head", head) : t("all"))), rows));
  }
  const [layer, head] = chosenHead(kind, maps);
  for (const one of grid.cells) {
    paintMap(one.canvas, maps, one.layer, one.head);
    one.element.setAttribute("aria-pressed", String(one.layer === layer && one.head === head));
  }
  return grid.element;
}

/** The chosen head with its tokens at the sides. */
function largeMap(kind, maps, room = attention.clientWidth) {
  const [layer, head] = chosenHead(kind, maps);
  const [rows, columns] = [maps.rows.length, maps.columns.length];
  const cell = Math.max(13, Math.min(30, Math.floor(Math.min(440, room - 130) / Math.max(rows, columns))));
  const size = Math.min(13, cell - 1);
  const side = Math.min(130, Math.max(...maps.rows.map((one) => textWidth(spelt(one), size))) + 10);
  const top = Math.min(120, Math.max(...maps.columns.map((one) => textWidth(spelt(one), size))) * 0.78 + 16);
  const [width, height] = [side + columns * cell + 44, top + rows * cell + 4];
  const canvas = h("canvas", { width: columns, height: rows });
  paintMap(canvas, maps, layer, head);
  const svg = canvasSvg(width, height);
  svg.setAttribute("aria-label", t("mapTitle", layer + 1, head));
  const image = pixels(canvas.toDataURL(), { x: side, y: top, width: columns * cell, height: rows * cell });
  const row = s("rect", { class: "lit", x: side, height: cell, width: columns * cell, visibility: "hidden" });
  svg.append(image, row);
  maps.rows.forEach((one, i) =>
    svg.append(label(fitted(spelt(one), size, side - 8), side - 6, top + (i + 0.5) * cell + size * 0.36, size, { "text-anchor": "end" })),
  );
  maps.columns.forEach((one, j) => {
    const [x, y] = [side + (j + 0.5) * cell + size * 0.3, top - 6];
    svg.append(label(fitted(spelt(one), size, 116), x, y, size, { transform: `rotate(-52 ${x} ${y})` }));
  });
  const at = maps.at(layer, head);
  const cellAt = (event) => {
    const box = svg.getBoundingClientRect();
    const scale = width / box.width;
    const j = Math.floor(((event.clientX - box.left) * scale - side) / cell);
    const i = Math.floor(((event.clientY - box.top) * scale - top) / cell);
    return i < 0 || j < 0 || i >= rows || j >= columns ? null : [i, j];
  };
  svg.addEventListener("pointermove", (event) => {
    const [i, j] = cellAt(event) ?? [];
    if (i === undefined) return hideTip();
    const weight = maps.future(i, j) ? "–" : at(i, j).toFixed(3);
    showTip(t("toTarget", spelt(maps.rows[i]), spelt(maps.columns[j]), weight), event.clientX, event.clientY);
  });
  svg.addEventListener("pointerleave", hideTip);
  const mark = (from, to) => {
    row.setAttribute("visibility", from === null ? "hidden" : "visible");
    if (from === null) return;
    row.setAttribute("y", top + from * cell);
    row.setAttribute("height", (to - from) * cell);
  };
  /** Mark a cell. */
  const markCell = (i, j) => {
    svg.append(s("rect", { class: "lit cell", x: side + j * cell, y: top + i * cell, width: cell, height: cell }));
  };
  return { element: scrolling(t("mapTitle", layer + 1, head), svg), mark, markCell, cellAt };
}
