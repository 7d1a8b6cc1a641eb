// Nearest neighbours of token embeddings.

function neighbourFigure(side, title) {
  const found = content.neighbours[side];
  const item = (near) => {
    const bar = h("i");
    bar.style.width = `${Math.max(0, 100 * near.cosine)}%`;
    return h(
      "li",
      {},
      h("span", { dir: "auto", title: near.text }, near.text),
      h("span", { class: "bar" }, bar),
      h("span", {}, near.cosine.toFixed(2)),
    );
  };
  return figure({
    name: `neighbours-${side}`,
    title,
    caption: t`The vocabulary entries with the most similar embeddings, by cosine similarity.`,
    body: h(
      "div",
      { class: "near" },
      found.map((one) =>
        h("div", {}, h("h3", { dir: "auto" }, one.text), h("ol", {}, one.nearest.slice(0, 5).map(item))),
      ),
    ),
    svg: () => neighbourSvg(found),
    json: () => found,
    table: () => ({
      caption: title,
      head: [t`token`, t`nearest neighbours (cosine)`],
      rows: found.map((one) => [
        one.text,
        one.nearest.map((near) => `${near.text} ${near.cosine.toFixed(2)}`).join(", "),
      ]),
    }),
  });
}

function neighbourSvg(found) {
  const svg = canvasSvg(760, found.length * 20 + 16);
  found.forEach((one, i) =>
    svg.append(
      label(fitted(one.text, 13, 140), 12, 22 + i * 20, 13, { "font-weight": 600 }),
      label(
        fitted(one.nearest.map((near) => `${near.text} ${near.cosine.toFixed(2)}`).join("   "), 12, 570),
        170,
        22 + i * 20,
        12,
        { fill: colour("faint") },
      ),
    ),
  );
  return svg;
}
