// Images with a map of attention weights over them.

let opacity = 70; // percent

const HOT = ["#000004", "#420a68", "#932667", "#dd513a", "#fca50a", "#fcffa4"];
const hot = (share) => between(HOT, share);
const opacitySlider = () =>
  h(
    "label",
    { class: "player", "data-control": t`Opacity` },
    h("small", {}, t`Opacity`),
    h("input", {
      type: "range",
      min: 0,
      max: 100,
      value: opacity,
      checked: true,
      "aria-label": t`Opacity of the map over the image`,
      input: (event) => {
        opacity = +event.target.value;
        event.target.nextSibling.textContent = `${opacity} %`;
        // Redrawing the page while the slider moves would be slow.
        for (const one of document.querySelectorAll("[data-light]"))
          one.setAttribute("opacity", opacity / 100);
      },
    }),
    h("small", {}, `${opacity} %`),
  );

const largest = (values) => values.reduce((a, b) => Math.max(a, b), 0) || 1;

/** The image, with a heat map of values (rows * columns) over it unless they are null. */
function heatOverlay(x, y, side, values, most = largest(values || [])) {
  return colourOverlay(x, y, side, values ? (i) => hot(values[i] / most) : null);
}

/** The image, with a colour over each position unless colourOf is null. */
function colourOverlay(x, y, side, colourOf) {
  const { src, small, rows, columns } = content.image;
  const whole = { x, y, width: side, height: side };
  const address = colourOf && bitmap(rows, columns, (i, j) => colourOf(i * columns + j));
  return s(
    "g",
    {},
    pixels(side > 200 ? src : small, whole),
    address ? pixels(address, { opacity: opacity / 100, "data-light": true, ...whole }) : null,
    // A white image on a white page needs a visible edge.
    s("rect", { ...whole, fill: "none", stroke: colour("rule") }),
  );
}

function hotScale(x, y, height, most) {
  const text = most.toPrecision(2);
  const element = colourScale(x, y, Math.min(height, 140), text, (share) => rgb(hot(share)));
  return { element, width: 19 + textWidth(text, 10.5) };
}

/**
 * The image enlarged, with and without its map, and a tooltip for each position.
 *   name: accessible name; overlay(x, y, side): the image with the map; legend(x, y, height): { element, width };
 *   describe(position): text of the tooltip; choose(position): action of a click, or null; marked: framed position.
 */
function largeImage({ name, overlay, legend, room, describe, choose, marked }) {
  const { rows, columns } = content.image;
  const beside = room > 560;
  const { width } = legend(0, 0, 100);
  const side = Math.min(360, beside ? (room - width - 50) / 2 : room - width - 20);
  const left = beside ? side + 18 : 0;
  const svg = canvasSvg(left + side + 14 + width, side + 4);
  const cell = { x: side / columns, y: side / rows };
  const frame = (attributes) =>
    s("rect", {
      width: cell.x,
      height: cell.y,
      fill: "none",
      "pointer-events": "none",
      rx: 2,
      ...attributes,
    });
  const pointer = frame({
    stroke: colour("choice"),
    "stroke-width": 2,
    visibility: "hidden",
    "data-passing": true,
  });
  const at = (position) => ({
    x: left + (position % columns) * cell.x,
    y: 2 + Math.floor(position / columns) * cell.y,
  });
  svg.append(
    beside ? heatOverlay(0, 2, side, null) : "",
    overlay(left, 2, side),
    legend(left + side + 14, 2, side).element,
    marked === null || marked === undefined
      ? ""
      : frame({ ...at(marked), stroke: "#ffffff", "stroke-width": 2.5, "stroke-dasharray": "4 2" }),
    pointer,
  );
  let here = -1;
  const leave = () => {
    here = -1;
    pointer.setAttribute("visibility", "hidden");
    hideTip();
  };
  const point = (position, x, y) => {
    if (position < 0) return leave();
    here = position;
    const corner = at(position);
    pointer.setAttribute("x", corner.x);
    pointer.setAttribute("y", corner.y);
    pointer.setAttribute("visibility", "visible");
    showTip(describe(position), x, y);
  };
  const under = (event) => {
    const box = svg.getBoundingClientRect();
    const zoom = box.width / +svg.getAttribute("width");
    const [x, y] = [(event.clientX - box.left) / zoom, (event.clientY - box.top) / zoom - 2];
    // Hovering over the image without the map works as well.
    const across = x >= left && x < left + side ? x - left : x < side ? x : -1;
    if (across < 0 || y < 0 || y >= side) return -1;
    return Math.floor(y / cell.y) * columns + Math.floor(across / cell.x);
  };
  svg.setAttribute("aria-label", name);
  svg.setAttribute("tabindex", 0);
  svg.addEventListener("pointermove", (event) => point(under(event), event.clientX, event.clientY));
  svg.addEventListener("pointerleave", leave);
  svg.addEventListener("blur", leave);
  if (choose) {
    svg.style.cursor = "pointer";
    svg.addEventListener("click", (event) => {
      if (under(event) >= 0) choose(under(event));
    });
  }
  const moves = { ArrowUp: -columns, ArrowDown: columns, ArrowLeft: -1, ArrowRight: 1 };
  svg.addEventListener("keydown", (event) => {
    if (choose && here >= 0 && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      choose(here);
    }
    if (!moves[event.key]) return;
    event.preventDefault();
    const position = here < 0 ? 0 : Math.min(Math.max(here + moves[event.key], 0), rows * columns - 1);
    const box = svg.getBoundingClientRect();
    const zoom = box.width / +svg.getAttribute("width");
    const corner = at(position);
    point(position, box.left + corner.x * zoom, box.top + corner.y * zoom);
  });
  return svg;
}

const positionName = (position) =>
  t`row ${Math.floor(position / content.image.columns) + 1}, column ${(position % content.image.columns) + 1}`;

/**
 * A table of small images with maps, one row per layer.
 *   rows: [name of the row, [{ name, values, on, choose }]]; columns: their names.
 */
function imageGrid(rows, columns, side) {
  const image = (values) => {
    const svg = canvasSvg(side, side, heatOverlay(0, 0, side, values));
    svg.setAttribute("aria-hidden", "true"); // its button has the name
    return svg;
  };
  const map = ({ id, name, values, on, choose, below }) =>
    h(
      "button",
      {
        type: "button",
        class: "mini",
        "data-map": id,
        "aria-pressed": String(on),
        "aria-label": below ? `${name}, ${below}` : name,
        title: name,
        click: () => choose(),
      },
      image(values),
      h("small", {}, below),
    );
  return headedTable(
    columns,
    rows.map(([name, cells]) => [name, cells.map(map)]),
  );
}

/** The same table as one SVG. */
function imageGridSvg(rows, columns, side) {
  const faint = { fill: colour("faint") };
  const svg = canvasSvg(74 + columns.length * (side + 10), 26 + rows.length * (side + 10));
  columns.forEach((name, i) =>
    svg.append(label(name, 74 + i * (side + 10) + side / 2, 16, 11, { ...faint, "text-anchor": "middle" })),
  );
  rows.forEach(([name, cells], row) => {
    const y = 26 + row * (side + 10);
    svg.append(label(name, 4, y + side / 2, 11, faint));
    cells.forEach((cell, i) => svg.append(heatOverlay(74 + i * (side + 10), y, side, cell.values)));
  });
  return svg;
}

/** The maps of every layer and head; their table has the position with the largest weight in each. */
function imageGridFigure(rows, columns, side, { tableCaption, head, ...about }) {
  const cells = rows.flatMap(([, row]) => row);
  return figure({
    ...about,
    body: h("div", { class: "heads" }, imageGrid(rows, columns, side)),
    svg: () => imageGridSvg(rows, columns, side),
    json: () => cells.map(({ name, values }) => ({ what: name, values: [...values] })),
    table: () => ({
      caption: tableCaption,
      head,
      rows: cells.map(({ name, values }) => {
        const most = largest(values);
        return [name, positionName(values.indexOf(most)), most.toFixed(4)];
      }),
    }),
  });
}

/** The positions with the largest values, as a table. */
const topPositionsTable = (caption, values) => ({
  caption,
  head: [t`position`, t`weight`],
  rows: [...values]
    .map((value, position) => [positionName(position), value])
    .sort((a, b) => b[1] - a[1])
    .slice(0, 20)
    .map(([name, value]) => [name, value.toFixed(4)]),
});
