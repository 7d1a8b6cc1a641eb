/* Other words in the place of one: a list beside it. */
import { aborted, post } from "./api.js";
import { at, make, meter } from "./elements.js";
import { t } from "./texts.js";

const popup = at("choices");
let pending = new AbortController();
let opener = null;
let beside = null; // the word that the list is beside

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
  const [first, ...others] = one.text.slice(prefix.length).trim().split(/\s+/);
  const head = make("b", {}, one.whole ? "↩" : first);
  const tail = one.whole ? one.text : others.join(" ");
  const onclick = () => {
    close();
    chosen(one.text);
  };
  const share = meter(100 * Math.min(1, Math.sqrt(one.probability)));
  const button = make("button", { type: "button", onclick }, head, share);
  button.setAttribute("role", "option");
  if (tail) button.append(make("small", {}, tail));
  return button;
}

const line = (text) => make("p", {}, text);

function place(word) {
  beside = word;
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
addEventListener("resize", () => {
  if (!popup.hidden && beside.isConnected) place(beside);
});
document.addEventListener("pointerdown", (event) => {
  if (!popup.hidden && !popup.contains(event.target)) close();
});
