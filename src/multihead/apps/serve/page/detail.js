/* The panel below: the active sentence, how sure the model is, and other translations of it. */
import { aborted, post } from "./api.js";
import { gap, make, meter } from "./elements.js";
import { t } from "./texts.js";

const panel = document.getElementById("detail");
let pending = new AbortController();

/** Show a sentence; `choose` is called with another text for it. */
export function showDetail(sentence, at, count, { choose, settings, inspectable }) {
  pending.abort();
  if (!sentence || !sentence.searched) {
    panel.hidden = true;
    return;
  }
  const others = make("ul", { className: "nbest" });
  const note = sentence.doubtful ? [make("p", { className: "note" }, t().review)] : [];
  panel.replaceChildren(head(sentence, at, count, settings, inspectable), ...note, others);
  panel.hidden = false;
  list(others, sentence, choose);
  if (!sentence.others) ask(others, sentence, choose);
}

export function hideDetail() {
  pending.abort();
  panel.hidden = true;
}

function head(sentence, at, count, settings, inspectable) {
  const title = make("h2", {}, t().numbered(at + 1, count));
  const percent = Math.round(100 * sentence.confidence);
  const level = meter(percent, sentence.doubtful ? "meter low" : "meter");
  const row = make("header", {}, title, level, make("span", {}, t().sure(percent)), gap());
  const [source, target] = sentence.languages;
  if (settings.suggestions && sentence.text !== sentence.original) {
    row.append(button(t().keep, async (event) => {
      await post("suggest", { q: sentence.source, s: sentence.text, source, target });
      event.target.textContent = t().kept;
      event.target.disabled = true;
    }));
  }
  if (inspectable) {
    row.append(button(t().inspect, () => {
      open(`inspect?${new URLSearchParams({ q: sentence.source, source, target })}`, "_blank", "noopener");
    }));
  }
  return row;
}

const button = (text, onclick) => make("button", { type: "button", className: "plain", onclick }, text);

function list(others, sentence, choose) {
  const texts = [...new Set([sentence.original, ...(sentence.others ?? []), sentence.text])];
  others.replaceChildren(...texts.map((text) => {
    const made = make("button", { type: "button", onclick: () => choose(text) }, text);
    made.setAttribute("aria-pressed", text === sentence.text);
    return make("li", {}, made);
  }));
}

async function ask(others, sentence, choose) {
  pending = new AbortController();
  const [source, target] = sentence.languages;
  try {
    const fields = { q: sentence.source, source, target, alternatives: 3, ...sentence.glossary };
    const found = await post("sentences", fields, pending.signal);
    sentence.others = found.alternatives;
    list(others, sentence, choose);
  } catch (error) {
    if (!aborted(error)) sentence.others = [];
  }
}
