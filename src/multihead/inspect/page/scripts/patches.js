// A vision transformer: what the classifier's input takes from each patch, by layer, head and rollout.

let look = content.start.look; // "rollout" or "head"
let asking = null; // the patch whose look is shown; null: what the classifier reads

const patches = {
  id: "picture",
  title: "Over the picture",
  available: () => Boolean(content.picture?.maps),
  render(root, room) {
    const layers = content.picture.maps.map((packed, i) => ({ packed, layer: i + 1 }));
    const layer = layerOf("self", state.layer) || { layer: state.layer, heads: headsOf(layers[0]) };
    const view = look === "rollout" ? rolloutView(layer.layer) : headView(layer);
    root.append(
      h(
        "div",
        { class: "controls" },
        lookChoice(),
        patchLayers(),
        look === "rollout" ? null : headChoice(layer),
        asked(),
      ),
      figure({
        name: "over-the-picture",
        caption: view.caption,
        body: [
          opacitySlider(),
          largePicture({
            name: view.caption,
            cover: (x, y, side) => lit(x, y, side, view.values),
            legend: (x, y, height) => hotScale(x, y, height, largest(view.values)),
            room,
            told: (place) => `${placeName(place)}  ${view.values[place].toFixed(4)}`,
            chosen: whole() ? (place) => ask(place === asking ? null : place) : null,
            marked: look === "rollout" ? null : asking,
          }),
        ],
        svg: () => pictureGridSvg([[view.name, [{ values: null }, view]]], ["the picture", view.name], 320),
        json: () => ({
          what: view.caption,
          rows: content.picture.rows,
          columns: content.picture.columns,
          values: [...view.values],
        }),
        table: () => placesTable(view.caption, view.values),
      }),
      everyMap(layers, room),
    );
  },
};

const headsOf = ({ packed }) => floats(packed).length / (content.picture.rows * content.picture.columns);

/** Whether all patches' own looks are in the page. */
const whole = () =>
  layersOf("self").length > 0 &&
  layersOf("self")[0].queries === content.picture.first + content.picture.rows * content.picture.columns;

function ask(place) {
  asking = place;
  if (place !== null) look = "head";
  update({}, '[data-figure="over-the-picture"] svg');
}

const lookChoice = () =>
  segments(
    "Show",
    [
      ["rollout", "rollout"],
      ["head", "layer and head"],
    ],
    look,
    (value) => {
      look = value;
      update({});
    },
  );

const patchLayers = () =>
  content.picture.maps.length > 1
    ? segments(
        look === "rollout" ? "Through layer" : "Layer",
        content.picture.maps.map((_, i) => [i + 1, i + 1]),
        look === "rollout" ? through() : state.layer,
        (layer) => {
          if (look === "rollout") rolled = layer;
          update(look === "rollout" ? {} : { layer });
        },
      )
    : null;

let rolled = null; // through which layer; null: all
const through = () => rolled ?? content.picture.rollout.length;

const asked = () =>
  asking === null || look === "rollout"
    ? null
    : h(
        "button",
        { type: "button", class: "plain", id: "asker", click: () => ask(null) },
        `what the patch in ${placeName(asking)} looks at ✕`,
      );

function rolloutView() {
  const values = floats(content.picture.rollout[through() - 1]);
  return {
    values,
    name: "rollout",
    caption: `Attention rollout through ${through() === 1 ? "the first layer" : `layers 1 to ${through()}`}: how much of each patch has reached ${content.picture.asker} (Abnar and Zuidema 2020: mean of the heads, the identity added for the residual connection, rows normalised, layers multiplied). Click on a patch, or press Enter there, to see what it looks at itself.`,
  };
}

function headView(layer) {
  const head = headIn(layer);
  const which = head ? `head ${head}` : `${state.combine} of ${layer.heads} heads`;
  const who = asking === null ? content.picture.asker : `the patch in ${placeName(asking)}`;
  return {
    values: asking === null ? mapOf(layer.layer, head) : patchLook(layer, head),
    name: `layer ${layer.layer}, ${which}`,
    caption: `What ${who} looks at in layer ${layer.layer}, ${which}.`,
  };
}

/** What the classifier's input takes from each patch. */
function mapOf(layer, head) {
  const all = floats(content.picture.maps[layer - 1]);
  const size = content.picture.rows * content.picture.columns;
  if (head) return all.subarray((head - 1) * size, head * size);
  const found = new Float32Array(size);
  for (let i = 0; i < all.length; i++)
    found[i % size] =
      state.combine === "max"
        ? Math.max(found[i % size], all[i])
        : found[i % size] + (all[i] * size) / all.length;
  return found;
}

/** What one patch takes from each patch. */
function patchLook(layer, head) {
  const { first, rows, columns } = content.picture;
  const weights = combined(layer, head, state.combine);
  return Float32Array.from({ length: rows * columns }, (_, place) =>
    weights.at(first + asking, first + place),
  );
}

function everyMap(layers, room) {
  const heads = headsOf(layers[0]);
  const side = Math.max(44, Math.min(128, (room - 90) / (heads + 1) - 16));
  const columns = [...Array.from({ length: heads }, (_, i) => `head ${i + 1}`), "rollout"];
  const rows = layers.map(({ layer }) => [
    `layer ${layer}`,
    [
      ...Array.from({ length: heads }, (_, i) => ({
        id: `${layer}.${i + 1}`,
        name: `Layer ${layer}, head ${i + 1}`,
        values: mapOf(layer, i + 1),
        on: look === "head" && state.layer === layer && state.head === i + 1,
        chosen: () => {
          look = "head";
          update({ layer, head: i + 1 }, `[data-map="${layer}.${i + 1}"]`);
        },
      })),
      {
        id: `${layer}.rollout`,
        name: `Rollout through layer ${layer}`,
        values: floats(content.picture.rollout[layer - 1]),
        on: look === "rollout" && through() === layer,
        chosen: () => {
          look = "rollout";
          rolled = layer;
          update({}, `[data-map="${layer}.rollout"]`);
        },
      },
    ],
  ]);
  return figure({
    name: "every-map",
    title: `What ${content.picture.asker} looks at: every layer and head`,
    caption:
      "Each on a scale of its own: the brightest patch is the one with the largest weight. Choose one to enlarge it.",
    body: h("div", { class: "heads" }, pictureGrid(rows, columns, side)),
    svg: () => pictureGridSvg(rows, columns, side),
    json: () =>
      rows.flatMap(([, cells]) => cells.map(({ name, values }) => ({ what: name, values: [...values] }))),
    table: () => ({
      caption: "The patch that each looks at most",
      head: ["map", "patch", "weight"],
      rows: rows.flatMap(([, cells]) =>
        cells.map(({ name, values }) => {
          const place = values.indexOf(largest(values));
          return [name, placeName(place), largest(values).toFixed(4)];
        }),
      ),
    }),
  });
}
