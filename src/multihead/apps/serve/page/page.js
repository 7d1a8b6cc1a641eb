/* The page: languages, typing, and everything that follows from them. */
import { aborted, get, key, post } from "./api.js";
import { close as closeChoices, openChoices } from "./choices.js";
import { hideDetail, showDetail } from "./detail.js";
import { takeDocuments } from "./documents.js";
import { at, make } from "./elements.js";
import { kept, languageName, setLanguage, t, UI, uiLanguage } from "./texts.js";
import { found, lay, Sentence } from "./words.js";

const [input, output, mirror, message] = ["input", "output", "mirror", "message"].map(at);
const [source, target, glossary] = ["source", "target", "glossary"].map(at);
const PAUSE = 250; // milliseconds without typing before a translation is requested
const MOST_SENTENCES = 40; // whose attention is fetched without being asked for
const THEMES = ["", "light", "dark"];

let offered = []; // {code, name, targets}
let settings = { charLimit: 20000 };
let sentences = [];
let active = null;
let detected = "";
let shownText = "";
let timer = 0;
let pending = new AbortController();

const chosen = () => ({ source: source.value, target: target.value });
const terms = () => (glossary.value ? { glossary: glossary.value } : {});

/* Languages */
function nameOf(code) {
  return languageName(code, offered.find((one) => one.code === code)?.name ?? code);
}

function listLanguages() {
  const before = chosen();
  const sources = offered.filter((one) => one.targets.length);
  const auto = new Option(detected ? t().detected(nameOf(detected)) : t().detect, "auto");
  source.replaceChildren(auto, ...sources.map((one) => new Option(nameOf(one.code), one.code)));
  source.value = sources.some((one) => one.code === before.source) ? before.source : "auto";
  listTargets(before.target);
}

function listTargets(wanted = target.value) {
  const from = source.value === "auto" ? detected : source.value;
  const codes = offered.find((one) => one.code === from)?.targets ?? [...new Set(offered.flatMap((one) => one.targets))];
  target.replaceChildren(...codes.map((code) => new Option(nameOf(code), code)));
  target.value = codes.includes(wanted) ? wanted : codes[0];
  const back = offered.find((one) => one.code === target.value)?.targets ?? [];
  at("swap").disabled = !back.includes(from);
}

function swap() {
  if (at("swap").disabled) return;
  const from = source.value === "auto" ? detected : source.value;
  const to = target.value;
  if (sentences.length) input.value = currentText();
  detected = "";
  source.value = to;
  listTargets(from);
  target.value = from;
  listTargets(from);
  translate();
}

/* Translation */
async function translate() {
  clearTimeout(timer);
  pending.abort(); // the previous request is out of date
  pending = new AbortController();
  const { signal } = pending;
  grow();
  remember();
  closeChoices();
  const q = input.value;
  if (!q.trim()) {
    if (source.value === "auto") detected = "";
    listLanguages();
    return show(null, "");
  }
  output.classList.add("old");
  try {
    const answer = await post("sentences", { q, ...chosen(), ...terms() }, signal);
    if (source.value === "auto") {
      detected = answer.source;
      listLanguages();
      target.value = answer.target;
    }
    show(answer, (answer.notes ?? []).join("; "), q);
    await attend(signal);
  } catch (error) {
    if (aborted(error)) return;
    refuse(error.message, q);
  }
}

/** Say in place of the translation why there is none. */
function refuse(text, q) {
  show(null, "", q);
  at("copy").hidden = true;
  const reason = make("p", { className: "refused" }, text);
  reason.setAttribute("role", "alert");
  output.replaceChildren(reason);
}

function show(answer, note, q = "") {
  output.classList.remove("old");
  message.textContent = note;
  sentences = (answer?.sentences ?? []).map((one) => new Sentence(one, [answer.source, answer.target], terms()));
  shownText = answer?.translatedText ?? "";
  active = null;
  at("copy").hidden = at("clear").hidden = !q;
  if (!answer) {
    const hint = t().hint.map((text, index) => (index % 2 ? text : make("b", {}, text)));
    output.replaceChildren(make("p", { className: "hint" }, ...hint));
    mirror.textContent = input.value;
    return hideDetail();
  }
  output.lang = answer.target;
  input.lang = answer.source;
  lay(output, shownText, sentences, "right");
  lay(mirror, q, sentences, "left");
  mirror.append("\n"); // as a textarea has room for a line after the last
  firstWord()?.setAttribute("tabindex", "0");
  activate(sentenceAtCaret(), false);
}

/** Fetch the attention of each sentence, so that pointing at a word shows it at once. */
async function attend(signal) {
  const order = [...sentences].sort((one, other) => (other === active) - (one === active));
  for (const one of order.slice(0, MOST_SENTENCES)) await fetchAttention(one, signal);
}

async function fetchAttention(one, signal) {
  if (one.attention || !one.searched || one.source.length > 500 || one.text.length > 500) return;
  const [from, to] = one.languages;
  const text = one.text;
  try {
    const fields = { q: one.source, translation: text, source: from, target: to };
    const attention = await post("attention", fields, signal);
    if (one.text !== text || !attention.target.length) return; // a model without attention
    one.attention = attention;
    const lit = one.lit;
    one.render();
    if (lit) one.lightAgain(lit);
    if (!output.querySelector('.word[tabindex="0"]')) firstWord()?.setAttribute("tabindex", "0");
  } catch (error) {
    if (aborted(error)) throw error; // models without attention still translate
  }
}

function currentText() {
  return sentences.length ? output.textContent : shownText;
}

function replaceSentence(sentence, text) {
  sentence.replace(text);
  fetchAttention(sentence).catch(() => {});
  activate(sentence, false);
}

/* The active sentence */
function sentenceAtCaret() {
  let end = 0;
  for (const one of sentences) {
    end = input.value.indexOf(one.source, end) + one.source.length;
    if (input.selectionStart <= end) return one;
  }
  return sentences.at(-1) ?? null;
}

function activate(sentence, marked = true) {
  active?.right.classList.remove("active");
  active = sentence;
  if (marked && sentences.length > 1) sentence?.right.classList.add("active");
  const options = { choose: (text) => replaceSentence(sentence, text), settings, inspectable: !settings.keyRequired };
  showDetail(sentence, sentences.indexOf(sentence), sentences.length, options);
}

/* Words */
function firstWord() {
  return output.querySelector(".word");
}

function light(word) {
  const place = found(word);
  for (const one of sentences) if (one !== place?.sentence) one.dark();
  if (place && place.at >= 0) place.sentence.light(place.side, place.at);
}

function wordBehind(event) {
  return document.elementsFromPoint(event.clientX, event.clientY).find((one) => one.matches("#mirror .word"));
}

function step(word, by) {
  const words = [...output.querySelectorAll(".word")];
  const next = words[words.indexOf(word) + by];
  if (!next) return;
  word.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

output.addEventListener("pointerover", (event) => light(event.target.closest(".word")));
output.addEventListener("pointerleave", () => light(null));
output.addEventListener("focusin", (event) => light(event.target.closest(".word")));
input.addEventListener("pointermove", (event) => light(wordBehind(event)));
input.addEventListener("pointerleave", () => light(null));
output.addEventListener("click", (event) => {
  if (String(getSelection())) return; // a selection, not a click
  const place = found(event.target.closest(".word"));
  const sentence = place?.sentence ?? event.target.closest(".sentence")?.sentence;
  if (sentence && sentence !== active) activate(sentence);
  if (place?.sentence.searched) {
    const word = place.sentence.targetWords[place.at];
    openChoices(word, place.sentence, (text) => replaceSentence(place.sentence, text));
  }
});
output.addEventListener("keydown", (event) => {
  const word = event.target.closest(".word");
  if (!word) return;
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (by) step(word, by);
  else if (event.key === "Enter" || event.key === " ") word.click();
  else return;
  event.preventDefault();
});

/* The text */
function grow() {
  input.style.height = "auto";
  input.style.height = `${input.scrollHeight}px`;
  const used = [...input.value].length;
  at("count").textContent = t().count(used, settings.charLimit);
}

input.addEventListener("input", () => {
  clearTimeout(timer);
  pending.abort();
  grow();
  mirror.textContent = `${input.value}\n`;
  timer = setTimeout(translate, PAUSE);
});
for (const kind of ["click", "keyup"]) {
  input.addEventListener(kind, () => {
    const one = sentences.length > 1 ? sentenceAtCaret() : null;
    if (one && one !== active) activate(one);
  });
}
document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey)) return;
  if (event.key === "Enter") translate();
  else if (event.shiftKey && event.key.toLowerCase() === "s") swap();
  else return;
  event.preventDefault();
});
source.addEventListener("change", () => { detected = ""; listLanguages(); translate(); });
target.addEventListener("change", () => { listTargets(); translate(); });
glossary.addEventListener("change", translate);
at("swap").addEventListener("click", swap);
at("clear").addEventListener("click", () => {
  input.value = "";
  translate();
  input.focus();
});
at("shade").addEventListener("change", (event) => output.classList.toggle("shaded", event.target.checked));

/* Copy, also where a page without HTTPS may not use the clipboard */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = make("textarea", { value: text, className: "text" });
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
at("copy").addEventListener("click", async () => {
  const done = await copy(currentText());
  at("copy").textContent = done ? t().copied : t().notCopied;
  setTimeout(() => { at("copy").textContent = t().copy; }, 1600);
});

/* The address: after "#", which is never sent to a server */
function remember() {
  const fields = new URLSearchParams({ from: source.value, to: target.value });
  if (!at("terms").hidden) fields.set("terms", glossary.value);
  if (input.value) fields.set("q", input.value);
  history.replaceState(null, "", `#${fields}`);
}

function recall() {
  const fields = new URLSearchParams(location.hash.slice(1) || location.search);
  if (fields.get("q")) input.value = fields.get("q");
  const from = fields.get("from");
  if ([...source.options].some((one) => one.value === from)) source.value = from;
  listTargets(fields.get("to") ?? undefined);
  if (fields.has("terms")) listGlossaries(fields.get("terms"));
}

/** Offer the server's glossaries. */
function listGlossaries(wanted = glossary.value) {
  const names = settings.glossaries ?? [];
  at("terms").hidden = !names.length;
  glossary.replaceChildren(new Option(t().noTerms, ""), ...names.map((name) => new Option(name, name)));
  glossary.value = names.includes(wanted) ? wanted : "";
}

/* The page itself */
function setUi(code) {
  setLanguage(code);
  at("ui").textContent = code === "ko" ? "English" : "한국어";
  at("ui").lang = code === "ko" ? "en" : "ko";
  setTheme(kept.get("theme"));
  listLanguages();
  listGlossaries();
  grow();
  if (!sentences.length) show(null, "");
  else activate(active, false);
}

function setTheme(name) {
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  at("theme").textContent = t().theme[name] ?? t().theme[""];
}

at("ui").addEventListener("click", () => {
  const next = uiLanguage() === "ko" ? "en" : "ko";
  kept.set("ui", next);
  setUi(next);
});
at("theme").addEventListener("click", () => {
  const next = THEMES[(THEMES.indexOf(kept.get("theme")) + 1) % THEMES.length];
  kept.set("theme", next);
  setTheme(next);
});
at("access").addEventListener("submit", (event) => {
  event.preventDefault();
  at("key").blur();
});
at("key").addEventListener("change", () => {
  key.value = at("key").value.trim();
  kept.set("key", key.value, sessionStorage);
  translate();
});

async function start() {
  setUi(kept.get("ui") || (navigator.language.slice(0, 2) in UI ? navigator.language.slice(0, 2) : "en"));
  try {
    [offered, settings] = await Promise.all([get("languages"), get("frontend/settings")]);
  } catch (error) {
    message.textContent = error.message;
    return;
  }
  if (settings.keyRequired) {
    at("key").hidden = false;
    at("key").value = key.value = kept.get("key", sessionStorage);
  }
  if (settings.supportedFilesFormat?.length) takeDocuments(settings.supportedFilesFormat, chosen);
  listLanguages();
  listGlossaries(settings.glossaries?.[0]);
  recall();
  translate();
}

start();
