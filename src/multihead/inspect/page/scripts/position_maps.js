// Similarity of the position embeddings of a vision transformer.

/** A map per patch: cosine similarity of its position embedding with those of all patches. */
function positionMaps(room) {
  const { rows, columns, near } = content.image;
  const cosines = Float32Array.from(new Int8Array(bytes(near.data).buffer), (value) => value * near.unit);
  const count = rows * columns;
  const [tall, wide] = [rows * (rows + 1) - 1, columns * (columns + 1) - 1];
  const paper = channels(colour("card"));
  const [low, high] = [cosines.reduce((a, b) => Math.min(a, b), 0), 1];
  const address = bitmap(tall, wide, (i, j) => {
    const [row, inRow] = [Math.floor(i / (rows + 1)), i % (rows + 1)];
    const [column, inColumn] = [Math.floor(j / (columns + 1)), j % (columns + 1)];
    if (inRow === rows || inColumn === columns) return paper;
    const cosine = cosines[(row * columns + column) * count + inRow * columns + inColumn];
    return hot((cosine - low) / (high - low));
  });
  const side = Math.min(room - 60, 560);
  const legend = hotScale(side + 14, 2, side, 1);
  const svg = canvasSvg(
    side + 14 + legend.width,
    side + 4,
    pixels(address, { x: 0, y: 2, width: side, height: side }),
    legend.element,
  );
  legend.element.lastChild.textContent = low.toFixed(1);
  const caption = t`Cosine similarity between the learned position embedding of each patch and those of all patches: ${rows} by ${columns} maps, each at the place of its patch (as in figure 7 of Dosovitskiy et al. 2021).`;
  svg.setAttribute("aria-label", caption);
  const nearest = (patch) =>
    Array.from({ length: count }, (_, other) => other)
      .filter((other) => other !== patch)
      .sort((a, b) => cosines[patch * count + b] - cosines[patch * count + a])
      .slice(0, 3);
  return figure({
    name: "position-maps",
    title: t`Similarity of position embeddings`,
    caption,
    body: svg,
    svg: () => svg,
    json: () =>
      Array.from({ length: count }, (_, patch) =>
        Array.from(cosines.subarray(patch * count, (patch + 1) * count), (value) => +value.toFixed(3)),
      ),
    table: () => ({
      caption: t`The most similar positions of each patch`,
      head: [t`patch`, "1.", "2.", "3."],
      rows: Array.from({ length: count }, (_, patch) => [
        positionName(patch),
        ...nearest(patch).map((other) => `${positionName(other)} ${cosines[patch * count + other].toFixed(2)}`),
      ]),
    }),
  });
}
