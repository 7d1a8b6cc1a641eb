// The parts of the model: their names, what each does, and the view that shows more of it.

/** The name of a part, and what it does, in a line. */
function aboutPart(part) {
  const known = {
    embedding: [t`Token embedding`, t`Looks up one vector for each token. Training moves similar tokens close together.`],
    positions: [t`Positions`, t`Adds to each token a vector that says where it stands: attention alone does not see the order.`],
    segments: [t`Segment embedding`, t`Adds a vector that says which of two texts a token belongs to.`],
    patches: [t`Patches`, t`Cuts the image into patches and projects the pixels of each to a vector.`],
    attention: [t`Attention`, t`Each token gathers from other tokens: the weighted mean of their values, in every head.`],
    keys: [t`Keys of the attention`, t`Projects the source once, so that every step of the decoder can be compared with it.`],
    "feed-forward": [t`Feed-forward network`, t`Two linear layers with a nonlinearity in between, for each token by itself: wide inside, narrow again at its end.`],
    recurrent: [t`Recurrent layer`, t`Reads the sequence token by token and carries a state along.`],
    convolution: [t`Convolution`, t`Combines each token with its neighbours.`],
    norm: [t`Layer norm`, t`Brings every vector to the same scale, which keeps deep models trainable.`],
    pooling: [t`Pooling`, t`Reduces all vectors to the one that is classified.`],
    linear: [t`Linear layer`, t`Multiplies each vector by a matrix.`],
    output: [t`Output layer`, t`Gives a score to every possible answer; softmax makes probabilities of them.`],
  };
  const [name, does] = known[part.role] || [part.class, t`A part of this model that has no name on this page.`];
  if (part.role === "attention" && part.attention) return [nameOf(part.attention.kind), does];
  if (part.role === "recurrent") return [`${name} (${part.class})`, does];
  return [name, does];
}

const counted = (number) => number.toLocaleString(state.language);

/** The number of a layer, from 1, of a path that ends in its index. */
const layerNumber = (path) => 1 + +path.slice(path.lastIndexOf(".") + 1);

/** The name of a part with its layer and its direction, where there are several. */
function fullName(part) {
  const [name] = aboutPart(part);
  const lists = content.flow.parts.filter((one) => one.layer && stackOf(one) === stackOf(part));
  const direction = /\bbackwards\b/.test(part.module)
    ? t`, backwards`
    : /\bforwards\b/.test(part.module)
      ? t`, forwards`
      : "";
  const several = part.layer && part.role !== "linear" && new Set(lists.map((one) => one.layer)).size > 1;
  return (several ? t`${name}, layer ${layerNumber(part.layer)}` : name) + direction;
}

/** The path of the list that holds the layer of a part. */
const stackOf = (part) => part.layer.slice(0, part.layer.lastIndexOf("."));

/** What a part has inside: heads, or the width of a feed-forward network. */
function insideOf(part) {
  if (part.role === "attention" && part.attention) {
    const { heads, d_k } = part.attention;
    if (heads === 1) return "";
    return d_k ? t`${heads} × ${d_k}` : t`${heads} heads`;
  }
  return part.role === "feed-forward" ? `→ ${counted(part.inner)} →` : "";
}

/** The size of what leaves a part, and its number of parameters. */
function sizeOf(part) {
  const shape = part.shape.map(counted).join(" × ");
  const parameters = part.shared
    ? t`shared parameters`
    : part.parameters
      ? t`${counted(part.parameters)} parameters`
      : t`no parameters`;
  return `${shape} · ${parameters}`;
}

/** The change of state that opens the view of a part; null if it has none. */
function viewOfPart(part) {
  if (part.role === "attention" && part.attention) {
    const { kind, layer } = part.attention;
    const found = layersOf(kind).find((one) => one.layer === layer);
    if (!found || !kindOf(kind)) return null;
    return () => {
      const head = chosenHeads[kind]?.[0][0] === layer ? chosenHeads[kind][0][1] : startHead(kind, [found])[1];
      chosenHeads[kind] = [[layer, head], null];
      lastHead = [kind, layer, head];
      return { tab: kindOf(kind).tab, layer, focus: `[data-head="${layer}.${head}"]` };
    };
  }
  const tab = { embedding: embeddings, positions: embeddings, output: predictions }[part.role];
  const shows =
    tab?.available() &&
    (part.role !== "positions" || content.positions) &&
    (part.role !== "embedding" || content.neighbours[part.target ? "target" : "source"].length);
  return shows ? () => ({ tab: tab.id, focus: `#tab-${tab.id}` }) : null;
}

/** The parameters of a part, and its place in the code. */
function partDetails(part) {
  const [, does] = aboutPart(part);
  return h(
    "section",
    { class: "card", id: "part" },
    h("h2", {}, fullName(part)),
    h("p", {}, does),
    h("p", { class: "lead" }, h("code", {}, part.class), " · ", h("code", {}, part.module)),
    part.calls > 1 ? h("p", { class: "lead" }, t`Runs ${part.calls} times, once per token.`) : null,
    part.tensors.length
      ? scrolling(
          t`parameters`,
          asTable({
            caption: sizeOf(part),
            head: [t`parameters`, t`shape`],
            rows: part.tensors.map(([tensor, shape]) => [tensor, shape.map(counted).join(" × ")]),
          }),
        )
      : h("p", { class: "lead" }, sizeOf(part)),
  );
}
