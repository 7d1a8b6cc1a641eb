// The ribbon: two lines of tokens, joined by the weights of the chosen head.

const RIBBON = 118; // height of the curves in pixels
const LEAST = 0.04; // weights below it are not drawn

function ribbon(kind, maps) {
  const [layer, head] = chosenHead(kind, maps);
  const at = maps.at(layer, head);
  const size = 14;
  const gap = 14;
  const placed = (tokens) => {
    let x = 6;
    return tokens.map((token) => {
      const width = Math.max(12, textWidth(spelt(token), size));
      const begin = x + (token.startsWith("▁") || token.startsWith("⟨") ? 4 : -8);
      x = begin + width + gap;
      return { text: spelt(token), x: begin, middle: begin + width / 2, width };
    });
  };
  const [above, below] = [placed(maps.columns), placed(maps.rows)];
  const end = (line) => line.at(-1).x + line.at(-1).width + 8;
  const width = Math.max(end(above), end(below));
  const shift = (line) => (width - end(line)) / 2;
  const height = RIBBON + 64;
  const svg = canvasSvg(width, height);
  svg.setAttribute("class", "ribbon");
  const curves = s("g", { fill: "none", stroke: colour("accent"), "stroke-linecap": "round" });
  const [up, down] = [26, height - 34];
  const lines = [];
  below.forEach((row, i) =>
    above.forEach((column, j) => {
      const weight = maps.future(i, j) ? 0 : at(i, j);
      if (weight < LEAST) return;
      const [x, y] = [row.middle + shift(below), column.middle + shift(above)];
      const middle = (up + down) / 2;
      const path = s("path", {
        d: `M${x} ${down}C${x} ${middle} ${y} ${middle} ${y} ${up}`,
        "stroke-width": (0.6 + 6.4 * weight).toFixed(2),
        "stroke-opacity": (0.12 + 0.75 * weight).toFixed(2),
      });
      curves.append(path);
      lines.push({ i, j, path });
    }),
  );
  svg.append(curves);
  const tokens = (line, y, which, by) =>
    line.map((token, i) => {
      const text = label(token.text, token.x + by, y, size, { class: "token", [`data-${which}`]: i });
      text.addEventListener("pointerenter", () => (which === "row" ? mark(i, i + 1) : mark(null, null, i)));
      text.addEventListener("pointerleave", () => mark(...marked));
      svg.append(text);
      return text;
    });
  const columnTexts = tokens(above, 16, "column", shift(above));
  const rowTexts = tokens(below, height - 14, "row", shift(below));
  let marked = [null, null];

  /** Show the curves of rows `from` to `to` alone, or of a column; null: all. */
  function mark(from, to, column = null) {
    const all = from === null && column === null;
    const seen = new Set();
    for (const { i, j, path } of lines) {
      const on = all || (column === null ? i >= from && i < to : j === column);
      path.setAttribute("visibility", on ? "visible" : "hidden");
      if (on && !all) seen.add(column === null ? j : i);
    }
    columnTexts.forEach((text, j) => text.classList.toggle("dim", !all && (column === null ? !seen.has(j) : j !== column)));
    rowTexts.forEach((text, i) =>
      text.classList.toggle("dim", !all && (column === null ? i < from || i >= to : !seen.has(i))),
    );
  }
  svg.setAttribute("aria-label", t("attention"));
  const element = scrolling(t("attention"), svg);
  return {
    element,
    mark: (from, to) => {
      marked = [from, to];
      mark(from, to);
      if (from === null || element.scrollWidth <= element.clientWidth) return;
      const middle = below[from].middle + shift(below);
      if (Math.abs(middle - element.scrollLeft - element.clientWidth / 2) > element.clientWidth / 3)
        element.scrollLeft = middle - element.clientWidth / 2;
    },
  };
}
