/* Other words in the place of one: a list beside it. */
import { aborted, post } from "./api.js";
import { t } from "./texts.js";

const popup = document.getElementById("choices");
let pending = new AbortController();
let opener = null;

/** Open the list for a word of a translation; `chosen` is called with the sentence's new text. */
export async function openChoices(word, sentence, chosen) {
  close();
  opener = { sentence, start: word.dataset.start }; // the word itself may be made anew meanwhile
  pending = new AbortController();
  popup.replaceChildren(line(t().searching));
  popup.hidden = false;
  place(word);
  const prefix = sentence.text.slice(0, Number(word.dataset.start));
  const [source, target] = sentence.languages;
  let found;
  try {
    found = await post("choices", { q: sentence.source, prefix, source, target }, pending.signal);
  } catch (error) {
    if (!aborted(error)) popup.replaceChildren(line(error.message));
    return;
  }
  const all = [...found];
  if (sentence.original !== sentence.text && !all.some((one) => one.text === sentence.original)) {
    all.push({ text: sentence.original, probability: 0, whole: true });
  }
  const others = all.filter((one) => one.text !== sentence.text);
  popup.replaceChildren(...others.map((one) => option(one, prefix, chosen)));
  if (!others.length) popup.append(line(t().noneOther));
  place(word);
  popup.querySelector("button")?.focus({ preventScroll: true });
}

function option(one, prefix, chosen) {
  const button = document.createElement("button");
  button.type = "button";
  button.setAttribute("role", "option");
  const rest = one.text.slice(prefix.length).trim();
  const head = document.createElement("b");
  head.textContent = one.whole ? "↩" : rest.split(/\s+/)[0];
  const tail = document.createElement("small");
  tail.textContent = one.whole ? one.text : rest.split(/\s+/).slice(1).join(" ");
  button.append(head, meter(one.probability));
  if (tail.textContent) button.append(tail);
  button.addEventListener("click", () => {
    close();
    chosen(one.text);
  });
  return button;
}

function meter(share) {
  const outer = document.createElement("span");
  outer.className = "meter";
  const inner = document.createElement("i");
  inner.style.width = `${Math.round(100 * Math.min(1, Math.sqrt(share)))}%`;
  outer.append(inner);
  return outer;
}

function line(text) {
  const p = document.createElement("p");
  p.textContent = text;
  return p;
}

function place(word) {
  const box = word.getBoundingClientRect();
  const width = popup.offsetWidth;
  const left = Math.max(12, Math.min(box.left, document.documentElement.clientWidth - width - 12));
  popup.style.left = `${left + scrollX}px`;
  popup.style.top = `${box.bottom + scrollY + 6}px`;
}

export function close() {
  pending.abort();
  popup.hidden = true;
}

popup.addEventListener("keydown", (event) => {
  const all = [...popup.querySelectorAll("button")];
  const at = all.indexOf(document.activeElement);
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) {
    event.preventDefault();
    all[(at + step + all.length) % all.length]?.focus();
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || popup.hidden) return;
  close();
  opener?.sentence.focus(opener.start);
});
document.addEventListener("pointerdown", (event) => {
  if (!popup.hidden && !popup.contains(event.target)) close();
});
