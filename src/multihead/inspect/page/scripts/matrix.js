// Heat map of an attention matrix: rows are queries, columns are keys (Bahdanau et al. 2015, figure 3).

const MAX_SHAPES = 4000; // number of cells above which the map is a bitmap

const topOf = (view) => {
  let top = 0;
  for (const weight of view.matrix.data) top = Math.max(top, weight);
  return Math.min(1, Math.ceil(10 * top - 1e-3) / 10) || 1; // as in `-o FILE.svg`: diffuse heads stay legible
};

function heatMap(view, room) {
  const { rows, columns } = view.matrix;
  const size = (cell) => Math.min(13.5, Math.max(9, cell * 0.6));
  const widest = (tokens, fontSize) =>
    Math.min(150, Math.max(20, ...tokens.map((token) => textWidth(token.text, fontSize))));
  const least = columns <= 60 ? 13 : 5; // a matrix that is still too wide scrolls
  const guess = Math.max(least, Math.min(34, (room - 190) / columns));
  const fontSize = size(guess);
  const left = 34 + widest(view.rows, fontSize);
  const top = 30 + widest(view.columns, fontSize) * 0.72;
  const right = Math.max(66, widest(view.columns, fontSize) * 0.72 - 10);
  const cell = Math.floor(10 * Math.max(least, Math.min(34, (room - left - right) / columns))) / 10;
  const [width, height] = [
    Math.ceil(left + columns * cell + right),
    Math.ceil(top + Math.max(rows * cell, 90) + 8),
  ];
  // Labels of single letters are not slanted.
  const upright = view.columns.every((token) => textWidth(token.text, fontSize) < cell);
  const svg = canvasSvg(width, height);
  svg.setAttribute("aria-label", t`${view.caption} ${view.rowTitle} by ${view.columnTitle}`);
  const most = topOf(view);
  svg.append(
    label(view.columnTitle, left + (columns * cell) / 2, 12, 11, {
      fill: colour("faint"),
      "text-anchor": "middle",
    }),
    label(view.rowTitle, 0, 0, 11, {
      fill: colour("faint"),
      "text-anchor": "middle",
      transform: `translate(11 ${top + (rows * cell) / 2}) rotate(-90)`,
    }),
    s("g", { transform: `translate(${left} ${top})` }, cells(view, cell, most)),
  );
  const every = Math.max(1, Math.ceil((fontSize * 0.95) / cell));
  const everyColumn = Math.max(1, Math.ceil((fontSize * 1.25) / cell)); // slanted, they need more room
  const names = { row: [], column: [] };
  view.rows.forEach((token, i) => {
    if (i % every) return;
    names.row[i] = label(fitted(token.text, fontSize, 150), left - 7, top + (i + 0.5) * cell, fontSize, {
      "text-anchor": "end",
      "dominant-baseline": "central",
    });
  });
  view.columns.forEach((token, j) => {
    if (j % everyColumn && !upright) return;
    const place = `translate(${left + (j + 0.5) * cell} ${top - (upright ? 11 : 7)})`;
    names.column[j] = label(fitted(token.text, fontSize, 150), 0, 0, fontSize, {
      "dominant-baseline": "central",
      transform: upright ? place : `${place} rotate(-45)`,
      "text-anchor": upright ? "middle" : "start",
    });
  });
  svg.append(
    ...names.row.filter(Boolean),
    ...names.column.filter(Boolean),
    ...braces(view, left, top, cell),
    colourScale(width - 44, top, Math.min(110, Math.max(rows * cell, 80)), most.toFixed(1), shade),
  );
  pointing(svg, view, { left, top, cell, names });
  return svg;
}

function cells(view, cell, most) {
  const { rows, columns } = view.matrix;
  const none = colour("none");
  if (rows * columns > MAX_SHAPES) {
    const colours = palette();
    const masked = channels(none);
    const address = bitmap(rows, columns, (i, j) =>
      view.allowed(i, j)
        ? colours[Math.min(255, Math.round((255 * view.matrix.at(i, j)) / most))]
        : masked,
    );
    return pixels(address, { width: columns * cell, height: rows * cell });
  }
  const gap = cell > 12 ? 1.5 : cell > 8 ? 0.8 : 0;
  const found = [];
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < columns; j++)
      found.push(
        s("rect", {
          x: j * cell + gap / 2,
          y: i * cell + gap / 2,
          width: cell - gap,
          height: cell - gap,
          rx: cell > 16 ? 2.5 : 0,
          fill: view.allowed(i, j) ? shade(view.matrix.at(i, j) / most) : none,
          ...(view.allowed(i, j) ? {} : { "fill-opacity": 0.55, "data-masked": true }),
        }),
      );
  return found;
}

/** Lines that group the subwords of a word. */
function braces(view, left, top, cell) {
  const spans = (tokens) =>
    tokens.flatMap((token, at) => {
      if (at && tokens[at - 1].word === token.word) return [];
      let end = at;
      while (end < tokens.length && tokens[end].word === token.word) end++;
      return end - at > 1 ? [[at, end]] : [];
    });
  const line = { stroke: colour("faint"), "stroke-width": 1.2 };
  return [
    ...spans(view.rows).map(([a, b]) =>
      s("line", {
        x1: left - 3,
        x2: left - 3,
        y1: top + (a + 0.12) * cell,
        y2: top + (b - 0.12) * cell,
        ...line,
      }),
    ),
    ...spans(view.columns).map(([a, b]) =>
      s("line", {
        x1: left + (a + 0.12) * cell,
        x2: left + (b - 0.12) * cell,
        y1: top - 3,
        y2: top - 3,
        ...line,
      }),
    ),
  ];
}

/** A colour scale from 0 to the largest value. */
function colourScale(x, y, length, most, colourOf) {
  const steps = 32;
  const bars = Array.from({ length: steps }, (_, i) =>
    s("rect", {
      x,
      y: y + (i * length) / steps,
      width: 10,
      height: length / steps + 0.6,
      fill: colourOf(1 - i / (steps - 1)),
    }),
  );
  const small = { fill: colour("faint"), "dominant-baseline": "central" };
  return s(
    "g",
    {},
    bars,
    label(most, x + 14, y + 5, 10.5, small),
    label("0", x + 14, y + length - 5, 10.5, small),
  );
}

/** Pointer and arrow keys: frame a cell and show its row, column and weight. */
function pointing(svg, view, { left, top, cell, names }) {
  const frame = s("rect", {
    width: cell,
    height: cell,
    rx: 2,
    fill: "none",
    stroke: colour("choice"),
    "stroke-width": 2,
    visibility: "hidden",
    "data-passing": true,
    "pointer-events": "none",
  });
  svg.append(frame);
  let [row, column] = [-1, -1];
  const light = (on) => {
    for (const name of [names.row[row], names.column[column]])
      if (name) on ? name.setAttribute("fill", colour("choice")) : name.setAttribute("fill", colour("ink"));
  };
  const leave = () => {
    light(false);
    [row, column] = [-1, -1];
    frame.setAttribute("visibility", "hidden");
    hideTip();
  };
  const point = (i, j, x, y) => {
    if (i < 0 || j < 0 || i >= view.matrix.rows || j >= view.matrix.columns) return leave();
    light(false);
    [row, column] = [i, j];
    light(true);
    frame.setAttribute("x", left + j * cell);
    frame.setAttribute("y", top + i * cell);
    frame.setAttribute("visibility", "visible");
    const weight = view.allowed(i, j) ? view.matrix.at(i, j).toFixed(3) : t`masked`;
    showTip(`\u2068${view.rows[i].text}\u2069 → \u2068${view.columns[j].text}\u2069  ${weight}`, x, y);
  };
  const inside = (event) => {
    const box = svg.getBoundingClientRect();
    const zoom = box.width / +svg.getAttribute("width");
    return [
      Math.floor(((event.clientY - box.top) / zoom - top) / cell),
      Math.floor(((event.clientX - box.left) / zoom - left) / cell),
    ];
  };
  svg.addEventListener("pointermove", (event) => point(...inside(event), event.clientX, event.clientY));
  svg.addEventListener("pointerleave", leave);
  svg.addEventListener("blur", leave);
  svg.setAttribute("tabindex", 0);
  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  svg.addEventListener("keydown", (event) => {
    if (!moves[event.key]) return;
    event.preventDefault();
    const clamp = (value, count) => Math.min(Math.max(value, 0), count - 1);
    const [i, j] = [
      clamp(row + moves[event.key][0], view.matrix.rows),
      clamp(column + moves[event.key][1], view.matrix.columns),
    ];
    const box = svg.getBoundingClientRect();
    const zoom = box.width / +svg.getAttribute("width");
    point(i, j, box.left + (left + j * cell) * zoom, box.top + (top + i * cell) * zoom);
  });
}

/** A heat map as a figure of the page. */
function matrixFigure(view, name, room, title) {
  const svg = heatMap(view, room);
  return figure({
    name,
    title,
    caption: view.caption,
    body: svg,
    svg: () => svg,
    json: () => viewAsJson(view),
    table: () => viewTable(view),
  });
}
