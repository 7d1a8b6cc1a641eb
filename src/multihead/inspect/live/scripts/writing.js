// A language model: it writes while one watches.

const story = { tokens: [], chosen: null, writing: false, settings: null, seed: 1, left: 0, painted: 0, due: false };
const WINDOW = 40; // tokens of the maps
const prompt = h("textarea", { id: "source", rows: 3, spellcheck: "false", autocomplete: "off" });
const written = h("div", { id: "output", role: "group" });
const promptHead = h("div", { class: "head" });
const promptFoot = h("div", { class: "foot settings" });
const writtenHead = h("div", { class: "head" });
const writtenFoot = h("div", { class: "foot", role: "status" });

const writingPanes = h(
  "section",
  { class: "panes" },
  h("div", { class: "pane" }, promptHead, prompt, promptFoot),
  h("div", { class: "pane" }, writtenHead, written, writtenFoot),
);

function write(ids = null) {
  number++;
  story.writing = true;
  worker.postMessage({
    type: "write",
    number,
    text: prompt.value,
    ids,
    most: ids === null && story.tokens.length === 0 && !prompt.value ? 120 : 240,
    settings: story.settings,
    seed: story.seed,
  });
  paintWritingHeads();
}

function stopWriting() {
  number++;
  worker.postMessage({ type: "stop", number });
}

function paintWritingHeads() {
  promptHead.replaceChildren(h("h2", {}, t("beginning")));
  prompt.placeholder = t("beginningHint");
  prompt.setAttribute("aria-label", t("beginning"));
  promptFoot.replaceChildren(slider(story.settings, "temperature", 0, 1.5, 0.05, "temperature", write), h("span", { class: "gap" }));
  const again = () => {
    story.seed++;
    write();
  };
  writtenHead.replaceChildren(
    h("h2", {}, t("written")),
    h("span", { class: "gap" }),
    story.writing ? button(t("stop"), stopWriting) : button(t("again"), again),
  );
  written.setAttribute("aria-label", t("written"));
}

/** Add the tokens that came; those that are there stay. */
function paintStory() {
  for (; story.painted < story.tokens.length; story.painted++) {
    const place = story.painted;
    const token = story.tokens[place];
    written.append(
      h(
        "span",
        {
          class: "token",
          role: "button",
          tabindex: "-1",
          "data-place": place,
          "data-given": token.given,
          "aria-label": token.text.trim() ? null : visible(token.text),
          click: () => chooseToken(place),
        },
        token.text,
      ),
    );
  }
  written.scrollTop = story.chosen === null ? written.scrollHeight : written.scrollTop;
  const count = story.tokens.filter((one) => !one.given).length;
  writtenFoot.textContent = [t("tokens", count), story.left ? t("leftOut", story.left) : ""].filter(Boolean).join(" · ");
  if (story.due) return;
  story.due = true;
  requestAnimationFrame(() => {
    story.due = false;
    explainToken();
  });
}

const currentToken = () => story.chosen ?? story.tokens.length - 1;

function chooseToken(place) {
  story.chosen = story.chosen === place ? null : place;
  explainToken();
}

written.addEventListener("keydown", (event) => {
  const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 10, ArrowUp: -10 };
  if (event.key === "Escape") story.chosen = null;
  else if (event.key in steps)
    story.chosen = Math.min(Math.max(currentToken() + steps[event.key], 0), story.tokens.length - 1);
  else return;
  event.preventDefault();
  explainToken();
});

/** The maps of the tokens before the chosen one: the row of a token is what its heads attended to. */
function storyMaps() {
  const last = currentToken();
  const first = Math.max(0, last - WINDOW + 1);
  const rows = story.tokens.slice(first, last + 1);
  const names = rows.map((one) => visible(one.text));
  const { heads } = view.facts;
  // A row's weights cover the tokens that it saw, the last of which is itself.
  const one = (layer, head) => (i, j) => {
    const { weights, seen } = rows[i];
    const column = seen - 1 - (i - j);
    return j > i || column < 0 ? 0 : weights[(layer * heads + head - 1) * seen + column];
  };
  return {
    layers: view.facts.layers[0],
    heads,
    rows: names,
    columns: names,
    cut: false,
    at: withMean(heads, one),
    // Before the context slid, or later: the token was not seen.
    future: (i, j) => j > i || j <= i - rows[i].seen,
  };
}

/** Alternatives of the chosen token, and what its heads attend to. */
function explainToken() {
  const place = currentToken();
  if (place < 0) return;
  const token = story.tokens[place];
  paintShades(place);
  const head = h("h2", {}, t("why"));
  if (token.ways.length)
    alternatives.replaceChildren(
      head,
      h("p", { class: "place" }, h("b", {}, t("instead", token.text.replaceAll("\n", "⏎")))),
      h("div", { class: "ways" }, token.ways.map((way) => wayOf(way, token, place))),
    );
  else alternatives.replaceChildren(head, h("p", { class: "lead" }, t("tokenLead")));
  paintWritingAttention();
}

function wayOf(way, token, place) {
  const chosen = way.id === token.id;
  const click = () => {
    if (chosen) return;
    story.chosen = null;
    write([...story.tokens.slice(0, place).map((one) => one.id), way.id]);
  };
  return h("button", { type: "button", class: "way", "aria-pressed": String(chosen), click }, shareOf(visible(way.text), way.share));
}

/** The text itself, shaded by the weights of the chosen token. */
function paintShades(place) {
  const maps = storyMaps();
  const [layer, head] = chosenHead("own", maps);
  const at = maps.at(layer, head);
  const first = Math.max(0, place - WINDOW + 1);
  [...written.children].forEach((span, i) => {
    const inside = i >= first && i <= place;
    const weight = inside ? at(maps.rows.length - 1, i - first) : 0;
    shadeToken(span, weight);
    span.setAttribute("aria-pressed", String(i === place));
  });
}

function paintWritingAttention() {
  if (!story.tokens.length) return paintOwnAttention("textLead");
  const maps = storyMaps();
  const [layer, head] = chosenHead("own", maps);
  return paintOwnAttention("textLead", maps, t("mapTitle", layer + 1, head), largeMap("own", maps).element, t("rows"));
}

const WRITING = {
  begun(data) {
    if (data.number !== number) return;
    Object.assign(story, { tokens: [], painted: 0, chosen: null, left: data.left });
    written.replaceChildren();
  },
  wrote(data) {
    if (data.number !== number) return;
    story.tokens.push(...data.tokens);
    paintStory();
  },
  done(data) {
    if (data.number !== number) return;
    story.writing = false;
    paintWritingHeads();
    document.documentElement.dataset.written = String(data.number);
  },
};

function paintWriting() {
  paintWritingHeads();
  if (story.tokens.length) explainToken();
  else paintWritingAttention();
}

function startWriting() {
  const { temperature, top_k, top_p } = view.facts;
  story.settings = { temperature, top_k, top_p };
  let waiting = 0;
  prompt.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => write(), 150);
  });
  if (view.facts.text) prompt.value = view.facts.text;
  write();
}
