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
  const head = h("div", { class: "row" }, h("h2", {}, t("attention")), found ? pinButton(found) : "", h("span", { class: "gap" }), choice);
  const maps = weightsOf(view.kind);
  drawn = [];
  if (!found || !maps) {
    attention.replaceChildren(head, h("p", { class: "lead" }, found ? t("recurrent") : t("attentionLead")));
    grid.kind = null;
    paintWorking();
    return;
  }
  const [layer, chosen] = chosenHead(view.kind, maps);
  const curves = ribbon(view.kind, maps);
  const pinned = view.pinned && weightsOf(view.kind, view.pinned);
  const room = pinned && attention.clientWidth > 760 ? attention.clientWidth / 2 - 30 : attention.clientWidth;
  const large = largeMap(view.kind, maps, room);
  const { place, reply } = work;
  if (reply && attends(place) && kindOf(place) === view.kind && place.layer === layer && place.head + 1 === chosen)
    large.markCell(place.row, reply.column);
  large.element.addEventListener("click", (event) => {
    const [row, column] = large.cellAt(event) ?? [];
    if (row !== undefined && !maps.future(row, column)) openWork("softmax", { row, column });
  });
  large.element.classList.add("open");
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
      scrolling(t("attention"), paintGrid(view.kind, maps)),
      pinned ? h("figure", { class: "large" }, sentenceOf(view.pinned), largeMap(view.kind, pinned, room).element) : "",
      h(
        "figure",
        { class: "large" },
        pinned ? sentenceOf(found) : "",
        large.element,
        h("figcaption", {}, t("rows"), " ", t("openCell"), maps.cut ? ` ${t("longest", MOST)}` : ""),
      ),
    ),
  );
  attention.querySelector(".grids").classList.toggle("twins", Boolean(pinned));
  paintWorking();
  attention.querySelectorAll(".scroll").forEach((one, i) => (one.scrollLeft = scrolled[i] ?? 0));
  paintSelection();
}

/** The maps of a model with one kind of attention: all heads, and the chosen one large. */
function paintOwnAttention(lead, maps, title, large, ...caption) {
  const grids = () =>
    h(
      "div",
      { class: "grids" },
      scrolling(t("attention"), paintGrid("own", maps)),
      h("figure", { class: "large" }, large, h("figcaption", {}, caption)),
    );
  attention.replaceChildren(
    h("h2", {}, t("attention")),
    h("p", { class: "lead" }, t(lead)),
    ...(maps ? [h("h3", { class: "map-title" }, title), grids()] : []),
  );
}

/** Keep the sentence as it is, to show it beside what is typed next; or let it go. */
function pinButton(found) {
  const click = () => {
    view.pinned = view.pinned ? null : { ...found, translation: outputOf(view.focus)?.text ?? "" };
    paintAttention();
  };
  return button(t(view.pinned ? "unpin" : "pin"), click, { "aria-pressed": String(Boolean(view.pinned)), title: t("pinHint") });
}

const sentenceOf = ({ sentence, translation }) =>
  h("p", { class: "twin" }, h("b", {}, sentence), h("span", { class: "faint" }, ` → ${translation ?? outputOf(view.focus)?.text ?? ""}`));

/** Show the weights of these tokens of the translation alone; null: those of the chosen word, or all. */
function lightUp(from, to) {
  const word = view.explained?.words.find((one) => one.from === view.word);
  const [first, last] = from !== null ? [from, to] : word ? [word.from, word.to] : [null, null];
  for (const one of drawn) one.mark(first, last);
}

const paintSelection = () => lightUp(null);
