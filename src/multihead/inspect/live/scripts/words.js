// The words of the translation, and what could have stood in their place.

const alternatives = h("section", { class: "card", id: "alternatives" });

/** The translation: a button a word. Only the part that changed is made anew. */
function paintOutput() {
  const stop = output.querySelector(".word[tabindex='0']");
  const hadFocus = stop !== null && document.activeElement === stop;
  const children = [];
  let end = 0;
  view.parts.forEach((part, index) => {
    const gap = view.text.slice(end, part.start);
    if (gap) children.push(document.createTextNode(gap));
    else if (index) children.push(document.createTextNode(" "));
    end = part.end;
    const made = outputOf(index);
    const sentence = h("span", {
      class: "sentence",
      "data-sentence": index,
      "data-focus": index === view.focus && view.parts.length > 1,
      "data-chosen": view.chosen.has(sentenceAt(index)),
    });
    if (!made) sentence.append(h("span", { class: "waiting" }, "…"));
    made?.words.forEach((word, i) => {
      if (i) sentence.append(" ");
      sentence.append(wordButton(index, word));
    });
    children.push(sentence);
  });
  if (!view.parts.length) children.push(h("span", { class: "faint" }, view.facts ? t("empty") : t("loading")));
  output.replaceChildren(...children);
  const all = [...output.querySelectorAll(".word")];
  const current = all.find((one) => one.getAttribute("aria-pressed") === "true") ?? all[0];
  if (current) current.tabIndex = 0;
  if (hadFocus) current?.focus({ preventScroll: true });
}

function wordButton(index, word) {
  const on = index === view.focus && view.word === word.from;
  return h(
    "span",
    {
      class: "word",
      role: "button",
      tabindex: "-1",
      "aria-pressed": String(on),
      "data-from": word.from,
      "data-to": word.to,
      click: () => chooseWord(index, word.from),
      pointerenter: () => index === view.focus && lightUp(word.from, word.to),
      pointerleave: () => lightUp(null),
      keydown: wordKeys,
    },
    word.text,
  );
}

function chooseWord(index, from) {
  const again = index === view.focus && view.word === from;
  view.piece = 0;
  if (again) {
    view.word = null;
    focusOn(index);
  } else {
    focusOn(index, from);
  }
}

function wordKeys(event) {
  const all = [...output.querySelectorAll(".word")];
  const at = all.indexOf(event.currentTarget);
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    event.currentTarget.click();
  } else if (event.key in steps || event.key === "Home" || event.key === "End") {
    event.preventDefault();
    const place = event.key === "Home" ? 0 : event.key === "End" ? all.length - 1 : at + steps[event.key];
    const next = all[Math.min(Math.max(place, 0), all.length - 1)];
    all.forEach((one) => (one.tabIndex = -1));
    next.tabIndex = 0;
    next.focus();
    next.click();
  } else if (event.key === "Escape") {
    view.word = null;
    focusOn(view.focus);
  }
}

const DOUBTFUL = 0.3;

/** Mark the words of the explained sentence that the model itself thought improbable. */
function paintDoubt() {
  const found = view.explained;
  if (!found) return;
  for (const one of output.querySelectorAll(`[data-sentence="${found.index}"] .word`)) {
    const shares = found.probabilities.slice(Number(one.dataset.from), Number(one.dataset.to));
    const least = Math.min(...shares);
    one.toggleAttribute("data-doubt", least < DOUBTFUL);
    one.title = least < DOUBTFUL ? t("doubtful", Math.max(1, Math.round(100 * least))) : "";
  }
}

const spelt = (piece) => piece.replace(/^▁/, "") || "␣";
/** A piece as text: "…" marks one that continues a word. */
const pieceText = (piece) => (piece.startsWith("▁") || piece.startsWith("⟨") ? spelt(piece) : `…${piece}`);

const visible = (text) => text.replaceAll("\n", "⏎").replaceAll(" ", "␣");

/** A text with its probability: a bar, and percent. */
function shareOf(text, share) {
  const bar = h("i");
  bar.style.width = `${Math.max(1.5, 100 * share)}%`;
  const percent = share < 0.01 ? "< 1" : Math.round(100 * share);
  return [h("span", { class: "what" }, text), h("span", { class: "bar" }, bar), h("small", {}, `${percent} %`)];
}

/** What the word that was chosen could have been. */
function paintWords() {
  const found = view.explained;
  paintDoubt();
  const head = h("h2", {}, t("why"));
  if (!found || !view.parts.length) {
    alternatives.replaceChildren(head, h("p", { class: "lead" }, t("whyLead")));
    return;
  }
  const word = found.words.find((one) => one.from === view.word);
  const undo = view.chosen.has(found.sentence)
    ? h("p", { class: "changed" }, t("changed"), " ", button(t("undo"), undoChoice))
    : "";
  alternatives.replaceChildren(
    head,
    word ? placeOf(found, word) : h("p", { class: "lead" }, t("whyLead")),
    undo,
    othersOf(found),
  );
}

function placeOf(found, word) {
  const pieces = Array.from({ length: word.to - word.from }, (_, i) => word.from + i);
  const at = pieces[Math.min(view.piece, pieces.length - 1)];
  const tabs =
    pieces.length > 1
      ? segments(
          t("piece"),
          pieces.map((place, i) => [i, spelt(found.target[place])]),
          at - word.from,
          (i) => {
            view.piece = i;
            paintWords();
          },
        )
      : "";
  const before = found.words.filter((one) => one.from < word.from).map((one) => one.text);
  return h(
    "div",
    {},
    h("p", { class: "place" }, h("b", {}, t("instead", word.text)), " ", h("span", { class: "faint" }, t("after", before.slice(-4).join(" ")))),
    tabs,
    h("div", { class: "ways" }, waysAt(found, at)),
    button(t("howProbability"), () => openWork("probability", { row: at, column: 0 }), { class: "plain how" }),
  );
}

function waysAt(found, at) {
  const { count, ids, probabilities } = found.alternatives;
  const written = found.ids[at];
  const entries = Array.from({ length: Math.min(count, 8) }, (_, i) => at * count + i)
    .map((i) => ({ id: ids[i], text: found.ways[i], share: probabilities[i] }))
    .filter((one) => one.share >= 0.0005);
  if (!entries.some((one) => one.id === written))
    entries.push({ id: written, text: found.target[at], share: found.probabilities[at] });
  return entries.map(({ id, text, share }) => {
    const click = () => id !== written && choose(found.written.slice(0, at), id);
    return h("button", { type: "button", class: "way", "aria-pressed": String(id === written), click }, shareOf(pieceText(text), share));
  });
}

function othersOf(found) {
  const others = found.others.filter((one) => one.text !== outputOf(view.focus)?.text).slice(0, 4);
  if (!others.length) return "";
  const list = others.map((one) =>
    h("li", {}, h("button", { type: "button", click: () => take(one.ids) }, h("span", {}, one.text), h("small", {}, one.score.toFixed(2)))),
  );
  return h("div", { class: "others" }, h("h3", {}, t("others")), h("ul", { class: "nbest" }, list));
}

/** Continue the translation from its beginning and another token. */
function choose(beginning, id) {
  if (id === view.facts.end) take(beginning);
  else explain({ ids: [...beginning, id], complete: false, adopted: true });
}

const take = (ids) => explain({ ids, complete: true, adopted: true });

function undoChoice() {
  view.chosen.delete(sentenceAt(view.focus));
  view.word = null;
  paintOutput();
  explainFocus();
}
