// The two panes: the text, and its translation.

const source = h("textarea", { id: "source", rows: 4, spellcheck: "false", autocomplete: "off", autocapitalize: "off" });
const output = h("div", { id: "output", role: "group", tabindex: "-1" });
const sourceFoot = h("div", { class: "foot" });
const targetFoot = h("div", { class: "foot", role: "status" });
const sourceHead = h("div", { class: "head" });
const targetHead = h("div", { class: "head" });
const searchRow = h("div", { class: "foot settings", hidden: true });
const examples = h("div", { id: "examples" });

const panes = h(
  "section",
  { class: "panes" },
  h("div", { class: "pane" }, sourceHead, source, sourceFoot),
  h("div", { class: "pane" }, targetHead, output, searchRow, targetFoot),
);

function directionOf() {
  const { facts } = view;
  const one = facts?.directions[view.direction];
  return one ? [one.source, one.target] : [facts?.source_language ?? "", facts?.target_language ?? ""];
}

function directionChoice() {
  const choice = h("select", {
    "aria-label": t("target"),
    change: (event) => {
      view.direction = Number(event.target.value);
      view.chosen.clear();
      paintHeads();
      textChanged();
    },
  });
  view.facts.directions.forEach(({ source: from, target: to }, i) =>
    choice.append(
      h("option", { value: i, selected: i === view.direction }, `${languageName(from, from)} → ${languageName(to, to)}`),
    ),
  );
  return choice;
}

function paintHeads() {
  const [from, to] = directionOf();
  const several = view.facts?.directions.length > 1;
  sourceHead.replaceChildren(
    several ? directionChoice() : h("h2", {}, languageName(from, t("source"))),
    h("span", { class: "gap" }),
    view.text ? button(t("clear"), () => setText("")) : "",
  );
  const copy = button(t("copy"), async (event) => {
    await copyText(wholeOutput());
    event.target.textContent = t("copied");
    setTimeout(() => (event.target.textContent = t("copy")), 1200);
  });
  const control = searchControl();
  searchRow.hidden = !control;
  searchRow.replaceChildren(...[control].flat());
  targetHead.replaceChildren(
    h("h2", {}, languageName(to, t("target"))),
    h("span", { class: "gap" }),
    searchChoice(),
    view.text ? copy : "",
  );
  source.placeholder = t("placeholder");
  source.setAttribute("aria-label", languageName(from, t("source")));
  source.lang = from;
  output.lang = to;
  output.setAttribute("aria-label", languageName(to, t("target")));
}

function searchChoice() {
  const methods = ["quick", "careful", "sample"];
  const choice = segments(
    t("search"),
    methods.map((method) => [method, t(method)]),
    view.method,
    (method) => {
      view.method = method;
      textChanged();
    },
  );
  choice.setAttribute("aria-label", t("search"));
  choice.querySelectorAll("label").forEach((label, i) => (label.title = t(`${methods[i]}Hint`, view.width)));
  return choice;
}

/** The control of the chosen search: the width of the beam, or the temperature and another draw. */
function searchControl() {
  if (view.method === "careful") return slider(view, "width", 2, 8, 1, "beam", textChanged);
  if (view.method !== "sample") return "";
  const again = () => {
    view.seed++;
    textChanged();
  };
  return [slider(view, "temperature", 0, 2, 0.05, "temperature", textChanged), button(t("drawAgain"), again)];
}

/** A slider of a setting. */
function slider(settings, key, low, high, step, text, changed) {
  const value = h("b", {}, String(settings[key]));
  const input = (event) => {
    settings[key] = Number(event.target.value);
    value.textContent = event.target.value;
  };
  return h(
    "label",
    { class: "slider" },
    t(text),
    h("input", { type: "range", min: low, max: high, step, value: settings[key], "data-setting": key, input, change: () => changed() }),
    value,
  );
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h("textarea", {}, text); // the clipboard is closed to pages opened from disk
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

/** The whole translation, with the white space of the text between its sentences. */
function wholeOutput() {
  let found = "";
  let end = 0;
  view.parts.forEach((part, i) => {
    found += view.text.slice(end, part.start) + (outputOf(i)?.text ?? "");
    end = part.end;
  });
  return found + view.text.slice(end);
}

function paintFeet() {
  const letters = Array.from(view.text).length;
  const cut = view.parts.filter((part) => part.cut).length;
  sourceFoot.replaceChildren(letters ? t("letters", letters) : "", cut ? h("span", {}, ` · ${t("cut", cut)}`) : "");
  const made = view.outputs.filter(Boolean);
  const words = made.reduce((sum, one) => sum + one.words.length, 0);
  const spent = made.reduce((sum, one) => sum + one.milliseconds, 0);
  const left = view.parts.length > 1 && !view.done ? [t("progress", made.length, view.parts.length)] : [];
  targetFoot.textContent = made.length ? [t("words", words), t("took", spent), ...left].join(" · ") : "";
}

function showExamples(texts, choose, lang = null) {
  const chips = texts.map((text) => h("button", { type: "button", class: "chip", lang, click: () => choose(text) }, text));
  examples.replaceChildren(...(chips.length ? [h("span", { class: "faint" }, t("try")), ...chips] : []));
}

function paintExamples() {
  showExamples(view.facts && !view.text ? view.facts.examples : [], setText, directionOf()[0]);
}

function setText(text) {
  source.value = text;
  view.focus = 0;
  grow();
  textChanged();
  if (!text) source.focus();
}

function grow() {
  source.style.height = "auto";
  source.style.height = `${Math.min(Math.max(source.scrollHeight + 2, 132), 420)}px`;
}

function textChanged() {
  view.text = source.value;
  view.word = null;
  paintHeads();
  paintExamples();
  if (worker && view.facts) translateText();
}

/** Follow the cursor: the sentence that it stands in is the one that is explained. */
function followCursor() {
  const at = source.selectionStart;
  const found = view.parts.findIndex((part) => at <= part.end);
  focusOn(found < 0 ? Math.max(0, view.parts.length - 1) : found);
}

function focusOn(index, word = null) {
  const moved = index !== view.focus;
  view.focus = index;
  if (moved || word !== null) view.word = word;
  if (moved) {
    view.explained = null;
    explainFocus();
  }
  paintOutput();
  paintWords();
  paintSelection();
}

source.addEventListener("input", () => {
  grow();
  textChanged();
});
source.addEventListener("keyup", followCursor);
source.addEventListener("click", followCursor);
