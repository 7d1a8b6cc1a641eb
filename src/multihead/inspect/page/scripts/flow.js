// Model tab: the whole model as a data flow, from which one steps into a part.

let chosenPart = null; // path of the module whose details are shown

const flow = {
  id: "flow",
  title: "Model",
  available: () => content.flow.parts.length > 0,
  render(root, room) {
    const { parts, parameters, elsewhere } = content.flow;
    const layout = flowLayout(Math.min(room, 1060));
    const svg = flowSvg(layout, activate);
    const shown = parts.find((part) => part.module === chosenPart);
    const crosses = parts.some((part) => part.reads.length);
    root.append(
      h(
        "p",
        { class: "lead" },
        t`The path of this input through the model, from top to bottom. Choose a part to step into it; › opens its attention, its embeddings or its predictions.`,
      ),
      figure({
        name: "model",
        caption: [
          t`Every size is this model's own, measured while it read this input: positions × width of the vectors that leave a part, and its number of parameters. A box is as wide as its vectors, and one whose vectors would not fit is cut off.`,
          parts.some((part) => part.residual)
            ? t` Blue: residual connections, around which the input of a sublayer is added to its output.`
            : "",
          crosses ? t` Orange: what the output side reads from the source side.` : "",
          t` The model has ${counted(parameters)} parameters`,
          elsewhere ? t`, ${counted(elsewhere)} of them outside of the parts shown here.` : ".",
        ].join(""),
        body: svg,
        svg: () => svg,
        json: () => content.flow,
        table: () => ({
          caption: t`The parts of the model`,
          head: [t`part`, t`module`, t`positions × width`, t`parameters`],
          rows: parts.map((part) => [
            fullName(part),
            part.module,
            part.shape.map(counted).join(" × "),
            part.shared ? t`shared` : counted(part.parameters),
          ]),
        }),
      }),
      ...(shown ? [partDetails(shown)] : []),
    );
  },
};

/** Open the view of a part, or its details; unfold a folded layer. */
function activate(row, event) {
  event.preventDefault();
  const [part] = row.parts;
  if (row.folded) {
    FOLDED.set(row.layer, false);
    return update({}, `[data-part="${row.layer}"]`);
  }
  const view = viewOfPart(part);
  if (view) {
    const { focus, ...changed } = view();
    return update({ ...changed, stepped: part.module }, focus);
  }
  chosenPart = part.module;
  update({}, `[data-part="${part.module}"]`);
  document.getElementById("part")?.scrollIntoView({ block: "nearest" });
}

/** The way back from a part to the whole model. */
const backToModel = () =>
  state.stepped && state.tab !== "flow"
    ? button(t`← The whole model`, () => update({ tab: "flow", stepped: null }, `[data-part="${state.stepped}"]`), {
        class: "plain back",
      })
    : null;
