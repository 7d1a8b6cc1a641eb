// What goes into a vision transformer besides the picture: where each patch lies.

/** For each patch how similar its position vector is to those of all patches, as a picture of pictures. */
function nearPatches(room) {
  const { rows, columns, near } = content.picture;
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
    s("image", {
      href: address,
      x: 0,
      y: 2,
      width: side,
      height: side,
      preserveAspectRatio: "none",
      style: "image-rendering:pixelated",
    }),
    legend.element,
  );
  legend.element.lastChild.textContent = low.toFixed(1);
  const caption = `Cosine of each patch's learned position vector with those of all patches: ${rows} by ${columns} maps, where the patches lie, of ${rows} by ${columns} patches each (as figure 7 of Dosovitskiy et al. 2021).`;
  svg.setAttribute("aria-label", caption);
  const nearest = (place) =>
    Array.from({ length: count }, (_, other) => other)
      .filter((other) => other !== place)
      .sort((a, b) => cosines[place * count + b] - cosines[place * count + a])
      .slice(0, 3);
  return figure({
    name: "position-maps",
    title: "How similar are the positions of two patches?",
    caption,
    body: svg,
    svg: () => svg,
    json: () =>
      Array.from({ length: count }, (_, place) =>
        Array.from(cosines.subarray(place * count, (place + 1) * count), (value) => +value.toFixed(3)),
      ),
    table: () => ({
      caption: "The positions that are most similar to each",
      head: ["patch", "1.", "2.", "3."],
      rows: Array.from({ length: count }, (_, place) => [
        placeName(place),
        ...nearest(place).map((other) => `${placeName(other)} ${cosines[place * count + other].toFixed(2)}`),
      ]),
    }),
  });
}
