// The sentence itself: two columns of words with curves between them. Which word does "it" look at?

let looking = null; // kind of attention
let held = null; // [side, place] that stays lit

/** The kinds of attention between words, that over another sentence first. */
const lookable = () =>
  content.kinds
    .filter((one) => one.look && layersOf(one.kind).length)
    .map((one) => one.kind)
    .sort((a, b) => (b === "cross") - (a === "cross"));

const sentence = {
  id: "sentence",
  title: "Sentence",
  available: () => lookable().length > 0,
  render(root, room) {
    const kinds = lookable();
    looking ||= kinds.includes(content.start.kind) ? content.start.kind : kinds[0];
    const layer = layerOf(looking, state.layer);
    const view = viewOf(looking, layer, headIn(layer));
    const { rows, columns } = kindOf(looking);
    const lines = rows === columns ? null : runningLines(view);
    const curves = curveSvg(view, Math.min(room, 760));
    connect(view, curves, lines);
    root.append(
      h(
        "div",
        { class: "controls" },
        kinds.length > 1
          ? segments(
              "Look",
              kinds.map((kind) => [kind, kindOf(kind).look]),
              looking,
              (kind) => {
                looking = kind;
                held = null;
                update({});
              },
            )
          : null,
        layerChoice(looking),
        headChoice(layer),
        switches(),
      ),
      figure({
        name: "sentence",
        caption: `${view.caption} Point at a word, or reach it with the Tab key; a click holds it.`,
        body: [lines ? lines.element : null, curves.svg],
        svg: () => curves.svg,
        json: () => viewAsJson(view),
        table: () => viewTable(view),
      }),
    );
  },
};

/** Both sides as running text, each in its own direction of writing. */
function runningLines(view) {
  const words = { key: [], query: [] };
  const line = (side, tokens, title) => {
    const wholeWords = state.words;
    const spans = tokens.flatMap((token, place) => {
      const span = h("span", { class: "word" }, token.text);
      words[side].push(span);
      const glued = !wholeWords && place && tokens[place - 1].word === token.word;
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
    line("key", view.columns, view.kind === "cross" ? "source" : "read"),
    line("query", view.rows, "output"),
  );
  return { element, words };
}

const ROW = 27;
const FAINTEST = 0.03; // weights below it have no curve of their own

function curveSvg(view, width) {
  const count = Math.max(view.rows.length, view.columns.length);
  const height = count * ROW + 40;
  const svg = canvasSvg(width, height);
  svg.setAttribute("aria-label", view.caption);
  const size = 15;
  const most = width * 0.33;
  const gap = {
    left: Math.min(most, Math.max(110, ...view.columns.map((token) => textWidth(token.text, size)))) + 18,
    right: Math.min(most, Math.max(122, ...view.rows.map((token) => textWidth(token.text, size)))) + 18,
  };
  const offset = (tokens) => 30 + ((count - tokens.length) * ROW) / 2;
  const starts = { key: offset(view.columns), query: offset(view.rows) };
  const middle = (side, place) => starts[side] + (place + 0.5) * ROW;
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
    tokens.forEach((token, place) => {
      const y = middle(side, place);
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
          "data-word": `${side}-${place}`,
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

/** The keys that a query has curves to: all above a threshold, few of them in long sentences. */
function strongest(view, i) {
  const order = view.columns.map((_, j) => j).filter((j) => view.matrix.at(i, j) > FAINTEST);
  if (view.columns.length <= 60) return order;
  return order.sort((a, b) => view.matrix.at(i, b) - view.matrix.at(i, a)).slice(0, 3);
}

/** Pointing at a word on either side lights what it looks at, or what looks at it, on the other. */
function connect(view, curves, lines) {
  const weight = (side, place, other) =>
    side === "query" ? view.matrix.at(place, other) : view.matrix.at(other, place);
  const light = (side, place) => {
    const other = side === "key" ? "query" : "key";
    curves.curves.forEach(({ i, j, weight: w, path }) => {
      const on = side === null || (side === "query" ? i === place : j === place);
      path.setAttribute(
        "stroke-opacity",
        on ? (side === null ? 0.1 + 0.9 * w : 0.25 + 0.75 * w).toFixed(3) : 0.03,
      );
      path.setAttribute("stroke", side !== null && on ? colour("choice") : colour("accent"));
    });
    for (const one of ["key", "query"])
      curves.words[one].forEach(({ box, text }, at) => {
        const here = one === side && at === place;
        const share = side === null || one !== other ? 0 : weight(side, place, at);
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
  const rest = () => (held && held[1] < curves.words[held[0]].length ? light(...held) : light(null));
  for (const side of ["key", "query"])
    curves.words[side].forEach(({ group }, place) => {
      const hold = () => {
        held = held && held[0] === side && held[1] === place ? null : [side, place];
        rest();
      };
      for (const element of [group, lines?.words[side][place]].filter(Boolean)) {
        element.addEventListener("pointerenter", () => light(side, place));
        element.addEventListener("pointerleave", rest);
        element.addEventListener("click", hold);
      }
      group.addEventListener("focus", () => light(side, place));
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
