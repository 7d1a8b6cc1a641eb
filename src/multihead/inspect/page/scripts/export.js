// Export of figures as PNG, SVG and JSON, and as an accessible table.

function download(name, blob) {
  const address = URL.createObjectURL(blob);
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** An SVG as a standalone document, on the page's background. */
function svgText(svg) {
  const copy = svg.cloneNode(true);
  copy.querySelectorAll("[data-passing]").forEach((one) => one.remove());
  copy.prepend(s("rect", { width: "100%", height: "100%", fill: colour("card") }));
  return new XMLSerializer().serializeToString(copy);
}

function png(svg) {
  const [width, height] = [+svg.getAttribute("width"), +svg.getAttribute("height")];
  const scale = Math.min(2, 16000 / Math.max(width, height));
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => {
      const canvas = h("canvas", { width: Math.ceil(width * scale), height: Math.ceil(height * scale) });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(resolve, "image/png");
    };
    image.onerror = reject;
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svgText(svg));
  });
}

const exportButton = (text, title, clicked) => h("button", { type: "button", title, click: clicked }, text);

/**
 * A figure with its caption, export buttons and table.
 *   name: base name of exported files; body: displayed content; svg, json, table: functions that return each export.
 */
function figure({ name, title, caption, body, svg, json, table }) {
  const buttons = [
    exportButton("PNG", t`Save ${name} as PNG`, async () => download(`${name}.png`, await png(svg()))),
    exportButton("SVG", t`Save ${name} as SVG`, () =>
      download(`${name}.svg`, new Blob([svgText(svg())], { type: "image/svg+xml" })),
    ),
    exportButton("JSON", t`Save the data of ${name} as JSON`, () =>
      download(`${name}.json`, new Blob([JSON.stringify(json(), null, 1)], { type: "application/json" })),
    ),
  ];
  for (const image of [body].flat())
    if (image?.localName === "svg" && !image.hasAttribute("aria-label")) image.setAttribute("aria-label", title || caption);
  const details = h(
    "details",
    {
      toggle: () => {
        if (details.open && details.childElementCount === 1)
          details.append(scrolling(t`Show as a table`, asTable(table())));
      },
    },
    h("summary", {}, t`Show as a table`),
  );
  return h(
    "figure",
    { class: "card", "data-figure": name },
    title ? h("h2", {}, title) : null,
    scrolling(title || caption, body),
    caption ? h("figcaption", {}, caption) : null,
    h("div", { class: "export" }, details, buttons),
  );
}

function asTable({ caption, head, rows }) {
  return h(
    "table",
    {},
    h("caption", {}, caption),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        head.map((text) => h("th", { scope: "col" }, text)),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map(([first, ...rest]) =>
        h(
          "tr",
          {},
          h("th", { scope: "row", dir: "auto" }, first),
          rest.map((cell) => h("td", { dir: "auto" }, cell)),
        ),
      ),
    ),
  );
}

const TOP_KEYS = 5;

/** The keys with the largest weights for each query, as a table. */
const viewTable = (view) => ({
  caption: view.caption,
  head: [
    view.rowTitle,
    ...Array.from(
      { length: Math.min(TOP_KEYS, view.columns.length) },
      (_, i) => `${i + 1}. ${view.columnTitle}`,
    ),
  ],
  rows: view.rows.map((row, i) => {
    const order = view.columns.map((_, j) => j).sort((a, b) => view.matrix.at(i, b) - view.matrix.at(i, a));
    return [
      row.text,
      ...order.slice(0, TOP_KEYS).map((j) => `${view.columns[j].text} ${view.matrix.at(i, j).toFixed(2)}`),
    ];
  }),
});
