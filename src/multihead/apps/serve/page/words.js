/* Sentences word by word, in both panes, and the attention between them. */
import { make } from "./elements.js";

/** The places of sentences in a text: each is found after the one before it. */
function places(text, sentences) {
  let end = 0;
  return sentences.map((one) => {
    const start = text.indexOf(one, end);
    if (start < 0) return null;
    end = start + one.length;
    return [start, end];
  });
}

/** The places of the words in a sentence, before the server has said which they are to the model. */
function segmented(text, language) {
  try {
    const parts = [...new Intl.Segmenter(language || undefined, { granularity: "word" }).segment(text)];
    return parts.filter((one) => one.isWordLike).map((one) => [one.index, one.index + one.segment.length]);
  } catch {
    return [...text.matchAll(/[\p{L}\p{N}]+/gu)].map((one) => [one.index, one.index + one[0].length]);
  }
}

/** The server counts characters, a string UTF-16 units. */
function inUnits(text, spans) {
  const offsets = [0];
  for (const char of text) offsets.push(offsets.at(-1) + char.length);
  return spans.map(([start, end]) => [offsets[start] ?? text.length, offsets[end] ?? text.length]);
}

/** Fill an element with a sentence, a span for each word. */
function fill(element, text, spans) {
  const words = [];
  element.replaceChildren();
  let end = 0;
  for (const [start, stop] of spans) {
    if (start < end || stop <= start) {
      words.push(null);
      continue;
    }
    element.append(text.slice(end, start));
    const word = make("span", { className: "word" }, text.slice(start, stop));
    word.dataset.start = start;
    element.append(word);
    words.push(word);
    end = stop;
  }
  element.append(text.slice(end));
  return words;
}

/** A sentence and its translation. */
export class Sentence {
  constructor(given, languages, glossary) {
    this.source = given.source;
    this.text = this.original = given.text;
    this.confidence = given.confidence;
    this.doubtful = given.doubtful;
    this.searched = given.searched;
    this.languages = languages;
    this.terms = given.terms;
    this.glossary = glossary; // the field of a request that names it
    this.others = null; // further translations, once they were asked for
    this.left = make("span", { sentence: this });
    this.right = make("span", { sentence: this, className: this.doubtful ? "sentence doubtful" : "sentence" });
    this.render();
  }

  /** Show the words: those of the model if they are known. The one in focus keeps it. */
  render() {
    const inFocus = this.right.contains(document.activeElement) ? document.activeElement.dataset.start : null;
    const known = this.attention;
    const source = known ? inUnits(this.source, known.source) : segmented(this.source, this.languages[0]);
    const target = known ? inUnits(this.text, known.target) : segmented(this.text, this.languages[1]);
    this.sourceWords = fill(this.left, this.source, source);
    this.targetWords = fill(this.right, this.text, target);
    this.targetWords.forEach((word, at) => {
      if (!word) return;
      word.tabIndex = -1;
      word.setAttribute("role", "button");
      if (known) word.style.setProperty("--doubt-alpha", doubt(known.probabilities[at]));
    });
    this.markTerms();
    if (inFocus !== null) this.focus(inFocus);
  }

  /** Move the focus to the word of the translation that stands here, or to the last one before it. */
  focus(start) {
    const word = this.targetWords.findLast((one) => one && Number(one.dataset.start) <= Number(start));
    if (!word) return;
    for (const one of this.targetWords) if (one) one.tabIndex = -1;
    word.tabIndex = 0;
    word.focus({ preventScroll: true });
  }

  /** Mark the words of the glossary's terms, each with the other side's as its title. */
  markTerms() {
    const sourceSpans = inUnits(this.source, this.terms.map((one) => one.source));
    const targetSpans = inUnits(this.text, this.terms.map((one) => one.target));
    this.terms.forEach((_, at) => {
      const title = `${this.source.slice(...sourceSpans[at])} → ${this.text.slice(...targetSpans[at])}`;
      mark(this.sourceWords, sourceSpans[at], title);
      mark(this.targetWords, targetSpans[at], title);
    });
  }

  replace(text) {
    this.text = text;
    this.attention = null;
    this.terms = []; // another translation has them elsewhere, or not at all
    this.render();
  }

  /** Light up the words that belong to one: "source" or "target", and its number. */
  light(side, at) {
    this.dark();
    const words = side === "target" ? this.targetWords : this.sourceWords;
    if (!words[at]) return;
    words[at].classList.add("on");
    this.lit = { side, start: words[at].dataset.start };
    if (!this.attention) return;
    const weights = side === "target" ? this.attention.weights[at] : this.attention.weights.map((row) => row[at]);
    const others = side === "target" ? this.sourceWords : this.targetWords;
    const most = Math.max(...weights, 0.01);
    weights.forEach((weight, index) => {
      const strength = Math.min(1, weight / most) * Math.min(1, 0.25 + most);
      if (strength < 0.12 || !others[index]) return;
      others[index].classList.add("lit");
      others[index].style.setProperty("--alpha", (0.1 + 0.5 * strength).toFixed(2));
    });
  }

  /** Light up the same word after the words were made anew. */
  lightAgain({ side, start }) {
    const words = side === "target" ? this.targetWords : this.sourceWords;
    this.light(side, words.findIndex((word) => word?.dataset.start === start));
  }

  dark() {
    this.lit = null;
    for (const word of [...this.sourceWords, ...this.targetWords]) word?.classList.remove("on", "lit");
  }
}

function mark(words, [start, end], title) {
  for (const word of words) {
    const at = Number(word?.dataset.start);
    if (!word || at >= end || at + word.textContent.length <= start) continue;
    word.classList.add("term");
    word.title = title;
  }
}

/** The opacity of the shade of a word: none for a sure one. */
function doubt(probability) {
  return (0.5 * Math.max(0, 1 - probability / 0.8)).toFixed(2);
}

/** The sentence and number of a word. */
export function found(word) {
  const sentence = word?.parentElement?.sentence;
  if (!sentence) return null;
  const target = sentence.targetWords.indexOf(word);
  const side = target >= 0 ? "target" : "source";
  return { sentence, side, at: target >= 0 ? target : sentence.sourceWords.indexOf(word) };
}

/** Show a text whose sentences stand at these places. */
export function lay(element, text, sentences, side) {
  const spans = places(text, sentences.map((one) => (side === "left" ? one.source : one.text)));
  element.replaceChildren();
  let end = 0;
  spans.forEach((span, at) => {
    if (!span) return;
    element.append(text.slice(end, span[0]), sentences[at][side]);
    end = span[1];
  });
  element.append(text.slice(end));
}
