// Overlay tab of a vision transformer: attention to each patch by layer and head, and attention rollout.

let overlayMode = content.start.overlay; // "rollout" or "head"
let queryPatch = null; // patch whose attention is shown; null: the classifier's input

const imageOverlay = {
  id: "image",
  title: "Overlay",
  available: () => Boolean(content.image?.maps),
  render(root, room) {
    const layers = content.image.maps.map((packed, i) => ({ packed, layer: i + 1 }));
    const layer = layerOf("self", state.layer) || { layer: state.layer, heads: headsOf(layers[0]) };
    const view = overlayMode === "rollout" ? rolloutView() : headView(layer);
    root.append(
      h(
        "div",
        { class: "controls" },
        overlayChoice(),
        layerOrDepthChoice(),
        overlayMode === "rollout" ? null : headChoice(layer),
        queryPatchButton(),
      ),
      figure({
        name: "overlay",
        caption: view.caption,
        body: [
          opacitySlider(),
          largeImage({
            name: view.caption,
            overlay: (x, y, side) => heatOverlay(x, y, side, view.values),
            legend: (x, y, height) => hotScale(x, y, height, largest(view.values)),
            room,
            describe: (patch) => `${positionName(patch)}  ${view.values[patch].toFixed(4)}`,
            choose: hasAllQueries() ? (patch) => setQuery(patch === queryPatch ? null : patch) : null,
            marked: overlayMode === "rollout" ? null : queryPatch,
          }),
        ],
        svg: () => imageGridSvg([[view.name, [{ values: null }, view]]], ["image", view.name], 320),
        json: () => ({
          what: view.caption,
          rows: content.image.rows,
          columns: content.image.columns,
          values: [...view.values],
        }),
        table: () => topPositionsTable(view.caption, view.values),
      }),
      everyMap(layers, room),
    );
  },
};

const headsOf = ({ packed }) => floats(packed).length / (content.image.rows * content.image.columns);

/** True if the page contains the attention of every patch. */
const hasAllQueries = () =>
  layersOf("self").length > 0 &&
  layersOf("self")[0].queries === content.image.first + content.image.rows * content.image.columns;

function setQuery(patch) {
  queryPatch = patch;
  if (patch !== null) overlayMode = "head";
  update({}, '[data-figure="overlay"] svg');
}

const overlayChoice = () =>
  segments(
    t`Show`,
    [
      ["rollout", t`rollout`],
      ["head", t`layer and head`],
    ],
    overlayMode,
    (value) => {
      overlayMode = value;
      update({});
    },
  );

const layerOrDepthChoice = () =>
  content.image.maps.length > 1
    ? segments(
        overlayMode === "rollout" ? t`Up to layer` : t`Layer`,
        content.image.maps.map((_, i) => [i + 1, i + 1]),
        overlayMode === "rollout" ? depth() : state.layer,
        (layer) => {
          if (overlayMode === "rollout") chosenDepth = layer;
          update(overlayMode === "rollout" ? {} : { layer });
        },
      )
    : null;

let chosenDepth = null; // last layer of the rollout; null: all layers
const depth = () => chosenDepth ?? content.image.rollout.length;

const queryPatchButton = () =>
  queryPatch === null || overlayMode === "rollout"
    ? null
    : button(t`attention of the patch in ${positionName(queryPatch)} ✕`, () => setQuery(null), { id: "query-patch" });

function rolloutView() {
  const values = floats(content.image.rollout[depth() - 1]);
  return {
    values,
    name: t`rollout`,
    caption: t`Attention rollout through ${depth() === 1 ? t`the first layer` : t`layers 1 to ${depth()}`}: the share of each patch in ${t(content.image.readout)} (Abnar and Zuidema 2020: mean over the heads, plus the identity for the residual connection, rows normalised, layers multiplied). Click a patch, or press Enter on it, to see its own attention.`,
  };
}

function headView(layer) {
  const head = headIn(layer);
  const which = head ? t`head ${head}` : t`${t(state.combine)} of ${layer.heads} heads`;
  const query = queryPatch === null ? t(content.image.readout) : t`the patch in ${positionName(queryPatch)}`;
  return {
    values: queryPatch === null ? mapOf(layer.layer, head) : patchMap(layer, head),
    name: t`layer ${layer.layer}, ${which}`,
    caption: t`Attention of ${query} in layer ${layer.layer}, ${which}.`,
  };
}

/** Attention of the classifier's input to each patch. */
function mapOf(layer, head) {
  return combineHeads(floats(content.image.maps[layer - 1]), content.image.rows * content.image.columns, head);
}

/** Attention of the query patch to each patch. */
function patchMap(layer, head) {
  const { first, rows, columns } = content.image;
  const weights = combined(layer, head, state.combine);
  return Float32Array.from({ length: rows * columns }, (_, patch) =>
    weights.at(first + queryPatch, first + patch),
  );
}

function everyMap(layers, room) {
  const heads = headsOf(layers[0]);
  const side = Math.max(44, Math.min(128, (room - 90) / (heads + 1) - 16));
  const columns = [...Array.from({ length: heads }, (_, i) => t`head ${i + 1}`), t`rollout`];
  const rows = layers.map(({ layer }) => [
    t`layer ${layer}`,
    [
      ...Array.from({ length: heads }, (_, i) => ({
        id: `${layer}.${i + 1}`,
        name: t`Layer ${layer}, head ${i + 1}`,
        values: mapOf(layer, i + 1),
        on: overlayMode === "head" && state.layer === layer && state.head === i + 1,
        choose: () => {
          overlayMode = "head";
          update({ layer, head: i + 1 }, `[data-map="${layer}.${i + 1}"]`);
        },
      })),
      {
        id: `${layer}.rollout`,
        name: t`Rollout through layer ${layer}`,
        values: floats(content.image.rollout[layer - 1]),
        on: overlayMode === "rollout" && depth() === layer,
        choose: () => {
          overlayMode = "rollout";
          chosenDepth = layer;
          update({}, `[data-map="${layer}.rollout"]`);
        },
      },
    ],
  ]);
  return imageGridFigure(rows, columns, side, {
    name: "every-map",
    title: t`Attention of ${t(content.image.readout)}: every layer and head`,
    caption:
      t`Each map has its own colour scale: the brightest patch has the largest weight. Choose a map to enlarge it.`,
    tableCaption: t`The patch with the largest weight in each map`,
    head: [t`map`, t`patch`, t`weight`],
  });
}
