// Overlay tab of a text-to-image model: attention of image positions to the caption (Ramesh et al. 2021).

// Palette that is safe for colour-blind readers (Okabe and Ito 2008).
const WORD_COLOURS = ["#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#999999"];

let shownWord = null; // word whose map is shown in every layer and head

const captionOverlay = {
  id: "image",
  title: "Overlay",
  available: () => Boolean(content.image?.words),
  render(root, room) {
    const { layers } = content.image;
    const layer = layers[Math.min(state.layer, layers.length) - 1];
    const head = headIn(layer);
    const which = head ? t`head ${head} of ${layer.heads}` : t`${t(state.combine)} of ${layer.heads} heads`;
    const how = t`layer ${layer.layer} of ${layers.length} (${t(LAYOUTS[layer.layout])}), ${which}`;
    const weights = wordWeights(layer, head);
    shownWord ??= captionWords().reduce((best, word) =>
      shareOf(weights, word) > shareOf(weights, best) ? word : best,
    );
    root.append(
      h(
        "div",
        { class: "controls" },
        layerChoice(layers, layer),
        headChoice(layer),
      ),
      topWordFigure(weights, how, room),
      eachWordFigure(weights, how, room),
      everyHeadFigure(room),
    );
  },
};

const LAYOUTS = {
  row: "row attention: the text and the preceding positions",
  column: "column attention: the text and the same column",
  convolution: "convolutional attention: the text and neighbouring positions",
  full: "full causal attention",
};

/** Indices of the caption's words, without begin symbol and padding. */
const captionWords = () => content.image.words.flatMap((word, i) => (word.special ? [] : [i]));
const positionCount = () => content.image.rows * content.image.columns;

/** Attention of each image position to each word: (positions, words), flat. */
function wordWeights(layer, head) {
  return combineHeads(weightsOf(layer), positionCount() * content.image.words.length, head);
}

const mapOfWord = (weights, word) =>
  Float32Array.from(
    { length: positionCount() },
    (_, position) => weights[position * content.image.words.length + word],
  );

/** The share of all attention that a word receives. */
const shareOf = (weights, word) => mapOfWord(weights, word).reduce((a, b) => a + b, 0) / positionCount();

const wordColour = (word) => WORD_COLOURS[(word - captionWords()[0]) % WORD_COLOURS.length];

/** The caption word with the largest weight at a position. */
const topWord = (weights, position) =>
  captionWords().reduce((best, word) => {
    const at = (one) => weights[position * content.image.words.length + one];
    return at(word) > at(best) ? word : best;
  }, captionWords()[0]);

function topWordFigure(weights, how, room) {
  const { words: all, columns } = content.image;
  const top = Array.from({ length: positionCount() }, (_, position) => topWord(weights, position));
  const overlay = (x, y, side) =>
    colourOverlay(x, y, side, (position) => channels(wordColour(top[position])));
  const legend = (x, y) => ({
    element: s(
      "g",
      {},
      captionWords().map((word, i) => [
        s("rect", { x, y: y + i * 24, width: 14, height: 14, rx: 3, fill: wordColour(word) }),
        label(fitted(all[word].text, 14, 110), x + 21, y + i * 24 + 7, 14, {
          "dominant-baseline": "central",
        }),
      ]),
    ),
    width: 30 + Math.min(110, Math.max(...captionWords().map((word) => textWidth(all[word].text, 14)))),
  });
  const caption = t`The caption word with the largest attention weight at each image position: ${how}. Hover over a position to see all its weights.`;
  const at = (position, word) => weights[position * all.length + word];
  const describe = (position) =>
    [
      positionName(position),
      ...all.map(({ text }, word) => `\u2068${text}\u2069  ${at(position, word).toFixed(3)}`),
      t`image  ${(1 - all.reduce((sum, _, word) => sum + at(position, word), 0)).toFixed(3)}`,
    ].join("\n");
  const svg = largeImage({ name: caption, overlay, legend, room, describe, choose: null, marked: null });
  return figure({
    name: "top-word",
    title: t`Word with the largest weight at each position`,
    caption,
    body: [opacitySlider(), svg],
    svg: () => svg,
    json: () => ({
      what: caption,
      rows: content.image.rows,
      columns,
      words: all.map((word) => word.text),
      top: top.map((word) => all[word].text),
      weights: top.map((_, position) => all.map((_, word) => +at(position, word).toFixed(4))),
    }),
    table: () => ({
      caption,
      head: [t`position`, t`word`, ...all.map((word) => word.text)],
      rows: top.map((word, position) => [
        positionName(position),
        all[word].text,
        ...all.map((_, other) => at(position, other).toFixed(3)),
      ]),
    }),
  });
}

function eachWordFigure(weights, how, room) {
  const { words: all } = content.image;
  const side = Math.max(64, Math.min(150, room / all.length - 18));
  const cells = all.map(({ text }, word) => {
    const values = mapOfWord(weights, word);
    return {
      id: `word-${word}`,
      name: text,
      below: t`${(100 * shareOf(weights, word)).toFixed(1)} % of the attention`,
      values,
      on: word === shownWord,
      choose: () => {
        shownWord = word;
        update({}, `[data-map="word-${word}"]`);
      },
    };
  });
  const rows = [["", cells]];
  const names = all.map((word) => word.text);
  return figure({
    name: "each-word",
    title: t`Attention to each word`,
    caption: t`Each map has its own colour scale: ${how}. Choose a word to see it in every layer and head.`,
    body: h("div", { class: "heads" }, imageGrid(rows, names, side)),
    svg: () => imageGridSvg(rows, names, side),
    json: () => cells.map(({ name, values }) => ({ word: name, values: [...values] })),
    table: () => ({
      caption: t`The position with the largest weight on each word`,
      head: [t`word`, t`position`, t`weight`, t`share of the attention`],
      rows: cells.map(({ name, values, below }) => [
        name,
        positionName(values.indexOf(largest(values))),
        largest(values).toFixed(3),
        below,
      ]),
    }),
  });
}

function everyHeadFigure(room) {
  const { layers, words: all } = content.image;
  const heads = Math.max(...layers.map((one) => one.heads));
  const side = Math.max(44, Math.min(128, (room - 130) / heads - 16));
  const columns = Array.from({ length: heads }, (_, i) => t`head ${i + 1}`);
  const rows = layers.map((layer) => [
    t`layer ${layer.layer}, ${layer.layout}`,
    columns.map((name, i) => ({
      id: `${layer.layer}.${i + 1}`,
      name: t`Layer ${layer.layer}, ${name}`,
      values: mapOfWord(wordWeights(layer, i + 1), shownWord),
      on: state.layer === layer.layer && state.head === i + 1,
      choose: () => update({ layer: layer.layer, head: i + 1 }, `[data-map="${layer.layer}.${i + 1}"]`),
    })),
  ]);
  const title = t`Attention to “${all[shownWord].text}”: every layer and head`;
  return imageGridFigure(rows, columns, side, {
    name: "word-every-head",
    title,
    caption: t`Each map has its own colour scale. Choose a map to see all words in that layer and head.`,
    tableCaption: title,
    head: [t`layer and head`, t`position`, t`weight`],
  });
}
