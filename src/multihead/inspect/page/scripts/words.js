// A picture drawn for a caption: which words each place was drawn from (Ramesh et al. 2021).

// Okabe and Ito 2008: colours that colour-blind readers tell apart.
const WORD_COLOURS = ["#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#999999"];

let shownWord = null; // whose map is shown in every layer and head

const words = {
  id: "picture",
  title: "Over the picture",
  available: () => Boolean(content.picture?.words),
  render(root, room) {
    const { layers } = content.picture;
    const layer = layers[Math.min(state.layer, layers.length) - 1];
    const head = headIn(layer);
    const which = head ? `head ${head} of ${layer.heads}` : `${state.combine} of ${layer.heads} heads`;
    const how = `layer ${layer.layer} of ${layers.length} (${LAYOUTS[layer.layout]}), ${which}`;
    const look = lookOf(layer, head);
    shownWord ??= spoken().reduce((best, word) => (shareOf(look, word) > shareOf(look, best) ? word : best));
    root.append(
      h(
        "div",
        { class: "controls" },
        layers.length > 1
          ? segments(
              "Layer",
              layers.map((one) => [one.layer, one.layer]),
              layer.layer,
              (value) => update({ layer: value }),
            )
          : null,
        headChoice(layer),
      ),
      whichWord(look, how, room),
      eachWord(look, how, room),
      wordEverywhere(room),
    );
  },
};

const LAYOUTS = {
  row: "it sees the text and the places just before",
  column: "it sees the text and its own column",
  convolution: "it sees the text and the places around it",
  full: "it sees all before it",
};

/** The places of the caption's words; begin symbol and fillers are none. */
const spoken = () => content.picture.words.flatMap((word, place) => (word.special ? [] : [place]));
const places = () => content.picture.rows * content.picture.columns;

/** What each place takes from each word: (places, words), flat. */
function lookOf(layer, head) {
  const count = places() * content.picture.words.length;
  const all = weightsOf(layer);
  if (head) return all.subarray((head - 1) * count, head * count);
  const found = new Float32Array(count);
  for (let i = 0; i < all.length; i++)
    found[i % count] =
      state.combine === "max" ? Math.max(found[i % count], all[i]) : found[i % count] + all[i] / layer.heads;
  return found;
}

const mapOfWord = (look, word) =>
  Float32Array.from({ length: places() }, (_, place) => look[place * content.picture.words.length + word]);

/** The part of all looks that a word takes. */
const shareOf = (look, word) => mapOfWord(look, word).reduce((a, b) => a + b, 0) / places();

const wordColour = (place) => WORD_COLOURS[(place - spoken()[0]) % WORD_COLOURS.length];

/** The word of the caption that a place takes most from. */
const mostOf = (look, place) =>
  spoken().reduce((best, word) => {
    const at = (one) => look[place * content.picture.words.length + one];
    return at(word) > at(best) ? word : best;
  }, spoken()[0]);

function whichWord(look, how, room) {
  const { words: all, columns } = content.picture;
  const most = Array.from({ length: places() }, (_, place) => mostOf(look, place));
  const cover = (x, y, side) => covered(x, y, side, (place) => channels(wordColour(most[place])));
  const legend = (x, y) => ({
    element: s(
      "g",
      {},
      spoken().map((word, i) => [
        s("rect", { x, y: y + i * 24, width: 14, height: 14, rx: 3, fill: wordColour(word) }),
        label(fitted(all[word].text, 14, 110), x + 21, y + i * 24 + 7, 14, {
          "dominant-baseline": "central",
        }),
      ]),
    ),
    width: 30 + Math.min(110, Math.max(...spoken().map((word) => textWidth(all[word].text, 14)))),
  });
  const caption = `The word of the caption that each place of the picture takes most from while it is drawn: ${how}. Point at a place to see what it takes from each.`;
  const told = (place) =>
    [
      placeName(place),
      ...all.map(({ text }, word) => `\u2068${text}\u2069  ${look[place * all.length + word].toFixed(3)}`),
      `picture  ${(1 - all.reduce((sum, _, word) => sum + look[place * all.length + word], 0)).toFixed(3)}`,
    ].join("\n");
  const svg = largePicture({ name: caption, cover, legend, room, told, chosen: null, marked: null });
  return figure({
    name: "which-word",
    title: "Which word each place looks at",
    caption,
    body: [opacitySlider(), svg],
    svg: () => svg,
    json: () => ({
      what: caption,
      rows: content.picture.rows,
      columns,
      words: all.map((word) => word.text),
      most: most.map((word) => all[word].text),
      weights: most.map((_, place) => all.map((_, word) => +look[place * all.length + word].toFixed(4))),
    }),
    table: () => ({
      caption,
      head: ["place", "word", ...all.map((word) => word.text)],
      rows: most.map((word, place) => [
        placeName(place),
        all[word].text,
        ...all.map((_, other) => look[place * all.length + other].toFixed(3)),
      ]),
    }),
  });
}

function eachWord(look, how, room) {
  const { words: all } = content.picture;
  const side = Math.max(64, Math.min(150, room / all.length - 18));
  const cells = all.map(({ text }, word) => {
    const values = mapOfWord(look, word);
    return {
      id: `word-${word}`,
      name: text,
      below: `${(100 * shareOf(look, word)).toFixed(1)} % of all looks`,
      values,
      on: word === shownWord,
      chosen: () => {
        shownWord = word;
        update({}, `[data-map="word-${word}"]`);
      },
    };
  });
  const rows = [["", cells]];
  const names = all.map((word) => word.text);
  return figure({
    name: "each-word",
    title: "Which places look at each word",
    caption: `Each on a scale of its own: ${how}. Choose a word to see it in every layer and head.`,
    body: h("div", { class: "heads" }, pictureGrid(rows, names, side)),
    svg: () => pictureGridSvg(rows, names, side),
    json: () => cells.map(({ name, values }) => ({ word: name, values: [...values] })),
    table: () => ({
      caption: "The place that looks at each word most",
      head: ["word", "place", "weight", "of all looks"],
      rows: cells.map(({ name, values, below }) => [
        name,
        placeName(values.indexOf(largest(values))),
        largest(values).toFixed(3),
        below,
      ]),
    }),
  });
}

function wordEverywhere(room) {
  const { layers, words: all } = content.picture;
  const heads = Math.max(...layers.map((one) => one.heads));
  const side = Math.max(44, Math.min(128, (room - 130) / heads - 16));
  const columns = Array.from({ length: heads }, (_, i) => `head ${i + 1}`);
  const rows = layers.map((layer) => [
    `layer ${layer.layer}, ${layer.layout}`,
    columns.map((name, i) => ({
      id: `${layer.layer}.${i + 1}`,
      name: `Layer ${layer.layer}, ${name}`,
      values: mapOfWord(lookOf(layer, i + 1), shownWord),
      on: state.layer === layer.layer && state.head === i + 1,
      chosen: () => update({ layer: layer.layer, head: i + 1 }, `[data-map="${layer.layer}.${i + 1}"]`),
    })),
  ]);
  const title = `Which places look at “${all[shownWord].text}”: every layer and head`;
  return figure({
    name: "word-everywhere",
    title,
    caption: "Each on a scale of its own. Choose one to see all words in that layer and head.",
    body: h("div", { class: "heads" }, pictureGrid(rows, columns, side)),
    svg: () => pictureGridSvg(rows, columns, side),
    json: () =>
      rows.flatMap(([, cells]) => cells.map(({ name, values }) => ({ what: name, values: [...values] }))),
    table: () => ({
      caption: title,
      head: ["layer and head", "place", "weight"],
      rows: rows.flatMap(([, cells]) =>
        cells.map(({ name, values }) => [
          name,
          placeName(values.indexOf(largest(values))),
          largest(values).toFixed(3),
        ]),
      ),
    }),
  });
}
