// A masked language model: it fills what is hidden, as one types.

const gaps = { tokens: [], ids: null, hidden: [], place: null, N: 0, weights: null, left: 0, took: 0, begun: false };
const maskedText = h("textarea", { id: "source", rows: 3, spellcheck: "false", autocomplete: "off" });
const filledText = h("div", { id: "output", role: "group", tabindex: "0" });
const maskedHead = h("div", { class: "head" });
const maskedFoot = h("div", { class: "foot" });
const filledHead = h("div", { class: "head" });
const filledFoot = h("div", { class: "foot", role: "status" });

const fillingPanes = h(
  "section",
  { class: "panes" },
  h("div", { class: "pane" }, maskedHead, maskedText, maskedFoot),
  h("div", { class: "pane" }, filledHead, filledText, filledFoot),
);

function fillText() {
  number++;
  worker.postMessage({ type: "fill", number, text: maskedText.value, ids: gaps.ids, hidden: gaps.hidden });
}

function textOf(text) {
  maskedText.value = text;
  Object.assign(gaps, { ids: null, hidden: [], place: null, begun: false });
  fillText();
}

/** Choose a token: a visible one is hidden; a hidden one that is chosen already is shown again. */
function chooseGap(place) {
  const hidden = gaps.hidden.includes(place);
  if (gaps.tokens[place].ways && gaps.place !== place) {
    gaps.place = place;
    paintGaps();
    return;
  }
  if (!hidden && gaps.tokens[place].ways) return; // the text itself has a mask here
  gaps.place = place;
  gaps.hidden = hidden ? gaps.hidden.filter((one) => one !== place) : [...gaps.hidden, place];
  fillText();
}

/** Put a token in the place of the chosen one. */
function putToken(id) {
  gaps.ids = gaps.tokens.map((one, i) => (i === gaps.place ? id : one.id));
  gaps.hidden = gaps.hidden.filter((one) => one !== gaps.place);
  fillText();
}

filledText.addEventListener("keydown", (event) => {
  const steps = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
  const last = gaps.tokens.length - 1;
  if (last < 0) return;
  if (event.key in steps) gaps.place = Math.min(Math.max((gaps.place ?? -1) + steps[event.key], 0), last);
  else if ((event.key === "Enter" || event.key === " ") && gaps.place !== null) {
    const { place } = gaps;
    if (gaps.tokens[place].ways && !gaps.hidden.includes(place)) return;
    if (gaps.tokens[place].ways) gaps.hidden = gaps.hidden.filter((one) => one !== place);
    else gaps.hidden = [...gaps.hidden, place];
    fillText();
  } else return;
  event.preventDefault();
  paintGaps();
});

const maskedNames = () => ["[CLS]", ...gaps.tokens.map((one) => one.text.trim() || "␣"), "[SEP]"];

function maskedMaps() {
  const { N, weights } = gaps;
  const { heads } = view.facts;
  const names = maskedNames();
  const one = (layer, head) => (i, j) => weights[((layer * heads + head - 1) * N + i) * N + j];
  return {
    layers: view.facts.layers[0],
    heads,
    rows: names.slice(0, MOST),
    columns: names.slice(0, MOST),
    cut: N > MOST,
    at: withMean(heads, one),
    future: () => false,
  };
}

/** The filled text, shaded by what the chosen token attends to. */
function paintGaps() {
  const { tokens, place } = gaps;
  const maps = gaps.weights && tokens.length ? maskedMaps() : null;
  const at = maps && maps.at(...chosenHead("own", maps));
  filledText.replaceChildren(
    ...tokens.map((token, i) => {
      const weight = place === null || !at ? 0 : at(place + 1, i + 1);
      const element = h(
        "span",
        {
          class: "token",
          role: "button",
          tabindex: "-1",
          "data-place": i,
          "data-hidden": token.ways !== null,
          "aria-pressed": String(i === place),
          title: token.ways && token.own !== null ? t("was", token.own.trim()) : "",
          click: () => chooseGap(i),
        },
        i ? token.text : token.text.replace(/^ /, ""),
      );
      shadeToken(element, weight);
      return element;
    }),
  );
  const left = gaps.left ? t("tooLong", gaps.left) : "";
  filledFoot.textContent = tokens.length ? [t("tokens", tokens.length), t("took", gaps.took), left].filter(Boolean).join(" · ") : "";
  paintGapWays();
  paintGapAttention(maps);
}

function paintGapWays() {
  const token = gaps.place === null ? null : gaps.tokens[gaps.place];
  const head = h("h2", {}, t("why"));
  if (!token?.ways) {
    alternatives.replaceChildren(head, h("p", { class: "lead" }, t("filledLead", view.facts.mask_text)));
    return;
  }
  const shown = gaps.hidden.includes(gaps.place) ? button(t("show"), () => chooseGap(gaps.place)) : "";
  alternatives.replaceChildren(
    h("div", { class: "row" }, head, shown),
    h("p", { class: "place" }, h("b", {}, t("instead", token.own === null ? view.facts.mask_text : token.own.trim() || "␣"))),
    h("div", { class: "ways" }, token.ways.map((way) => gapWay(way, way.id === token.ways[0].id))),
  );
}

function gapWay(way, first) {
  const click = () => putToken(way.id);
  return h("button", { type: "button", class: "way", "data-first": first, click }, shareOf(visible(way.text), way.share));
}

function paintGapAttention(maps) {
  if (!maps) return paintOwnAttention("maskedLead");
  const [layer, chosen] = chosenHead("own", maps);
  const large = largeMap("own", maps);
  if (gaps.place !== null && gaps.place + 1 < maps.rows.length) large.mark(gaps.place + 1, gaps.place + 2);
  const caption = [t("rows"), maps.cut ? ` ${t("longest", MOST)}` : ""];
  return paintOwnAttention("maskedLead", maps, t("mapTitle", layer + 1, chosen), large.element, caption);
}

const FILLING = {
  filled(data) {
    if (data.number !== number) return;
    const { tokens, N, weights, left, milliseconds } = data;
    Object.assign(gaps, { tokens, N, weights, left, took: milliseconds });
    if (gaps.place !== null && gaps.place >= tokens.length) gaps.place = null;
    const gap = tokens.findIndex((one) => one.ways);
    if (!gaps.begun && tokens.length) {
      gaps.begun = true;
      const half = tokens.length >> 1;
      const word = tokens.findIndex((one, i) => i >= half && /^ ./.test(one.text)); // the beginning of a word
      if (gap < 0 && document.activeElement !== maskedText) return chooseGap(word < 0 ? half : word);
    }
    if (gap >= 0 && !tokens[gaps.place]?.ways && !gaps.hidden.length) gaps.place = gap;
    paintGaps();
    document.documentElement.dataset.filled = String(data.number);
  },
};

function paintFilling() {
  const { mask_text, examples: texts } = view.facts;
  maskedHead.replaceChildren(h("h2", {}, t("masked")));
  maskedText.placeholder = t("maskedHint", mask_text);
  maskedText.setAttribute("aria-label", t("masked"));
  maskedFoot.replaceChildren(t("maskedHint", mask_text));
  filledHead.replaceChildren(h("h2", {}, t("filled")));
  filledText.setAttribute("aria-label", t("filled"));
  showExamples(texts, textOf);
  paintGaps();
}

function startFilling() {
  maskedText.addEventListener("input", () => {
    Object.assign(gaps, { ids: null, hidden: [], place: null });
    fillText();
  });
  textOf(view.facts.text ?? view.facts.examples[0] ?? "");
}
