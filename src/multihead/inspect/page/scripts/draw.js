// Elements, colours and controls. Text is inserted as text nodes only, never as markup.

const SVG = "http://www.w3.org/2000/svg";
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Noto Sans CJK KR", sans-serif';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined && value !== null) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

const h = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const s = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const isDark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

const RAMPS = {
  light: ["#f1f4f8", "#cfe0f0", "#8fbfe0", "#4a94c9", "#1f66a8", "#0b3c75", "#051d40"],
  dark: ["#1a2430", "#17385a", "#1d5a92", "#3a8ac8", "#77b8e6", "#b9dcf5", "#f2f9ff"],
};
const DIVERGING = { light: ["#d55e00", "#f4f6f8", "#0072b2"], dark: ["#ff9a4d", "#1a2430", "#6cb2e8"] };

const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

function between(ramp, share) {
  const place = Math.min(Math.max(share, 0), 1) * (ramp.length - 1);
  const low = Math.min(Math.floor(place), ramp.length - 2);
  const [a, b] = [channels(ramp[low]), channels(ramp[low + 1])];
  return a.map((value, i) => Math.round(value + (b[i] - value) * (place - low)));
}

const ramp = () => RAMPS[isDark() ? "dark" : "light"];
const rgb = (parts) => `rgb(${parts.join(",")})`;
const shade = (share) => rgb(between(ramp(), share));
const signedShade = (value) => rgb(between(DIVERGING[isDark() ? "dark" : "light"], (value + 1) / 2));

const measuring = document.createElement("canvas").getContext("2d");
function textWidth(text, size) {
  measuring.font = `${size}px ${FONT}`;
  return measuring.measureText(text).width;
}

/** Truncate a text with "…" to a width in pixels. */
function fitted(text, size, width) {
  if (textWidth(text, size) <= width) return text;
  const letters = [...text];
  while (letters.length > 1 && textWidth(letters.join("") + "…", size) > width) letters.pop();
  return letters.join("") + "…";
}

const label = (text, x, y, size, attributes = {}) =>
  s("text", { x, y, "font-size": size, "font-family": FONT, fill: colour("ink"), ...attributes }, text);

const canvasSvg = (width, height, ...children) =>
  s("svg", { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}`, role: "img" }, ...children);

/** Wide content in a frame that scrolls, also by keyboard. */
function scrolling(name, ...children) {
  const frame = h("div", { class: "scroll", role: "group", "aria-label": name }, children);
  if (!frame.querySelector('[tabindex="0"], button, input')) frame.tabIndex = 0;
  return frame;
}

/** Data URL of a bitmap with one pixel per cell. */
function bitmap(rows, columns, colourOf) {
  const canvas = h("canvas", { width: columns, height: rows });
  paint(canvas, rows, columns, colourOf);
  return canvas.toDataURL();
}

function paint(canvas, rows, columns, colourOf) {
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  for (let i = 0, at = 0; i < rows; i++)
    for (let j = 0; j < columns; j++, at += 4) {
      const [red, green, blue] = colourOf(i, j);
      image.data[at] = red;
      image.data[at + 1] = green;
      image.data[at + 2] = blue;
      image.data[at + 3] = 255;
    }
  context.putImageData(image, 0, 0);
}

/** A bitmap as an image of this size. */
const pixels = (href, attributes) =>
  s("image", { href, preserveAspectRatio: "none", "image-rendering": "pixelated", ...attributes });

/** A table with a heading for each column and row; rows are [heading, cells]. */
const headedTable = (columns, rows) =>
  h(
    "table",
    {},
    h("thead", {}, h("tr", {}, h("td"), columns.map((name) => h("th", { scope: "col" }, name)))),
    h(
      "tbody",
      {},
      rows.map(([name, cells]) => h("tr", {}, name ? h("th", { scope: "row" }, name) : h("td"), cells.map((cell) => h("td", {}, cell)))),
    ),
  );

/** The colour ramp in 256 steps, for bitmaps. */
const palette = () => Array.from({ length: 256 }, (_, i) => between(ramp(), i / 255));

/** Read a choice of an earlier visit; a page in a sandbox or opened from disk may remember nothing. */
function remembered(name) {
  try {
    return localStorage.getItem(`multihead-${name}`);
  } catch {
    return null;
  }
}

function remember(name, value) {
  try {
    localStorage.setItem(`multihead-${name}`, value);
  } catch {
    // The choice then holds for this visit.
  }
}

// --- tooltip -------------------------------------------------------------------------------------

const tip = document.getElementById("tip");

function showTip(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${y + 18 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 10 : y + 18}px`;
}

const hideTip = () => (tip.hidden = true);

// --- controls ------------------------------------------------------------------------------------

const button = (text, click, more = {}) => h("button", { type: "button", class: "plain", click, ...more }, text);

let controls = 0;

/** Radio buttons in a row; options are [value, label]. */
function segments(title, options, value, changed) {
  const name = `choice-${controls++}`;
  return h(
    "fieldset",
    { "data-control": title },
    h("legend", {}, title),
    h(
      "div",
      { class: "segments" },
      options.map(([one, text]) =>
        h(
          "label",
          {},
          h("input", { type: "radio", name, value: one, checked: one === value, change: () => changed(one) }),
          h("span", {}, text),
        ),
      ),
    ),
  );
}

const onOff = (title, checked, changed) =>
  h(
    "label",
    { class: "switch", "data-control": title },
    h("input", { type: "checkbox", role: "switch", checked, change: (event) => changed(event.target.checked) }),
    h("i"),
    title,
  );

const toggle = (title, key) => onOff(title, state[key], (on) => update({ [key]: on }));

/** The switches that have an effect on this page. */
function switches() {
  const sides = [content.source, ...content.hypotheses.flatMap((one) => [one.target, one.read])].filter(
    Boolean,
  );
  return [
    sides.some((side) => side.words.length < side.pieces.length) ? toggle(t`Whole words`, "words") : null,
    sides.some((side) => side.pieces.some((token) => token.special))
      ? toggle(t`Special symbols`, "specials")
      : null,
  ];
}

const layerChoice = (layers, chosen) =>
  layers.length > 1
    ? segments(
        t`Layer`,
        layers.map((one) => [one.layer, one.layer]),
        chosen.layer,
        (layer) => update({ layer }),
      )
    : null;

function headChoice(layer) {
  if (layer.heads === 1) return null;
  const heads = Array.from({ length: layer.heads }, (_, i) => [i + 1, i + 1]);
  return segments(
    t`Head`,
    [["mean", t`mean`], ["max", t`max`], ...heads],
    state.head || state.combine,
    (value) => update(typeof value === "number" ? { head: value } : { head: 0, combine: value }),
  );
}

/** The chosen head if the layer has it, otherwise 0 (all heads combined). */
const headIn = (layer) => (state.head <= layer.heads ? state.head : 0);
