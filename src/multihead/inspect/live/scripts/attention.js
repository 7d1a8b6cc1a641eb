// The attention of the sentence in focus: ribbon, grid and large map.

const attention = h("section", { class: "card", id: "attention" });
let drawn = []; // what follows the chosen word

function paintAttention() {
  const found = view.explained;
  if (!view.facts) return;
  const kinds = [
    ["cross", t("cross")],
    ["encoder", t("encoder")],
    ["own", t("own")],
  ];
  const choice = segments("", kinds, view.kind, (kind) => {
    view.kind = kind;
    paintAttention();
  });
  choice.querySelector("legend").remove();
  choice.setAttribute("aria-label", t("attention"));
  const head = h("div", { class: "row" }, h("h2", {}, t("attention")), choice);
  const maps = weightsOf(view.kind);
  drawn = [];
  if (!found || !maps) {
    attention.replaceChildren(head, h("p", { class: "lead" }, found ? t("recurrent") : t("attentionLead")));
    grid.kind = null;
    return;
  }
  const [layer, chosen] = chosenHead(view.kind, maps);
  const curves = ribbon(view.kind, maps);
  const large = largeMap(view.kind, maps);
  drawn = view.kind === "encoder" ? [] : [curves, large];
  const kept = attention.querySelectorAll(".scroll");
  const scrolled = Array.from(kept, (one) => one.scrollLeft);
  attention.replaceChildren(
    head,
    h("p", { class: "lead" }, t(`${view.kind}Hint`)),
    h("h3", { class: "map-title" }, t("mapTitle", layer + 1, chosen)),
    curves.element,
    h(
      "div",
      { class: "grids" },
      h("div", { class: "scroll" }, paintGrid(view.kind, maps)),
      h("figure", { class: "large" }, large.element, h("figcaption", {}, t("rows"), maps.cut ? ` ${t("longest", MOST)}` : "")),
    ),
  );
  attention.querySelectorAll(".scroll").forEach((one, i) => (one.scrollLeft = scrolled[i] ?? 0));
  paintSelection();
}

/** Show the weights of these tokens of the translation alone; null: those of the chosen word, or all. */
function lightUp(from, to) {
  const word = view.explained?.words.find((one) => one.from === view.word);
  const [first, last] = from !== null ? [from, to] : word ? [word.from, word.to] : [null, null];
  for (const one of drawn) one.mark(first, last);
}

const paintSelection = () => lightUp(null);
