// Embeddings tab: positional encodings and nearest neighbours of token embeddings.

let position = 16;
let wave = 16;

const embeddings = {
  id: "embeddings",
  title: "Embeddings",
  available: () =>
    content.positions ||
    content.image?.near ||
    content.neighbours.source.length ||
    content.neighbours.target.length,
  render(root, room) {
    if (content.positions) positionFigures(root, room);
    if (content.image?.near) root.append(positionMaps(room));
    for (const [side, title] of [
      ["source", content.neighbours.target.length ? t`Nearest source embeddings` : t`Nearest embeddings`],
      ["target", t`Nearest target embeddings`],
    ])
      if (content.neighbours[side].length) root.append(neighbourFigure(side, title));
  },
};

let encodings = null;

/** The positional encodings, (positions, dimensions). */
function positionTable() {
  if (!encodings) {
    const { positions, dimensions, unit, data } = content.positions;
    encodings = matrix(
      positions,
      dimensions,
      Float32Array.from(new Int8Array(bytes(data).buffer), (value) => value * unit),
    );
  }
  return encodings;
}

function positionFigures(root, room) {
  const table = positionTable();
  const kind =
    content.positions.kind === "sinusoids"
      ? t`sines and cosines of increasing wavelength (Vaswani et al. 2017, section 3.5)`
      : t`learned, one vector per position`;
  position = Math.min(position, table.rows - 1);
  wave = Math.min(wave, table.columns - 1);
  const heat = encodingSvg(table, room);
  const values = similarity(table, position);
  const curve = curvesSvg(
    [{ name: t`position ${position}`, values }],
    Math.min(room, 900),
    200,
    t`position`,
    t`dot product`,
  );
  const chosen = [0, 1, 2, 3].map((i) => Math.min(wave + i * 8, table.columns - 1));
  const waves = chosen.map((d) => ({
    name: t`dimension ${d}`,
    values: Array.from({ length: table.rows }, (_, p) => table.at(p, d)),
  }));
  const wavy = curvesSvg(waves, Math.min(room, 900), 220, t`position`, t`value`);
  const asRows = (lines) => ({
    caption: t`Values by position`,
    head: [t`position`, ...lines.map((line) => line.name)],
    rows: Array.from({ length: table.rows }, (_, p) => [
      p,
      ...lines.map((line) => line.values[p].toFixed(3)),
    ]),
  });
  root.append(
    figure({
      name: "positions",
      title: t`Positional encoding`,
      caption: t`${table.rows} positions by ${table.columns} of ${content.positions.d_model} dimensions: ${kind}. They are added to the token embeddings before the first layer.`,
      body: heat,
      svg: () => heat,
      json: () => ({
        ...content.positions,
        data: undefined,
        values: Array.from({ length: table.rows }, (_, p) =>
          Array.from({ length: table.columns }, (_, d) => +table.at(p, d).toFixed(3)),
        ),
      }),
      table: () => asRows(waves),
    }),
    figure({
      name: "position-similarity",
      title: t`Similarity of positions`,
      caption:
        content.positions.kind === "sinusoids"
          ? t`Dot product of one position's encoding with all encodings: nearby positions are similar.`
          : t`Dot product of one position's encoding with all encodings.`,
      body: [
        slider(t`Position`, position, table.rows - 1, (value) => {
          position = value;
        }),
        curve,
      ],
      svg: () => curve,
      json: () => ({ position, values }),
      table: () => asRows([{ name: t`with position ${position}`, values }]),
    }),
    figure({
      name: "position-waves",
      title: t`Single dimensions`,
      caption:
        content.positions.kind === "sinusoids"
          ? t`Each dimension is a wave over the positions; four are shown.`
          : t`Four learned dimensions over the positions.`,
      body: [
        slider(t`First dimension`, wave, table.columns - 1, (value) => {
          wave = value;
        }),
        wavy,
      ],
      svg: () => wavy,
      json: () => waves,
      table: () => asRows(waves),
    }),
  );
}

const slider = (title, value, most, changed) =>
  h(
    "label",
    { class: "player", "data-control": title },
    h("small", {}, title),
    h("input", {
      type: "range",
      min: 0,
      max: most,
      value,
      input: (event) => {
        changed(+event.target.value);
        update({});
      },
      checked: true,
    }),
    h("small", {}, value),
  );

const similarity = (table, from) =>
  Array.from({ length: table.rows }, (_, p) => {
    let sum = 0;
    for (let d = 0; d < table.columns; d++) sum += table.at(from, d) * table.at(p, d);
    return +sum.toFixed(3);
  });

function encodingSvg(table, room) {
  const [left, top] = [44, 10];
  const width = Math.min(room, 1000) - left - 12;
  const height = 260;
  const most = content.positions.unit * 127;
  const svg = canvasSvg(left + width + 12, top + height + 34);
  const image = bitmap(table.rows, table.columns, (p, d) => channelsOf(signedShade(table.at(p, d) / most)));
  const small = { fill: colour("faint") };
  svg.append(
    pixels(image, { x: left, y: top, width, height }),
    label(t`position`, 0, 0, 11, {
      ...small,
      "text-anchor": "middle",
      transform: `translate(12 ${top + height / 2}) rotate(-90)`,
    }),
    label("0", left - 6, top + 8, 10.5, { ...small, "text-anchor": "end" }),
    label(`${table.rows - 1}`, left - 6, top + height, 10.5, { ...small, "text-anchor": "end" }),
    label("0", left, top + height + 14, 10.5, small),
    label(`${table.columns - 1}`, left + width, top + height + 14, 10.5, { ...small, "text-anchor": "end" }),
    label(t`dimension`, left + width / 2, top + height + 26, 11, { ...small, "text-anchor": "middle" }),
  );
  return svg;
}

const channelsOf = (text) => text.match(/\d+/g).map(Number);

const LINES = () => [
  colour("accent"),
  colour("choice"),
  isDark() ? "#4cc9a0" : "#009e73",
  isDark() ? "#d9a2d0" : "#a5569a",
];

/** Curves over positions, each labelled at its right end. */
function curvesSvg(lines, width, height, across, up) {
  const [left, right, top, bottom] = [52, 104, 10, 34];
  const all = lines.flatMap((line) => line.values);
  const [low, high] = [Math.min(0, ...all), Math.max(...all)];
  const x = (p) => left + (p / Math.max(1, lines[0].values.length - 1)) * (width - left - right);
  const y = (value) => top + (1 - (value - low) / (high - low || 1)) * (height - top - bottom);
  const svg = canvasSvg(width, height);
  const small = { fill: colour("faint") };
  for (const value of [low, (low + high) / 2, high])
    svg.append(
      s("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), stroke: colour("rule") }),
      label(value.toPrecision(2).replace(/e.*/, ""), left - 6, y(value), 10.5, {
        ...small,
        "text-anchor": "end",
        "dominant-baseline": "central",
      }),
    );
  lines.forEach((line, i) =>
    svg.append(
      s("polyline", {
        points: line.values.map((value, p) => `${x(p).toFixed(1)},${y(value).toFixed(1)}`).join(" "),
        fill: "none",
        stroke: LINES()[i],
        "stroke-width": 1.8,
        "stroke-linejoin": "round",
      }),
      label(line.name, width - right + 8, top + 14 + i * 17, 11.5, { fill: LINES()[i] }),
    ),
  );
  svg.append(
    label("0", x(0), height - 18, 10.5, small),
    label(`${lines[0].values.length - 1}`, x(lines[0].values.length - 1), height - 18, 10.5, {
      ...small,
      "text-anchor": "end",
    }),
    label(across, (left + width - right) / 2, height - 6, 11, { ...small, "text-anchor": "middle" }),
    label(up, 0, 0, 11, {
      ...small,
      "text-anchor": "middle",
      transform: `translate(12 ${(top + height - bottom) / 2}) rotate(-90)`,
    }),
  );
  return svg;
}
