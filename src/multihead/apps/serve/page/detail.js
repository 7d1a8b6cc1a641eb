/* The panel below: the active sentence, how sure the model is, and other translations of it. */
import { aborted, post } from "./api.js";
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
  const others = document.createElement("ul");
  others.className = "nbest";
  panel.replaceChildren(head(sentence, at, count, settings, inspectable), ...notes(sentence), others);
  panel.hidden = false;
  list(others, sentence, choose);
  if (!sentence.others) ask(others, sentence, choose);
}

export function hideDetail() {
  pending.abort();
  panel.hidden = true;
}

function head(sentence, at, count, settings, inspectable) {
  const row = document.createElement("header");
  const title = document.createElement("h2");
  title.textContent = t().numbered(at + 1, count);
  const meter = document.createElement("span");
  meter.className = `meter${sentence.doubtful ? " low" : ""}`;
  const level = document.createElement("i");
  level.style.width = `${Math.round(100 * sentence.confidence)}%`;
  meter.append(level);
  const sure = document.createElement("span");
  sure.textContent = t().sure(Math.round(100 * sentence.confidence));
  const gap = document.createElement("span");
  gap.className = "gap";
  row.append(title, meter, sure, gap);
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

function button(text, pressed) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "plain";
  made.textContent = text;
  made.addEventListener("click", pressed);
  return made;
}

function notes(sentence) {
  if (!sentence.doubtful) return [];
  const note = document.createElement("p");
  note.className = "note";
  note.textContent = t().review;
  return [note];
}

function list(element, sentence, choose) {
  const texts = [...new Set([sentence.original, ...(sentence.others ?? []), sentence.text])];
  element.replaceChildren(...texts.map((text) => {
    const item = document.createElement("li");
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.setAttribute("aria-pressed", text === sentence.text);
    made.addEventListener("click", () => choose(text));
    item.append(made);
    return item;
  }));
}

async function ask(element, sentence, choose) {
  pending = new AbortController();
  const [source, target] = sentence.languages;
  try {
    const fields = { q: sentence.source, source, target, alternatives: 3, ...sentence.glossary };
    const found = await post("sentences", fields, pending.signal);
    sentence.others = found.alternatives;
    list(element, sentence, choose);
  } catch (error) {
    if (!aborted(error)) sentence.others = [];
  }
}
