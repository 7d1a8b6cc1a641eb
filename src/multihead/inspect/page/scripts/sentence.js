// Sentence tab: two columns of words, joined by curves. Which word does "it" attend to?

let shownKind = null; // kind of attention
let held = null; // [side, index] of the word that stays highlighted

/** The kinds of attention between words, cross-attention first. */
const wordKinds = () =>
  content.kinds
    .filter((one) => one.short && layersOf(one.kind).length)
    .map((one) => one.kind)
    .sort((a, b) => (b === "cross") - (a === "cross"));

const sentence = {
  id: "sentence",
  title: "Sentence",
  available: () => wordKinds().length > 0,
  render(root, room) {
    const kinds = wordKinds();
    shownKind ||= kinds.includes(content.start.kind) ? content.start.kind : kinds[0];
    const layer = layerOf(shownKind, state.layer);
    const view = viewOf(shownKind, layer, headIn(layer));
    const { rows, columns } = kindOf(shownKind);
    const lines = rows === columns ? null : runningLines(view);
    const curves = curveSvg(view, Math.min(room, 760));
    connect(view, curves, lines);
    root.append(
      h(
        "div",
        { class: "controls" },
        kinds.length > 1
          ? segments(
              t`Attention`,
              kinds.map((kind) => [kind, t(kindOf(kind).short)]),
              shownKind,
              (kind) => {
                shownKind = kind;
                held = null;
                update({});
              },
            )
          : null,
        layerChoice(layersOf(shownKind), layer),
        headChoice(layer),
        switches(),
      ),
      figure({
        name: "sentence",
        caption: t`${view.caption} Hover over a word, or move to it with Tab, to highlight its weights. A click keeps it highlighted.`,
        body: [lines ? lines.element : null, curves.svg],
        svg: () => curves.svg,
        json: () => viewAsJson(view),
        table: () => viewTable(view),
      }),
    );
  },
};

/** Both sides as running text, each in its own writing direction. */
function runningLines(view) {
  const words = { key: [], query: [] };
  const line = (side, tokens, title) => {
    const wholeWords = state.words;
    const spans = tokens.flatMap((token, i) => {
      const span = h("span", { class: "word" }, token.text);
      words[side].push(span);
      const glued = !wholeWords && i && tokens[i - 1].word === token.word;
      return glued ? [span] : [" ", span];
    });
    return h(
      "div",
      { class: "line" },
      h("small", {}, title),
      h("p", { class: "running", dir: "auto" }, spans),
    );
  };
  const element = h(
    "div",
    {},
    line("key", view.columns, view.kind === "cross" ? t`source` : t`input`),
    line("query", view.rows, t`output`),
  );
  return { element, words };
}

const ROW = 27;
const FAINTEST = 0.03; // smallest weight that is drawn as a curve

function curveSvg(view, width) {
  const count = Math.max(view.rows.length, view.columns.length);
  const height = count * ROW + 40;
  const svg = canvasSvg(width, height);
  svg.setAttribute("role", "group");
  svg.setAttribute("aria-label", view.caption);
  const size = 15;
  const most = width * 0.33;
  const gap = {
    left: Math.min(most, Math.max(110, ...view.columns.map((token) => textWidth(token.text, size)))) + 18,
    right: Math.min(most, Math.max(122, ...view.rows.map((token) => textWidth(token.text, size)))) + 18,
  };
  const offset = (tokens) => 30 + ((count - tokens.length) * ROW) / 2;
  const starts = { key: offset(view.columns), query: offset(view.rows) };
  const middle = (side, index) => starts[side] + (index + 0.5) * ROW;
  const curves = view.rows
    .map((_, i) =>
      strongest(view, i).map((j) => {
        const [x1, x2, y1, y2] = [gap.left, width - gap.right, middle("key", j), middle("query", i)];
        const bend = (x2 - x1) * 0.42;
        const weight = view.matrix.at(i, j);
        return {
          j,
          i,
          weight,
          path: s("path", {
            d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`,
            fill: "none",
            stroke: colour("accent"),
            "stroke-width": (0.6 + 5.4 * weight).toFixed(2),
            "stroke-opacity": (0.1 + 0.9 * weight).toFixed(3),
            "stroke-linecap": "round",
          }),
        };
      }),
    )
    .flat();
  svg.append(
    label(view.columnTitle, gap.left - 8, 14, 11, { fill: colour("faint"), "text-anchor": "end" }),
    label(view.rowTitle, width - gap.right + 8, 14, 11, { fill: colour("faint") }),
    s(
      "g",
      {},
      curves.map((curve) => curve.path),
    ),
  );
  const words = { key: [], query: [] };
  for (const [side, tokens] of [
    ["key", view.columns],
    ["query", view.rows],
  ])
    tokens.forEach((token, index) => {
      const y = middle(side, index);
      const x = side === "key" ? 4 : width - gap.right + 2;
      const box = s("rect", {
        x,
        y: y - ROW / 2 + 2,
        width: gap[side === "key" ? "left" : "right"] - 8,
        height: ROW - 4,
        rx: 5,
        fill: colour("accent"),
        "fill-opacity": 0,
      });
      const text = label(fitted(token.text, size, most), side === "key" ? gap.left - 10 : x + 8, y, size, {
        "text-anchor": side === "key" ? "end" : "start",
        "dominant-baseline": "central",
        ...(token.special ? { fill: colour("faint") } : {}),
      });
      const group = s(
        "g",
        {
          tabindex: 0,
          "data-word": `${side}-${index}`,
          style: "cursor:pointer",
          role: "button",
          "aria-label": token.text,
        },
        box,
        text,
      );
      words[side].push({ group, box, text });
      svg.append(group);
    });
  return { svg, curves, words };
}

/** The keys joined to a query by a curve: all above a threshold, at most three in long sentences. */
function strongest(view, i) {
  const order = view.columns.map((_, j) => j).filter((j) => view.matrix.at(i, j) > FAINTEST);
  if (view.columns.length <= 60) return order;
  return order.sort((a, b) => view.matrix.at(i, b) - view.matrix.at(i, a)).slice(0, 3);
}

/** Hovering over a query highlights the keys it attends to; over a key, the queries that attend to it. */
function connect(view, curves, lines) {
  const weight = (side, index, other) =>
    side === "query" ? view.matrix.at(index, other) : view.matrix.at(other, index);
  const highlight = (side, index) => {
    const other = side === "key" ? "query" : "key";
    curves.curves.forEach(({ i, j, weight: w, path }) => {
      const on = side === null || (side === "query" ? i === index : j === index);
      path.setAttribute(
        "stroke-opacity",
        on ? (side === null ? 0.1 + 0.9 * w : 0.25 + 0.75 * w).toFixed(3) : 0.03,
      );
      path.setAttribute("stroke", side !== null && on ? colour("choice") : colour("accent"));
    });
    for (const one of ["key", "query"])
      curves.words[one].forEach(({ box, text }, at) => {
        const here = one === side && at === index;
        const share = side === null || one !== other ? 0 : weight(side, index, at);
        box.setAttribute("fill-opacity", here ? 0.16 : (0.55 * share).toFixed(3));
        box.setAttribute("fill", here ? colour("choice") : colour("accent"));
        text.setAttribute("font-weight", here ? 700 : 400);
        const span = lines?.words[one][at];
        if (!span) return;
        span.classList.toggle("on", here);
        span.style.background =
          share > 0.01 ? `color-mix(in srgb, var(--accent) ${Math.round(60 * share)}%, transparent)` : "";
      });
  };
  const rest = () => (held && held[1] < curves.words[held[0]].length ? highlight(...held) : highlight(null));
  for (const side of ["key", "query"])
    curves.words[side].forEach(({ group }, index) => {
      const hold = () => {
        held = held && held[0] === side && held[1] === index ? null : [side, index];
        rest();
      };
      for (const element of [group, lines?.words[side][index]].filter(Boolean)) {
        element.addEventListener("pointerenter", () => highlight(side, index));
        element.addEventListener("pointerleave", rest);
        element.addEventListener("click", hold);
      }
      group.addEventListener("focus", () => highlight(side, index));
      group.addEventListener("blur", rest);
      group.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          hold();
        }
      });
    });
  rest();
}
