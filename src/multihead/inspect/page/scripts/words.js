// Words of the page in English or Korean, and explanations of the terms.

/** The language to begin with: the chosen one, or that of the browser. */
const spoken = () => remembered("language") || (/^ko\b/.test(navigator.language) ? "ko" : "en");

/** A text of the page in its language: a tagged template, or t(text) for a text from the data. */
function t(parts, ...values) {
  const plain = typeof parts === "string";
  const key = plain ? parts : parts.join("{}");
  const found = state.language === "ko" && Object.hasOwn(content.korean, key) ? content.korean[key] : key;
  if (plain) return found;
  let next = 0;
  return found.replace(/\{(\d*)\}/g, (_, number) => values[number === "" ? next++ : +number]);
}

/** A phrase of the data: a text, and its values, of which texts are in the page's language too. */
const phrase = ([text, ...values]) =>
  t(
    text.split("{}"),
    ...values.map((value) => (typeof value === "number" ? value.toLocaleString(state.language) : t(value))),
  );

/** The terms of a tab, each explained in a line. */
function termsOf(tab) {
  const known = {
    query: [t`query`, t`a vector made from the token that asks, one row of the figure: which other tokens matter to it?`],
    key: [t`key`, t`a vector made from a token that can answer, one column: how well does it fit the query?`],
    value: [
      t`value`,
      t`the vector that a token passes on; the output is the mean of the values, weighted by how well the keys fit.`,
    ],
    weight: [t`weight`, t`the share of a key in the output of a query; the weights of a row sum to 1.`],
    head: [
      t`head`,
      t`one of several attentions side by side, each with its own queries, keys and values, so that each can look for something else.`,
    ],
    layer: [
      t`layer`,
      t`one round of attention followed by a small network for each token; the output of a layer is the input of the next.`,
    ],
    entropy: [
      t`entropy`,
      t`how widely a row is spread: 0 bits, all weight on one key; 1 bit, on two keys alike.`,
    ],
    parameter: [t`parameter`, t`a number that training has set; the matrices of every part are made of them.`],
    hypothesis: [
      t`hypothesis`,
      t`a translation that is not finished; beam search continues the few most probable ones at every step.`,
    ],
    embedding: [
      t`embedding`,
      t`the vector that stands for a token before the first layer; similar tokens get similar vectors in training.`,
    ],
  };
  const attention = ["query", "key", "weight", "head", "layer"];
  const named = {
    predictions: [],
    search: ["hypothesis"],
    embeddings: ["embedding"],
    flow: ["layer", "head", "parameter"],
    steps: ["query", "key", "value", "weight"],
    image: ["weight", "head", "layer"],
    alignment: attention,
    sentence: ["query", "key", "weight"],
  }[tab] || [...attention, "entropy"];
  return named.map((name) => known[name]);
}

/** The explanations of a tab, which the reader may hide for good. */
function explanations(tab) {
  const terms = termsOf(tab);
  if (!terms.length) return null;
  return h(
    "details",
    {
      class: "terms",
      open: state.explained,
      toggle: (event) => {
        state.explained = event.target.open;
        remember("explained", event.target.open ? "yes" : "no");
      },
    },
    h("summary", {}, t`New to attention?`),
    h(
      "dl",
      {},
      terms.map(([term, meaning]) => [h("dt", {}, term), h("dd", {}, meaning)]),
    ),
  );
}
