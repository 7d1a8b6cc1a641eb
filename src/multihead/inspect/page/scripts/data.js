// Data and state of the page, and arithmetic on attention matrices. No drawing.

const content = JSON.parse(document.getElementById("data").textContent);

const state = {
  tab: "alignment",
  hypothesis: 0,
  layer: content.start.layer,
  head: content.start.head, // 0: all heads combined
  combine: content.start.combine,
  words: content.start.words,
  specials: content.start.specials,
  language: spoken(),
  explained: remembered("explained") !== "no",
};

function bytes(text) {
  const binary = atob(text);
  const found = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) found[i] = binary.charCodeAt(i);
  return found;
}

const floats = (text) => new Float32Array(bytes(text).buffer);

const WEIGHT_OF_BYTE = Float32Array.from({ length: 256 }, (_, byte) => (byte / 255) ** 2);

const hypothesis = () => content.hypotheses[state.hypothesis];

// Encoder self-attention does not depend on the output, so only the first hypothesis has it.
const layersOf = (kind) =>
  (kind === "encoder self" ? content.hypotheses[0] : hypothesis()).layers.filter((one) => one.kind === kind);

const layerOf = (kind, number) => layersOf(kind).find((one) => one.layer === number) || layersOf(kind)[0];

const unpacked = new WeakMap();

/** Decode the weights of all heads of a layer: (H, Q, K), flat. */
function weightsOf(layer) {
  if (!unpacked.has(layer)) {
    const raw = bytes(layer.weights);
    const values = new Float32Array(raw.length);
    for (let i = 0; i < raw.length; i++) values[i] = WEIGHT_OF_BYTE[raw[i]];
    unpacked.set(layer, values);
  }
  return unpacked.get(layer);
}

/** The mask of a layer as a function: true if query i may attend to key j. */
function allowedIn(layer) {
  if (!layer.allowed) return () => true;
  if (layer.allowed === "causal") return (i, j) => j <= i;
  const table = bytes(layer.allowed);
  return (i, j) => table[i * layer.keys + j] === 1;
}

function matrix(rows, columns, data = new Float32Array(rows * columns)) {
  return { rows, columns, data, at: (i, j) => data[i * columns + j] };
}

/** Values of one head (from 1) among those of all heads, flat; or of all heads combined (0). */
function combineHeads(all, size, head, how = state.combine) {
  if (head) return all.subarray((head - 1) * size, head * size);
  const found = new Float64Array(size);
  for (let i = 0; i < all.length; i++)
    found[i % size] = how === "max" ? Math.max(found[i % size], all[i]) : found[i % size] + (all[i] * size) / all.length;
  return Float32Array.from(found);
}

/** Weights of one head (from 1), or of all heads combined (0); rows sum to 1. */
function combined(layer, head, how) {
  const { queries, keys } = layer;
  const found = matrix(queries, keys, combineHeads(weightsOf(layer), queries * keys, head, how));
  return head ? found : normalised(found);
}

function normalised(given) {
  const found = matrix(given.rows, given.columns);
  for (let i = 0; i < given.rows; i++) {
    let total = 0;
    for (let j = 0; j < given.columns; j++) total += given.at(i, j);
    for (let j = 0; j < given.columns; j++)
      found.data[i * given.columns + j] = total ? given.at(i, j) / total : 0;
  }
  return found;
}

/** Merge subwords into words: sum over a word's keys, mean over its queries. */
function merged(given, rowWords, columnWords) {
  const rows = 1 + rowWords[rowWords.length - 1];
  const columns = 1 + columnWords[columnWords.length - 1];
  const found = matrix(rows, columns);
  const lengths = new Float32Array(rows);
  for (const word of rowWords) lengths[word]++;
  for (let i = 0; i < given.rows; i++)
    for (let j = 0; j < given.columns; j++)
      found.data[rowWords[i] * columns + columnWords[j]] += given.at(i, j) / lengths[rowWords[i]];
  return found;
}

function submatrix(given, rows, columns) {
  const found = matrix(rows.length, columns.length);
  rows.forEach((i, a) => columns.forEach((j, b) => (found.data[a * columns.length + b] = given.at(i, j))));
  return found;
}

const kindOf = (kind) => content.kinds.find((one) => one.kind === kind);

/** The tokens of the rows and of the columns of a kind of attention. */
function sidesOf(kind, output = hypothesis()) {
  const { rows, columns } = kindOf(kind);
  const side = (name) => output[name] || content[name];
  return { rows: side(rows), columns: side(columns) };
}

/** The view of one head, or of all heads of a layer combined, under the current switches. */
function viewOf(kind, layer, head, how = state.combine) {
  const about = kindOf(kind);
  let { rows, columns } = sidesOf(kind);
  let found = combined(layer, head, how);
  let allowed = allowedIn(layer);
  if (state.words) {
    const rowWords = rows.pieces.map((token) => token.word);
    const columnWords = columns.pieces.map((token) => token.word);
    const pieces = allowed;
    allowed = (i, j) => pieces(rowWords.lastIndexOf(i), columnWords.indexOf(j));
    found = merged(found, rowWords, columnWords);
  }
  rows = state.words ? rows.words : rows.pieces;
  columns = state.words ? columns.words : columns.pieces;
  const hasWords = (tokens) => tokens.some((token) => !token.special);
  const special = [...rows, ...columns].some((token) => token.special);
  // An empty output has only its end symbol, which then stays.
  const hides = special && !state.specials && hasWords(rows) && hasWords(columns);
  if (hides) {
    const keep = (tokens) => tokens.flatMap((token, i) => (token.special ? [] : [i]));
    const [keptRows, keptColumns] = [keep(rows), keep(columns)];
    found = normalised(submatrix(found, keptRows, keptColumns));
    const all = allowed;
    allowed = (i, j) => all(keptRows[i], keptColumns[j]);
    rows = keptRows.map((i) => rows[i]);
    columns = keptColumns.map((j) => columns[j]);
  }
  return {
    matrix: found,
    rows,
    columns,
    allowed,
    kind,
    rowTitle: t(about.row),
    columnTitle: t(about.column),
    caption: captionOf(kind, layer, head, how, hides),
  };
}

const nameOf = (kind) => t(kindOf(kind).name);

function captionOf(kind, layer, head, how, hides) {
  const parts = [t`${nameOf(kind)}, layer ${layer.layer} of ${layersOf(kind).length}`];
  if (layersOf(kind).length === 1) parts[0] = nameOf(kind);
  if (
    kind === content.start.kind &&
    content.start.automatic &&
    layer.layer === content.start.layer &&
    layersOf(kind).length > 1
  )
    parts[0] += t` (the most informative)`;
  if (head) parts.push(t`head ${head} of ${layer.heads}`);
  else if (layer.heads > 1) parts.push(t`${t(how)} of ${layer.heads} heads`);
  if (state.words) parts.push(t`subwords merged into words`);
  if (hides) parts.push(t`special symbols omitted`);
  return parts.join(", ") + ".";
}

/** A view as plain data, with weights rounded to four decimals. */
const viewAsJson = (view) => ({
  kind: view.kind,
  caption: view.caption,
  caution: content.caution,
  rows: view.rows.map((token) => token.text),
  columns: view.columns.map((token) => token.text),
  weights: view.rows.map((_, i) => view.columns.map((_, j) => +view.matrix.at(i, j).toFixed(4))),
});
