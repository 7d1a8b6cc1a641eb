// Alignment tab: cross-attention of output tokens to source tokens.

const alignment = {
  id: "alignment",
  title: "Alignment",
  available: () => layersOf("cross").length > 0,
  render(root, room) {
    const layer = layerOf("cross", state.layer);
    const view = viewOf("cross", layer, headIn(layer));
    root.append(
      h("div", { class: "controls" }, layerChoice(layersOf("cross"), layer), headChoice(layer), switches()),
      matrixFigure(view, "alignment", room),
    );
  },
};
