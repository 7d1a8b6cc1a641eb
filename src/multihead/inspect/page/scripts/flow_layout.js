// Layout of the data flow: one column for each side of the model, a row for each part or folded layer.

const PART_ROW = { norm: 34 };
const FOLDED = new Map(); // by path of a layer: whether the reader folded it
const GUTTER = 30; // room for residual connections

/** The rows of one side: parts, frames of layers, and folded layers. */
function rowsOf(parts) {
  const rows = [];
  const layers = [...new Set(parts.map((part) => part.layer).filter(Boolean))];
  const within = (layer) => parts.filter((part) => part.layer === layer);
  const stacks = {};
  for (const layer of layers.filter((one) => within(one).length > 1))
    (stacks[stackOf({ layer })] ||= []).push(layer);
  for (const part of parts) {
    const stack = stacks[stackOf(part)];
    if (!part.layer || !stack?.includes(part.layer)) {
      rows.push({ parts: [part] });
      continue;
    }
    const folded = FOLDED.get(part.layer) ?? (stack.length > 1 && stack[0] !== part.layer);
    const first = within(part.layer)[0] === part;
    if (!folded) rows.push({ parts: [part], layer: part.layer, opens: first, foldable: stack.length > 1 });
    else if (first) rows.push({ parts: within(part.layer), layer: part.layer, folded: true });
  }
  return rows;
}

/** The places of the rows of a side: adds x, y, height and middle to each, and returns the bottom. */
function place(rows, x, width, top) {
  let y = top;
  let frame = "";
  for (const row of rows) {
    if (frame && row.layer !== frame) y += 12;
    frame = row.folded ? "" : row.layer || "";
    if (row.opens) {
      row.frameTop = y + 4;
      y += 30;
    }
    const height = row.folded ? 46 : PART_ROW[row.parts[0].role] || 50;
    Object.assign(row, { x, y, height, width, middle: y + height / 2 });
    y += height;
  }
  return y + (frame ? 12 : 0);
}

/** Width of the vectors before, inside and after a row, in numbers. */
function widthsOf(rows, index) {
  const out = (row) => row.parts[row.parts.length - 1].shape.at(-1);
  const inner = Math.max(...rows[index].parts.map((part) => Math.max(part.inner, part.shape.at(-1))));
  const before = index ? out(rows[index - 1]) : out(rows[index]);
  return [before, Math.max(inner, before > inner ? 0 : inner), out(rows[index])];
}

/** Columns of both sides, next to each other if there is room. */
function flowLayout(room) {
  const parts = content.flow.parts;
  const sides = [false, true]
    .map((target) => parts.filter((part) => part.target === target))
    .filter((side) => side.length);
  const beside = sides.length > 1 && room >= 700;
  const gap = 76;
  const width = Math.min(470, beside ? (room - gap) / 2 : room);
  const columns = [];
  let top = 0;
  for (const [number, side] of sides.entries()) {
    const rows = rowsOf(side);
    const x = beside ? number * (width + gap) : 0;
    const bottom = place(rows, x, width, top + 44);
    columns.push({ rows, x, width, top, bottom, target: number > 0 });
    if (!beside) top = bottom + 46;
  }
  const inner = parts.filter((part) => part.role !== "output");
  return {
    columns,
    beside,
    width: beside ? 2 * width + gap : width,
    height: Math.max(...columns.map((one) => one.bottom)) + 40,
    spine: Math.min(150, width * 0.32),
    widest: Math.max(...inner.map((part) => Math.max(part.inner, part.shape.at(-1)))),
  };
}
